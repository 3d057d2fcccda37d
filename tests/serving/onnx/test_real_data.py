"""Graphs of models of the paper's sets."""

import os
from pathlib import Path

import numpy as np
import pytest
from support.graphs import check_meaning, within

from devnet import DeviationEnsemble, DevNet, datasets
from devnet.experiments.protocol import make_task
from devnet.serving.onnx import ExportedModel, ExportError, export
from devnet.significance import calibrate

DATA = os.environ.get("DEVNET_DATA")
DENSE = ("donors", "census", "fraud", "celeba", "backdoor", "campaign", "thyroid")
SPARSE = ("URL", "news20")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA and Path(DATA).is_dir()), reason="DEVNET_DATA names no folder"),
]


@pytest.fixture(scope="module", params=DENSE)
def task(request):
    dataset = datasets.load(request.param)
    return make_task(dataset.rows, dataset.is_anomaly, seed=0)


@pytest.mark.parametrize("method", [DeviationEnsemble, DevNet])
def test_a_graph_scores_a_set_as_python_does(task, method, tmp_path):
    detector = method(random_state=0)
    calibration = calibrate(detector, task.train, task.y, random_state=0)
    export(detector, tmp_path / "m.onnx", calibration=calibration)
    rows = task.test[:20_000]
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float32)
    scores = detector.anomaly_score(rows)
    one, two = (ExportedModel(tmp_path / "m.onnx", n_threads=n) for n in (1, 2))
    found = one.score(rows)
    assert within(found["anomaly_score"].to_numpy(), scores).all()
    p_values, is_alert = (found[column].to_numpy(False) for column in ("p_value", "is_alert"))
    check_meaning(p_values, is_alert, scores, calibration.ranks(), detector.threshold_)
    assert two.score(rows).equals(found)
    for row in range(0, len(rows), len(rows) // 100):
        assert one.score(rows[row : row + 1]).equals(found.slice(row, 1))
        assert two.score(rows[row : row + 1]).equals(found.slice(row, 1))


@pytest.mark.parametrize("name", SPARSE)
def test_wide_sparse_sets_are_refused(name, tmp_path):
    dataset = datasets.load(name)
    task = make_task(dataset.rows, dataset.is_anomaly, seed=0)
    detector = DeviationEnsemble(random_state=0).fit(task.train, task.y)
    with pytest.raises(ExportError, match="ONNX has no sparse rows"):
        export(detector, tmp_path / "m.onnx")
