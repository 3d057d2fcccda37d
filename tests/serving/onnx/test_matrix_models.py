"""Detectors as graphs: the scores of Python, the same for a row alone as in a batch."""

import numpy as np
import onnx
import pytest
from support.competitor_checks import wide_task
from support.ensemble_checks import quick
from support.graphs import check_meaning, within
from support.tasks import make_task

import devnet
from devnet import Budget, DevNet, FalseAlarmRate, RankDeviation, ReviewEnsemble, TaughtDeviation
from devnet.competitors import REPEN, BalancedLogistic, IForest, PUBaggedTrees
from devnet.detectors.ensemble.table_learners import TableLearners
from devnet.serving.onnx import ExportedModel, ExportError, export
from devnet.significance import calibrate
from devnet.significance.ranks import ConformalRanks

torch = pytest.importorskip("torch")

SHORT = {"n_epochs": 2, "n_batches": 5, "random_state": 0}
DETECTORS = [
    quick(n_networks=10, n_trees=20),
    quick(n_networks=3, margin=1000.0),
    DevNet(**SHORT),
    DevNet((), **SHORT),
    DevNet((30, 20), n_members=3, end_to_end=False, **SHORT),
    DevNet(reference=devnet.DataReference(), n_members=2, **SHORT),
    RankDeviation(random_state=0),
    TaughtDeviation(random_state=0),
    ReviewEnsemble(4, 20, random_state=0),
    PUBaggedTrees(20, random_state=0),
    IForest(20, random_state=0),
    BalancedLogistic(),
]


def odd_task(seed, d=8):
    """Rows with columns of few values, a constant one, and one of a large scale."""
    rows, y, _ = make_task(seed, d=d)
    rows[:, 3] = np.round(rows[:, 3])
    rows[:, 4] = rows[:, 4] > 1
    rows[:, 5] = 3
    rows[:, 6] = np.exp(3 * rows[:, 6])
    return rows, y


@pytest.mark.parametrize("detector", DETECTORS, ids=repr)
def test_a_graph_scores_as_python_does(detector, seed, tmp_path):
    rows, y = odd_task(seed)
    calibration = calibrate(detector, rows, y, random_state=seed)
    scores = detector.anomaly_score(rows)
    export(detector, tmp_path / "m.onnx", calibration=calibration)
    np.testing.assert_array_equal(detector.anomaly_score(rows), scores)  # as before the export
    one, two = (ExportedModel(tmp_path / "m.onnx", n_threads=n) for n in (1, 2))
    found = one.score(rows)
    p_values, is_alert = (found[name].to_numpy(False) for name in ("p_value", "is_alert"))
    assert within(found["anomaly_score"].to_numpy(), scores).all()
    check_meaning(p_values, is_alert, scores, calibration.ranks(), detector.threshold_)
    assert two.score(rows).equals(found)
    for graph in (one, two):
        for row in range(0, len(rows), 97):
            assert graph.score(rows[row : row + 1]).equals(found.slice(row, 1))


@pytest.mark.parametrize("method", [TaughtDeviation, ReviewEnsemble])
def test_what_dismissed_rows_taught_is_in_the_graph(method, seed, tmp_path):
    rows, y = odd_task(seed)
    judged = y.astype(int)
    judged[np.flatnonzero(y == 0)[:40]] = 2
    detector = method(normal_label=2, random_state=0).fit(rows, judged)
    export(detector, tmp_path / "m.onnx")
    found = ExportedModel(tmp_path / "m.onnx").score(rows)["anomaly_score"].to_numpy()
    assert within(found, detector.anomaly_score(rows)).all()
    assert not within(found, method(random_state=0).fit(rows, y).anomaly_score(rows)).all()


def test_wide_tables_whose_sums_need_double_precision_are_exact_too(seed, tmp_path):
    rows, y, _ = make_task(seed, n=300, d=40)
    detector = quick(n_networks=4).fit(rows, y)
    network = detector.learners_.networks.network
    large = type(network)(network.sizes, network.parameters * np.float32(60))
    networks = type(detector.learners_.networks)(
        detector.learners_.networks.encoding, large, detector.learners_.networks.bags
    )
    assert networks.weights.kernel.dtype == np.float64
    learners = detector.learners_
    detector.learners_ = TableLearners(networks, learners.forests, learners.baseline)
    export(detector, tmp_path / "m.onnx")
    graph = ExportedModel(tmp_path / "m.onnx")
    found = graph.score(rows)["anomaly_score"].to_numpy()
    assert within(found, detector.anomaly_score(rows)).all()
    alone = [graph.score(rows[i : i + 1])["anomaly_score"][0].as_py() for i in range(20)]
    assert alone == found[:20].tolist()


def test_the_file_is_valid_onnx_with_the_model_s_header(task, tmp_path):
    rows, y, _ = task
    detector = quick().fit(rows, y)
    done = export(detector, tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert {one.domain for one in model.opset_import} == {"", "ai.onnx.ml"}
    assert [one.name for one in model.graph.output] == ["anomaly_score", "p_value", "is_alert"]
    opened = ExportedModel(tmp_path / "m.onnx")
    assert opened.header == detector.header()
    assert opened.threshold == done.threshold == detector.threshold_
    assert done.n_bytes == (tmp_path / "m.onnx").stat().st_size


def test_without_a_calibration_there_are_no_p_values(task, tmp_path):
    rows, y, _ = task
    detector = DevNet(**SHORT).fit(rows, y)
    assert not export(detector, tmp_path / "m.onnx").has_p_values
    found = ExportedModel(tmp_path / "m.onnx").score(rows[:5])
    assert found.schema.names == ["anomaly_score", "is_alert"]
    with pytest.raises(ExportError, match=r"a policy needs a calibration: calibration="):
        export(detector, tmp_path / "m.onnx", policy=FalseAlarmRate(0.01))


def test_a_policy_or_a_threshold_decides_about_alerts(task, tmp_path):
    rows, y, _ = task
    detector = quick().fit(rows, y)
    policy = FalseAlarmRate(0.1)
    done = export(detector, tmp_path / "m.onnx", policy=policy)
    assert done.threshold == policy.threshold(detector.unseen_scores()).score
    assert done.alerts == policy.in_words()
    done = export(detector, tmp_path / "m.onnx", threshold=1.25)
    assert ExportedModel(tmp_path / "m.onnx").threshold == 1.25
    found = ExportedModel(tmp_path / "m.onnx").score(rows)
    scores = found["anomaly_score"].to_numpy()
    np.testing.assert_array_equal(found["is_alert"].to_numpy(False), scores > 1.25)


def test_a_value_that_is_not_finite_is_no_score(task, tmp_path):
    rows, y, _ = task
    export(quick().fit(rows, y), tmp_path / "m.onnx")
    for value in (np.nan, np.inf):
        bad = rows[:3].copy()
        bad[1, 2] = value
        with pytest.raises(ExportError, match="row 1 has the score nan"):
            ExportedModel(tmp_path / "m.onnx").score(bad)
    found = ExportedModel(tmp_path / "m.onnx")._session.run(None, {"X": bad})
    assert np.isnan(found[0]).tolist() == np.isnan(found[1]).tolist() == [False, True, False]
    assert not found[2][1]


def test_p_values_are_those_of_the_detector(task, tmp_path):
    rows, y, _ = task
    detector = quick().fit(rows, y)
    export(detector, tmp_path / "m.onnx")
    found = ExportedModel(tmp_path / "m.onnx").score(rows)
    ranks = ConformalRanks(detector.out_of_bag_.unlabelled, detector.pool_weight_)
    scores = found["anomaly_score"].to_numpy()
    np.testing.assert_array_equal(found["p_value"].to_numpy(), ranks.p_value(scores))


def module():
    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda rows, y: REPEN(**SHORT).fit(rows, y), "REPEN cannot be exported: its parts have"),
        (lambda rows, y: DevNet(module(), **SHORT).fit(rows, y), "a torch module of yours"),
        (lambda rows, y: quick().fit(*wide_task(0)), "sparse columns, and ONNX has no sparse rows"),
        (lambda rows, y: DevNet(**SHORT).fit(*wide_task(0)), "fitted on .* sparse columns"),
    ],
)
def test_what_cannot_be_exported_is_told_in_a_sentence(make, told, task, tmp_path):
    rows, y, _ = task
    detector = make(rows, y)
    with pytest.raises(ExportError, match=told):
        export(detector, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_are_told_in_a_sentence(task, tmp_path):
    rows, y, _ = task
    detector = quick().fit(rows, y)
    target = tmp_path / "m.onnx"
    with pytest.raises(ExportError, match=r"m\.bin does not end in \.onnx"):
        export(detector, tmp_path / "m.bin")
    with pytest.raises(ExportError, match=r"threshold=nan is not a score"):
        export(detector, target, threshold=float("nan"))
    with pytest.raises(ExportError, match=r"both a policy .* and threshold=1 say"):
        export(detector, target, policy=FalseAlarmRate(0.1), threshold=1)
    with pytest.raises(ExportError, match=r"the highest 10|the 10 highest rows, which depends on"):
        export(detector, target, policy=Budget(10))
    with pytest.raises(TypeError, match="an object of the type dict cannot be exported"):
        export({}, target)
    with pytest.raises(ValueError, match="not fitted"):
        export(DevNet(), target)
    assert not list(tmp_path.iterdir())


def test_the_door_of_the_library_exports(task, tmp_path):
    rows, y, _ = task
    devnet.export(quick().fit(rows, y), tmp_path / "m.onnx")
    assert devnet.serving.onnx.ExportedModel(tmp_path / "m.onnx").header["method"]
