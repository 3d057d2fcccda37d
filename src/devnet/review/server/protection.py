"""What every request must be, and what every answer says: hosts, origins and headers."""

import logging
import time
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devnet.review.server.listening import Listening

METHODS = ("GET", "HEAD", "POST")
HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            *(f"{kind} 'self'" for kind in ("script-src", "style-src", "img-src", "connect-src")),
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    ),
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
logger = logging.getLogger(__name__)


class Protection:
    """Refuses what no page of ours sends, before anything else looks at it.

    A foreign name for our address (DNS rebinding) is refused by its Host, a form of a foreign page
    by its Origin. A page with `Referrer-Policy: no-referrer` sends `Origin: null` with plain
    forms; then the browser's `Sec-Fetch-Site`, which no page can set, must vouch for them.
    """

    def __init__(self, app: ASGIApp, listening: Listening) -> None:
        self._app = app
        self._listening = listening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_protected(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        why = self._refusal(scope)
        app = self._app if why is None else PlainTextResponse(f"{why}\n", 403)
        try:
            await app(scope, receive, send_protected)
        finally:
            seconds = time.perf_counter() - start
            path = quote(scope["path"])  # without the query, which may have a token
            logger.info("%s %s %d %.0f ms", scope["method"], path, status, 1000 * seconds)

    def _refusal(self, scope: Scope) -> str | None:
        """Why a request is refused; takes over what the proxy says about the client."""
        headers = Headers(scope=scope)
        return (
            client_refusal(self._listening.proxy, scope, headers)
            or self._refuse_host(headers)
            or self._refuse_write(scope["method"], headers)
        )

    def _refuse_host(self, headers: Headers) -> str | None:
        hosts = [host.lower() for host in headers.getlist("host")]
        if len(hosts) == 1 and hosts[0] in self._listening.hosts:
            return None
        return "This server does not know itself by that name; use the address that it printed."

    def _refuse_write(self, method: str, headers: Headers) -> str | None:
        if method not in METHODS:
            return "This page is read with GET and written to with POST."
        if method != "POST":
            return None
        origin = headers.get("origin")
        is_own = origin in self._listening.origins
        is_vouched = origin == "null" and headers.get("sec-fetch-site") == "same-origin"
        return None if is_own or is_vouched else "Only the page itself may send this form."


def client_refusal(proxy: str | None, scope: Scope, headers: Headers) -> str | None:
    """Why a request does not come through the proxy; takes over what that says of the client.

    Without a proxy, all clients are as they seem.
    """
    peer = (scope.get("client") or ("unknown", 0))[0]
    if proxy is None:
        return None
    if peer != proxy:
        return "This server answers through its proxy only."
    if headers.get("x-forwarded-proto") != "https":
        return "The proxy must serve this over https and send X-Forwarded-Proto."
    client = _forwarded_for(headers.getlist("x-forwarded-for") or [peer])
    if client is None:
        return "The proxy must send the client's address in X-Forwarded-For."
    scope["client"] = (client, 0)
    return None


def _forwarded_for(lines: Sequence[str]) -> str | None:
    """The client's address as the proxy itself saw it: what comes before may be forged."""
    last = lines[-1].rpartition(",")[2].strip()
    if last.startswith("["):  # [2001:db8::1]:5000
        last = last[1:].partition("]")[0]
    elif last.count(":") == 1:
        last = last.partition(":")[0]
    try:
        return str(ip_address(last))
    except ValueError:
        return None
