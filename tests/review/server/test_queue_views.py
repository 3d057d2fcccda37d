"""Analysts work: cards, verdicts, undo, search, and what may go wrong."""

import pytest
from support.reviews import card_id, open_for, open_locally, small_review, write_table

from devnet.review.desk.desk import Verdict
from devnet.review.desk.leases import LEASE_SECONDS
from devnet.review.events import standing


@pytest.fixture
def review(tmp_path):
    found = small_review(tmp_path)
    yield found
    found.store.close()


@pytest.fixture
def browser(review):
    return open_locally(review)


def verdicts(review):
    return [(event.row, event.verdict) for event in review.store.events()]


def test_a_card_has_its_reasons_and_its_values_beside_typical_ones(browser, review):
    page = browser.get("/").text
    first = card_id(page)
    row = review.desk.find(first)
    found = review.desk.shelf.explained([row])[0]
    for part in (found.id, found.reasons[0].column, "Why it stands out", "typical"):
        assert part in page
    assert f"Most like: {found.nearest}" in page
    assert "fraud" not in browser.see().text  # the label is not shown


def test_the_highest_row_that_nobody_judged_comes_first(browser, review):
    known = {*review.desk._known.tolist()}
    scores = review.desk.ranked.scores
    order = [row for row in (-scores).argsort(kind="stable").tolist() if row not in known]
    (key,) = review.desk.keys.of(order[:1])
    assert card_id(browser.get("/").text) == key
    assert known


def test_a_verdict_is_recorded_with_all_that_is_known(browser, review):
    first = card_id(browser.get("/").text)
    answer = browser.judge("anomaly", note="called\r\nthe customer ")
    assert [one.status_code for one in (*answer.history, answer)] == [303, 200]
    (event,) = review.store.history(first)
    assert (event.verdict, event.note, event.together) == ("anomaly", "called\nthe customer", 1)
    assert (event.model, event.reason, event.rank >= 1) == (1, "highest", True)
    assert event.dealt_at <= event.at
    assert card_id(answer.text) != first
    assert f"{first}: an anomaly. Undo with z." in answer.text


def test_a_verdict_that_is_sent_twice_is_recorded_once(browser, review):
    fields = {**browser.see().form("/verdict"), "verdict": "normal"}
    assert browser.post("/verdict", **fields).status_code == 200
    assert browser.post("/verdict", **fields).status_code == 200
    assert len(review.store.events()) == 1


def test_undo_brings_the_card_back(browser, review):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    browser.judge("anomaly")
    browser.post("/undo")
    answer = browser.post("/undo")
    assert card_id(answer.text) == first
    assert review.store.labels() == {}
    assert standing(review.store.events()) == []
    refused = browser.post("/undo")
    assert refused.status_code == 409
    assert "no verdict of yours to undo" in refused.text


def test_an_undone_card_can_be_judged_again(browser, review):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    browser.post("/undo")
    browser.judge("anomaly")
    assert review.store.labels() == {first: "anomaly"}


def test_reopening_takes_the_label_away(browser, review):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    page = browser.see("/judged")
    answer = browser.post("/reopen", **page.form("/reopen"))
    assert card_id(answer.text) == first
    assert review.store.labels() == {}


def test_judged_rows_are_filtered(browser):
    ids = []
    for verdict in ("anomaly", "normal", "unsure"):
        ids.append(card_id(browser.get("/").text))
        browser.judge(verdict, note=f"note of {verdict}")
    shown = browser.get("/judged", verdict="normal").text
    assert [one in shown for one in ids] == [False, True, False]
    assert "note of unsure" in browser.get("/judged", text="OF UNSURE").text
    assert "No row fits" in browser.get("/judged", who="nobody").text


def test_rows_are_found_by_id_and_by_number(browser, review):
    (key,) = review.desk.keys.of([5])
    assert card_id(browser.get("/search", id=f" {key} ").text) == key
    assert card_id(browser.get("/search", id="row 5").text) == key
    missing = browser.get("/search", id="../../etc/passwd")
    assert missing.status_code == 409
    assert "there is no row &#39;../../etc/passwd&#39;" in missing.text


def test_a_row_that_was_searched_for_is_no_random_sample(browser, review):
    page = browser.see("/search", id="row 5")
    browser.judge("normal", page)
    assert review.store.events()[0].reason == "chosen"


def test_no_card_is_dealt_to_two_people(review, tmp_path):
    ana, bo = open_for(review, tmp_path, "ana", "bo")
    hands = [{one["href"] for one in who.see().links if "row=" in one["href"]} for who in (ana, bo)]
    assert len(hands[0]) == len(hands[1]) == 6
    assert not hands[0] & hands[1]
    row = min(hands[0]).removeprefix("/?row=")
    refused = bo.get("/", row=row)
    assert refused.status_code == 409
    assert "being looked at by ana" in refused.text


def test_a_lease_that_is_not_renewed_returns(review, tmp_path):
    now = [0.0]
    review.desk._clock = lambda: now[0]
    ana, bo = open_for(review, tmp_path, "ana", "bo")
    page = ana.see()
    now[0] = LEASE_SECONDS - 1
    assert ana.post("/lease").status_code == 204
    now[0] += LEASE_SECONDS - 1
    assert card_id(bo.get("/").text) != card_id(ana.get("/").text)
    now[0] += LEASE_SECONDS
    fields = {**page.form("/verdict"), "verdict": "anomaly"}
    assert bo.see().form("/verdict")["row"] == fields["row"]  # the highest one again
    late = ana.post("/verdict", **fields)
    assert late.status_code == 409
    assert "looked at by bo" in late.text
    assert review.store.events() == []


def test_a_late_verdict_counts_if_nobody_else_has_the_card(review, browser):
    now = [0.0]
    review.desk._clock = lambda: now[0]
    fields = {**browser.see().form("/verdict"), "verdict": "anomaly"}
    now[0] += 10 * LEASE_SECONDS
    assert browser.post("/verdict", **fields).status_code == 200
    assert len(review.store.events()) == 1


def test_a_verdict_on_a_card_that_was_judged_meanwhile_is_refused(review, browser):
    old = browser.see()
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    late = browser.judge("anomaly", old, token="another")
    assert late.status_code == 409
    assert f"{first} was judged meanwhile: normal" in late.text
    assert review.store.labels() == {first: "normal"}


def test_a_verdict_on_a_row_that_is_gone_is_refused(review, browser):
    fields = {**browser.see().form("/verdict"), "verdict": "anomaly"}
    for change in ({"row": "599999"}, {"mark": "0" * 16}, {"row": "1"}):
        refused = browser.post("/verdict", **{**fields, **change})
        assert refused.status_code == 409
        assert "recorded" in refused.text
    assert review.store.events() == []


@pytest.mark.parametrize(
    "change", [{"row": "-1"}, {"row": "x"}, {"verdict": "maybe"}, {"seen": "1e3"}, {"token": ""}]
)
def test_nonsense_is_refused_in_a_sentence(change, review, browser):
    fields = {**browser.see().form("/verdict"), "verdict": "anomaly"}
    assert browser.post("/verdict", **{**fields, **change}).status_code == 409
    assert review.store.events() == []


def test_folded_rows_are_judged_together_on_request(review, browser):
    desk = review.desk
    lease = desk.hand("boot")[0]
    others = [one for one in range(600) if desk.holder(one) is None][:3]
    lease.like_it = tuple(map(desk.ranked.standing, others))
    desk._queue.hold(others)
    desk._leases.give(lease, desk._clock())
    keys = desk.keys.of(lease.rows)
    said = Verdict(lease.leader.row, desk.mark(lease.leader.row), "normal", 0, "t", together=True)
    events = desk.judge("boot", said)
    assert [(event.row, event.together) for event in events] == [(key, 4) for key in keys]
    desk.undo("boot")
    assert review.store.labels() == {}
    assert desk.holder(others[0]) == "boot"
    desk.judge("boot", said._replace(seen=events[0].number + 4, token="u", together=False))
    assert [*review.store.labels()] == keys[:1]
    assert desk.holder(others[0]) is None  # they will be dealt again


def test_a_table_that_is_replaced_under_the_page_is_refused(tmp_path):
    review = small_review(tmp_path)
    browser = open_locally(review)
    page = browser.see()
    write_table(tmp_path, 300)
    refused = browser.get("/", row="1")
    assert refused.status_code == 409
    assert "was changed" in refused.text
    assert browser.judge("normal", page).status_code in (200, 409)
    assert len(review.store.events()) == 1  # the verdict was about what was seen


def test_only_what_is_asked_for_is_sent_to_a_page_that_is_there(browser):
    part = browser.client.get("/", headers={"hx-request": "true"}).text
    assert part.startswith('<main id="main"')
    assert "<html" not in part


def test_the_history_of_an_entity_is_shown(tmp_path):
    review = small_review(tmp_path, entity="shop")
    browser = open_locally(review)
    row = browser.see().form("/verdict")["row"]
    shown = browser.get("/history", row=row).text
    assert "shop casino" in shown
    assert "this one" in shown
    assert (
        "No column names entities"
        in open_locally(small_review(tmp_path)).get("/history", row=row).text
    )
