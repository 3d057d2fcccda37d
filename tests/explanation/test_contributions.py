"""Contributions add up to the score minus that of the baseline, for every method."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier
from support.competitor_checks import wide_task, with_nan
from support.plain_detector import PlainDetector
from support.tasks import make_task

from devnet import DeviationEnsemble, DevNet
from devnet.competitors import BalancedLogistic, DeepSVDD, GradientBoosting, IForest
from devnet.detectors.methods import METHODS
from devnet.detectors.own_estimator import OwnEstimator
from devnet.explanation import baseline_score, contributions, nearest, typical_row
from devnet.explanation.random_walks import dense_walks, sparse_walks

QUICK = {
    **{name: {"n_epochs": 3, "device": "cpu"} for name in ("DevNet", "REPEN", "DSVDD", "FSNet")},
    **{name: {"n_trees": 20} for name in ("iForest", "PU trees", "gradient boosting")},
    "deviation ensemble": {"n_networks": 2, "n_trees": 10},
}
GROUPS = np.array([0, 0, 1, 2, 2, 2, 4, 3])
VARIANTS = {
    "DevNet, linear": DevNet((), n_epochs=3, device="cpu", random_state=0),
    "DevNet, deep": DevNet((40, 20), n_epochs=3, n_members=3, device="cpu", random_state=0),
    "DevNet, Rep": DevNet(end_to_end=False, n_epochs=3, device="cpu", random_state=0),
    "own": OwnEstimator(KNeighborsClassifier(20)),
}


def quick(name):
    if name in VARIANTS:
        return VARIANTS[name]
    return METHODS[name](random_state=0, **QUICK.get(name, {}))


def rises(model, rows, baseline):
    return model.anomaly_score(rows) - baseline_score(model, baseline)


@pytest.mark.parametrize("name", [*METHODS, *VARIANTS])
def test_contributions_add_up(name):
    rows, y, _ = make_task(0)
    model = quick(name).fit(rows, y)
    baseline = typical_row(model, rows[y == 0])
    found = contributions(model, rows[:200], baseline)
    assert found.shape == (200, 8)
    np.testing.assert_allclose(found.sum(axis=1), rises(model, rows[:200], baseline), atol=1e-3)
    grouped = contributions(model, rows[:200], baseline, GROUPS)
    assert grouped.shape == (200, 5)
    np.testing.assert_allclose(grouped.sum(axis=1), found.sum(axis=1), atol=1e-5)
    assert abs(contributions(model, baseline[None], baseline)).max() < 1e-12


class Product:
    """The smallest possible estimator: a fit, and scores to rank rows by."""

    def fit(self, X, y):
        return self

    def score_samples(self, X):
        return -X[:, 0] * X[:, 1]


@pytest.mark.parametrize("model", [OwnEstimator(Product()), PlainDetector()])
def test_a_detector_that_cannot_explain_itself_is_explained_by_random_walks(model):
    rows, y, _ = make_task(0)
    model.fit(rows, y)
    assert model.baseline is None
    baseline = typical_row(model, rows[y == 0])
    np.testing.assert_array_equal(baseline, np.median(rows[y == 0], axis=0))
    assert model.own_contributions(rows[:30], baseline) is None
    found = contributions(model, rows[:30], baseline, random_state=3)
    walked = dense_walks(model.anomaly_score, rows[:30], baseline, np.arange(8), 8, random_state=3)
    np.testing.assert_array_equal(found, walked)
    np.testing.assert_allclose(found.sum(axis=1), rises(model, rows[:30], baseline), atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_contributions_of_wide_rows_add_up(name):
    rows, y = wide_task(0)
    model = quick(name).fit(rows, y)
    some = rows[28:32].astype(np.float32)
    baseline = typical_row(model, rows[y == 0])
    assert not baseline.any()
    found = contributions(model, some)
    assert sp.issparse(found)
    assert found.shape == some.shape
    assert not (found.toarray() != 0)[some.toarray() == 0].any()
    np.testing.assert_allclose(found.sum(axis=1), rises(model, some, baseline), atol=1e-3)
    grouped = contributions(model, some, baseline, np.arange(5000) // 1000)
    assert grouped.shape == (4, 5)
    np.testing.assert_allclose(grouped.sum(axis=1), found.sum(axis=1), atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_the_columns_of_anomalies_stand_out(name):
    rows, y, _ = make_task(0, shift=3)
    model = quick(name).fit(rows, y)
    baseline = typical_row(model, rows[y == 0])
    size = contributions(model, rows[:20], baseline).mean(axis=0)
    assert (size[:3] > 0).all()
    assert size[:3].sum() > 2 * abs(size[3:]).sum()


@pytest.mark.parametrize("name", ["DevNet", "DSVDD", "iForest", "deviation ensemble"])
def test_a_row_is_explained_alike_in_any_batch_and_layout(name):
    rows, y, _ = make_task(1)
    rows[rows < 0] = 0
    model = quick(name).fit(rows, y)
    baseline = typical_row(model, rows[y == 0])
    found = contributions(model, rows[:50], baseline)
    np.testing.assert_allclose(contributions(model, rows[7:9], baseline), found[7:9], atol=1e-9)
    sparse = contributions(model, sp.csr_array(rows[:50]), baseline)
    np.testing.assert_allclose(sparse, found, atol=1e-6)
    np.testing.assert_allclose(typical_row(model, sp.csr_array(rows[y == 0])), baseline)


@pytest.mark.parametrize("name", ["deviation ensemble", "DevNet", "PU trees"])
def test_any_baseline_will_do(name):
    rows, y, _ = make_task(0)
    model = quick(name).fit(rows, y)
    found = contributions(model, rows[:50], rows[60])
    np.testing.assert_allclose(found.sum(axis=1), rises(model, rows[:50], rows[60]), atol=1e-3)


def test_the_baseline_is_the_ensemble_s_own_or_the_median():
    rows, y, _ = make_task(0)
    model = DeviationEnsemble(2, 4, random_state=0).fit(rows, y)
    np.testing.assert_array_equal(typical_row(model, rows[:1]), model.learners_.baseline)
    np.testing.assert_array_equal(contributions(model, rows), model.contributions(rows))
    np.testing.assert_array_equal(typical_row(DevNet(), rows), np.median(rows, axis=0))


def test_torch_modules_are_explained(seed):
    torch = pytest.importorskip("torch")
    rows, y, _ = make_task(seed)
    module = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh())
    model = DevNet(module, n_epochs=2, device="cpu", random_state=seed).fit(rows, y)
    baseline = typical_row(model, rows)
    found = contributions(model, rows[:30], baseline)
    np.testing.assert_allclose(found.sum(axis=1), rises(model, rows[:30], baseline), atol=1e-3)


def test_boosted_trees_have_no_contributions_that_cancel():
    rows, y, _ = make_task(0)
    model = GradientBoosting(random_state=0).fit(rows, y)
    baseline = typical_row(model, rows)
    by_paths = contributions(model, rows[:200], baseline)
    by_walks = dense_walks(model.anomaly_score, rows[:200], baseline, np.arange(8), 8)
    assert 0.5 < abs(by_paths).sum() / abs(by_walks).sum() < 2
    assert np.corrcoef(by_paths.ravel(), by_walks.ravel())[0, 1] > 0.8


def test_walks_credit_a_sum_exactly_and_a_product_evenly(seed):
    generator = np.random.default_rng(seed)
    rows, baseline = generator.normal(size=(20, 6)), generator.normal(size=6)
    columns, weight = np.arange(6), generator.normal(size=6)
    found = dense_walks(lambda X: X @ weight, rows, baseline, columns, 6)
    np.testing.assert_allclose(found, (rows - baseline) * weight, atol=1e-12)
    found = dense_walks(lambda X: X[:, 1] * X[:, 4], rows, np.zeros(6), columns, 6)
    expected = (rows[:, 1] * rows[:, 4])[:, None] / 2 * np.isin(columns, [1, 4])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_sparse_walks_are_dense_walks_from_the_empty_row(seed, monkeypatch):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(30, 9)) * (generator.random((30, 9)) < 0.4)
    rows[3] = 0
    groups = np.array([0, 1, 1, 2, 3, 3, 3, 4, 5])

    def score(X):
        dense = X.toarray() if sp.issparse(X) else X
        return np.cos(dense @ np.arange(9)) + 2

    expected = dense_walks(score, rows, np.zeros(9), groups, 6)
    for n_values in (1 << 22, 20, 1):  # the size of blocks does not matter
        monkeypatch.setattr("devnet.explanation.random_walks.BLOCK_VALUES", n_values)
        for found in (
            sparse_walks(score, sp.csr_array(rows), groups, 6).toarray(),
            dense_walks(score, rows, np.zeros(9), groups, 6),
        ):
            np.testing.assert_allclose(found, expected, atol=1e-12)
    assert not sparse_walks(score, sp.csr_array((2, 9)), groups, 6).toarray().any()


def test_the_nearest_labelled_anomaly_points_the_same_way(seed):
    generator = np.random.default_rng(seed)
    labelled = generator.normal(size=(12, 30)) * (generator.random((12, 30)) < 0.3)
    chosen = generator.integers(12, size=200)
    profile = labelled[chosen] * generator.uniform(0.1, 9, size=(200, 1))
    for rows in (profile, sp.csr_array(profile)):
        for known in (labelled, sp.csr_array(labelled)):
            found = nearest(rows, known)
            np.testing.assert_array_equal(found.position, chosen)
            np.testing.assert_allclose(found.similarity, 1)
    assert nearest(np.zeros((2, 30)), labelled).similarity.tolist() == [0, 0]
    assert nearest(-labelled[:1], labelled[:1]).similarity[0] == pytest.approx(-1)


def test_bad_input_gets_a_sentence():
    rows, y, _ = make_task(0)
    model = BalancedLogistic().fit(rows, y)
    baseline = typical_row(model, rows)
    with pytest.raises(ValueError, match="BalancedLogistic has no baseline .* typical_row"):
        contributions(model, rows)
    with pytest.raises(ValueError, match=r"baseline has shape \(3,\), but rows have 8 columns"):
        contributions(model, rows, baseline[:3])
    for groups in (np.zeros(7, int), np.zeros(8), np.full(8, -1)):
        with pytest.raises(ValueError, match="whole number from 0 on for each of the 8 columns"):
            contributions(model, rows, baseline, groups)
    with pytest.raises(ValueError, match="no labelled anomaly to compare with"):
        nearest(rows, rows[:0])
    wide, wide_y = wide_task(0)
    model = DeepSVDD(n_epochs=1, device="cpu").fit(wide, wide_y)
    with pytest.raises(ValueError, match="is the empty row, but"):
        contributions(model, wide[:2], np.ones(5000))
    for model in (IForest(), DevNet(n_epochs=1, device="cpu")):
        model.fit(rows, y)
        with pytest.raises(ValueError, match="NaN: row 4, column 3"):
            contributions(model, with_nan(rows), baseline)
