"""The paths of the service: which endpoint answers, and what is said where there is none.

There are five paths without parameters, so a dictionary is all the routing there is: a request of
one row should not spend its time in layers.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from devnet.serving.service.refusal import Refusal

Endpoint = Callable[[Request], Awaitable[Response]]


class Route(NamedTuple):
    """A path, the methods that it takes, and what answers."""

    path: str
    methods: tuple[str, ...]
    endpoint: Endpoint


@final
class Paths:
    """Hands a request to the endpoint of its path; refusals are answers too.

    Parameters
    ----------
    routes : sequence of Route
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = routes
        self._by_path = {one.path: one for one in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; an error of ours is raised after the client was told."""
        request = Request(scope, receive)
        try:
            response = await self._endpoint(scope)(request)
        except Refusal as refusal:
            response = refusal.response()
        except Exception:
            sentence = "the service failed at this, through no fault of yours; its log says where."
            await Refusal(500, sentence).response()(scope, receive, send)
            raise
        await response(scope, receive, send)

    def _endpoint(self, scope: Scope) -> Endpoint:
        route = self._by_path.get(scope["path"])
        if route is None:
            raise Refusal(404, "there is nothing here; GET /openapi.json lists what there is.")
        if scope["method"] not in route.methods:
            allowed = ", ".join(route.methods)
            raise Refusal(405, f"this path takes {allowed}.", {"Allow": allowed})
        return route.endpoint
