"""What the service does not take is refused with a status and a sentence, as JSON."""

import json
import logging
import struct
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc
from support.payment_tables import make_table
from support.services import ARROW, client, json_rows, post_arrow, post_json, stream

from devnet.serving.service.limits import Limits
from devnet.serving.service.openapi import REFUSALS

TABLE = make_table(300, seed=1)[0]
ROWS = json_rows(TABLE.slice(0, 5))
JSON = {"Content-Type": "application/json"}
SECRET = "secret 4711"
LIMITS = Limits(megabytes=0.2, n_rows=1000, n_reasons_rows=10)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    return client(tmp_path_factory.mktemp("refusing"), limits=LIMITS)


def refused(answer, status, *words):
    """That an answer is a refusal of this status, which says these words."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    said = answer.json()
    assert said["error"].endswith("."), said
    assert all(word in said["error"] for word in words), said
    assert status in (403, 404, 405) or str(status) in REFUSALS
    return said


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "x"}])
@pytest.mark.parametrize("path", ["/score", "/metrics", "/schema", "/openapi.json", "/nothing"])
def test_without_the_token_only_health_answers(tmp_path, headers, path):
    stranger = client(tmp_path, headers=headers)
    answer = stranger.post(path, json=ROWS) if path == "/score" else stranger.get(path)
    refused(answer, 401, "Authorization: Bearer TOKEN")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert stranger.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[1,", "at character 3"),
        (b'[{"a": NaN}]', "NaN is no number of JSON"),
        (b'[{"a": -Infinity}]', "-Infinity is no number"),
        (b'"\xff"', "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "is not JSON"),
        (b'[{"a": 1, "a": 2}]', "has 'a' twice"),
        (b"3", "no list of rows"),
        (b"{}", "not with 'rows' alone"),
        (b'{"row": []}', "not with 'rows' alone"),
        (b'{"rows": [], "more": 1}', "not with 'rows' alone"),
        (b'{"rows": {}}', "no list of rows"),
    ],
)
def test_a_body_that_is_no_list_of_rows_is_refused(service, body, words):
    refused(service.post("/score", content=body, headers=JSON), 400, words)


@pytest.mark.parametrize("row", [3, None, "x", [1]])
def test_a_row_that_is_no_object_is_refused(service, row):
    said = refused(post_json(service, [ROWS[0], row]), 422, "row 1", "is no object")
    assert said["row"] == 1


def test_a_missing_column_is_named_with_the_one_that_was_meant(service):
    rows = [{("amuont" if k == "amount" else k): v for k, v in row.items()} for row in ROWS]
    said = refused(post_json(service, rows), 422, "no column 'amount'", "did you mean 'amuont'?")
    assert said["column"] == "amount"
    arrow = post_arrow(service, stream(TABLE.drop(["amount"])))
    assert refused(arrow, 422, "no column 'amount'", "send null")["column"] == "amount"


def test_a_column_of_another_kind_is_refused(service):
    place = TABLE.schema.get_field_index("amount")
    texts = TABLE.set_column(place, "amount", TABLE["amount"].cast(pa.string()))
    refused(post_arrow(service, stream(texts)), 422, "'amount'", "has text", "learned numbers")


def test_names_of_rows_are_texts_or_numbers(service):
    said = refused(post_json(service, [{**ROWS[0], "payment": [1]}]), 422, "names rows")
    assert (said["row"], said["column"]) == (0, "payment")


def test_two_columns_of_one_name_are_refused(service):
    twice = pa.Table.from_arrays([*TABLE.columns, TABLE["amount"]], [*TABLE.schema.names, "amount"])
    refused(post_arrow(service, stream(twice)), 422, "more than one column named 'amount'")


@pytest.mark.parametrize("query", ["reasons=3", "reasons=all&reasons=all", "model=x", "reasons="])
def test_an_address_that_asks_for_something_else_is_refused(service, query):
    refused(service.post(f"/score?{query}", json=ROWS), 400, "?reasons=alerts")


@pytest.mark.parametrize(
    "kind", ["text/csv", "", "application/x-www-form-urlencoded", "application/vnd.apache.arrow"]
)
def test_other_kinds_of_bodies_are_refused(service, kind):
    answer = service.post("/score", content=b"x", headers={"Content-Type": kind})
    refused(answer, 415, "application/json", ARROW)


def test_packed_bodies_are_refused(service):
    headers = {**JSON, "Content-Encoding": "gzip"}
    refused(service.post("/score", content=b"x", headers=headers), 415, "Content-Encoding")


def test_other_kinds_of_answers_are_refused(service):
    answer = service.post("/score", json=ROWS, headers={"Accept": "text/html"})
    refused(answer, 406, "application/json")


def test_paths_and_methods_that_are_not_there(service):
    refused(service.get("/nothing"), 404, "/openapi.json")
    answer = service.get("/score")
    refused(answer, 405, "POST")
    assert answer.headers["allow"] == "POST"
    for method in ("put", "delete", "patch", "options"):
        refused(getattr(service, method)("/health"), 405, "GET")


def test_a_body_that_declares_too_much_is_refused_before_it_is_read(service):
    headers = {**JSON, "Content-Length": str(10**12)}
    refused(service.post("/score", content=b"[]", headers=headers), 413, "200,000 bytes")


def test_a_body_that_grows_too_large_is_refused(service):
    def parts():
        yield from [b" " * 1000] * 300

    refused(service.post("/score", content=parts(), headers=JSON), 413, "200,000 bytes")


def test_too_many_rows_are_refused(service):
    row = {name: None for name in TABLE.schema.names}
    refused(post_json(service, [row] * 1001), 413, "1,001 rows", "at most 1,000")
    nothing = pa.table({name: pa.nulls(10**8) for name in TABLE.schema.names})
    refused(post_arrow(service, stream(nothing)), 413, "100,000,000 rows")


def test_reasons_of_too_many_rows_are_refused(service):
    refused(service.post("/score?reasons=alerts", json=ROWS * 3), 413, "at most 10 rows")


def with_column(name, values):
    table = TABLE.slice(0, len(values))
    return table.set_column(table.schema.get_field_index(name), name, values)


def test_a_stream_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(service):
    bomb = with_column("shop", pa.array(["x" * 10_000_000, "y"]))
    body = stream(bomb, compression="zstd")
    assert len(body) < 100_000
    refused(post_arrow(service, body), 413, "unpacks to")


def test_a_compression_of_arrow_before_1_0_is_counted_too(service):
    """It is named among the custom metadata of a message; the first number is the length."""
    table = with_column("limit", pa.array([float(np.int64(1 << 40).view(np.float64))] * 9))
    options = ipc.IpcWriteOptions(metadata_version=ipc.MetadataVersion.V4)
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema, options=options) as writer:
        early = {"ARROW:experimental_compression": "zstd"}
        writer.write_batch(table.combine_chunks().to_batches()[0], custom_metadata=early)
    refused(post_arrow(service, sink.getvalue().to_pybytes()), 413, "unpacks to")


def test_codes_and_views_that_stand_for_too_much_are_refused(service):
    """A few bytes of codes or views may all point to one long text."""
    long = "x" * 100_000
    coded = pa.array([long, *["y"] * 50]).dictionary_encode()
    coded = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int8()), coded.dictionary)
    refused(post_arrow(service, stream(with_column("shop", coded))), 413, "take 20,")
    one = pa.array([long], pa.string_view())
    view = one.buffers()[1].to_pybytes()[:16]
    views = pa.Array.from_buffers(
        pa.string_view(), 200, [None, pa.py_buffer(view * 200), one.buffers()[2]]
    )
    refused(post_arrow(service, stream(with_column("shop", views))), 413, "take 20,")


BODY = stream(TABLE.slice(0, 20), compression="lz4")


@pytest.mark.parametrize("body", [b"", b"x", BODY[:100], BODY[:-200], b"ARROW1" + BODY, BODY[8:]])
def test_a_damaged_stream_is_refused(service, body):
    refused(post_arrow(service, body), 400, "no whole stream of Arrow")


@given(st.lists(st.tuples(st.integers(0, len(BODY) - 1), st.integers(0, 255)), max_size=8))
def test_no_change_to_a_stream_makes_the_service_fail(service, changes):
    body = bytearray(BODY)
    for place, value in changes:
        body[place] = value
    assert post_arrow(service, bytes(body)).status_code in (200, 400, 413, 422)


def test_text_that_is_not_utf8_is_refused(service):
    texts = pa.array([b"caf\xe9", b"x"]).view(pa.string())
    refused(post_arrow(service, stream(with_column("shop", texts))), 400, "no whole stream")


def test_behind_a_proxy_only_the_proxy_is_answered(tmp_path):
    from_elsewhere = client(tmp_path, proxy="10.0.0.1", peer="10.0.0.2")
    refused(from_elsewhere.get("/health"), 403, "through its proxy")
    proxied = client(tmp_path, proxy="10.0.0.1", peer="10.0.0.1")
    refused(proxied.get("/health"), 403, "https")
    https = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
    assert proxied.get("/health", headers=https).status_code == 200
    assert proxied.post("/score", json=ROWS, headers=https).status_code == 200


def test_more_requests_than_may_wait_are_refused(tmp_path, monkeypatch):
    service = client(tmp_path, limits=Limits(n_waiting=1))
    inner = service.app._app  # within the guard
    (scores,) = [route for route in inner.routes if route.path == "/score"]
    monkeypatch.setattr(scores.endpoint.__self__, "_n_scoring", 1)
    answer = service.post("/score", json=ROWS)
    refused(answer, 503, "try again")
    assert answer.headers["retry-after"] == "1"


def test_an_answer_that_takes_too_long_is_refused(tmp_path, monkeypatch):
    service = client(tmp_path, limits=Limits(seconds=0.2))
    slow = "devnet.serving.service.served_model.ServedModel.score"
    monkeypatch.setattr(slow, lambda *_: time.sleep(1))
    refused(service.post("/score", json=ROWS), 503, "longer than 0.2 s")


def test_a_failure_of_ours_tells_neither_client_nor_log_a_value(tmp_path, monkeypatch, caplog):
    def fail(*_):
        raise TypeError(SECRET)

    service = client(tmp_path)
    monkeypatch.setattr("devnet.serving.service.served_model.ServedModel.score", fail)
    with caplog.at_level(logging.DEBUG):
        said = refused(service.post("/score?reasons=none", json=ROWS), 500, "its log says where")
    assert "secret" not in json.dumps(said)
    own = [one.getMessage() for one in caplog.records if one.name.startswith("devnet")]
    assert any("POST /score failed" in one and "TypeError" in one for one in own)
    assert not any("secret" in one or "4711" in one or "reasons" in one for one in own)


def test_the_log_has_neither_query_nor_values(service, caplog):
    with caplog.at_level(logging.INFO, "devnet.serving"):
        service.post("/score?reasons=alerts", json=ROWS)
        post_json(service, [{**ROWS[0], "amount": "secret"}])
    own = [one.getMessage() for one in caplog.records if one.name.startswith("devnet")]
    assert [one.rsplit(" ", 2)[0] for one in own] == ["POST /score 200", "POST /score 422"]


def test_answers_are_neither_cached_nor_guessed_at(service):
    for answer in (service.get("/health"), service.post("/score", json=ROWS), service.get("/x")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("size", [struct.pack("<q", -5), struct.pack("<q", 1 << 62)])
def test_an_impossible_length_in_a_stream_is_refused(service, size):
    table = with_column("limit", pa.array([1.5] * 3)).drop(["currency", "fraud"])
    body = stream(table, compression="zstd")
    place = body.rindex(struct.pack("<q", 24))  # the unpacked length of a buffer
    answer = post_arrow(service, body[:place] + size + body[place + 8 :])
    assert answer.status_code in (400, 413)
