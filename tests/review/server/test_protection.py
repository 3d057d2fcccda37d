"""Requests that no page of ours sends are refused, and every answer has its headers."""

import logging
import os
from hashlib import sha256
from importlib.resources import files

import pytest
from starlette.testclient import TestClient
from support.review_site import LOCAL, SHARED, Notes, local_site, shared_site
from support.reviews import PASSWORD

from devnet.core.sentence import UserError
from devnet.report.page import templates_of
from devnet.review.server.accounts import Accounts
from devnet.review.server.app import make_app
from devnet.review.server.doors import LocalDoor
from devnet.review.server.listening import Listening
from devnet.review.server.protection import HEADERS
from devnet.review.server.site import Site
from devnet.review.server.visitors import Role

HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"  # of htmx.org 2.0.11
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.fixture
def signed_in():
    notes, token = local_site()
    client = notes.client()
    client.get("/sign-in", params={"token": token})
    return notes, client


@pytest.mark.parametrize(
    "path", ["/", "/sign-in", "/log", "/nowhere", "/static/page.css", "/static/htmx.min.js"]
)
def test_every_answer_has_the_headers(path, signed_in):
    for client in (signed_in[1], local_site()[0].client(), local_site()[0].client(host="evil")):
        headers = client.get(path).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS
        assert headers["content-security-policy"] == POLICY
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8765.x"])
def test_foreign_names_for_the_server_are_refused(host, signed_in):
    assert signed_in[1].get("/", headers={"host": host}).status_code == 403
    assert signed_in[1].get("/", headers={"host": "localhost:8765"}).status_code != 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": ""},
        {"origin": "http://evil.example"},
        {"origin": "https://127.0.0.1:8765"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": "same-site"},
    ],
)
def test_forms_of_other_pages_are_refused(headers, signed_in):
    notes, client = signed_in
    assert client.post("/keep", data={"a": "b"}, headers=headers).status_code == 403
    assert notes.kept == []


def test_forms_of_the_page_are_taken_with_and_without_script(signed_in):
    notes, client = signed_in
    client.post("/keep", data={"a": "1"})
    plain = {"origin": "null", "sec-fetch-site": "same-origin"}  # as no-referrer has it
    client.post("/keep", data={"a": "2"}, headers=plain)
    assert [form["a"] for _, form in notes.kept] == ["1", "2"]


def test_reading_never_writes(signed_in):
    notes, client = signed_in
    assert client.get("/keep", params={"a": "b"}).status_code == 405
    assert client.request("PUT", "/keep", data={"a": "b"}).status_code == 403
    assert notes.kept == []


def test_an_address_signs_nobody_in_but_by_its_token(tmp_path):
    accounts = Accounts(tmp_path / "users")
    accounts.add("ana", Role.ANALYST, PASSWORD)
    notes = shared_site(accounts)
    form = {"name": "ana", "password": PASSWORD, "then": "/keep", "kept_a": "b", "token": "x"}
    answer = notes.client(peer=SHARED.proxy).get("/sign-in", params=form)
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    notes, token = local_site()
    kept = {"token": token, "then": "/keep", "kept_a": "b"}
    assert notes.client().head("/sign-in", params=kept).status_code == 200
    assert notes.client().get("/sign-in", params=kept).status_code == 303  # not used up
    assert notes.kept == []


def test_errors_of_ours_have_a_sentence_and_the_headers(signed_in):
    _, client = signed_in
    answers = [client.get("/nowhere"), failing_client().get("/")]
    assert [one.status_code for one in answers] == [404, 500]
    for one, sentence in zip(answers, ["no such page", "its log says why"], strict=True):
        assert sentence in one.text
        assert {name: one.headers[name] for name in HEADERS} == HEADERS


def failing_client():
    """A browser of a site whose only page fails."""
    door = LocalDoor()
    site = Site(door, LOCAL, "payments")
    app = make_app(site, [site.reads("/", lambda visit: 1 / 0)])
    client = TestClient(app, base_url=LOCAL.address, raise_server_exceptions=False)
    client.get("/sign-in", params={"token": door.token})
    return client


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("a=" + "x" * 70_000, "application/x-www-form-urlencoded"),
        ("a=b", "text/plain"),
        ('{"a": "b"}', "application/json"),
        ("&".join(f"a{i}=b" for i in range(100)), "application/x-www-form-urlencoded"),
        ("a=%ff", "application/x-www-form-urlencoded"),
    ],
)
def test_other_bodies_are_refused_in_a_sentence(body, kind, signed_in):
    notes, client = signed_in
    answer = client.post("/keep", content=body, headers={"content-type": kind})
    assert answer.status_code == 400
    assert "form" in answer.text
    assert notes.kept == []


def test_only_the_named_proxy_is_believed(tmp_path):
    notes = shared_site(Accounts(tmp_path / "users"))
    assert notes.client(peer=SHARED.proxy).get("/sign-in").status_code == 200
    forged = {"x-forwarded-proto": "https", "x-forwarded-for": SHARED.proxy}
    assert notes.client(peer="10.0.0.9", **forged).get("/sign-in").status_code == 403
    plain = notes.client(peer=SHARED.proxy, **{"x-forwarded-proto": "http"})
    assert plain.get("/sign-in").status_code == 403


def test_the_address_is_the_one_that_the_proxy_saw(tmp_path):
    notes = shared_site(Accounts(tmp_path / "users"))
    for i in range(20):
        client = notes.client(SHARED.proxy, **{"x-forwarded-for": f"1.2.3.{i}, 203.0.113.9"})
        client.post("/sign-in", data={"name": f"n{i}", "password": "x"})
    answer = client.post("/sign-in", data={"name": "n", "password": "x"})
    assert "too many attempts" in answer.text


def test_lines_that_a_client_forged_do_not_count(tmp_path):
    notes = shared_site(Accounts(tmp_path / "users"))
    for i in range(20):
        lines = [("x-forwarded-for", f"1.2.3.{i}"), ("x-forwarded-for", f"203.0.113.9:{5000 + i}")]
        client = notes.client(SHARED.proxy)
        del client.headers["x-forwarded-for"]
        answer = client.post("/sign-in", data={"name": f"n{i}", "password": "x"}, headers=lines)
        assert answer.status_code == 401
    last = client.post("/sign-in", data={"name": "n", "password": "x"}, headers=lines)
    assert "too many attempts" in last.text


@pytest.mark.parametrize("sent", ["unknown", "", "1.2.3.4, _hidden"])
def test_a_client_without_an_address_is_refused(sent, tmp_path):
    notes = shared_site(Accounts(tmp_path / "users"))
    answer = notes.client(SHARED.proxy, **{"x-forwarded-for": sent}).get("/sign-in")
    assert (answer.status_code, "client's address" in answer.text) == (403, True)


def test_names_are_known_however_they_are_written():
    assert Listening(port=443, names=("Review.Test",), proxy="10.0.0.1").hosts == {"review.test"}


def test_without_a_proxy_forwarded_headers_are_not_read():
    notes, _ = local_site()
    seen = []
    notes.site.door.enter = lambda form, address: seen.append(address)
    with pytest.raises(TypeError):
        notes.client(**{"x-forwarded-for": "1.2.3.4"}).get("/sign-in", params={"token": "x"})
    assert seen == ["127.0.0.1"]


def test_the_log_has_no_query(signed_in, caplog):
    with caplog.at_level(logging.INFO, "devnet.review"):
        signed_in[1].get("/", params={"token": "secret"})
    own = [one.getMessage() for one in caplog.records if one.name.startswith("devnet")]
    assert len(own) == 1
    assert own[0].startswith("GET / 200 ")


def test_the_one_foreign_file_is_what_its_authors_published():
    static = files("devnet.review") / "static"
    assert sha256((static / "htmx.min.js").read_bytes()).hexdigest() == HTMX
    assert "Zero-Clause BSD" in (static / "htmx.LICENSE").read_text()


def test_htmx_is_without_what_the_policy_forbids(signed_in):
    page = local_site()[0].client().get("/sign-in").text
    for setting in ("allowEval", "allowScriptTags", "includeIndicatorStyles", "historyEnabled"):
        assert f'"{setting}":false' in page
    assert '"historyCacheSize":0' in page


def test_a_running_server_takes_up_no_edited_template(tmp_path, monkeypatch):
    folder = tmp_path / "a_site" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "devnet.review.server.site.templates_of", lambda *packages: templates_of("a_site")
    )
    (folder / "sign_in.html").write_text("as it was")
    client = Notes(LocalDoor(), LOCAL).client()
    (folder / "sign_in.html").write_text("as it is now")
    for seconds in (1, 2):
        os.utime(folder / "sign_in.html", (seconds, seconds))
        assert client.get("/sign-in").text == "as it was"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"host": "0.0.0.0"}, "others can listen in"),
        ({"host": "localhost"}, "others can listen in"),
        ({"certificate": "c.pem"}, "a certificate needs its key"),
        ({"certificate": "c", "key": "k", "proxy": "1.2.3.4"}, "either the server"),
        ({"host": "::", "certificate": "c", "key": "k"}, "every address"),
        ({"proxy": "nginx"}, "'nginx' is not the address"),
    ],
)
def test_an_open_line_is_refused(options, sentence):
    with pytest.raises(UserError, match=sentence):
        Listening(**options)


def test_addresses_are_those_that_browsers_show():
    assert Listening().address == "http://127.0.0.1:8765/"
    shared = Listening("0.0.0.0", 8443, ("a.example", "::1"), "c", "k")
    assert shared.hosts == {"a.example:8443", "[::1]:8443"}
    assert shared.origins == {"https://a.example:8443", "https://[::1]:8443"}
    behind = Listening("127.0.0.1", 8765, ("a.example",), proxy="127.0.0.1")
    assert (behind.address, behind.is_local) == ("https://a.example/", False)
