"""Verdicts that are taken back: undo, reopened rows, and what the page says of them."""

import re

from support.reviews import (
    PASSWORD,
    Page,
    card_id,
    open_for,
)

from devnet.review.events import GivenLabel, standing
from devnet.review.server.doors import user_name
from devnet.review.store import LabelStore


def said(answer):
    """What the status line says."""
    return re.search(r'role="status"[^>]*>(.*?)</p>', answer.text, re.S)[1]


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


def test_an_undone_card_that_is_open_already_is_there_once(review, browser):
    row = browser.see().form("/verdict")["row"]
    browser.judge("normal")
    browser.get("/", row=row)
    browser.post("/undo")
    assert [str(one.leader.row) for one in review.desk.hand(user_name())].count(row) == 1
    browser.judge("anomaly")
    assert browser.see().form("/verdict")["row"] != row


def test_undo_goes_on_with_earlier_verdicts_if_the_last_was_overruled(review, browser, tmp_path):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    second = card_id(browser.get("/").text)
    browser.judge("normal")
    with LabelStore(tmp_path / "review.db") as other:
        other.take_over([GivenLabel(second, "anomaly", "", "bo")], replace=True)
    assert f"{second} is with somebody else now (anomaly, by bo)" in browser.post("/undo").text
    browser.post("/undo")
    assert review.store.labels() == {second: "anomaly"}
    assert card_id(browser.get("/").text) == first


def test_undo_takes_ones_own_verdicts_on_a_row_back_one_by_one(review, browser):
    row = browser.see().form("/verdict")["row"]
    browser.judge("anomaly")
    browser.judge("normal", browser.see(row=row))
    browser.post("/undo")
    assert [*review.store.labels().values()] == ["anomaly"]
    browser.post("/undo")
    assert review.store.labels() == {}
    assert "no verdict of yours to undo" in browser.post("/undo").text


def test_a_later_label_is_not_taken_away_unseen(review, browser, tmp_path):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    fields = browser.see("/judged").form("/reopen")
    with LabelStore(tmp_path / "review.db") as other:
        other.take_over([GivenLabel(first, "anomaly", "", "bo")], replace=True)
    refused = browser.post("/reopen", **fields)
    assert f"{first} was judged meanwhile: anomaly, by bo" in refused.text
    assert review.store.labels() == {first: "anomaly"}


def test_a_reopening_that_is_sent_again_takes_nothing_away(review, browser):
    row = browser.see().form("/verdict")["row"]
    browser.judge("normal")
    fields = browser.see("/judged").form("/reopen")
    browser.post("/reopen", **fields)
    browser.judge("anomaly", browser.see(row=row))
    assert browser.post("/reopen", **fields).status_code == 200
    assert [*review.store.labels().values()] == ["anomaly"]
    assert not review.desk._queue.is_open(int(row))


def test_what_was_taken_back_is_told(browser):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    undone = browser.post("/undo").text
    assert "Taken back" in undone
    assert f"{first}: normal" not in undone
    assert f"Taken back: {first} is open again, without a label." in undone
    browser.judge("normal")
    reopened = browser.post("/reopen", **browser.see("/judged").form("/reopen")).text
    assert f"Reopened: {first} is open again, without a label." in reopened
    assert f"Reopened by {user_name()}." in reopened


def test_an_undo_tells_which_verdict_counts_again(browser, review):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    browser.judge("anomaly", browser.see("/search", id=first))
    assert (
        said(browser.post("/undo"))
        == f"Taken back: {first} is normal again, by the verdict before."
    )
    assert review.store.labels() == {first: "normal"}


def test_a_reopened_row_that_the_table_labels_is_told_as_it_is(browser, review):
    row = int(review.desk._known[0])
    (key,) = review.desk.keys.of([row])
    browser.judge("normal", browser.see(row=row))
    answer = browser.post("/reopen", **browser.see("/judged").form("/reopen"))
    assert card_id(answer.text) == key
    assert said(answer) == (
        f"Reopened: {key} has no verdict now, and the table&#39;s own label counts again."
    )
    assert not review.desk._queue.is_open(row)  # it will not be dealt


def test_a_row_that_somebody_else_has_open_is_reopened_and_told_so(review, tmp_path):
    ana, bo = open_for(review, tmp_path, "ana", "bo")
    first = card_id(ana.get("/").text)
    ana.judge("normal")
    assert card_id(bo.get("/search", id=first).text) == first
    answer = ana.post("/reopen", **ana.see("/judged").form("/reopen"))
    assert answer.status_code == 200
    assert (
        said(answer)
        == f"Reopened: {first} is open again, without a label. bo is looking at it now."
    )
    assert card_id(answer.text) != first
    assert review.store.labels() == {}
    assert review.desk.holder(review.desk.names.find(first)) == "bo"


def test_a_row_that_was_judged_since_it_was_reopened_is_told(review, browser):
    row = browser.see().form("/verdict")["row"]
    browser.judge("normal")
    first = review.store.events()[0].row
    browser.post("/reopen", **browser.see("/judged").form("/reopen"))
    browser.judge("anomaly", browser.see(row=row))
    later = browser.get("/", row=row, done="reopened")
    assert said(later) == f"Judged since: {first} is an anomaly now, by {user_name()}."


def test_an_undo_outlasts_the_session(review, tmp_path):
    (ana,) = open_for(review, tmp_path, "ana")
    first = card_id(ana.get("/").text)
    ana.judge("normal")
    ana.client.cookies.clear()
    refused = ana.post("/undo")
    assert refused.status_code == 401
    assert "What you just sent is kept in this form" in refused.text
    assert review.store.labels() == {first: "normal"}
    fields = Page(refused.text).form("/sign-in")
    ana.post("/sign-in", **fields, name="ana", password=PASSWORD)
    assert review.store.labels() == {}
    assert card_id(ana.get("/").text) == first
