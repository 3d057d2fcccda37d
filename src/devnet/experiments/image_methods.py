"""The methods of the experiment with images, each from images (n, h, w) of uint8 to scores.

Networks are all of one shape and take the same number of steps.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from devnet.detectors.methods import find_method

WIDTHS = (16, 32, 32)
N_EPOCHS, N_BATCHES, BATCH_SIZE = 20, 20, 64  # fewer steps than the paper's, for time
LEARNING_RATE = 0.001
N_KERNELS = 32  # of features, nine of each


class OnPixels(BaseEstimator):
    """A method of tables on flat pixels from 0 to 1."""

    def __init__(self, base: str = "DevNet", *, random_state: int | None = None) -> None:
        self.base = base
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from images."""
        self.model_ = find_method(self.base)(random_state=self.random_state)
        self.model_.fit(_flat(X), y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Anomaly scores."""
        return np.asarray(self.model_.anomaly_score(_flat(X)))


class OnFeatures(BaseEstimator):
    """A method of tables on the features of patches, see `ImageFeatures`."""

    def __init__(self, base: str = "iForest", *, random_state: int | None = None) -> None:
        self.base = base
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from images."""
        from devnet.deep.images.features import ImageFeatures  # needs torch

        self.features_ = ImageFeatures(n_kernels=N_KERNELS, random_state=self.random_state)
        self.model_ = find_method(self.base)(random_state=self.random_state)
        self.model_.fit(self.features_.fit_transform(X), y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Anomaly scores."""
        return np.asarray(self.model_.anomaly_score(self.features_.transform(X)))


class ConvolutionalSVDD(BaseEstimator):
    """DeepSVDD with the feature learner of `ImageDevNet`, without biases, which would do alone."""

    def __init__(self, *, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from images."""
        module = _module(X, self.random_state)
        for weight in module.parameters():
            if weight.ndim == 1:
                weight.data.zero_()
                weight.requires_grad_(False)
        self.model_ = find_method("DSVDD")(
            hidden=module,
            n_epochs=N_EPOCHS,
            n_batches=N_BATCHES,
            batch_size=BATCH_SIZE,
            random_state=self.random_state,
        )
        self.model_.fit(_flat(X), y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Distances to the centre."""
        return np.asarray(self.model_.anomaly_score(_flat(X)))


class SupervisedNetwork(BaseEstimator):
    """The network of `ImageDevNet` as a plain classifier: cross entropy on balanced batches."""

    def __init__(self, *, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn from images."""
        import torch
        from torch.nn import functional

        generator = np.random.default_rng(self.random_state)
        module = _module(X, self.random_state)
        with torch.random.fork_rng():
            torch.manual_seed(0 if self.random_state is None else self.random_state)
            width = module(torch.zeros(1, X[0].size)).shape[1]
            self.network_ = torch.nn.Sequential(module, torch.nn.Linear(width, 1))
        optimizer = torch.optim.Adam(self.network_.parameters(), LEARNING_RATE)
        halves = [np.flatnonzero(y), np.flatnonzero(y == 0)]
        is_anomaly = torch.arange(BATCH_SIZE) < BATCH_SIZE // 2
        for _ in range(N_EPOCHS * N_BATCHES):
            drawn = np.concatenate([generator.choice(half, BATCH_SIZE // 2) for half in halves])
            outputs = self.network_(torch.from_numpy(_flat(X[drawn])))[:, 0]
            loss = functional.binary_cross_entropy_with_logits(outputs, is_anomaly.float())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Log-odds."""
        import torch

        self.network_.eval()
        with torch.no_grad():
            parts = [self.network_(torch.from_numpy(_flat(X[i : i + 64]))) for i in _starts(X)]
        return np.asarray(torch.cat(parts)[:, 0].double())


def _flat(X: np.ndarray) -> np.ndarray:
    return X.reshape(len(X), -1) / np.float32(255)


def _starts(X: np.ndarray) -> range:
    return range(0, len(X), 64)


def _module(X: np.ndarray, seed: int | None) -> Any:
    """The feature learner of `ImageDevNet` for these images, which are not changed in training."""
    import torch

    from devnet.deep.images.augmentation import Changes
    from devnet.deep.images.building import image_module, measured
    from devnet.deep.images.reading import read_images

    pictures = read_images(X)
    with torch.random.fork_rng():
        torch.manual_seed(0 if seed is None else seed)
        module = image_module(
            WIDTHS, pictures.image_shape, head="global", top_share=1.0, changes=Changes()
        )
    module.take(measured(module, pictures, np.arange(len(X))))
    return module
