"""Small tasks and numerical slopes, for the tests of every room."""

import numpy as np

from devnet.core.labels import Labels


def make_labels(is_anomaly, is_normal=None):
    """Labels of rows, of which some may be known to be normal."""
    is_anomaly = np.asarray(is_anomaly, dtype=bool)
    is_normal = np.zeros_like(is_anomaly) if is_normal is None else np.asarray(is_normal)
    return Labels(is_anomaly, is_normal, np.array([0, 1]))


def make_task(seed, n=1200, d=8, n_labelled=20, shift=1.2, dtype=np.float32):
    """Rows, y and truth: anomalies are shifted in three columns, and a few are labelled."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)).astype(dtype)
    truth = np.zeros(n, dtype=int)
    truth[: 3 * n_labelled] = 1
    rows[truth == 1, :3] += shift * np.array([1, -1, 1])
    y = np.zeros(n, dtype=int)
    y[:n_labelled] = 1
    return rows, y, truth


def numerical_slope(function, values, step=1e-6):
    """Central differences of a function of an array."""
    slope = np.zeros_like(values)
    for index in np.ndindex(values.shape):
        shifted = [values.copy(), values.copy()]
        shifted[0][index] += step
        shifted[1][index] -= step
        slope[index] = (function(shifted[0]) - function(shifted[1])) / (2 * step)
    return slope
