"""Metrics are text that Prometheus reads, and count what happened."""

import re

import pytest
from support.payment_tables import make_table
from support.services import BEARS, client, json_rows

from devnet.serving.service.metrics import Metrics

LINE = re.compile(r'(devnet_[a-z_]+)(?:\{((?:[a-z0-9_]+="[^"\\\n]*",?)+)\})? ([0-9.e+-]+|\+Inf)')
ROWS = json_rows(make_table(300, seed=1)[0])


def read(text):
    """Values by name and labels; every line must be as Prometheus' text format says."""
    found, kinds = {}, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in kinds
            kinds[name] = kind
            continue
        if line.startswith("# HELP "):
            continue
        name, labels, value = LINE.fullmatch(line).groups()
        family = re.sub("_(bucket|sum|count)$", "", name) if name not in kinds else name
        assert family == list(kinds)[-1]  # the lines of a family stand together
        found[name, labels or ""] = float(value)
    return found, kinds


@pytest.fixture
def service(tmp_path):
    return client(tmp_path)


def test_what_happened_is_counted(service):
    service.post("/score", json=ROWS)
    service.post("/score", json=ROWS[:1])
    service.post("/score", json={})
    service.get("/score")
    service.get("/one"), service.get("/two")
    service.get("/health", headers={"Authorization": ""})
    service.get("/schema", headers={"Authorization": ""})
    answer = service.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found, kinds = read(answer.text)
    counts = {key[1]: value for key, value in found.items() if key[0] == "devnet_requests_total"}
    assert counts == {
        'path="/score",status="200"': 2,
        'path="/score",status="400"': 1,
        'path="/score",status="405"': 1,
        'path="other",status="404"': 2,
        'path="/health",status="200"': 1,
        'path="/schema",status="401"': 1,
    }
    assert found["devnet_rows_total", ""] == 301
    answer = service.post("/score", json=ROWS).json()["rows"]
    n_alerts = sum(row["is_alert"] for row in answer)
    assert found["devnet_alerts_total", ""] == n_alerts + answer[0]["is_alert"]
    assert found["devnet_requests_in_progress", ""] == 1  # this one
    assert found["devnet_resident_memory_bytes", ""] > 1e7
    assert kinds["devnet_request_seconds"] == "histogram"


def test_buckets_of_a_histogram_rise_to_its_count(service):
    for _ in range(3):
        service.post("/score", json=ROWS[:1])
    found, _ = read(service.get("/metrics").text)
    buckets = [
        value
        for (name, labels), value in found.items()
        if name == "devnet_request_seconds_bucket" and "/score" in labels
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == found["devnet_request_seconds_count", 'path="/score"'] == 3
    assert found["devnet_request_seconds_sum", 'path="/score"'] > 0
    assert found["devnet_batch_requests_count", ""] == 3


def test_the_model_in_use_is_named(service):
    text = service.get("/metrics").text
    fingerprint = service.get("/health", headers=BEARS).json()["model"]
    assert f'devnet_model_info{{sha256="{fingerprint}"}} 1' in text


def test_bounds_are_part_of_their_buckets():
    metrics = Metrics()
    for seconds in (0.001, 0.0011, 100.0):
        metrics.answered("/score", 200, seconds)
    found, _ = read(metrics.text("", 0.0))
    values = [v for (name, _), v in found.items() if name == "devnet_request_seconds_bucket"]
    assert values[:2] == [1, 2]
    assert values[-2:] == [2, 3]
