"""Calibration: what scores mean, judged by rows that the detector did not train on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import betaln

from devnet.core.labels import read_weights
from devnet.core.seeds import as_generator
from devnet.core.sparse_matrix import refuse_malformed
from devnet.significance.ranks import ConformalRanks, refuse_nan

HELD_BACK = 0.1  # of the unlabelled rows, if a detector has no out-of-bag scores
FEWEST_HELD_BACK = 1_000  # or half of the rows if there are few
MOST_HELD_BACK = 10_000
BAND = (0.025, 0.975)
MIN_LABELLED = 5  # fewer labelled anomalies say nothing about the share of hidden ones

Quantile = Callable[[float], float]


class Calibration(NamedTuple):
    """What is known about the scores of a fitted detector, from rows it did not train on."""

    unlabelled: np.ndarray  # (n,) scores of unlabelled rows by scorers that did not see them
    weight: np.ndarray  # (n,) of these rows
    labelled: np.ndarray | None  # (k,) scores of labelled anomalies, likewise, if available
    hidden_share: float | None  # of anomalies among the unlabelled rows, if known

    def representative(self) -> np.ndarray:
        """Scores of unlabelled rows, each as often as it counts; some of those that count less."""
        if len(self.weight) and (self.weight == self.weight[0]).all():
            return self.unlabelled
        order = np.argsort(self.unlabelled)
        so_far = np.cumsum(self.weight[order]) / self.weight.max(initial=0)
        is_next = np.diff(np.floor(so_far + 0.5), prepend=0) > 0
        scores: np.ndarray = self.unlabelled[order[is_next]]
        return scores

    def ranks(self) -> ConformalRanks:
        """The ranking that gives calibrated p-values."""
        return ConformalRanks(self.unlabelled, self.weight)


def calibrate(
    detector: Any, X: Any, y: Any, sample_weight: Any = None, *, random_state: Any = None
) -> Calibration:
    """Fit a detector, and score unlabelled rows that its scorers did not see.

    A detector that keeps scores of unseen rows, such as the out-of-bag scores of the deviation
    ensemble, is fitted on all rows. For any other, a random tenth of the rows that are no labelled
    anomalies is held back and scored after the fit: at least 1,000 rows, or half of them if there
    are fewer than 2,000, and at most 10,000. Known normal rows are held back as often as others:
    dismissed alerts are the highest of the normal rows, which ranks must not lack.

    Parameters
    ----------
    detector : detector, or OwnEstimator
        It is fitted in place.
    X, y, sample_weight
        As for its `fit`.
    random_state : int, numpy RandomState or Generator, optional
        Seed that decides which rows are held back.
    """
    if detector.keeps_unseen_scores:
        calibration: Calibration = detector.fit(X, y, sample_weight).unseen_scores()
        return calibration
    if sp.issparse(X):
        refuse_malformed(X)
    X = X.tocsr() if sp.issparse(X) else X if hasattr(X, "iloc") else np.asarray(X)
    is_anomaly, y = _read_y(detector, y, X.shape[0])
    weight = np.ones(len(y)) if sample_weight is None else read_weights(sample_weight, is_anomaly)
    unlabelled = np.flatnonzero(~is_anomaly & (weight > 0))
    n = len(unlabelled)
    if n < 2:
        raise ValueError(
            f"training and calibration need at least 2 unlabelled rows, but found {n}; add "
            "unlabelled rows."
        )
    size = max(int(HELD_BACK * n), min(FEWEST_HELD_BACK, n // 2))
    generator = as_generator(random_state)
    held = np.sort(generator.choice(unlabelled, min(size, MOST_HELD_BACK), replace=False))
    kept = np.setdiff1d(np.arange(len(y)), held, assume_unique=True)
    weights = [] if sample_weight is None else [weight[kept]]
    detector.fit(_take(X, kept), y[kept], *weights)
    scores = np.asarray(detector.anomaly_score(_take(X, held)), dtype=np.float64)
    refuse_nan(scores)
    return Calibration(scores, weight[held] / weight[unlabelled].max(), None, None)


def _read_y(detector: Any, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are labelled anomalies, and y without missing values."""
    if y is not None and len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(y)} labels; give one label per row.")
    labels = detector.read_y(y, n_rows)
    return labels.is_anomaly, labels.as_y(getattr(detector, "normal_label", None))


def _take(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class CalibrationCurve(NamedTuple):
    """The share of unlabelled, unseen rows with a p-value at or below each level."""

    level: np.ndarray  # (l,)
    nominal: np.ndarray | None  # (l,) share of the rows, by nominal p-values
    calibrated: np.ndarray  # (l,) share of a random half, ranked among the other half
    low: np.ndarray  # (l,) chance alone puts 95% of the calibrated shares between low and high
    high: np.ndarray  # (l,)


def calibration_curve(
    calibration: Calibration,
    nominal: Callable[[np.ndarray], np.ndarray] | None,
    levels: np.ndarray,
    *,
    random_state: Any = 0,
) -> CalibrationCurve:
    """Compare p-values with how often they occur.

    Chance enters with both halves: with the rows that rank and with the rows that are ranked. The
    band is therefore beta-binomial, which is exact if all rows have the same weight and no scores
    are tied.

    Parameters
    ----------
    calibration : Calibration
        Of at least 4 unlabelled rows.
    nominal : callable, optional
        Maps scores to nominal p-values.
    levels : array of shape (l,)
        Each above 0 and at most 1.
    random_state : int, numpy RandomState or Generator, default=0
        Seed of the split into halves.
    """
    levels = np.asarray(levels, dtype=np.float64)
    scores, weight = calibration.unlabelled, calibration.weight
    if len(scores) < 4:
        raise ValueError(
            "a calibration curve needs at least 4 unlabelled rows that were not trained on, but "
            f"has {len(scores)}; fit on more unlabelled rows."
        )
    order = as_generator(random_state).permutation(len(scores))
    ranked, ranking = order[: len(order) // 2], order[len(order) // 2 :]
    ranks = ConformalRanks(scores[ranking], weight[ranking])
    calibrated = _shares(ranks.p_value(scores[ranked]), weight[ranked], levels)
    n_ranked = max(1, round(_effective_size(weight[ranked])))
    low, high = np.array([_band(ranks, level, n_ranked) for level in levels]).reshape(-1, 2).T
    shares = None if nominal is None else _shares(nominal(scores), weight, levels)
    return CalibrationCurve(levels, shares, calibrated, low, high)


def _effective_size(weight: np.ndarray) -> float:
    """Number of equally weighted rows that carry as much information (Kish)."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def _band(ranks: ConformalRanks, level: float, n_ranked: int) -> tuple[float, float]:
    """Quantiles of the share of rows with a p-value of at most the level.

    A row has such a p-value if it scores higher than all but k - 1 of the n ranking rows. The
    share of new rows that do is distributed as Beta(k, n + 1 - k).
    """
    p_values = ranks.p_value_of_rank
    rank = int(np.searchsorted(-p_values, -level))  # the lowest that is rare enough
    if rank in (0, len(p_values)):  # all rows are, or none can be
        return (1.0, 1.0) if rank == 0 else (0.0, 0.0)
    n = _effective_size(ranks.weight)
    total = ranks.weight.sum()
    k = 1 + (p_values[rank] * (1 + total) - 1) * n / total
    count = np.arange(n_ranked + 1)
    log_chance = betaln(k + count, n + 1 - k + n_ranked - count) - betaln(k, n + 1 - k)
    log_chance -= betaln(1 + count, 1 + n_ranked - count) + np.log(n_ranked + 1)
    low, high = np.searchsorted(np.cumsum(np.exp(log_chance)), BAND) / n_ranked
    return float(low), float(high)


def _shares(p_values: np.ndarray, weight: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Weighted share of p-values at or below each level."""
    order = np.argsort(p_values)
    below = np.append(0, np.cumsum(weight[order]))
    share: np.ndarray = below[np.searchsorted(p_values[order], levels, side="right")] / below[-1]
    return share
