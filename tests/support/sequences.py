"""Small sequences with planted faults, and quick detectors of them."""

import numpy as np

from devnet import SequenceDevNet


def make_signals(seed=0, n=90, t=24, n_faults=12, n_labelled=6, channels=None):
    """Waves with noise (n, t) or (n, t, c); faults are bursts of ten steps. Returns X, y, truth."""
    generator = np.random.default_rng(seed)
    phase = generator.uniform(0, 6, n)
    signals = np.sin(np.arange(t) / 3 + phase[:, None]) + 0.2 * generator.normal(size=(n, t))
    truth = np.arange(n) < n_faults
    starts = generator.integers(0, t - 10, n)
    for row in np.flatnonzero(truth):
        signals[row, starts[row] : starts[row] + 10] += 3
    y = np.where(np.arange(n) < n_labelled, 1, 0)
    if channels:
        others = generator.normal(size=(n, t, channels - 1))
        signals = np.concatenate([signals[:, :, None], others], axis=2)
    return signals, y, truth, starts


def ragged(signals, seed=0, shortest=12):
    """The same signals, each cut to a length of its own."""
    lengths = np.random.default_rng(seed).integers(shortest, signals.shape[1] + 1, len(signals))
    return [signal[:length] for signal, length in zip(signals, lengths, strict=True)]


def quick(**parameters):
    """A detector that learns for a second at most."""
    settings = {"hidden": (6, 6), "n_epochs": 4, "n_batches": 10, "batch_size": 32}
    return SequenceDevNet(**{**settings, "random_state": 0, **parameters})
