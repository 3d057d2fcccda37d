"""Known normal rows teach the ensemble, whatever kind of rows it learns from."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.ensemble_checks import check_complete, check_same, quick
from support.tasks import make_task

import devnet
from devnet.core.layout import Layout
from devnet.significance.ranks import ConformalRanks

NORMAL = 2


def lookalikes(kind, seed, n=2000):
    """Rows, y and 60 normal rows that look like the anomalies but for one thing they share."""
    generator = np.random.default_rng(seed)
    like = np.arange(100, 160)
    if kind == "table":
        rows, y, _ = make_task(seed, n=n, shift=2)
        rows[like, :3] += 2 * np.array([1, -1, 1])
        rows[like, 6] += 3
        return rows, y, like
    rows = sp.random_array(
        (n, 5000), density=0.004, format="lil", random_state=generator, dtype=np.float64
    )
    y = np.zeros(n, dtype=int)
    y[:20] = 1
    suspicious = np.r_[:60, like]
    for row in suspicious:
        rows[row, generator.permutation(30)[:12]] = 1
    for row in like:
        rows[row, 30 + generator.permutation(30)[:4]] = 1
    if kind == "wide":
        return rows.tocsr(), y, like
    numbers = generator.normal(size=(n, 4))
    numbers[suspicious] += 1.5
    return sp.hstack([sp.csr_array(numbers), rows], format="csr"), y, like


def told_apart(model, rows, like):
    """Probability that a hidden anomaly scores higher than a normal row that looks like one."""
    hidden, normal = (model.anomaly_score(rows[part]) for part in (slice(20, 60), like))
    return (hidden[:, None] > normal).mean()


def ensemble(kind, **parameters):
    layout = None
    if kind == "mixed":
        layout = Layout((1, 1, 1, 1, 5000), (False, False, False, False, True))
    return quick(n_networks=4, n_trees=16, normal_label=NORMAL, layout=layout, **parameters)


@pytest.mark.parametrize("kind", ["table", "wide", "mixed"])
def test_rows_like_dismissed_ones_score_lower(kind, seed):
    rows, y, like = lookalikes(kind, seed)
    told = y.copy()
    told[like[:20]] = NORMAL
    before = ensemble(kind).fit(rows, y)
    after = ensemble(kind).fit(rows, told)
    assert told_apart(after, rows, like[20:]) > told_apart(before, rows, like[20:]) + 0.05
    lower = [np.median(model.anomaly_score(rows)[like[20:]]) for model in (before, after)]
    assert lower[1] < lower[0]
    assert after.normals_.tolist() == np.flatnonzero(told[after.pool_] == NORMAL).tolist()
    assert (after.posterior_[after.normals_] == 0).all()
    assert after.classes_.tolist() == [0, 1]
    check_complete(after, rows)


def test_a_few_matter_among_very_many(seed):
    rows, y, like = lookalikes("table", seed, n=40_000)
    told = y.copy()
    told[like[:20]] = NORMAL
    before = ensemble("table").fit(rows, y)
    after = ensemble("table").fit(rows, told)
    assert np.isin(like[:20], after.pool_).all()  # of 20,000 rows
    assert len(after.pool_) == 20_000
    assert told_apart(after, rows, like[20:]) > told_apart(before, rows, like[20:]) + 0.05


def test_it_matters_which_rows_are_known_to_be_normal(seed):
    rows, y, like = lookalikes("table", seed)
    told, elsewhere = y.copy(), y.copy()
    told[like[:20]] = elsewhere[1000:1020] = NORMAL
    apart = [
        told_apart(ensemble("table").fit(rows, one), rows, like[20:]) for one in (told, elsewhere)
    ]
    assert apart[0] > apart[1] + 0.05


def test_the_label_of_normal_rows_changes_nothing_while_no_row_has_it():
    rows, y, _ = make_task(0)
    check_same(quick(normal_label=NORMAL).fit(rows, y), quick().fit(rows, y), rows)


@pytest.mark.parametrize("n_unlabelled", [0, 1, 5])
def test_all_other_rows_may_be_known(n_unlabelled, seed):
    rows, y, truth = make_task(seed, shift=3)
    told = np.where(truth == 1, 1, NORMAL)
    told[600 : 600 + n_unlabelled] = 0
    model = quick(normal_label=NORMAL).fit(rows, told)
    check_complete(model, rows)
    assert model.hidden_anomaly_share_.value <= n_unlabelled
    fresh, _, is_anomaly = make_task(seed + 1, shift=3)
    assert np.median(model.p_value(fresh[is_anomaly == 1])) < 0.02
    assert model.predict(fresh[is_anomaly == 1]).mean() > 0.6


# What counts how much


def test_known_normal_rows_stand_for_themselves_in_ranks(seed):
    """Of a large table a sample is learned from, but all known normal rows are."""
    rows, y, like = lookalikes("table", seed, n=40_000)
    y[like] = NORMAL
    model = ensemble("table").fit(rows, y)
    is_normal = np.isin(np.arange(len(model.pool_)), model.normals_)
    n_other = (~is_normal).sum()
    assert (model.pool_weight_[~is_normal] == 1).all()
    np.testing.assert_allclose(model.pool_weight_[is_normal], n_other / (y == 0).sum())
    calibration = model.unseen_scores()
    assert len(calibration.unlabelled) == 20_000
    share = model.hidden_anomaly_share_.value
    n = (y == 0).sum()
    assert calibration.hidden_share == pytest.approx(share * n / (n + 60))
    ranks = ConformalRanks(calibration.unlabelled, calibration.weight)
    np.testing.assert_array_equal(
        model.p_value(rows[:500]), ranks.p_value(model.anomaly_score(rows[:500]))
    )


def test_the_hidden_share_is_one_of_rows_that_nobody_has_looked_at(seed):
    rows, y, like = lookalikes("table", seed)
    y[like] = NORMAL
    model = ensemble("table").fit(rows, y)
    share = model.hidden_anomaly_share_
    assert share.low <= 40 / 1920 <= share.high
    quality = model.expected_quality()
    assert 0 <= quality.low <= quality.auc_pr <= quality.high <= 1


# Further labels


@pytest.mark.parametrize("kind", ["table", "wide", "mixed"])
def test_dismissed_rows_teach_a_refit_and_can_be_withdrawn(kind, seed):
    rows, y, like = lookalikes(kind, seed)
    model = ensemble(kind).fit(rows, y)
    before = told_apart(model, rows, like[20:])
    told = y.copy()
    told[like[:20]] = NORMAL
    dismissed = told_apart(model.refit(rows, told), rows, like[20:])
    assert dismissed > before + 0.05
    assert len(model.normals_) == 20
    check_complete(model, rows)
    model.refit(rows, y)
    assert told_apart(model, rows, like[20:]) < dismissed
    assert len(model.normals_) == 0
    check_complete(model, rows)


def test_rows_outside_the_pool_join_it_when_they_are_dismissed(seed):
    rows, y, like = lookalikes("table", seed, n=30_000)
    model = ensemble("table").fit(rows, y)
    outside = np.setdiff1d(like, model.pool_)
    assert len(outside)
    told = y.copy()
    told[like] = NORMAL
    model.refit(rows, told)
    assert np.isin(like, model.pool_).all()
    assert (np.diff(model.pool_) > 0).all()
    np.testing.assert_array_equal(np.sort(model.pool_[model.normals_]), like)
    check_complete(model, rows[:3000])
    told[like[0]] = 1  # a second thought
    model.refit(rows, told)
    assert len(model.out_of_bag_.labelled) == 21
    assert len(model.normals_) == 59


def test_a_loaded_model_goes_on_with_what_it_knows(seed, tmp_path):
    rows, y, like = lookalikes("table", seed)
    y[like[:20]] = NORMAL
    model = ensemble("table").fit(rows, y)
    model.save(tmp_path / "model.devnet")
    loaded = devnet.load(tmp_path / "model.devnet")
    assert loaded.normal_label == NORMAL
    np.testing.assert_array_equal(loaded.normals_, model.normals_)
    check_same(loaded, model, rows)
    y[like[20:30]] = NORMAL
    check_same(loaded.refit(rows, y), model.refit(rows, y), rows)
