"""Around every request: who may ask, what is counted, and no failure that tells too much."""

import logging
import time
import traceback
from collections.abc import Collection
from pathlib import Path
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devnet.review.server.protection import client_refusal
from devnet.serving.service.bearer import Bearer
from devnet.serving.service.metrics import Metrics
from devnet.serving.service.refusal import Refusal

OPEN = "/health"  # needs no token
HEADERS = [  # of every answer, as they are sent
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
logger = logging.getLogger(__name__)
requests = logging.getLogger("devnet.serving.requests")  # a line each, without query and values


class Guard:
    """Lets in who bears the token, and keeps errors of ours to the log.

    Parameters
    ----------
    app : ASGIApp
    bearer : Bearer
    metrics : Metrics
    paths : collection of str
        Of the service; all others are counted as one.
    proxy : str, optional
        Address of the proxy in front of the service; nobody else is answered.
    """

    def __init__(
        self,
        app: ASGIApp,
        bearer: Bearer,
        metrics: Metrics,
        paths: Collection[str],
        proxy: str | None,
    ) -> None:
        self._app, self._bearer, self._metrics = app, bearer, metrics
        self._paths, self._proxy = frozenset(paths), proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        start, status = time.perf_counter(), 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        self._metrics.in_progress += 1
        try:
            await self._answer(scope, receive, send_guarded)
        except Exception as error:  # what it says may hold values, so the log has its place alone
            name, places = type(error).__name__, _places(error)
            logger.error("%s %s failed: %s at %s", scope["method"], _path(scope), name, places)
        finally:
            self._metrics.in_progress -= 1
            seconds = time.perf_counter() - start
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.answered(path, status, seconds)
            if requests.isEnabledFor(logging.INFO):
                said = (scope["method"], _path(scope), status, 1000 * seconds)
                requests.info("%s %s %d %.0f ms", *said)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope)
        app = self._app if refusal is None else refusal.response()
        await app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is refused before anything else looks at it."""
        headers = Headers(scope=scope)
        why = client_refusal(self._proxy, scope, headers)
        if why is not None:
            return Refusal(403, why)
        if scope["path"] == OPEN or self._bearer.admits(headers.get("authorization")):
            return None
        return Refusal(
            401,
            "the service answers those who bear its token; send it as Authorization: Bearer TOKEN.",
            {"WWW-Authenticate": "Bearer"},
        )


def _path(scope: Scope) -> str:
    return quote(scope["path"])[:200]


def _places(error: Exception) -> str:
    """Where an error came from, the calls before it first."""
    frames = traceback.extract_tb(error.__traceback__)
    return ", ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames)
