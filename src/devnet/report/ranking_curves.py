"""Precision-recall and ROC curves of labelled anomalies against unlabelled rows, with bands."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

GRID = np.linspace(0, 1, 101)
N_RESAMPLES = 400
LEAST_LABELLED = 5  # with fewer, a band would promise too much


class Area(NamedTuple):
    """Area under a curve with its 95% interval; nan if the interval is unknown."""

    value: float
    low: float
    high: float


class Curve(NamedTuple):
    """The curve of a method, by recall or by false alarms."""

    name: str
    x: np.ndarray  # (n,)
    y: np.ndarray  # (n,)
    low: np.ndarray  # (n,) nan without a band
    high: np.ndarray  # (n,)
    area: Area


class RankingCurves(NamedTuple):
    """Both curves of one method."""

    precision_recall: Curve
    roc: Curve


class _Counts(NamedTuple):
    """Counts of rows down to each score of a labelled anomaly, from the highest on."""

    found: np.ndarray  # (..., k) labelled
    above: np.ndarray  # (..., k) unlabelled, scoring higher
    as_high: np.ndarray  # (..., k) unlabelled, scoring at least as high
    n_labelled: int
    n_unlabelled: int


def ranking_curves(name: str, unlabelled: np.ndarray, labelled: np.ndarray) -> RankingCurves:
    """Curves of one method, with 95% bands over resampled labelled and unlabelled rows.

    Parameters
    ----------
    name : str
        The method.
    unlabelled, labelled : arrays
        Scores by scorers that did not see the rows; at least one each. Unlabelled rows count as
        normal.
    """
    step, in_step = np.unique(-labelled, return_inverse=True)  # from the highest on
    weight = np.bincount(in_step, minlength=len(step))
    ascending = np.sort(-unlabelled)
    above = np.searchsorted(ascending, step, side="left")
    as_high = np.searchsorted(ascending, step, side="right")
    sizes = (len(labelled), len(unlabelled))
    counts = _Counts(np.cumsum(weight), above, as_high, *sizes)
    drawn = _resample(counts, weight) if len(labelled) >= LEAST_LABELLED else None
    return RankingCurves(
        _curve(name, counts, drawn, _precisions, _average_precisions),
        _curve(name, counts, drawn, _found_shares, _areas_under_roc),
    )


def _resample(counts: _Counts, weight: np.ndarray) -> _Counts:
    """Resample both kinds of rows; for unlabelled ones only the step they fall into matters."""
    generator = np.random.default_rng(0)
    edges = np.stack([counts.above, counts.as_high], axis=1).ravel()
    cells = np.diff(edges, prepend=0, append=counts.n_unlabelled) / counts.n_unlabelled
    unlabelled = generator.multinomial(counts.n_unlabelled, cells, N_RESAMPLES)
    labelled = generator.multinomial(counts.n_labelled, weight / counts.n_labelled, N_RESAMPLES)
    so_far = np.cumsum(unlabelled, axis=1)
    return counts._replace(
        found=np.cumsum(labelled, axis=1), above=so_far[:, 0:-1:2], as_high=so_far[:, 1:-1:2]
    )


def _curve(
    name: str,
    counts: _Counts,
    drawn: _Counts | None,
    heights: Callable[[_Counts], np.ndarray],
    areas: Callable[[_Counts], np.ndarray],
) -> Curve:
    y, area = heights(counts), float(areas(counts))
    if drawn is None:
        unknown = np.full(len(GRID), np.nan)
        return Curve(name, GRID, y, unknown, unknown, Area(area, np.nan, np.nan))
    each = [
        drawn._replace(found=found, above=above, as_high=as_high)
        for found, above, as_high in zip(drawn.found, drawn.above, drawn.as_high, strict=True)
    ]
    low, high = np.quantile([heights(one) for one in each], (0.025, 0.975), axis=0)
    least, most = np.quantile(areas(drawn), (0.025, 0.975))
    return Curve(name, GRID, y, low, high, Area(area, float(least), float(most)))


def _precisions(counts: _Counts) -> np.ndarray:
    """Precision at the highest threshold that reaches each recall."""
    wanted = np.maximum(GRID * counts.n_labelled - 1e-9, 1e-9)
    index = np.searchsorted(counts.found, wanted)
    precisions: np.ndarray = (counts.found / (counts.found + counts.as_high + 1e-12))[index]
    return precisions


def _average_precisions(counts: _Counts) -> np.ndarray:
    precision = counts.found / np.maximum(counts.found + counts.as_high, 1)
    areas: np.ndarray = (_weights(counts) * precision).sum(axis=-1) / counts.n_labelled
    return areas


def _areas_under_roc(counts: _Counts) -> np.ndarray:
    """Share of pairs in the right order; ties count half."""
    below = 1 - (counts.above + counts.as_high) / (2 * counts.n_unlabelled)
    areas: np.ndarray = (_weights(counts) * below).sum(axis=-1) / counts.n_labelled
    return areas


def _weights(counts: _Counts) -> np.ndarray:
    return np.diff(counts.found, prepend=0)


def _roc_points(counts: _Counts) -> tuple[np.ndarray, np.ndarray]:
    before = np.concatenate([[0], counts.found[:-1]])
    x = np.stack([counts.above, counts.as_high], axis=1).ravel() / counts.n_unlabelled
    y = np.stack([before, counts.found], axis=1).ravel() / counts.n_labelled
    return np.concatenate([[0], x, [1]]), np.concatenate([[0], y, [1]])


def _found_shares(counts: _Counts) -> np.ndarray:
    """Recall at each share of false alarms."""
    x, y = _roc_points(counts)
    last = np.append(np.diff(x) > 0, True)  # the highest of several at one x
    shares: np.ndarray = np.interp(GRID, x[last], y[last])
    return shares
