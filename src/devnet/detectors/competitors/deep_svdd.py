"""DeepSVDD: pull unlabelled rows to a centre, push labelled anomalies away from it."""

import logging
from typing import Any, ClassVar

import numpy as np

from devnet.core.arrays import Array, convert_like, namespace, to_numpy
from devnet.core.labels import Labels
from devnet.core.parameters import Constraint, number
from devnet.core.rows import Rows
from devnet.detectors.landmark_detector import LandmarkDetector, some
from devnet.engine.sampler import Batch, Halves
from devnet.engine.trainer import Objective

logger = logging.getLogger(__name__)

CHUNK = 256  # rows represented together
TINY = 1e-12  # avoids a division by zero for a row at the centre


class DeepSVDD(LandmarkDetector):
    """Learn a representation in which normal rows lie close to a fixed centre.

    The centre is the mean initial representation of unlabelled rows. With `margin=None` only
    unlabelled rows are used: each is pulled to the centre, the original one-class objective. With
    a margin, labelled anomalies are pushed at least that far away, the adaptation that the DevNet
    paper compares with. A row's score is its distance to the centre. There are no biases: with
    them every row could be mapped to the centre.

    Parameters
    ----------
    hidden : tuple of int or torch.nn.Module, default=(20,)
        Widths of the ReLU layers of the representation, or a module that computes it.
    margin : float or None, default=5.0
        Distance to the centre that labelled anomalies should have; None leaves them out.
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    n_epochs, n_batches, batch_size : int, default=50, 20 and 512
        Epochs, steps per epoch, and draws per step: half from the labelled anomalies, half from
        the unlabelled rows.
    learning_rate : float, default=0.001
        Learning rate of RMSprop.
    l2 : float, default=0.01
        Penalty l2 * sum(w^2) on the kernels of hidden layers.
    clip_norm : float or None, default=1.0
        Largest norm of a gradient; a longer one is scaled down. None clips nothing.
    keep_best : bool, default=True
        Keep the weights of the epoch with the lowest loss rather than the last one.
    n_members : int, default=1
        Networks trained side by side from independent draws; the score is their mean.
    pos_label, normal_label, device, warm_start, keep_interrupted, verbose, random_state
        As for `DevNet`.

    Attributes
    ----------
    landmarks_ : array of shape (n_members, 1, width)
        The centre.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    classes_, network_, history_, best_epoch_, n_iter_, n_features_in_, feature_names_in_
        As for `DevNet`.

    References
    ----------
    L. Ruff et al. Deep One-Class Classification. ICML 2018.
    D. M. J. Tax, R. P. W. Duin. Support Vector Data Description. Machine Learning, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.competitors import DeepSVDD
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3
    >>> y = np.zeros(1000)
    >>> y[:5] = 1
    >>> model = DeepSVDD(random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[5:10]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **LandmarkDetector._constraints,
        "margin": number(0, or_none=True),
    }
    _has_biases: ClassVar[bool] = False

    def __init__(
        self,
        hidden: Any = (20,),
        *,
        margin: float | None = 5.0,
        confidence: float = 0.95,
        n_epochs: int = 50,
        n_batches: int = 20,
        batch_size: int = 512,
        learning_rate: float = 0.001,
        l2: float = 0.01,
        clip_norm: float | None = 1.0,
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
        return self.margin is not None

    def _landmark_shape(self, n_outputs: int) -> tuple[int, ...]:
        return (1, n_outputs)

    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        if self.margin is None and labels.is_anomaly.any():
            logger.info("DeepSVDD without margin ignores the %d labels", labels.is_anomaly.sum())
            others = np.flatnonzero(~labels.is_anomaly)
            rows, labels = rows.select(others), labels.select(others)
            sample_weight = None if sample_weight is None else sample_weight[others]
        super()._learn(rows, labels, sample_weight, resume=resume)

    def _before_training(self, network: Any, rows: Rows, halves: Halves) -> None:
        chosen = some(halves.unlabelled)
        total = np.zeros(())
        for start in range(0, len(chosen), CHUNK):
            part = chosen[start : start + CHUNK]
            is_sparse = network.first_kernel is not None
            batch = [rows.sparse(part)] if is_sparse else network.to_device(rows.dense(part)[None])
            outputs = to_numpy(network.forward(batch)[0]).astype(np.float64)  # (m, b, k)
            total = total + outputs.sum(1, keepdims=True)
        self.landmarks_ = total / len(chosen)  # (m, 1, k)

    def _objective(
        self, network: Any, n_steps: int, generators: list[np.random.Generator]
    ) -> Objective:
        centre = network.to_device(self.landmarks_.astype(np.float32))

        def objective(outputs: Array, batch: Batch) -> tuple[Array, Array]:
            loss, slope = svdd_loss_and_slope(
                outputs - centre, is_anomaly=batch.is_anomaly, margin=self.margin
            )
            loss *= batch.weight
            slope *= batch.weight
            return loss.sum((1, 2)), slope

        return objective

    def _member_scores(self, outputs: Array) -> Array:
        offset = outputs - convert_like(outputs, self.landmarks_)
        return namespace(offset).sqrt((offset * offset).sum(2))


def svdd_loss_and_slope(
    offset: Array, *, is_anomaly: Array, margin: float | None
) -> tuple[Array, Array]:
    """Loss of each row (m, b, 1), and its slope for the offset from the centre (m, b, k).

    An unlabelled row's loss is its squared distance. A labelled anomaly's is how far its distance
    falls short of the margin, or zero if there is no margin.
    """
    xp = namespace(offset)
    squared = (offset * offset).sum(2)[:, :, None]
    distance = xp.sqrt(squared) + TINY
    missing = distance * 0 if margin is None else xp.clip(margin - distance, 0, None)
    loss = xp.where(is_anomaly, missing, squared)
    factor = xp.where(is_anomaly, -xp.sign(missing) / distance, 2)
    return loss, factor * offset
