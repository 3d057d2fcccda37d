"""Who may come in, and what becomes of a form whose session has ended."""

import stat

import pytest
from support.review_site import SHARED, local_site, shared_site

from devnet.core.sentence import UserError
from devnet.review.server.accounts import SESSION_SECONDS, Accounts
from devnet.review.server.attempts import BY_ACCOUNT, BY_ADDRESS, MOST_KEPT, WINDOW, Attempts
from devnet.review.server.visitors import Role

PASSWORD = "correct horse battery"


@pytest.fixture
def accounts(tmp_path):
    found = Accounts(tmp_path / "review.db.users")
    found.add("ana", Role.ANALYST, PASSWORD)
    found.add("lena", Role.LEAD, PASSWORD)
    return found


def sign_in(client, name="ana", password=PASSWORD, **more):
    return client.post("/sign-in", data={"name": name, "password": password, **more})


def test_the_printed_address_opens_the_page_once():
    notes, token = local_site()
    client = notes.client()
    assert client.get("/").status_code == 401
    entered = client.get("/sign-in", params={"token": token})
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert cookie.startswith("devnet-review-8765=")
    assert {"httponly", "samesite=strict", "path=/"} <= {*cookie.split("; ")}
    assert token.lower() not in cookie
    assert client.get("/").status_code == 200
    again = notes.client().get("/sign-in", params={"token": token})
    assert again.status_code == 401
    assert "used already" in again.text


def test_a_wrong_token_does_not_use_up_the_right_one():
    notes, token = local_site()
    assert notes.client().get("/sign-in", params={"token": "wrong"}).status_code == 401
    assert notes.client().get("/sign-in", params={"token": token}).status_code == 303


def test_whoever_started_the_server_is_a_lead_and_can_leave():
    notes, token = local_site()
    client = notes.client()
    client.get("/sign-in", params={"token": token})
    assert client.get("/log").text == "log"
    ticket = dict(client.cookies)
    assert client.post("/sign-out").status_code == 303
    client.cookies.update(ticket)  # kept by somebody, and worthless
    assert client.get("/").status_code == 401


def test_accounts_sign_in_by_password_with_a_secure_cookie(accounts):
    client = shared_site(accounts).client(peer=SHARED.proxy)
    assert sign_in(client, password="wrong").status_code == 401
    entered = sign_in(client)
    cookie = entered.headers["set-cookie"].lower()
    assert cookie.startswith("__host-devnet-review-443=")
    assert {"secure", "httponly", "samesite=strict"} <= {*cookie.split("; ")}
    assert client.get("/").text == "ana"
    assert client.get("/log").status_code == 403


def test_sessions_end_after_a_day_and_with_the_account(accounts):
    now = [1e9]
    notes = shared_site(accounts, clock=lambda: now[0])
    client, other = notes.client(peer=SHARED.proxy), notes.client(peer=SHARED.proxy)
    sign_in(client)
    sign_in(other, "lena")
    now[0] += SESSION_SECONDS - 1
    assert client.get("/").status_code == 200
    accounts.change_password("lena", "another long secret")
    assert other.get("/").status_code == 401
    accounts.remove("ana")
    assert client.get("/").status_code == 401
    sign_in(other, "lena", "another long secret")
    now[0] += SESSION_SECONDS
    assert other.get("/").status_code == 401


def test_a_form_outlasts_its_session(accounts):
    now = [1e9]
    notes = shared_site(accounts, clock=lambda: now[0])
    client = notes.client(peer=SHARED.proxy)
    sign_in(client)
    now[0] += SESSION_SECONDS
    sent = {"verdict": "anomaly", "note": 'say "<b>"\n&c', "then": "/elsewhere"}
    refused = client.post("/keep", data=sent)
    assert refused.status_code == 401
    assert "kept in this form" in refused.text
    assert notes.kept == []
    fields = hidden_fields(refused.text)
    wrong = sign_in(client, password="wrong", **fields)
    assert hidden_fields(wrong.text) == fields  # still kept
    assert sign_in(client, **fields).status_code == 303
    assert notes.kept == [("ana", sent)]
    assert client.get("/").text == "ana"


def hidden_fields(page):
    from html.parser import HTMLParser

    found = {}

    class Inputs(HTMLParser):
        def handle_starttag(self, tag, attributes):
            given = dict(attributes)
            if tag == "input" and given.get("type") == "hidden":
                found[given["name"]] = given["value"]

    Inputs().feed(page)
    return found


def test_only_some_forms_are_kept(accounts):
    notes = shared_site(accounts)
    client = notes.client(peer=SHARED.proxy)
    sign_in(client, then="/log", kept_a="b")
    sign_in(client, then="/sign-out", kept_a="b")
    assert notes.kept == []
    assert client.get("/").status_code == 200


def test_sign_in_is_limited_by_account_and_by_address(accounts):
    now = [0.0]
    notes = shared_site(accounts, stopwatch=lambda: now[0])
    client = notes.client(peer=SHARED.proxy)
    for _ in range(BY_ACCOUNT):
        sign_in(client, password="wrong")
    refused = sign_in(client)
    assert "try again in 15 minutes" in refused.text
    assert refused.status_code == 401
    assert sign_in(client, "lena").status_code == 303  # from the same address
    now[0] += WINDOW
    assert sign_in(client).status_code == 303


def test_an_address_may_not_try_many_accounts():
    attempts = Attempts()
    for i in range(BY_ADDRESS):
        assert attempts.admit(f"name{i}", "203.0.113.9", i) == 0
    assert attempts.admit("another", "203.0.113.9", BY_ADDRESS) == WINDOW - BY_ADDRESS
    assert attempts.admit("another", "203.0.113.10", BY_ADDRESS) == 0
    assert attempts.admit("another", "203.0.113.9", WINDOW) == 0


def test_a_success_takes_back_only_its_own_attempt():
    attempts = Attempts()
    for i in range(BY_ADDRESS - 1):
        attempts.admit(f"name{i}", "203.0.113.9", 0)
    attempts.admit("own", "203.0.113.9", 0)
    attempts.succeeded("own", "203.0.113.9")
    assert attempts.admit("x", "203.0.113.9", 1) == 0
    assert attempts.admit("y", "203.0.113.9", 1) > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [("2001:db8::1", "2001:db8::ffff:1"), ("::ffff:203.0.113.9", "203.0.113.9")],
)
def test_addresses_of_one_household_count_together(one, other):
    attempts = Attempts()
    for i in range(BY_ADDRESS):
        attempts.admit(f"name{i}", one, 0)
    assert attempts.admit("another", other, 1) > 0


def test_what_is_remembered_is_bounded():
    attempts = Attempts()
    for i in range(12_000):
        attempts.admit(f"name{i}", f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}", i / 1000)
    assert len(attempts._times) <= 10_000


def test_nobody_is_forgotten_for_attempts_that_were_refused():
    attempts = Attempts()
    for _ in range(BY_ACCOUNT):
        attempts.admit("lead", "203.0.113.9", 0)
    for i in range(MOST_KEPT + BY_ADDRESS):
        attempts.admit(f"name{i}", "203.0.113.10", 1)
    assert attempts.admit("lead", "203.0.113.11", 2) > 0


def test_the_file_of_accounts_is_private_and_has_neither_passwords_nor_tickets(accounts):
    visitor = accounts.with_password("ANA", PASSWORD)
    assert visitor.name == "ana"
    ticket = accounts.sign_in(visitor, 0.0)
    content = accounts.path.read_bytes()
    assert stat.S_IMODE(accounts.path.stat().st_mode) == 0o600
    assert b"argon2id" in content
    assert PASSWORD.encode() not in content
    assert ticket.encode() not in content
    accounts.path.chmod(0o644)
    Accounts(accounts.path)
    assert stat.S_IMODE(accounts.path.stat().st_mode) == 0o600


def test_accounts_say_what_is_wrong(accounts, tmp_path):
    with pytest.raises(UserError, match="ANA has an account already"):
        accounts.add("ANA", Role.LEAD, PASSWORD)
    with pytest.raises(UserError, match="at least 10 characters"):
        accounts.add("bo", Role.LEAD, "short")
    with pytest.raises(UserError, match="does not contain the name"):
        accounts.add("boris", Role.LEAD, "boris-boris-boris")
    with pytest.raises(UserError, match="cannot be the name"):
        accounts.add("bo\x1b", Role.LEAD, PASSWORD)
    with pytest.raises(UserError, match="bo has no account; accounts: ana, lena"):
        accounts.remove("bo")
    other = tmp_path / "notes.txt"
    other.write_text("not a database, but a text that is long enough to be looked at")
    with pytest.raises(OSError, match="cannot be read or written: file is not a database"):
        Accounts(other)


def test_accounts_that_cannot_be_read_get_a_sentence_and_lose_nothing(accounts, monkeypatch):
    notes = shared_site(accounts)
    client = notes.client(peer=SHARED.proxy)
    sign_in(client)

    def broken(*given):
        raise OSError("the accounts cannot be read: the disk is gone.")

    sent = {"verdict": "anomaly", "note": "called the customer"}
    with monkeypatch.context() as patched:
        patched.setattr(Accounts, "signed_in", broken)
        refused = client.post("/keep", data=sent, headers={"hx-request": "true"})
        assert refused.status_code == 503
        assert "the disk is gone" in refused.text
        assert "called the customer" in refused.text
        assert "<html" not in refused.text  # a part of a page was asked for
    with monkeypatch.context() as patched:
        patched.setattr(Accounts, "with_password", broken)
        fields = {"then": "/keep", "kept_note": "called the customer"}
        refused = sign_in(client, **fields)
        assert (refused.status_code, hidden_fields(refused.text)) == (503, fields)
    assert notes.kept == []
    client.post("/keep", data=sent)
    assert notes.kept == [("ana", sent)]
