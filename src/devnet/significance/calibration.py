"""Calibration: what scores mean, told by rows that a detector did not train on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import betaln

from devnet.core.labels import read_weights
from devnet.core.seeds import as_generator
from devnet.significance.ranks import ConformalRanks

HELD_BACK = 0.1  # of the unlabelled rows, where a detector has no out-of-bag scores
FEWEST_HELD_BACK = 1_000  # or half of them where there are few
MOST_HELD_BACK = 10_000
BAND = (0.025, 0.975)
MIN_LABELLED = 5  # fewer labelled anomalies say nothing about a share of hidden ones

Quantile = Callable[[float], float]


class Calibration(NamedTuple):
    """What is known about the scores of a fitted detector, from rows it did not train on."""

    unlabelled: np.ndarray  # (n,) scores of unlabelled rows by scorers that did not see them
    weight: np.ndarray  # (n,) how much each counts
    labelled: np.ndarray | None  # (k,) the same of labelled anomalies, where there are such
    hidden_share: float | None  # of anomalies among the unlabelled rows, where it is known

    def ranks(self) -> ConformalRanks:
        """What gives calibrated p-values."""
        return ConformalRanks(self.unlabelled, self.weight)


def calibrate(
    detector: Any, X: Any, y: Any, sample_weight: Any = None, *, random_state: Any = None
) -> Calibration:
    """Fit a detector, and score unlabelled rows by scorers that did not see them.

    A deviation ensemble is fitted on all rows and has out-of-bag scores. Any other detector is
    fitted without a random tenth of the unlabelled rows, at least 1,000 or half of them and at
    most 10,000, which it then scores.

    Parameters
    ----------
    detector : detector, or OwnEstimator
        It is fitted.
    X, y, sample_weight
        As for its `fit`.
    random_state : int, numpy RandomState or Generator, optional
        Seed of which rows are held back.
    """
    if detector.keeps_unseen_scores:
        calibration: Calibration = detector.fit(X, y, sample_weight).unseen_scores()
        return calibration
    X = X.tocsr() if sp.issparse(X) else X if hasattr(X, "iloc") else np.asarray(X)
    is_anomaly, y = _read_y(detector, y, X.shape[0])
    weight = np.ones(len(y)) if sample_weight is None else read_weights(sample_weight, is_anomaly)
    places = np.flatnonzero(~is_anomaly & (weight > 0))
    if len(places) < 2:
        raise ValueError(
            f"there are {len(places)} unlabelled rows to learn from and to calibrate with, which "
            "takes at least 2; add unlabelled rows."
        )
    size = max(int(HELD_BACK * len(places)), min(FEWEST_HELD_BACK, len(places) // 2))
    generator = as_generator(random_state)
    held = np.sort(generator.choice(places, min(size, MOST_HELD_BACK), replace=False))
    kept = np.setdiff1d(np.arange(len(y)), held, assume_unique=True)
    weights = [] if sample_weight is None else [weight[kept]]
    detector.fit(_take(X, kept), y[kept], *weights)
    scores = np.asarray(detector.anomaly_score(_take(X, held)), dtype=np.float64)
    refuse_nan(scores)
    return Calibration(scores, weight[held] / weight[places].max(), None, None)


def _read_y(detector: Any, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are labelled anomalies, and y without missing values."""
    if y is not None and len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(y)} labels; give one label per row.")
    labels = detector.read_y(y, n_rows)
    return labels.is_anomaly, labels.classes[labels.is_anomaly.astype(int)]


def _take(X: Any, places: np.ndarray) -> Any:
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


class CalibrationCurve(NamedTuple):
    """How often unlabelled rows that a detector did not see have a p-value of a level or less."""

    level: np.ndarray  # (l,)
    nominal: np.ndarray | None  # (l,) share of the rows by nominal p-values
    calibrated: np.ndarray  # (l,) share of a random half, ranked among the other half
    low: np.ndarray  # (l,) from here to `high`, 95% of these shares lie by chance
    high: np.ndarray  # (l,)


def calibration_curve(
    calibration: Calibration,
    nominal: Callable[[np.ndarray], np.ndarray] | None,
    levels: np.ndarray,
    *,
    random_state: Any = 0,
) -> CalibrationCurve:
    """Compare p-values with how often they occur.

    Both halves are random: how well the one ranks, and which rows of the other come out. So the
    band is beta-binomial, which is exact where all rows count alike and no scores are equal.

    Parameters
    ----------
    calibration : Calibration
        Of at least 4 unlabelled rows.
    nominal : callable, optional
        From scores to nominal p-values.
    levels : array of shape (l,)
        Each above 0, at most 1.
    random_state : int, numpy RandomState or Generator, default=0
        Seed of the halves.
    """
    levels = np.asarray(levels, dtype=np.float64)
    scores, weight = calibration.unlabelled, calibration.weight
    if len(scores) < 4:
        raise ValueError(
            f"a calibration curve takes at least 4 unlabelled rows that were not trained on, here "
            f"are {len(scores)}; fit on more unlabelled rows."
        )
    order = as_generator(random_state).permutation(len(scores))
    ranked, ranking = order[: len(order) // 2], order[len(order) // 2 :]
    ranks = ConformalRanks(scores[ranking], weight[ranking])
    calibrated = _shares(ranks.p_value(scores[ranked]), weight[ranked], levels)
    n_ranked = max(1, round(_n_alike(weight[ranked])))
    low, high = np.array([_band(ranks, level, n_ranked) for level in levels]).reshape(-1, 2).T
    shares = None if nominal is None else _shares(nominal(scores), weight, levels)
    return CalibrationCurve(levels, shares, calibrated, low, high)


def _n_alike(weight: np.ndarray) -> float:
    """How many rows of equal weight are worth as much."""
    return float(weight.sum() ** 2 / (weight**2).sum())


def _band(ranks: ConformalRanks, level: float, n_ranked: int) -> tuple[float, float]:
    """Quantiles of the share of rows whose p-value is at most the level.

    A row has such a p-value if it scores higher than all but k - 1 of the n ranking rows. Of new
    rows the share that does is distributed as Beta(k, n + 1 - k).
    """
    p_values = ranks.p_value_of_rank
    place = int(np.searchsorted(-p_values, -level))  # the lowest rank that is rare enough
    if place in (0, len(p_values)):  # all rows are, or none can be
        return (1.0, 1.0) if place == 0 else (0.0, 0.0)
    n = _n_alike(ranks.weight)
    total = ranks.weight.sum()
    k = 1 + (p_values[place] * (1 + total) - 1) * n / total
    count = np.arange(n_ranked + 1)
    log_chance = betaln(k + count, n + 1 - k + n_ranked - count) - betaln(k, n + 1 - k)
    log_chance -= betaln(1 + count, 1 + n_ranked - count) + np.log(n_ranked + 1)
    low, high = np.searchsorted(np.cumsum(np.exp(log_chance)), BAND) / n_ranked
    return float(low), float(high)


def _shares(p_values: np.ndarray, weight: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Weighted share of p-values of each level or less."""
    order = np.argsort(p_values)
    below = np.append(0, np.cumsum(weight[order]))
    share: np.ndarray = below[np.searchsorted(p_values[order], levels, side="right")] / below[-1]
    return share


def refuse_nan(scores: np.ndarray) -> None:
    """Refuse scores that cannot be ranked."""
    if np.isnan(scores).any():
        place = int(np.flatnonzero(np.isnan(scores))[0])
        raise ValueError(
            f"the score of row {place} is not a number, so rows cannot be ranked; use another "
            "detector."
        )
