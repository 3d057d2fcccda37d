"""Rows that are sent to the service get the scores that the model gives them."""

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc
from support.payment_tables import make_table
from support.services import (
    ARROW,
    client,
    json_rows,
    post_arrow,
    quick_model,
    served_model,
    stream,
)

from devnet.serving.service.answers import Answer
from devnet.serving.service.served_model import PIECE
from devnet.tables import TableModel

TABLE = make_table(300, seed=1)[0]
FIELDS = ["anomaly_score", "p_value", "is_alert"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    return client(tmp_path_factory.mktemp("service"))


def expected(table, model=None):
    return (model or quick_model()).score(table).select(FIELDS).to_pylist()


def scores(answer):
    assert answer.status_code == 200, answer.text
    return [{name: row[name] for name in FIELDS} for row in answer.json()["rows"]]


def test_json_rows_get_the_scores_of_the_table(service):
    rows = json_rows(TABLE)
    assert scores(service.post("/score", json=rows)) == expected(TABLE)
    assert scores(service.post("/score", json={"rows": rows})) == expected(TABLE)


def test_a_row_alone_gets_the_score_that_it_has_among_others(service):
    together = expected(TABLE)
    for row, one in zip(json_rows(TABLE)[:20], together[:20], strict=True):
        assert scores(service.post("/score", json=[row])) == [one]


def test_rows_are_named_by_the_column_that_names_them(service):
    answer = service.post("/score", json=json_rows(TABLE.slice(0, 2))).json()
    assert [row["payment"] for row in answer["rows"]] == ["P00000", "P00001"]
    assert list(answer["rows"][0]) == ["payment", *FIELDS]
    without = service.post("/score", json=json_rows(TABLE.slice(0, 2).drop(["payment"]))).json()
    assert list(without["rows"][0]) == FIELDS


def test_every_answer_names_the_model_by_its_fingerprint(service):
    answer = service.post("/score", json=json_rows(TABLE.slice(0, 1))).json()
    assert answer["model"] == service.get("/health").json()["model"]
    assert len(answer["model"]) == 64


@pytest.mark.parametrize("options", [{}, {"compression": "zstd"}, {"compression": "lz4"}])
def test_an_arrow_stream_is_answered_in_kind(service, options):
    answer = post_arrow(service, stream(TABLE, **options))
    assert answer.headers["content-type"] == ARROW
    found = ipc.open_stream(answer.content).read_all()
    assert found.schema.names == ["payment", *FIELDS]
    assert found.select(FIELDS).to_pylist() == expected(TABLE)
    assert found["payment"].to_pylist() == TABLE["payment"].to_pylist()
    metadata = found.schema.metadata
    assert metadata[b"model"].decode() == service.get("/health").json()["model"]
    assert json.loads(metadata[b"notes"]) == []


@pytest.mark.parametrize(
    ("accept", "kind"),
    [("*/*", ARROW), ("application/json", "application/json"), ("application/*", ARROW)]
    + [(f"text/html, {ARROW};q=0.5", ARROW)],
)
def test_the_kind_of_answer_may_be_chosen(service, accept, kind):
    assert post_arrow(service, stream(TABLE), Accept=accept).headers["content-type"] == kind


def test_json_rows_may_be_answered_in_arrow(service):
    rows = json_rows(TABLE.slice(0, 3))
    rows[1]["payment"] = 7  # names of two kinds
    answer = service.post("/score", json=rows, headers={"Accept": ARROW})
    found = ipc.open_stream(answer.content).read_all()
    assert found["payment"].to_pylist() == ["P00000", "7", "P00002"]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(TABLE.slice(0, 100).combine_chunks(), id="part"),
        pytest.param(pa.concat_tables([TABLE.slice(0, 9), TABLE.slice(9)]), id="batches"),
        pytest.param(TABLE.select(TABLE.schema.names[::-1]), id="order"),
        pytest.param(
            pl.from_arrow(TABLE).to_arrow(compat_level=pl.CompatLevel.newest()), id="views"
        ),
        pytest.param(
            pa.Table.from_pandas(TABLE.to_pandas().astype({"shop": "category"})), id="dictionary"
        ),
        pytest.param(pa.Table.from_pandas(pd.DataFrame(TABLE.to_pandas())), id="pandas"),
    ],
)
def test_arrow_of_any_program_gets_the_same_scores(service, table):
    found = ipc.open_stream(post_arrow(service, stream(table)).content).read_all()
    assert found.select(FIELDS).to_pylist() == expected(TABLE)[: len(table)]


def test_no_rows_get_no_scores(service):
    assert service.post("/score", json=[]).json()["rows"] == []
    answer = post_arrow(service, stream(TABLE.slice(0, 0)))
    assert ipc.open_stream(answer.content).read_all().num_rows == 0


def test_a_missing_key_is_a_missing_value_if_other_rows_have_it(service):
    rows = json_rows(TABLE.slice(0, 4))
    null = [{**row, "shop": None if i == 2 else row["shop"]} for i, row in enumerate(rows)]
    del rows[2]["shop"]
    assert scores(service.post("/score", json=rows)) == scores(service.post("/score", json=null))


def test_columns_that_are_null_in_all_rows_are_missing_values(service):
    rows = [{**row, "limit": None, "time": None} for row in json_rows(TABLE.slice(0, 3))]
    nothing = TABLE.slice(0, 3).to_pandas().assign(limit=None, time=None)
    assert scores(service.post("/score", json=rows)) == expected(nothing)


def test_unknown_columns_are_ignored_with_a_note(service):
    rows = [{**row, "colour": "red\x1b[2J"} for row in json_rows(TABLE.slice(0, 3))]
    answer = service.post("/score", json=rows)
    assert scores(answer) == expected(TABLE.slice(0, 3))
    assert answer.json()["notes"] == ["1 column is not known to the model and is ignored: colour"]
    more = TABLE.append_column("x\x1by", TABLE["amount"])
    answer = post_arrow(service, stream(more), Accept="application/json")
    assert "x\\x1by" in answer.json()["notes"][0]
    assert scores(answer) == expected(TABLE)


def test_columns_that_are_not_taken_are_not_even_read(service):
    """So that they may be of types that nobody knows."""
    odd = pa.array([b"x"] * len(TABLE), pa.binary(1))
    answer = post_arrow(service, stream(TABLE.append_column("odd", odd)))
    assert answer.status_code == 200


def test_reasons_are_given_on_request(service):
    rows = json_rows(TABLE)[:200]
    alerts = service.post("/score?reasons=alerts", json=rows).json()["rows"]
    assert any(row["is_alert"] for row in alerts)
    assert all((row["reasons"] is not None) == row["is_alert"] for row in alerts)
    everything = service.post("/score?reasons=all", json=rows).json()["rows"]
    assert all(isinstance(row["reasons"], list) for row in everything)
    explained = quick_model().explain(TABLE, list(range(200)))
    assert [row["reasons"] for row in everything] == [
        [reason.text for reason in one.reasons] for one in explained
    ]
    assert "reasons" not in service.post("/score?reasons=none", json=rows).json()["rows"][0]


def test_reasons_in_arrow_are_a_column(service):
    answer = post_arrow(service, stream(TABLE.slice(0, 60)), "/score?reasons=all")
    assert ipc.open_stream(answer.content).read_all()["reasons"][0].as_py()


def test_many_rows_are_answered_as_few(service):
    table = make_table(5000, seed=2)[0]
    assert scores(service.post("/score", json=json_rows(table))) == expected(table)


def test_text_is_scored_as_in_the_table(tmp_path):
    words = [f"transfer to {name} abroad" for name in ("bob", "ann", "eve", "joe")] * 100
    words = [f"{text} {i}" for i, text in enumerate(words)]
    table = pa.table({"note": words, "fraud": [1.0 if i % 40 == 2 else None for i in range(400)]})
    model = TableModel("deviation ensemble", random_state=0).fit(table, "fraud")
    service = client(tmp_path, model)
    answer = service.post("/score", json=json_rows(table.slice(0, 30)))
    assert scores(answer) == expected(table.slice(0, 30), model)


def test_many_rows_are_scored_in_pieces_as_they_are_at_once(tmp_path):
    """By several threads; an answer has the scores of the command, to the bit."""
    model = served_model(tmp_path)
    rows = pa.concat_tables([TABLE] * (2 * PIECE // TABLE.num_rows + 1)).combine_chunks()
    batch = rows.select(model.taken.names).to_batches()[0]
    assert len(batch) >= 2 * PIECE
    pieces = model.score(batch)
    assert pieces.equals(model._scorers[None](batch))


def test_answers_are_json_whatever_the_names():
    """Names of rows of all kinds, and a column's name with signs that mean something elsewhere."""
    scored = pa.record_batch({"50% {x}": [0.1, 1e300], "is_alert": [True, False]})
    ids = ['a"\\\u2028%s', None]
    answer = Answer(scored, 'the "id" %d', ids, ("a note",), "f" * 64)
    found = json.loads(answer.response("application/json").body)
    assert found["rows"] == [
        {'the "id" %d': ids[0], "50% {x}": 0.1, "is_alert": True},
        {'the "id" %d': None, "50% {x}": 1e300, "is_alert": False},
    ]
    assert (found["notes"], found["model"]) == (["a note"], "f" * 64)
