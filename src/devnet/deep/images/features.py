"""Images as a matrix of features, for the detectors of tables."""

from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional

from devnet.core.arrays import is_module
from devnet.core.seeds import as_generator
from devnet.core.sentence import UserError
from devnet.deep.images.reading import Pictures, read_images, refuse_other_shape

TOGETHER = 64  # images
LEARNED_IMAGES = 2_000  # that patches are taken from
PATCHES_OF_AN_IMAGE = 10
SMALLEST_SPREAD = 1e-2  # of a patch, relative to all: flat ones are not blown up
REGULARISATION = 0.1  # of whitening, relative to the mean variance


class ImageFeatures(TransformerMixin, BaseEstimator):
    """Turn images into features: by a backbone of yours, or by patches of the images themselves.

    `DeviationEnsemble` on the features of a good pretrained backbone is often the better tool than
    a network that learns features from few labels.

    Parameters
    ----------
    backbone : torch.nn.Module, optional
        Maps images (b, c, h, w) from 0 to 1 to feature maps (b, d, h', w'), which are averaged, or
        to features (b, d). It is used as it is, in evaluation mode. Without one, `n_kernels`
        patches of the training images, whitened, are the kernels of one convolution, and how much
        each stands out is averaged over `cells` x `cells` parts of an image.
    n_kernels : int, default=64
    patch : int, default=6
        Pixels on a side of a kernel.
    cells : int, default=3
    size, channels_first
        As for `ImageDevNet`.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the patches.

    Attributes
    ----------
    image_shape_ : tuple of int
        Channels, height and width of the images.
    kernels_ : array of shape (n_kernels, channels * patch * patch)
        With their whitening; only without a backbone.

    References
    ----------
    A. Coates, A. Ng, H. Lee. An analysis of single-layer networks in unsupervised feature learning.
    AISTATS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.deep.images.features import ImageFeatures
    >>> images = np.random.default_rng(0).normal(size=(50, 12, 12))
    >>> ImageFeatures(n_kernels=5, cells=2, random_state=0).fit_transform(images).shape
    (50, 20)
    """

    def __init__(
        self,
        backbone: Any = None,
        *,
        n_kernels: int = 64,
        patch: int = 6,
        cells: int = 3,
        size: tuple[int, int] | None = None,
        channels_first: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.backbone = backbone
        self.n_kernels = n_kernels
        self.patch = patch
        self.cells = cells
        self.size = size
        self.channels_first = channels_first
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kernels, if there is no backbone; labels are not looked at."""
        pictures = self._read(X)
        self.image_shape_ = pictures.image_shape
        if self.backbone is None:
            self._learn_kernels(pictures)
        elif not is_module(self.backbone):
            raise UserError(f"backbone={self.backbone!r} is no torch.nn.Module; give one, or None.")
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The features of images, (n, d) float32."""
        check_is_fitted(self, "image_shape_")
        pictures = self._read(X)
        refuse_other_shape(pictures, self.image_shape_)
        parts = []
        for start in range(0, pictures.shape[0], TOGETHER):
            span = slice(start, min(start + TOGETHER, pictures.shape[0]))
            pictures.check_finite(span)
            images = torch.from_numpy(pictures.dense(span)).reshape(-1, *self.image_shape_)
            with torch.no_grad():
                parts.append(self._features(images).numpy())
        return np.concatenate(parts)

    def _read(self, X: Any) -> Pictures:
        return read_images(X, size=self.size, channels_first=self.channels_first)

    def _features(self, images: Tensor) -> Tensor:
        if self.backbone is not None:
            return _by_backbone(self.backbone, images)
        responses = self._responses(images.double())  # (b, k, h', w')
        standing_out = functional.relu(responses - responses.mean(dim=1, keepdim=True))
        cells = functional.adaptive_avg_pool2d(standing_out, self.cells)
        return cells.flatten(1).float()

    def _responses(self, images: Tensor) -> Tensor:
        """How much the patch at each place is like each kernel."""
        size = self._patch_size()
        patches = functional.unfold(images, size).transpose(1, 2)  # (b, places, c * size^2)
        whitened = (_normalised(patches) - torch.from_numpy(self.centre_)) @ torch.from_numpy(
            self.kernels_.T
        )
        side = [length - size + 1 for length in self.image_shape_[1:]]
        return whitened.transpose(1, 2).reshape(len(images), -1, *side)

    def _patch_size(self) -> int:
        return min(self.patch, *self.image_shape_[1:])

    def _learn_kernels(self, pictures: Pictures) -> None:
        generator = as_generator(self.random_state)
        n = pictures.shape[0]
        chosen = np.sort(generator.permutation(n)[:LEARNED_IMAGES])
        pictures.check_finite()
        images = torch.from_numpy(pictures.dense(chosen)).reshape(-1, *self.image_shape_)
        size, found = self._patch_size(), []
        for image in images:
            patches = functional.unfold(image[None].double(), size)[0].T
            taken = generator.integers(len(patches), size=PATCHES_OF_AN_IMAGE)
            found.append(patches[torch.from_numpy(taken)])
        self._whiten(_normalised(torch.cat(found)).numpy(), generator)

    def _whiten(self, patches: np.ndarray, generator: np.random.Generator) -> None:
        """Draw kernels among the patches (n, d), and join them with the whitening of patches."""
        self.centre_ = patches.mean(axis=0)
        covariance = np.cov(patches.T)
        value, direction = np.linalg.eigh(np.atleast_2d(covariance))
        variance = np.maximum(value, 0) + REGULARISATION * value.mean()
        scale = 1 / np.sqrt(np.where(variance > 0, variance, 1))
        whitening = (direction * scale) @ direction.T
        is_flat = np.linalg.norm(patches, axis=1) == 0
        candidates = patches[~is_flat] if (~is_flat).any() else patches
        drawn = candidates[generator.integers(len(candidates), size=self.n_kernels)]
        kernels = (drawn - self.centre_) @ whitening
        length = np.linalg.norm(kernels, axis=1, keepdims=True)
        self.kernels_ = (kernels / np.where(length > 0, length, 1)) @ whitening


def _normalised(patches: Tensor) -> Tensor:
    """Patches (..., d) without their mean, and of similar contrast."""
    centred = patches - patches.mean(dim=-1, keepdim=True)
    spread = centred.std(dim=-1, correction=0, keepdim=True)
    return centred / (spread + SMALLEST_SPREAD)


def _by_backbone(backbone: Any, images: Tensor) -> Tensor:
    was_training = backbone.training
    weight = next(backbone.parameters(), images)
    try:
        features = backbone.eval()(images.to(weight)).float().cpu()
    finally:
        backbone.train(was_training)
    if features.ndim not in (2, 4) or len(features) != len(images):
        raise UserError(
            f"backbone={type(backbone).__name__} maps images of shape {tuple(images.shape)} to "
            f"shape {tuple(features.shape)}; it must give feature maps (b, d, height', width') or "
            "features (b, d)."
        )
    flat: Tensor = features.mean(dim=(2, 3)) if features.ndim == 4 else features
    return flat
