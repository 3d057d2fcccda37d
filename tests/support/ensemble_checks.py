"""Helpers for the tests of DeviationEnsemble."""

from functools import cache

import numpy as np
import scipy.sparse as sp
from support.competitor_checks import wide_task
from support.tasks import make_task

from devnet import DeviationEnsemble
from devnet.detectors.ensemble.pool import Pool


def quick(**parameters):
    return DeviationEnsemble(**{"n_networks": 2, "n_trees": 6, "random_state": 0, **parameters})


def make_pool(seed, n=600, k=15, d=6):
    """Rows of which the labelled ones are shifted in two columns."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n + k, d)).astype(np.float32)
    rows[:k, :2] += 2
    return Pool(rows[k:], np.ones(n), rows[:k], np.ones(k), np.arange(k), np.full(k, -1))


@cache
def fitted(kind="table"):
    """A fitted model with its rows and labels, for tests that change none of them."""
    rows, y = make_task(0)[:2] if kind == "table" else wide_task(0)
    return quick().fit(rows, y), rows, y


def everything(model, rows):
    """Everything a model says about rows."""
    contributions = model.contributions(rows)
    if sp.issparse(contributions):
        contributions = contributions.toarray()
    return [
        model.anomaly_score(rows),
        model.p_value(rows),
        model.predict(rows),
        contributions,
        model.column_importance_,
        model.learners_.baseline,
        np.array(model.hidden_anomaly_share_),
        np.array(model.expected_quality())[1:],  # the value itself is nan for a single label
        np.array(model.threshold_),
        *model.out_of_bag_,
    ]


def check_same(model, other, rows):
    for one, same in zip(everything(model, rows), everything(other, rows), strict=True):
        np.testing.assert_array_equal(one, same)


def check_complete(model, rows):
    """Check that all outputs are finite and consistent, whatever the data."""
    scores, p_values, *rest = everything(model, rows)
    assert all(np.isfinite(part).all() for part in (scores, p_values, *rest))
    assert ((p_values > 0) & (p_values <= 1)).all()
    order = np.argsort(scores, kind="stable")
    assert (np.diff(p_values[order]) <= 0).all()
    baseline = model.anomaly_score(model.learners_.baseline[None])
    parts = np.asarray(model.contributions(rows).sum(axis=1)).ravel()
    size = max(1, abs(scores).max())
    np.testing.assert_allclose(parts / size, (scores - baseline) / size, atol=1e-5)
