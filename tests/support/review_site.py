"""A site of one page and one form, to try its doors and its protection."""

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.testclient import TestClient

from devnet.review.server.app import make_app
from devnet.review.server.doors import AccountDoor, LocalDoor
from devnet.review.server.listening import Listening
from devnet.review.server.site import Site
from devnet.review.server.visitors import Role

LOCAL = Listening()
SHARED = Listening(host="10.0.0.5", port=443, names=("review.test",), proxy="10.0.0.1")


class Notes:
    """A site that keeps what is sent to it."""

    def __init__(self, door, listening):
        self.kept = []
        self.site = Site(door, listening, "payments")
        self.app = make_app(
            self.site,
            [
                self.site.reads("/", lambda visit: PlainTextResponse(visit.visitor.name)),
                self.site.reads("/log", lambda visit: PlainTextResponse("log"), role=Role.LEAD),
                self.site.writes("/keep", self.keep, is_kept=True),
            ],
        )

    def keep(self, visit):
        self.kept.append((visit.visitor.name, dict(visit.form)))
        return RedirectResponse("/", 303)

    def client(self, peer="127.0.0.1", **headers):
        """A browser."""
        listening = self.site.listening
        sent = {"origin": min(listening.origins)}
        if listening.proxy is not None and peer == listening.proxy:
            sent |= {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
        return TestClient(
            self.app,
            base_url=listening.address,
            headers=sent | headers,
            client=(peer, 5000),
            follow_redirects=False,
        )


def local_site():
    """A site for whoever started it, and its token."""
    door = LocalDoor()
    return Notes(door, LOCAL), door.token


def shared_site(accounts, **options):
    """A site with accounts, behind a proxy."""
    return Notes(AccountDoor(accounts, **options), SHARED)
