"""A new model file takes over when it is whole; a bad one leaves the model before it in use."""

import logging
import os
import threading
import time

import pytest
from starlette.testclient import TestClient
from support.payment_tables import make_table
from support.services import BEARS, TOKEN, json_rows, model_file, quick_model

from devnet import Budget, load
from devnet.core.sentence import UserError
from devnet.serving.service.app import service_app
from devnet.serving.service.bearer import Bearer
from devnet.serving.service.metrics import Metrics
from devnet.serving.service.model_in_use import ModelInUse
from devnet.tables import TableModel

TABLE = make_table(300, seed=1)[0]


@pytest.fixture(scope="module")
def other():
    return TableModel("iForest", random_state=3).fit(make_table(1000)[0])


@pytest.fixture
def path(tmp_path):
    return model_file(tmp_path)


def look_twice(in_use):
    """A file is taken at the second look, when it has stopped changing."""
    before = in_use.now
    in_use.look()
    assert in_use.now is before
    in_use.look()


def test_a_new_file_takes_over(path, other, caplog):
    metrics = Metrics()
    in_use = ModelInUse(path, on_swap=metrics.swapped)
    service = TestClient(service_app(in_use, Bearer(TOKEN), metrics=metrics), headers=BEARS)
    before = service.post("/score", json=json_rows(TABLE)).json()
    other.save(path)
    with caplog.at_level(logging.INFO, "devnet.serving"):
        look_twice(in_use)
    after = service.post("/score", json=json_rows(TABLE)).json()
    assert before["model"] != after["model"] == in_use.now.fingerprint
    wanted = load(path).score(TABLE)["anomaly_score"].to_pylist()
    assert [row["anomaly_score"] for row in after["rows"]] == wanted
    assert any("A new model is in use" in one.getMessage() for one in caplog.records)
    assert 'devnet_model_swaps_total{taken="true"} 1' in service.get("/metrics").text


def test_the_same_file_is_not_opened_again(path):
    in_use = ModelInUse(path)
    first = in_use.now
    for _ in range(3):
        in_use.look()
    assert in_use.now is first


def damaged(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def no_model(path):
    path.write_text("payment,amount\n")


def of_a_matrix(path):
    load(path).detector_.save(path)


def with_a_budget(path):
    model = load(path)
    model.policy = Budget(10)
    model.save(path)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (damaged, "does not match its checksum"),
        (cut_short, "is not a complete model file"),
        (no_model, "is not a complete model file"),
        (of_a_matrix, "need a model of tables"),
        (with_a_budget, "depends on all rows"),
        (os.remove, "there is no model file"),
    ],
)
def test_a_bad_file_leaves_the_model_in_use_and_says_so(path, harm, why, caplog):
    in_use = ModelInUse(path)
    service = TestClient(service_app(in_use, Bearer(TOKEN)), headers=BEARS)
    before, whole = service.post("/score", json=json_rows(TABLE)).json(), path.read_bytes()
    harm(path)
    look_twice(in_use)
    assert service.post("/score", json=json_rows(TABLE)).json() == before
    health = service.get("/health")
    assert health.status_code == 200
    assert health.json()["status"] == "stale"
    assert "the one before it is" in health.json()["note"]
    assert str(path.parent) not in health.text  # anybody may ask
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert len(warnings) == 1
    assert why in warnings[0]
    in_use.look()  # it is refused once
    assert len([one for one in caplog.records if one.levelname == "WARNING"]) == 1
    path.write_bytes(whole)
    look_twice(in_use)
    assert service.get("/health").json()["status"] == "ok"


def test_a_file_that_is_still_written_is_waited_for(path, other, tmp_path):
    in_use = ModelInUse(path)
    other.save(tmp_path / "new.devnet")
    whole = (tmp_path / "new.devnet").read_bytes()
    for end in range(1000, len(whole), max(1000, len(whole) // 5)):
        path.write_bytes(whole[:end])
        in_use.look()
        assert in_use.refused is None
    path.write_bytes(whole)
    look_twice(in_use)
    assert in_use.refused is None
    assert in_use.now.model.method == "iForest"


def test_a_threshold_stands_in_for_a_policy_that_needs_the_table(path):
    with_a_budget(path)
    with pytest.raises(UserError, match="depends on all rows of a table"):
        ModelInUse(path)
    in_use = ModelInUse(path, threshold=0.5)
    service = TestClient(service_app(in_use, Bearer(TOKEN)), headers=BEARS)
    rows = service.post("/score", json=json_rows(TABLE)).json()["rows"]
    assert [row["is_alert"] for row in rows] == [row["anomaly_score"] > 0.5 for row in rows]
    assert service.get("/schema").json()["threshold"] == 0.5


def test_the_file_is_watched_until_the_end(path, other):
    in_use = ModelInUse(path)
    with in_use.watched(seconds=0.02):
        other.save(path)
        end = time.monotonic() + 20
        while in_use.now.model.method != "iForest" and time.monotonic() < end:
            time.sleep(0.02)
    assert in_use.now.model.method == "iForest"
    assert "watch-model" not in [thread.name for thread in threading.enumerate()]


def test_requests_get_whole_answers_while_the_model_changes(path, other):
    """Each answer is that of one of the two models, which it names."""
    in_use = ModelInUse(path)
    service = TestClient(service_app(in_use, Bearer(TOKEN)), headers=BEARS)
    wanted = {}
    for model in (quick_model(), other):
        model.save(path)
        in_use._take()
        answer = service.post("/score", json=json_rows(TABLE)).json()
        wanted[answer["model"]] = answer["rows"]
    ended = threading.Event()

    def swap():
        while not ended.is_set():
            for model in (quick_model(), other):
                model.save(path)
                in_use._take()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        answers = [service.post("/score", json=json_rows(TABLE)).json() for _ in range(30)]
    finally:
        ended.set()
        thread.join()
    assert len(wanted) == 2
    assert all(answer["rows"] == wanted[answer["model"]] for answer in answers)
