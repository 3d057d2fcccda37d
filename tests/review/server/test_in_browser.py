"""The page in a real browser: by keyboard, by two at once, on a phone, with and without scripts."""

import threading
from contextlib import contextmanager

import pytest
from support.chromium import chromium
from support.reviews import PASSWORD, fold, small_review

from devnet.review.server.accounts import Accounts
from devnet.review.server.app import review_app
from devnet.review.server.doors import AccountDoor, LocalDoor
from devnet.review.server.listening import Listening
from devnet.review.server.serving import bind, make_server
from devnet.review.server.visitors import Role

SLOW = 60_000  # milliseconds
STICKS_OUT = """() => [...document.querySelectorAll("body *")].filter(
  e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg, .skip")
).map(e => e.outerHTML.slice(0, 90))"""

CUT_OFF = """() => [...document.querySelectorAll(".scroll")].filter(
  e => e.scrollWidth > e.clientWidth
).map(e => e.getAttribute("aria-label"))"""
TOO_LOW = """() => [...document.querySelectorAll("a:not(.skip), button")].filter(e => {
  const height = e.getBoundingClientRect().height;
  return height > 0 && height < 24;
}).map(e => e.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@contextmanager
def serving(review, make_door):
    """The page's address, and the door that opens it."""
    sock, listening = bind(Listening(port=0))
    door = make_door()
    server = make_server(review_app(review, door, listening), listening)
    with sock:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            yield listening.address, door
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def review(tmp_path):
    found = small_review(tmp_path, entity="shop")
    yield found
    found.close()


def is_left(request):
    """Whether the page went elsewhere before a piece of it came: the browser ends such requests."""
    pieces = ("image", "other", "xhr")
    return request.resource_type in pieces and request.failure == "net::ERR_ABORTED"


@pytest.fixture
def opened(review, browser):
    """A page of whoever started the server, and everything that goes wrong in it."""
    with serving(review, LocalDoor) as (address, door):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(SLOW)
        page, wrong = context.new_page(), []
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda request: is_left(request) or wrong.append(request.url))
        page.goto(f"{address}sign-in?token={door.token}")
        page.address, page.wrong = address, wrong
        yield page
        context.close()
        assert wrong == []


def sign_in(page, name):
    """Sign in, and wait until the page listens to keys: scripts run after its cards are there."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    with page.expect_navigation():
        page.get_by_role("button", name="Sign in").click()


def follow(page, name):
    """Go to another page, and wait until it listens to keys."""
    with page.expect_navigation():
        page.get_by_role("link", name=name).click()


def card(page):
    return page.locator("#card-id").inner_text()


def press(page, key):
    """Press a key, and wait until the card is another one."""
    before = page.locator(".verdicts input[name=token]").get_attribute("value")
    page.keyboard.press(key)
    page.locator(f".verdicts input[name=token]:not([value='{before}'])").wait_for(state="attached")


def test_the_token_leaves_the_address(opened):
    assert opened.url == opened.address


def test_cards_are_judged_by_keyboard(opened, review):
    first = card(opened)
    press(opened, "a")
    assert opened.locator("#said").inner_text() == f"{first}: an anomaly. Undo with z."
    second = card(opened)
    press(opened, "j")
    third = card(opened)
    press(opened, "k")
    assert card(opened) == second != third
    press(opened, "n")
    press(opened, "u")
    assert [event.verdict for event in review.store.events()] == ["anomaly", "normal", "unsure"]
    press(opened, "z")
    press(opened, "z")
    assert card(opened) == second
    assert review.store.labels() == {first: "anomaly"}


def focused(page):
    return page.evaluate("document.activeElement.textContent.trim()")


def test_a_new_card_has_the_focus_the_title_and_the_address(opened, review):
    opened.keyboard.press("Tab")
    opened.get_by_role("button", name="Normal").focus()
    press(opened, "Enter")
    assert [event.verdict for event in review.store.events()] == ["normal"]
    second = card(opened)
    assert focused(opened) == second
    assert opened.title() == f"{second} · payments.parquet"
    opened.keyboard.press("Tab")
    assert focused(opened).startswith("Anomaly")
    press(opened, "j")
    third = card(opened)
    assert focused(opened) == third
    assert opened.title() == f"{third} · payments.parquet"
    row = opened.locator(".verdicts input[name=row]").get_attribute("value")
    assert opened.url == f"{opened.address}?row={row}"
    with opened.expect_navigation():
        opened.go_back()
    assert (opened.url, card(opened)) == (opened.address, second)
    with opened.expect_navigation():
        opened.go_forward()
    assert card(opened) == third
    press(opened, "a")
    assert opened.url == opened.address


def test_what_happened_is_said_once(opened):
    opened.evaluate("""() => {
        window.said = [];
        const status = document.getElementById("said");
        const note = () => window.said.push(status.innerText);
        new MutationObserver(note).observe(status, {childList: true, subtree: true});
    }""")
    first = card(opened)
    press(opened, "n")
    press(opened, "j")
    press(opened, "k")
    opened.locator("#history table").wait_for()
    assert opened.evaluate("window.said") == [f"{first}: normal. Undo with z."]
    press(opened, "z")
    taken_back = f"Taken back: {first} is open again, without a label."
    assert opened.evaluate("window.said")[1:] == [taken_back]


def test_keys_that_are_typed_into_a_field_are_no_verdicts(opened, review):
    opened.keyboard.press("e")
    opened.keyboard.type("an unusual zebra")
    assert review.store.events() == []
    opened.keyboard.press("Escape")
    press(opened, "n")
    (event,) = review.store.events()
    assert event.note == "an unusual zebra"


def test_enter_leaves_the_note_and_records_nothing(opened, review):
    assert opened.locator(".verdicts button:visible").count() == 3
    opened.keyboard.press("e")
    opened.keyboard.type("a note")
    opened.keyboard.press("Enter")
    opened.wait_for_timeout(300)
    assert review.store.events() == []
    press(opened, "n")
    (event,) = review.store.events()
    assert (event.verdict, event.note) == ("normal", "a note")


def test_rows_like_it_are_judged_together_by_keyboard(opened, review):
    desk = review.desk
    (who,) = {lease.holder for lease in desk._leases}
    lease = fold(desk, who)
    opened.locator("#history table").wait_for()
    opened.reload()
    assert "and 3 rows like it" in opened.locator(".together").inner_text()
    opened.locator(".together input").click()  # keys work after a click, too
    press(opened, "a")
    assert {event.together for event in review.store.events()} == {4}
    assert [*review.store.labels()] == desk.keys.of(lease.rows)
    assert "and 3 rows like it: an anomaly" in opened.locator("#said").inner_text()
    press(opened, "z")
    assert "Taken back" in opened.locator("#said").inner_text()
    assert review.store.labels() == {}


def test_keys_are_explained(opened):
    opened.keyboard.press("?")
    assert opened.locator("dialog").is_visible()
    opened.keyboard.press("a")  # not a verdict now
    opened.keyboard.press("Escape")
    assert opened.locator("dialog").is_hidden()
    assert "Last:" not in opened.locator("aside").inner_text()


def test_the_history_of_the_entity_appears(opened):
    assert "this one" in opened.locator("#history table").inner_text()


def test_training_goes_on_in_the_background(opened, review):
    press(opened, "a")
    follow(opened, "Models")
    opened.get_by_role("button", name="Train from all verdicts").click()
    opened.locator("progress").wait_for()
    follow(opened, "Queue")
    press(opened, "n")  # meanwhile
    follow(opened, "Models")
    opened.get_by_role("button", name="Back to model 1").wait_for()  # the page shows itself anew
    assert "Model 2 ranks the rows" in opened.locator("#training").inner_text()
    assert opened.get_by_role("button", name="Train from all verdicts").is_enabled()
    assert "2 in use" in opened.locator("tr.telling").inner_text()
    follow(opened, "Board")
    assert "2" in opened.locator(".key dd").first.inner_text()


def test_the_sentence_beside_the_buttons_of_models_stands_in_their_middle(opened):
    follow(opened, "Models")
    boxes = [opened.locator(f".actions {one}").first.bounding_box() for one in ("button", ".facts")]
    button, sentence = (box["y"] + box["height"] / 2 for box in boxes)
    assert abs(button - sentence) < 1


def test_nothing_is_said_to_be_recorded_if_the_server_is_gone(opened, review):
    opened.context.set_offline(True)
    opened.keyboard.press("a")
    opened.get_by_text("The server does not answer").wait_for()
    opened.context.set_offline(False)
    opened.wrong.clear()  # the browser says so as well
    press(opened, "a")
    assert len(review.store.events()) == 1


def test_an_answer_ends_what_was_said_of_its_absence(opened):
    opened.context.set_offline(True)
    opened.keyboard.press("a")
    opened.get_by_text("The server does not answer").wait_for()
    opened.context.set_offline(False)
    opened.context.clear_cookies()  # as after a restart
    opened.keyboard.press("a")
    opened.get_by_text("Your session ended").wait_for()
    assert opened.locator("#said").inner_text() == ""
    assert opened.evaluate("document.activeElement.name") == "token"
    opened.wrong.clear()


def test_two_analysts_at_once_never_have_the_same_card(review, browser, tmp_path):
    accounts = Accounts(tmp_path / "users")
    for name in ("ana", "bo"):
        accounts.add(name, Role.ANALYST, PASSWORD)
    pages, seen = [], []
    with serving(review, lambda: AccountDoor(accounts)) as (address, _):
        for name in ("ana", "bo"):
            page = browser.new_context().new_page()
            page.set_default_timeout(SLOW)
            page.goto(address)
            sign_in(page, name)
            pages.append(page)
        for _ in range(4):
            for page in pages:
                seen.append(card(page))
                press(page, "n")
        for page in pages:
            page.context.close()
    assert len(seen) == len({*seen}) == 8
    assert [event.who for event in review.store.events()] == ["ana", "bo"] * 4
    assert {event.row for event in review.store.events()} == {*seen}


def test_a_verdict_outlasts_the_session(review, browser, tmp_path):
    accounts = Accounts(tmp_path / "users")
    accounts.add("ana", Role.ANALYST, PASSWORD)
    with serving(review, lambda: AccountDoor(accounts)) as (address, _):
        page = browser.new_context().new_page()
        page.set_default_timeout(SLOW)
        page.goto(address)
        sign_in(page, "ana")
        first = card(page)
        page.context.clear_cookies()
        page.keyboard.press("a")
        page.get_by_text("Your session ended").wait_for()
        sign_in(page, "ana")
        page.locator(".verdicts").wait_for()
        assert review.store.labels() == {first: "anomaly"}
        page.context.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_everything_fits_on_a_phone_with_and_without_scripts(scripts, opened, browser, review):
    state = opened.context.storage_state()
    context = browser.new_context(
        viewport={"width": 360, "height": 740},
        color_scheme="dark",
        java_script_enabled=scripts,
        storage_state=state,
    )
    page = context.new_page()
    page.set_default_timeout(SLOW)
    for path in ("", "judged", "board", "models", "log"):
        page.goto(opened.address + path)
        assert page.evaluate("() => document.documentElement.scrollWidth") == 360, path
        assert page.evaluate(STICKS_OUT) == [], path
    page.goto(opened.address)
    first = card(page)
    page.get_by_role("button", name="Normal").click()
    page.get_by_text(f"{first}: normal").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator(f"#card-id:text-is('{first}')").wait_for()
    assert review.store.labels() == {}
    context.close()


def test_tables_are_read_and_links_are_hit_on_a_phone(opened, browser, review):
    opened.keyboard.press("e")
    opened.keyboard.type("a note of some length on this payment")
    opened.keyboard.press("Enter")
    press(opened, "n")
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        storage_state=opened.context.storage_state(),
    )
    page = context.new_page()
    page.set_default_timeout(SLOW)
    for path in ("", "judged", "board", "models", "log"):
        page.goto(opened.address + path)
        if not path:
            page.locator("#history table").wait_for()
        assert page.evaluate(CUT_OFF) == [], path
        assert page.evaluate(TOO_LOW) == [], path
        assert "Undo with z" not in page.locator("body").inner_text()
        assert "press" not in page.content()
    page.goto(f"{opened.address}judged")
    assert page.get_by_role("button", name="Reopen").bounding_box()["x"] < 390
    (note,) = page.locator("td[data-label=Note]").all()
    label = "getComputedStyle(document.querySelector('td[data-label=Note]'), '::before').content"
    assert page.evaluate(label) == '"Note"'
    assert note.is_visible()
    context.close()


def test_script_in_a_cell_is_text(tmp_path, browser):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from devnet.review.desk.review import open_review

    nasty = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
    ids = [f"../../{i}?a=b&<b>'\"" for i in range(50)]
    table = pa.table({"id": ids, "shop": [nasty] * 25 + ["x"] * 25, "amount": range(50)})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    review = open_review(path, tmp_path / "review.db", who=nasty[:50], id_column="id")
    with serving(review, LocalDoor) as (address, door):
        page = browser.new_context().new_page()
        dialogs = []
        page.on("dialog", lambda dialog: dialogs.append(dialog) or dialog.dismiss())
        page.goto(f"{address}sign-in?token={door.token}")
        assert card(page) in ids
        for verdict in ("a", "n"):
            press(page, verdict)
        for path in ("judged", "log", "models", "board"):
            page.goto(address + path)
            assert "taken" not in page.title()
        assert {*review.store.labels()} <= {*ids}
        page.context.close()
    review.close()
    assert dialogs == []
