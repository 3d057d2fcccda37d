"""The body of a request, within bounds of size and time."""

import asyncio
from typing import final

from starlette.requests import Request
from starlette.types import Message

from devnet.serving.service.limits import Limits
from devnet.serving.service.refusal import Refusal

RETRY = {"Retry-After": "1"}


@final
class Bodies:
    """Reads bodies; all that are held at once have a bound as well.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._n_bytes = 0

    async def read(self, request: Request, held: bytearray) -> bytes:
        """The body of a request; its parts are in `held` as they arrive, and count from then on."""
        _refuse_packed(request)
        self._refuse_large(_declared(request))
        try:
            async with asyncio.timeout(self._limits.seconds):
                has_more = True
                while has_more:
                    message = await request.receive()
                    has_more = message.get("more_body", False)
                    self._hold(message, held)
        except TimeoutError:
            raise Refusal(
                408, f"the body did not arrive within {self._limits.seconds:g} s; send it faster."
            ) from None
        return bytes(held)

    def give_back(self, held: bytearray) -> None:
        """Count a body no more."""
        self._n_bytes -= len(held)

    def _hold(self, message: Message, held: bytearray) -> None:
        """Take a part of a body."""
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the connection ended before the body did.")
        part = message.get("body", b"")
        held += part
        self._n_bytes += len(part)
        self._refuse_large(len(held))
        self._refuse_crowd()

    def _refuse_large(self, n_bytes: int) -> None:
        if n_bytes > self._limits.n_bytes:
            raise Refusal(
                413,
                f"a body of more than {self._limits.n_bytes:,} bytes is not taken; send fewer "
                "rows at once.",
                {"Connection": "close"},
            )

    def _refuse_crowd(self) -> None:
        if self._n_bytes > self._limits.n_bytes_together:
            raise Refusal(503, "too much is being worked on at once; try again in a moment.", RETRY)


def _declared(request: Request) -> int:
    text = request.headers.get("content-length", "0")
    return int(text) if text.isdecimal() else 0


def _refuse_packed(request: Request) -> None:
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise Refusal(
            415,
            "a packed body is not taken; send it without Content-Encoding (buffers of an Arrow "
            "stream may be compressed).",
        )
