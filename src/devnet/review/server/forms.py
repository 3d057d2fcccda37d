"""What a form sends, within bounds."""

import asyncio
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from devnet.core.sentence import UserError

MOST_BYTES = 1 << 16
MOST_FIELDS = 40
MOST_SECONDS = 30.0
FORM = "application/x-www-form-urlencoded"


class FormError(UserError):
    """A form that is not taken, and why.

    Attributes
    ----------
    status : int
        Of the answer.
    """

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form, each once."""
    try:
        async with asyncio.timeout(MOST_SECONDS):
            body = await _read_body(request)
    except TimeoutError:
        late = f"the form did not arrive within {MOST_SECONDS:.0f} seconds; send it again."
        raise FormError(late, 408) from None
    except ClientDisconnect:  # nobody is there to be told
        raise FormError("the form broke off; send it again.") from None
    return _fields(body, request.headers.get("content-type", ""))


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise FormError(f"a form of more than {MOST_BYTES:,} bytes is not taken; shorten it.")
    return bytes(body)


def _fields(body: bytes, content_type: str) -> dict[str, str]:
    kind = content_type.partition(";")[0].strip().lower()
    if body and kind != FORM:
        raise FormError(f"a form comes as {FORM}, not as {kind or 'anything else'}.")
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        raise FormError("the form cannot be read; open the page again.") from None
    return dict(pairs)
