"""The application: pages behind their protection, and the files that they are made of."""

from collections.abc import Sequence
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from devnet.report.page import templates_of
from devnet.review.desk.review import Review
from devnet.review.server.board_views import BoardViews
from devnet.review.server.doors import Door
from devnet.review.server.listening import Listening
from devnet.review.server.model_views import ModelViews
from devnet.review.server.protection import Protection
from devnet.review.server.queue_views import QueueViews
from devnet.review.server.site import Site

KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
STATIC = ("htmx.min.js", "review.js", "icon.svg")


def review_app(review: Review, door: Door, listening: Listening) -> ASGIApp:
    """The application that serves a review.

    Parameters
    ----------
    review : Review
    door : Door
        Who may come in.
    listening : Listening
    """
    site = Site(door, listening, review.store.table.name)
    views = (QueueViews(site, review.desk), BoardViews(site, review), ModelViews(site, review))
    return make_app(site, [route for one in views for route in one.routes()])


def make_app(site: Site, routes: Sequence[Route]) -> ASGIApp:
    """The application; its protection is around everything, errors of ours included.

    Parameters
    ----------
    site : Site
    routes : sequence of Route
        The pages, from `site.reads` and `site.writes`.
    """
    pages = Starlette(
        routes=[*routes, *site.entrances(), *_static_files()],
        exception_handlers={404: site.missing, Exception: site.failed},
    )
    return Protection(pages, site.listening)


def _static_files() -> list[Route]:
    """Style sheets and scripts; they are read once, and nobody needs to sign in for them."""
    folder = files("devnet.review") / "static"
    report = templates_of("devnet.report")
    shared = "".join(report.get_template(name).render() for name in ("page.css", "fit.css"))
    contents = {
        "page.css": shared + (folder / "review.css").read_text(),
        **{name: (folder / name).read_text() for name in STATIC},
    }
    return [_static(name, text) for name, text in contents.items()]


def _static(name: str, text: str) -> Route:
    async def endpoint(request: Request) -> Response:
        return Response(text, media_type=KINDS[name.rpartition(".")[2]])

    return Route(f"/static/{name}", endpoint, methods=["GET"])
