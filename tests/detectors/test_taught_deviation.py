"""TaughtDeviation orders rows as RankDeviation does, until verdicts say something else."""

import numpy as np
import pytest
from scipy.stats import rankdata
from support.model_files import write_sealed
from support.small_methods import fitted_small, small_rows

import devnet
from devnet import ModelFileError, RankDeviation, TaughtDeviation
from devnet.core import model_file
from devnet.detectors import taught_columns

NORMAL, ANOMALY = 2, 1


def made_rows(seed, n=2000):
    """Two kinds of unusual rows: 0 to 39 are high in one column, 40 to 79 low in another."""
    rows = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    rows[:40, 0] += 7
    rows[40:80, 3] -= 7
    return rows


def fitted(rows, seed, **verdicts):
    """With verdicts on rows, by number."""
    y = np.zeros(len(rows))
    for verdict, numbers in verdicts.items():
        y[numbers] = {"normal": NORMAL, "anomaly": ANOMALY}[verdict]
    return TaughtDeviation(normal_label=NORMAL, random_state=seed).fit(rows, y)


def share_above(scores, others):
    """Of pairs, those in which the first scores higher."""
    return (scores[:, None] > others).mean()


def test_without_a_verdict_the_order_is_that_of_rank_deviation(seed):
    rows = made_rows(seed)
    one = RankDeviation().fit(rows, None).anomaly_score(rows)
    other = TaughtDeviation().fit(rows, None).anomaly_score(rows)
    np.testing.assert_array_equal(rankdata(one), rankdata(other))


def test_dismissed_rows_alone_push_those_like_them_down_and_leave_others(seed):
    rows = made_rows(seed)
    before, after = (
        fitted(rows, seed, normal=numbers).anomaly_score(rows) for numbers in ([], range(20))
    )
    fall = before - after
    assert fall[20:40].min() > 0.2  # like dismissed rows
    assert fall[20:40].mean() > 2 * fall[40:80].mean()
    assert share_above(after[40:80], after[20:40]) > 0.9


def test_confirmed_rows_lift_those_like_them(seed):
    rows = made_rows(seed)
    after = fitted(rows, seed, normal=range(60, 80), anomaly=range(20)).anomaly_score(rows)
    assert share_above(after[20:40], after[80:]) > 0.99
    assert share_above(after[20:40], after[40:60]) > 0.99


def test_verdicts_of_weight_zero_teach_nothing(seed):
    rows = made_rows(seed)
    y, weight = np.where(np.arange(2000) < 20, NORMAL, 0), np.where(np.arange(2000) < 20, 0, 1)
    one = TaughtDeviation(normal_label=NORMAL, random_state=seed).fit(rows, y, weight)
    other = TaughtDeviation(random_state=seed).fit(rows, None, weight)
    np.testing.assert_array_equal(one.anomaly_score(rows), other.anomaly_score(rows))


def test_very_many_verdicts_are_learned_from_in_part(seed, monkeypatch):
    rows = made_rows(seed)
    monkeypatch.setattr(taught_columns, "MOST_VERDICTS", 30)
    after = fitted(rows, seed, normal=range(40)).anomaly_score(rows)
    assert share_above(after[40:80], after[:40]) > 0.9


def test_contributions_add_up_to_the_score(seed):
    rows = made_rows(seed)
    model = fitted(rows, seed, normal=range(20), anomaly=range(40, 60))
    baseline = np.median(rows, axis=0)
    found = model.own_contributions(rows[:90], baseline)
    expected = model.anomaly_score(rows[:90]) - model.anomaly_score(baseline[None])
    np.testing.assert_allclose(found.sum(axis=1), expected, atol=1e-9)


def test_equal_rows_have_equal_scores():
    rows = np.ones((300, 3), dtype=np.float32)
    y = np.where(np.arange(300) < 5, NORMAL, 0)
    scores = TaughtDeviation(normal_label=NORMAL).fit(rows, y).anomaly_score(rows)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) == 0


def test_verdicts_on_wide_rows_change_nothing():
    rows, y = small_rows("wide")
    plain = RankDeviation().fit(rows, None).anomaly_score(rows)
    np.testing.assert_array_equal(TaughtDeviation().fit(rows, y).anomaly_score(rows), plain)


@pytest.mark.parametrize("kind", ["dense", "wide"])
def test_a_saved_model_is_the_same(kind, tmp_path):
    model = fitted_small("taught deviation", kind)
    model.save(tmp_path / "m.devnet")
    rows, _ = small_rows(kind)
    loaded = devnet.load(tmp_path / "m.devnet")
    np.testing.assert_array_equal(loaded.anomaly_score(rows), model.anomaly_score(rows))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("expected", lambda part: -part, "must be expected more"),
        ("weight", lambda part: -part, "must be positive"),
        ("tree_left", lambda part: part + 1, "tree"),
    ],
)
def test_an_edited_file_is_refused(name, change, words, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small("taught deviation", "dense").save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header, {**tensors, name: change(tensors[name])})
    with pytest.raises(ModelFileError, match=words):
        devnet.load(path)
