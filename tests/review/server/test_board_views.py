"""The board tells how the work goes; leads read the log and export everything, safely."""

import csv
import io
from datetime import UTC, datetime, timedelta

from support.reviews import card_id, open_for

from devnet.review.desk.board import make_board
from devnet.review.estimates import seconds_per_card
from devnet.review.events import Event
from devnet.review.store import ModelRecord

START = datetime(2026, 11, 16, 9, tzinfo=UTC)


def event(number, verdict="anomaly", *, who="ana", minutes=0.0, dealt=0.0, **more):
    at = START + timedelta(minutes=minutes)
    known = {
        **{"row": f"r{number}", "note": "", "model": 1, "score": 1.0, "rank": 1},
        **{"reason": "highest", "probability": 1.0, "together": 1, "undoes": None},
        **{"token": f"t{number}", "dealt_at": START + timedelta(minutes=dealt)},
    }
    return Event(number=number, verdict=verdict, who=who, at=at, **{**known, **more})


def test_time_per_card_starts_with_the_last_verdict():
    """Six cards are dealt at once, and judged one after the other."""
    events = [event(i, minutes=i * 2.0) for i in range(1, 7)]
    assert seconds_per_card(events) == 120
    assert seconds_per_card([*events, event(7, who="bo", minutes=30, dealt=28)]) == 120
    assert seconds_per_card([]) is None


def test_the_board_counts_days_models_and_people():
    events = [
        event(1, minutes=1),
        event(2, "normal", minutes=2),
        event(3, minutes=3, model=2),
        event(4, "unsure", minutes=24 * 60, who="bo"),
    ]

    class Model:
        def __init__(self, number):
            self.number = number

    board = make_board(events, [Model(1), Model(2)], 100)
    assert (board.n_reviewed, board.n_confirmed) == (4, 2)
    assert [(day.n_reviewed, day.n_confirmed) for day in board.days] == [(3, 2), (1, 0)]
    assert [(one.model, one.n_judged, one.n_confirmed) for one in board.models] == [
        (2, 1, 1),
        (1, 2, 1),
    ]
    assert board.models[1].precision.startswith("50% (")
    assert board.people == [("ana", 3), ("bo", 1)]
    assert board.remaining == "not known yet"


def test_random_cards_tell_what_remains():
    random = {"reason": "random", "probability": 0.01}
    events = [event(i, "normal", minutes=i, dealt=i, **random) for i in range(1, 20)]
    board = make_board(events, [], 81)
    assert board.remaining.startswith("0 (0 to ")
    assert "19 judged singly, 0 of them" in board.remaining_from
    assert make_board([], [], 81).remaining_from == "none was judged yet"
    grown = make_board(events, [], 8_100)
    assert grown.remaining_from == "none was judged since the rows of the table changed"


def test_only_leads_read_the_log_and_export(review, tmp_path):
    ana, lena = open_for(review, tmp_path, "ana", "lena")
    first = card_id(ana.get("/").text)
    ana.judge("anomaly", note='=HYPERLINK("http://evil") <b>')
    for path in ("/log", "/export.csv", "/models.csv"):
        assert ana.get(path).status_code == 403
    assert "Export all" not in ana.get("/board").text
    assert first in lena.get("/log").text
    assert "&lt;b&gt;" in lena.get("/log").text
    exported = lena.get("/export.csv")
    assert exported.headers["content-type"] == "text/csv; charset=utf-8"
    (row,) = csv.DictReader(io.StringIO(exported.text))
    assert (row["id"], row["verdict"], row["who"]) == (first, "anomaly", "ana")
    assert row["note"].startswith("'=HYPERLINK")
    assert {*Event._fields} - {"row"} <= {*row}
    (model,) = csv.DictReader(io.StringIO(lena.get("/models.csv").text))
    assert (model["number"], model["who"]) == ("1", "boot")
    assert {*ModelRecord._fields} == {*model}


def test_the_board_is_there_before_anything_was_judged(review, tmp_path):
    (lena,) = open_for(review, tmp_path, "lena")
    page = lena.get("/board").text
    assert "Nothing was judged yet" in page
    assert "not judged yet" in page
    lena.judge("normal")
    assert "lena: 1" in lena.see("/board").text
    assert lena.get("/export.csv").text.count("\n") == 2
