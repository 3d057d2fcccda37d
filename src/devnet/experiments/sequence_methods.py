"""The methods of the experiments with sequences: each from sequences (n, t) to scores.

Sequences of whole numbers are symbols. Networks have one shape and take the same number of steps.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MinMaxScaler

from devnet.detectors.methods import find_method

# The defaults of `SequenceDevNet`:
HIDDEN = (16, 16, 16)
TOP_SHARE = 0.3
N_EPOCHS, N_BATCHES, BATCH_SIZE = 20, 20, 128
LEARNING_RATE = 0.003


class Deviations(BaseEstimator):
    """`SequenceDevNet`, told whether steps are symbols."""

    def __init__(
        self,
        head: str = "global",
        *,
        learner: str = "convolution",
        n_members: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.head = head
        self.learner = learner
        self.n_members = n_members
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from sequences (n, t) or windows (n, t, c)."""
        from devnet.deep.sequences.sequence_devnet import SequenceDevNet  # needs torch

        parameters = self.get_params(deep=False)
        self.model_ = SequenceDevNet(symbols=_are_symbols(X), **parameters).fit(X, y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Anomaly scores."""
        return np.asarray(self.model_.anomaly_score(X))

    def anomaly_profile(self, X: np.ndarray) -> np.ndarray:
        """Scores or contributions of the steps."""
        return np.asarray(self.model_.anomaly_profile(X))


class OnSteps(BaseEstimator):
    """A method of tables on the steps as columns, from 0 to 1; symbols are one-hot."""

    def __init__(self, base: str = "DevNet", *, random_state: int | None = None) -> None:
        self.base = base
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from sequences."""
        self.scaler_ = MinMaxScaler().fit(_columns(X))
        self.model_ = find_method(self.base)(random_state=self.random_state)
        self.model_.fit(self.scaler_.transform(_columns(X)), y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Anomaly scores."""
        return np.asarray(self.model_.anomaly_score(self.scaler_.transform(_columns(X))))


class OnFeatures(BaseEstimator):
    """A method of tables on `WindowFeatures`; of symbols, on counts of pairs that follow."""

    def __init__(
        self, base: str = "deviation ensemble", *, random_state: int | None = None
    ) -> None:
        self.base = base
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from sequences (n, t) or windows (n, t, c)."""
        self.model_ = find_method(self.base)(random_state=self.random_state)
        self.model_.fit(_features(X), y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Anomaly scores."""
        return np.asarray(self.model_.anomaly_score(_features(X)))


class SequenceSVDD(BaseEstimator):
    """DeepSVDD with the feature learner of `SequenceDevNet`, without biases."""

    def __init__(self, *, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from sequences."""
        self.read_, module = _module(X, self.random_state)
        for name, weight in module.named_parameters():
            if "bias" in name:
                weight.data.zero_()
                weight.requires_grad_(False)
        self.model_ = find_method("DSVDD")(
            hidden=module,
            n_epochs=N_EPOCHS,
            n_batches=N_BATCHES,
            batch_size=BATCH_SIZE,
            random_state=self.random_state,
        )
        self.model_.fit(self.read_(X), y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Distances to the centre."""
        return np.asarray(self.model_.anomaly_score(self.read_(X)))


class SupervisedSequences(BaseEstimator):
    """The network of `SequenceDevNet` as a classifier: cross entropy on balanced batches."""

    def __init__(self, *, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from sequences."""
        import torch
        from torch.nn import functional

        generator = np.random.default_rng(self.random_state)
        self.read_, module = _module(X, self.random_state)
        rows = torch.from_numpy(self.read_(X))
        with torch.random.fork_rng():
            torch.manual_seed(0 if self.random_state is None else self.random_state)
            width = module(rows[:2]).shape[1]
            self.network_ = torch.nn.Sequential(module, torch.nn.Linear(width, 1))
        optimizer = torch.optim.Adam(self.network_.parameters(), LEARNING_RATE)
        halves = [np.flatnonzero(y), np.flatnonzero(y == 0)]
        is_anomaly = (torch.arange(BATCH_SIZE) < BATCH_SIZE // 2).float()
        for _ in range(N_EPOCHS * N_BATCHES):
            drawn = np.concatenate([generator.choice(half, BATCH_SIZE // 2) for half in halves])
            outputs = self.network_(rows[drawn])[:, 0]
            loss = functional.binary_cross_entropy_with_logits(outputs, is_anomaly)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Log-odds."""
        import torch

        rows = torch.from_numpy(self.read_(X))
        self.network_.eval()
        with torch.no_grad():
            parts = [self.network_(rows[i : i + 256]) for i in range(0, len(rows), 256)]
        return np.asarray(torch.cat(parts)[:, 0].double())


def _are_symbols(X: np.ndarray) -> bool:
    return X.dtype.kind in "iu"


def _columns(X: np.ndarray) -> np.ndarray:
    """Steps as columns (n, t), or (n, t * v) for symbols 0 to v - 1."""
    if not _are_symbols(X):
        return X.reshape(len(X), -1)
    one_hot: np.ndarray = np.eye(27, dtype=np.float32)[X]
    return one_hot.reshape(len(X), -1)


def _features(X: np.ndarray) -> np.ndarray:
    if not _are_symbols(X):
        from devnet.deep.sequences.window_features import WindowFeatures

        return np.asarray(WindowFeatures().fit_transform(X))
    pairs = X[:, :-1] * 27 + X[:, 1:]  # (n, t - 1)
    counts = np.zeros((len(X), 27 * 27), np.float32)
    np.add.at(counts, (np.arange(len(X))[:, None], pairs), 1)
    return counts


def _module(X: np.ndarray, seed: int | None) -> tuple[Callable[[np.ndarray], np.ndarray], Any]:
    """How sequences are read as flat rows, and the feature learner of `SequenceDevNet` for them."""
    import torch

    from devnet.deep.sequences.encoding import learn_encoding
    from devnet.deep.sequences.reading import read_steps
    from devnet.deep.sequences.sequence_network import SequenceNetwork
    from devnet.deep.sequences.sequence_rows import SequenceRows
    from devnet.deep.sequences.surprise import learn_surprise

    symbols = _are_symbols(X)
    steps = read_steps(X, symbols=symbols)
    encoding = learn_encoding(steps, symbols=symbols)
    surprise = learn_surprise(steps, encoding)

    def read(X: np.ndarray) -> np.ndarray:
        steps = read_steps(X, symbols=symbols)
        return SequenceRows(steps, encoding, surprise).dense(slice(None))

    with torch.random.fork_rng():
        torch.manual_seed(0 if seed is None else seed)
        module = SequenceNetwork(
            n_channels=1,
            n_codes=0 if encoding.symbols is None else 1 + len(encoding.symbols),
            n_steps=X.shape[1],
            hidden=HIDDEN,
            learner="convolution",
            head="global",
            top_share=TOP_SHARE,
            embedding=8,
        )
    return read, module
