"""Analysts work: cards, verdicts, search, and what may go wrong."""

from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.reviews import (
    Page,
    card_id,
    fold,
    open_for,
    open_locally,
    small_review,
    write_table,
)

from devnet.core.sentence import UserError
from devnet.review.desk.leases import LEASE_SECONDS
from devnet.review.desk.ranked_table import RankedTable
from devnet.review.desk.review import open_review
from devnet.review.desk.verdicts import DeskError, Verdict
from devnet.review.events import GivenLabel
from devnet.review.store import LabelStore


def test_a_card_has_its_reasons_and_its_values_beside_typical_ones(browser, review):
    page = browser.get("/").text
    first = card_id(page)
    row = review.desk.names.find(first)
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
    assert f"{first}: an anomaly. Undo with z." in Page(answer.text).text


def test_a_verdict_that_is_sent_twice_is_recorded_once(browser, review):
    fields = {**browser.see().form("/verdict"), "verdict": "normal"}
    assert browser.post("/verdict", **fields).status_code == 200
    assert browser.post("/verdict", **fields).status_code == 200
    assert len(review.store.events()) == 1


def test_a_verdict_that_a_full_disk_refused_is_recorded_when_it_is_sent_again(browser, review):
    def filled_in():
        return {**browser.see().form("/verdict"), "verdict": "anomaly", "note": "x" * 2000}

    writer = review.store._connections.writer
    (most,), (used,) = (
        writer.execute(f"PRAGMA {name}").fetchone() for name in ("max_page_count", "page_count")
    )
    writer.execute(f"PRAGMA max_page_count = {used}")
    fields = filled_in()
    while (answer := browser.post("/verdict", **fields)).status_code == 200:  # free space in pages
        fields = filled_in()
    n_recorded = len(review.store.events())
    assert "the disk is full, or does not answer" in Page(answer.text).text
    assert card_id(browser.get("/").text)  # the page goes on
    writer.execute(f"PRAGMA max_page_count = {most}")
    for _ in range(2):
        assert browser.post("/verdict", **fields).status_code == 200
    assert len(review.store.events()) == n_recorded + 1


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
    assert "There is no row &#39;../../etc/passwd&#39;" in missing.text


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
    lease = fold(desk, "boot")
    others = [one.row for one in lease.like_it]
    keys = desk.keys.of(lease.rows)
    said = Verdict(
        lease.leader.row, desk.names.mark(lease.leader.row), "normal", 0, "t", together=True
    )
    events = desk.judge("boot", said)
    assert [(event.row, event.together) for event in events] == [(key, 4) for key in keys]
    desk.undo("boot")
    assert review.store.labels() == {}
    assert desk.holder(others[0]) == "boot"
    desk.judge("boot", said._replace(seen=events[0].number + 4, token="u", together=False))
    assert [*review.store.labels()] == keys[:1]
    assert desk.holder(others[0]) is None  # they will be dealt again


def about(desk, lease, verdict="normal", **more):
    row = lease.leader.row
    said = {"seen": 0, "token": f"{verdict} {row}", "together": True} | more
    return Verdict(row, desk.names.mark(row), verdict, **said)


def test_a_card_that_was_taken_back_is_judged_as_it_was_shown(review):
    desk, now = review.desk, [0.0]
    desk._clock = lambda: now[0]
    lease = fold(desk, "ana")
    keys, shown = desk.keys.of(lease.rows), lease.leader
    now[0] += 2 * LEASE_SECONDS
    assert desk.holder(lease.leader.row) is None
    events = desk.judge("ana", about(desk, lease))
    assert [(event.row, event.together) for event in events] == [(key, 4) for key in keys]
    first = events[0]
    assert (first.reason, first.score, first.rank) == ("highest", shown.score, shown.rank)


def test_a_folded_card_is_judged_as_a_whole_or_not_at_all(review):
    desk, now = review.desk, [0.0]
    desk._clock = lambda: now[0]
    lease = fold(desk, "ana")
    now[0] += 2 * LEASE_SECONDS
    assert desk.open("bo", lease.like_it[0].row).holder == "bo"
    with pytest.raises(DeskError, match="not all rows that were folded"):
        desk.judge("ana", about(desk, lease))
    assert review.store.events() == []
    (event,) = desk.judge("ana", about(desk, lease, together=False))
    assert event.together == 1
    other = desk.hand("ana")[0]  # as after a restart: nobody knows what was folded
    with pytest.raises(DeskError, match="not all rows that were folded"):
        desk.judge("ana", about(desk, other))


def test_everybody_keeps_the_card_that_they_look_at_when_models_change(review):
    desk, model = review.desk, review.desk.ranked
    third = desk.hand("ana")[2]
    desk.look_at(third)
    desk.switch(RankedTable(model.opened, -model.scores, 2))
    assert third.leader.row not in [one.leader.row for one in desk.hand("bo")]
    assert desk.hand("ana")[0] is third
    desk.judge("ana", about(desk, third, together=False))
    assert len(review.store.events()) == 1


def test_without_a_look_everybody_keeps_the_first_card_when_models_change(review):
    desk = review.desk
    before = desk.hand("ana")
    model = review.desk.ranked
    desk.switch(RankedTable(model.opened, -model.scores, 2))
    after = desk.hand("ana")
    assert after[0] is before[0]
    assert {one.leader.row for one in after[1:]}.isdisjoint(one.leader.row for one in before)
    (event,) = desk.judge("ana", about(desk, before[3], together=False))
    assert (event.model, event.reason) == (1, before[3].dealt.reason)
    assert event.score == before[3].leader.score


def test_what_is_judged_while_a_queue_is_made_is_not_dealt_again(review, monkeypatch):
    desk = review.desk
    lease, make = desk.hand("ana")[0], desk._make_queue

    def meanwhile(*given):
        queue = make(*given)
        desk.judge("ana", about(desk, lease, together=False))
        return queue

    monkeypatch.setattr(desk, "_make_queue", meanwhile)
    desk.switch(desk.ranked)
    assert not desk._queue.is_open(lease.leader.row)
    assert lease.leader.row not in [one.leader.row for one in desk.hand("ana")]


def test_the_same_token_with_another_verdict_is_refused(review, browser):
    fields = {**browser.see().form("/verdict"), "verdict": "anomaly"}
    browser.post("/verdict", **fields)
    refused = browser.post("/verdict", **{**fields, "verdict": "normal"})
    assert refused.status_code == 409
    assert "anomaly, is recorded already, so normal was not" in refused.text


def test_two_pages_of_one_person_do_not_contradict_each_other(review, monkeypatch):
    desk = review.desk
    lease, add = desk.hand("ana")[0], review.store.add

    def slowly(*given, **more):
        with pytest.raises(DeskError, match="is being recorded right now"):
            desk.judge("ana", about(desk, lease, "anomaly", together=False))
        desk._clock = lambda: 1e9  # a lease does not run out while its verdict is written
        assert desk.holder(lease.leader.row) == "ana"
        return add(*given, **more)

    monkeypatch.setattr(review.store, "add", slowly)
    desk.judge("ana", about(desk, lease, "normal", together=False))
    assert [event.verdict for event in review.store.events()] == ["normal"]


def test_a_verdict_from_elsewhere_is_not_overruled_unseen(review, browser, tmp_path):
    page = browser.see()
    first = card_id(browser.get("/").text)
    with LabelStore(tmp_path / "review.db") as other:  # such as devnet labels import
        other.take_over([GivenLabel(first, "anomaly", "", "bo")])
    refused = browser.judge("normal", page)
    assert f"{first} was judged meanwhile: anomaly, by bo" in refused.text
    assert review.store.labels() == {first: "anomaly"}
    assert card_id(browser.get("/").text) != first


def test_labels_that_were_imported_meanwhile_count_from_the_next_model_on(review, tmp_path):
    desk = review.desk
    first = desk.keys.of([one.leader.row for one in desk.hand("ana")])
    with LabelStore(tmp_path / "review.db") as other:
        other.take_over([GivenLabel(name, "normal", "", "bo") for name in first])
    desk.switch(desk.ranked)
    assert {*desk.latest()} == {*first}
    dealt = desk.keys.of([one.leader.row for one in desk.hand("bo")])
    assert {*dealt}.isdisjoint(first)


def test_rows_that_were_only_looked_up_do_not_stay(browser):
    first = card_id(browser.get("/").text)
    browser.judge("normal")
    second = card_id(browser.get("/").text)
    assert card_id(browser.get("/search", id=first).text) == first
    assert card_id(browser.get("/").text) == second


def test_rows_without_an_id_are_called_by_their_number(tmp_path):
    table = pa.table({"amount": [i % 7 for i in range(50)], "shop": ["a", "b"] * 25})
    pq.write_table(table, tmp_path / "t.parquet")
    review = open_review(tmp_path / "t.parquet", tmp_path / "r.db", who="boot")
    browser = open_locally(review)
    first = card_id(browser.get("/").text)
    assert first.startswith("row ")
    assert f"{first}: normal. Undo with z." in Page(browser.judge("normal").text).text
    for path in ("/judged", "/log"):
        assert first in browser.get(path).text
    review.close()


def test_labels_of_the_table_are_told(review, browser):
    row = int(review.desk._known[0])
    assert "The table itself labels it as an anomaly" in browser.get("/", row=str(row)).text
    assert "The table itself" not in browser.get("/").text


@pytest.mark.parametrize("path", ["/history?row=999999", "/search?id=" + "9" * 5000, "/?row=700"])
def test_rows_that_are_not_there_get_a_sentence(path, tmp_path):
    browser = open_locally(small_review(tmp_path, entity="shop"))
    answer = browser.client.get(path)
    assert (answer.status_code, "There is no row" in answer.text) == (409, True)


def test_blocks_of_rows_are_folded_before_they_are_dealt(review, monkeypatch):
    desk = review.desk
    monkeypatch.setattr("devnet.review.queue.FOLDED_AT_ONCE", 50)
    desk.switch(RankedTable(desk.ranked.opened, desk.ranked.scores, 1))
    desk.read_ahead()
    assert len(desk.ranked._folded) >= 2
    monkeypatch.setattr(RankedTable, "_fold", lambda *given: pytest.fail("the desk has to wait"))
    for _ in range(8):
        desk.judge("ana", about(desk, desk.hand("ana")[0], together=False))


def test_a_table_that_is_replaced_under_the_page_is_refused(tmp_path):
    review = small_review(tmp_path)
    browser = open_locally(review)
    page = browser.see()
    write_table(tmp_path, 300)
    refused = browser.get("/", row="1")
    assert refused.status_code == 409
    assert "was changed" in refused.text
    verdict = browser.judge("normal", page, note="a regular customer")
    assert verdict.status_code == 409
    assert "was changed since this page was started, so nothing was recorded" in verdict.text
    assert "Your note was: a regular customer" in verdict.text
    assert review.store.events() == []
    with pytest.raises(UserError, match="was changed since"):
        review.train("lena")


def test_only_what_is_asked_for_is_sent_to_a_page_that_is_there(browser):
    part = browser.client.get("/", headers={"hx-request": "true"}).text
    title = f"<title>{card_id(part)} · payments.parquet</title>\n"
    assert part.startswith(f'{title}<main id="main"')
    assert "<html" not in part


def test_a_piece_of_a_page_leaves_its_title_and_its_status(tmp_path):
    browser = open_locally(small_review(tmp_path, entity="shop"))
    for path in ("/history?row=1", "/training"):
        piece = browser.client.get(path, headers={"hx-request": "true"}).text
        assert piece.startswith('<main id="main"')
        assert "hx-swap-oob" not in piece


def test_values_are_written_as_people_write_them(tmp_path):
    n_rows, midnight = 60, datetime(2026, 3, 1)
    amounts = [10615.764036397875, 5000.0, 1234.5] * 20
    table = {"id": [f"P{i}" for i in range(n_rows)], "amount": amounts, "kind": ["a", "b"] * 30}
    table["day"] = [midnight] * 30 + [midnight.replace(hour=7)] * 30
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    review = open_review(tmp_path / "t.parquet", tmp_path / "r.db", who="boot", id_column="id")
    browser = open_locally(review)
    page = browser.get("/", row="0").text
    assert '<td class="own" title="10615.764036397875">10,616</td>' in page
    assert '<td class="own" title="2026-03-01 00:00:00">2026-03-01</td>' in page
    assert '<td class="own" title="5000.0">5000</td>' in browser.get("/", row="1").text
    assert '<td class="own" title="1234.5">1,234.5</td>' in browser.get("/", row="2").text
    assert '<td class="own">2026-03-01 07:00:00</td>' in browser.get("/", row="30").text
    review.close()


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
