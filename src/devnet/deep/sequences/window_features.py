"""Fixed features of sequences, so that any detector of tables can learn from them."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.base import BaseEstimator, TransformerMixin

from devnet.deep.sequences.reading import read_steps

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
LAGS = (1, 2, 4, 8, 16)
SCALES = (4, 8, 16, 32)  # steps over which a local level and spread are taken
N_BANDS = 8  # of the spectrum, each about as wide as all lower ones together
SMALL = 1e-12

Group = Callable[[np.ndarray], list[np.ndarray]]
"""Signals (n, t) -> features, each (n,)."""


class WindowFeatures(TransformerMixin, BaseEstimator):
    """Turn sequences or windows into a table: statistics, local changes and spectrum by channel.

    Nothing is learned and nothing is tuned. `make_pipeline(WindowFeatures(), DeviationEnsemble())`
    is often the better tool with few labels: docs/tutorials/signals.md says when.

    Sequences may have any lengths. A missing value is filled in between its neighbours, and the
    share of missing values is a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import WindowFeatures
    >>> signals = np.sin(np.arange(50) / [[3], [5]])
    >>> WindowFeatures().fit_transform(signals).shape
    (2, 37)
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note how many channels there are."""
        self.n_features_in_ = read_steps(X, symbols=False).values.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features (n, c * f) in float64.

        Parameters
        ----------
        X : array of shape (n, t) or (n, t, c), or list of n sequences
        """
        steps = read_steps(X, symbols=False)
        n_channels = steps.values.shape[1]
        if n_channels != self.n_features_in_:
            raise ValueError(
                f"the sequences of X have {n_channels} channels, but {self.n_features_in_} were "
                "there to fit; give the same channels."
            )
        found: np.ndarray = np.empty((len(steps.lengths), n_channels * len(FEATURE_NAMES)))
        for length in np.unique(steps.lengths).tolist():
            rows = np.flatnonzero(steps.lengths == length)
            index = steps.offsets[rows][:, None] + np.arange(length)
            values = steps.values[index].astype(np.float64)  # (b, t, c)
            found[rows] = np.concatenate([_features(part) for part in np.moveaxis(values, 2, 0)], 1)
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features, such as "0: mean" for that of the first channel."""
        names = [f"{c}: {name}" for c in range(self.n_features_in_) for name in FEATURE_NAMES]
        return np.array(names, dtype=object)


def _features(signals: np.ndarray) -> np.ndarray:
    """Features (n, f) of one channel (n, t)."""
    is_missing = np.isnan(signals)
    if is_missing.any():
        signals = np.stack([_filled(signal) for signal in signals])
    groups: list[Group] = [_distribution, _changes, _local, _correlations, _spectrum]
    columns = [is_missing.mean(axis=1)]
    for group in groups:
        columns += group(signals)
    return np.stack(columns, axis=1)


def _filled(signal: np.ndarray) -> np.ndarray:
    known = np.flatnonzero(~np.isnan(signal))
    if not len(known):
        return np.zeros_like(signal)
    filled: np.ndarray = np.interp(np.arange(len(signal)), known, signal[known])
    return filled


def _distribution(signals: np.ndarray) -> list[np.ndarray]:
    mean, std = signals.mean(axis=1), signals.std(axis=1)
    scaled = (signals - mean[:, None]) / np.maximum(std, SMALL)[:, None]
    quantiles = np.quantile(signals, QUANTILES, axis=1)
    return [mean, std, (scaled**3).mean(axis=1), (scaled**4).mean(axis=1), *quantiles]


def _changes(signals: np.ndarray) -> list[np.ndarray]:
    change = np.abs(np.diff(signals, axis=1, prepend=signals[:, :1]))
    centred = signals - signals.mean(axis=1, keepdims=True)
    crossings = (np.diff(np.sign(centred), axis=1, prepend=np.sign(centred[:, :1])) != 0).mean(1)
    time = np.linspace(-1, 1, signals.shape[1]) if signals.shape[1] > 1 else np.zeros(1)
    slope = centred @ time / max((time**2).sum(), SMALL)
    return [change.mean(axis=1), change.max(axis=1), crossings, slope]


def _local(signals: np.ndarray) -> list[np.ndarray]:
    """The highest and lowest local spread at each scale: bursts, and signals that hold still."""
    columns = []
    for scale in SCALES:
        size = min(scale, signals.shape[1])
        spread = sliding_window_view(signals, size, axis=1).std(axis=2)
        columns += [spread.max(axis=1), spread.min(axis=1)]
    return columns


def _correlations(signals: np.ndarray) -> list[np.ndarray]:
    centred = signals - signals.mean(axis=1, keepdims=True)
    power = np.maximum((centred**2).sum(axis=1), SMALL)
    return [
        (centred[:, lag:] * centred[:, :-lag]).sum(axis=1) / power
        if lag < signals.shape[1]
        else np.zeros(len(signals))
        for lag in LAGS
    ]


def _spectrum(signals: np.ndarray) -> list[np.ndarray]:
    """Logarithm of the power in bands, of fractions of the sampling rate."""
    centred = signals - signals.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, axis=1)) ** 2 / signals.shape[1]
    frequency = np.fft.rfftfreq(signals.shape[1])
    edges = 0.5 * 2.0 ** -np.arange(N_BANDS, dtype=float)  # upper ends, descending
    lower = np.append(edges[1:], -1.0)
    bands = [
        (frequency <= high) & (frequency > low) for high, low in zip(edges, lower, strict=True)
    ]
    return [np.log(power[:, band].sum(axis=1) + SMALL) for band in bands]


FEATURE_NAMES = (
    "share missing",
    *("mean", "spread", "skewness", "kurtosis"),
    *(f"quantile {share:g}" for share in QUANTILES),
    *("mean change", "largest change", "crossings", "slope"),
    *(f"{which} spread over {scale}" for scale in SCALES for which in ("largest", "smallest")),
    *(f"correlation at {lag}" for lag in LAGS),
    *(f"power below {0.5 / 2**i:g}" for i in range(N_BANDS)),
)
