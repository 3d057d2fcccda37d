"""REPEN: a representation in which outliers lie far from random small subsamples."""

from typing import Any, ClassVar

import numpy as np

from devnet.core.arrays import Array, convert_like, namespace
from devnet.core.parameters import Constraint, number, whole_number
from devnet.core.rows import Rows
from devnet.detectors.competitors.lesinn import N_POINTS, draw_subsamples, mean_nearest
from devnet.detectors.competitors.triplet_sampler import TripletSampler
from devnet.detectors.landmark_detector import LandmarkDetector, squared_distances
from devnet.engine.optimizer import Adadelta
from devnet.engine.sampler import Batch, Halves
from devnet.engine.trainer import Objective

FEWEST_BATCHES = 20
MOST_BATCHES = 100  # more would take minutes on large tables and hardly change the ranking
DIGITS = 49  # binary, of a squared distance; of 53, some are for rows that are farther away
NARROWEST = 2.0**-16  # of the largest coordinate; points that differ by less hardly differ
TINY = 1e-30  # if all coordinates are 0


class REPEN(LandmarkDetector):
    """Learn a representation in which outliers lie far from the nearest of a few random rows.

    An initial outlier score, LeSiNN, divides the unlabelled rows into inlier and outlier
    candidates. Triplets train the representation by a hinge loss on squared distances: a query,
    another inlier candidate as positive, and a labelled anomaly or an outlier candidate as
    negative. Without labels all negatives are outlier candidates. A row's score is LeSiNN in the
    representation, for subsamples kept with the model.

    Parameters
    ----------
    hidden : tuple of int or torch.nn.Module, default=(20,)
        Widths of the ReLU layers of the representation, or a module that computes it.
    margin : float, default=1000.0
        By how much the squared distance to the negative should exceed that to the positive.
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    n_epochs, batch_size : int, default=30 and 256
        Epochs, and triplets per step.
    n_batches : int or None, default=None
        Steps per epoch; None means one for each `batch_size` rows, at least 20 and at most 100.
        The authors have no upper limit.
    learning_rate : float, default=1.0
        Learning rate of Adadelta.
    l2, clip_norm : float, default=0.0 and None
        As for `DevNet`; the authors have neither.
    keep_best : bool, default=True
        Keep the weights of the epoch with the lowest loss rather than the last one.
    n_members : int, default=1
        Networks trained side by side from independent draws; the score is their mean.
    pos_label, normal_label, device, warm_start, keep_interrupted, verbose, random_state
        As for `DevNet`.

    Attributes
    ----------
    landmarks_ : array of shape (n_members, 400, width)
        The representations of 50 subsamples of 8 unlabelled rows.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    classes_, network_, history_, best_epoch_, n_iter_, n_features_in_, feature_names_in_
        As for `DevNet`.

    References
    ----------
    G. Pang, L. Cao, L. Chen, H. Liu. Learning Representations of Ultrahigh-dimensional Data for
    Random Distance-based Outlier Detection. KDD 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.competitors import REPEN
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3
    >>> y = np.zeros(1000)
    >>> y[:5] = 1
    >>> model = REPEN(random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[5:10]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **LandmarkDetector._constraints,
        "margin": number(0),
        "n_batches": Constraint(
            lambda value: value is None or whole_number(1).accepts(value),
            "a whole number of at least 1 or None",
        ),
    }
    _sampler: ClassVar[Any] = TripletSampler
    _rule: ClassVar[Any] = Adadelta

    def __init__(
        self,
        hidden: Any = (20,),
        *,
        margin: float = 1000.0,
        confidence: float = 0.95,
        n_epochs: int = 30,
        n_batches: int | None = None,
        batch_size: int = 256,
        learning_rate: float = 1.0,
        l2: float = 0.0,
        clip_norm: float | None = None,
        keep_best: bool = True,
        n_members: int = 1,
        pos_label: Any = None,
        normal_label: Any = None,
        device: Any = "auto",
        warm_start: bool = False,
        keep_interrupted: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.margin = margin
        self.confidence = confidence
        self.n_epochs = n_epochs
        self.n_batches = n_batches
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.l2 = l2
        self.clip_norm = clip_norm
        self.keep_best = keep_best
        self.n_members = n_members
        self.pos_label = pos_label
        self.normal_label = normal_label
        self.device = device
        self.warm_start = warm_start
        self.keep_interrupted = keep_interrupted
        self.verbose = verbose
        self.random_state = random_state

    def _needs_labels(self) -> bool:
        return False

    def _steps_of_an_epoch(self, n_rows: int) -> int:
        if self.n_batches is not None:
            return int(self.n_batches)
        return min(MOST_BATCHES, max(FEWEST_BATCHES, n_rows // self.batch_size))

    def _landmark_shape(self, n_outputs: int) -> tuple[int, ...]:
        return (N_POINTS, n_outputs)

    def _objective(
        self, network: Any, n_steps: int, generators: list[np.random.Generator]
    ) -> Objective:
        def objective(outputs: Array, batch: Batch) -> tuple[Array, Array]:
            return triplet_loss_and_slope(outputs, margin=self.margin)

        return objective

    def _after_training(
        self, rows: Rows, halves: Halves, generators: list[np.random.Generator]
    ) -> None:
        chosen = [draw_subsamples(halves.unlabelled, generator) for generator in generators]
        points = [self._represent(rows.select(one))[m] for m, one in enumerate(chosen)]
        self.landmarks_ = np.stack(points)  # (m, 400, k)

    def _member_scores(self, outputs: Array) -> Array:
        points = convert_like(outputs, self.landmarks_)
        center = points.mean(1)[:, None]
        grid = _grid(points, points - center)
        whole = [namespace(outputs).round((part - center) / grid) for part in (outputs, points)]
        return mean_nearest(squared_distances(*whole)) * grid


def _grid(points: Array, offsets: Array) -> float:
    """Coordinates are rounded to multiples of this, so that squared distances are exact.

    They are sums of whole numbers that double precision holds, in whatever order they are added.
    Otherwise small distances would lose their digits, and the nearest of several points that are
    nearly the same would depend on the other rows that are scored.
    """
    largest, spread = (float(abs(part).max()) for part in (points, offsets))
    digits = (DIGITS - int(np.ceil(np.log2(points.shape[-1])))) // 2
    return float(max(spread, NARROWEST * largest, TINY) * 2.0**-digits)


def triplet_loss_and_slope(outputs: Array, *, margin: float) -> tuple[Array, Array]:
    """Mean hinge loss of the triplets (m,), and its slope for the outputs.

    The outputs (m, 3 t, k) are those of t queries, then their positives, then their negatives.
    """
    xp = namespace(outputs)
    t = outputs.shape[1] // 3
    query, positive, negative = outputs[:, :t], outputs[:, t : 2 * t], outputs[:, 2 * t :]
    near, far = query - positive, query - negative  # (m, t, k)
    missing = margin + (near * near).sum(2) - (far * far).sum(2)  # (m, t)
    missing = xp.clip(missing, 0, None)
    factor = (xp.sign(missing) * (2 / t))[:, :, None]
    slope = xp.concatenate([factor * (near - far), -factor * near, factor * far], 1)
    return missing.mean(1), slope
