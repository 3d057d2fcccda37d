"""A small review in process: a table of payments, a quick model, a store and a browser."""

import re
from functools import cache
from html.parser import HTMLParser

import pyarrow.parquet as pq
from starlette.testclient import TestClient
from support.payment_tables import make_table

from devnet import TableModel
from devnet.review.desk.review import open_review
from devnet.review.server.accounts import Accounts
from devnet.review.server.app import review_app
from devnet.review.server.doors import AccountDoor, LocalDoor
from devnet.review.server.listening import Listening
from devnet.review.server.visitors import Role

LOCAL = Listening()
SHARED = Listening(port=443, names=("review.test",), proxy="127.0.0.1")
PASSWORD = "correct horse battery"
N_ROWS = 600


@cache
def quick_model():
    """A model of the table's labels that takes a moment to fit."""
    table, _ = make_table(N_ROWS)
    return TableModel("logistic regression", random_state=0).fit(table, "fraud")


def write_table(folder, n_rows=N_ROWS):
    """The table as a file, without its labels in half of the rows."""
    path = folder / "payments.parquet"
    pq.write_table(make_table(n_rows)[0], path)
    return path


def small_review(folder, **options):
    """A review of a small table by a quick model."""
    table, model = write_table(folder), folder / "m.devnet"
    if not model.exists():
        quick_model().save(model)
    options = {"model": model, **options}
    return open_review(table, folder / "review.db", who="boot", **options)


class Page(HTMLParser):
    """What somebody sees: forms with their fields, and text."""

    def __init__(self, text):
        super().__init__()
        self.forms, self.text, self.links, self._select = [], "", [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.forms.append({"action": given.get("action"), "fields": {}, "given": given})
        if tag == "input" and given.get("type") == "hidden":
            self.forms[-1]["fields"][given["name"]] = given["value"]
        if tag == "a":
            self.links.append(given)

    def handle_data(self, data):
        self.text += data

    def form(self, action):
        """The fields that a form sends as it is."""
        return next(dict(one["fields"]) for one in self.forms if one["action"] == action)


class Browser:
    """A browser without scripts that is signed in."""

    def __init__(self, app, listening, name=None, token=None):
        sent = {"origin": min(listening.origins)}
        if listening.proxy:
            sent |= {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
        self.client = TestClient(
            app, base_url=listening.address, headers=sent, client=("127.0.0.1", 5000)
        )
        if token is not None:
            self.client.get("/sign-in", params={"token": token})
        if name is not None:
            self.client.post("/sign-in", data={"name": name, "password": PASSWORD})

    def get(self, path, **query):
        return self.client.get(path, params=query)

    def see(self, path="/", **query):
        return Page(self.get(path, **query).text)

    def post(self, path, **fields):
        return self.client.post(path, data=fields)

    def judge(self, verdict, page=None, **more):
        """Press a verdict on the card that is shown."""
        fields = (page or self.see()).form("/verdict")
        return self.post("/verdict", **{**fields, "verdict": verdict, **more})


def card_id(page):
    """The id on the card."""
    return re.search(r'<h1 id="card-id">(.*?)</h1>', page).group(1)


def open_locally(review):
    """A browser of whoever started the server."""
    door = LocalDoor()
    return Browser(review_app(review, door, LOCAL), LOCAL, token=door.token)


def open_for(review, folder, *names):
    """Browsers of analysts, and of a lead if her name is lena."""
    accounts = Accounts(folder / "review.db.users")
    known = [one.name for one in accounts.everybody()]
    for name in names:
        if name not in known:
            accounts.add(name, Role.LEAD if name == "lena" else Role.ANALYST, PASSWORD)
    app = review_app(review, AccountDoor(accounts), SHARED)
    return [Browser(app, SHARED, name) for name in names]


def fold(desk, who, n_others=3):
    """Somebody's first card, with some rows folded into it."""
    lease = desk.hand(who)[0]
    others = [one for one in range(600) if desk.holder(one) is None][:n_others]
    lease.like_it = tuple(map(desk.ranked.standing, others))
    desk._queue.hold(others)
    desk._leases.end(lease)
    desk._leases.give(lease, desk._clock(), first=True)
    return lease
