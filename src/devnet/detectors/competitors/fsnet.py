"""FSNet: a prototypical network that compares a row with the mean of each class."""

from typing import Any, ClassVar

import numpy as np

from devnet.core.arrays import Array, convert_like, namespace
from devnet.core.parameters import Constraint
from devnet.core.rows import Rows
from devnet.detectors.landmark_detector import LandmarkDetector, some, squared_distances
from devnet.engine.sampler import Batch, Halves
from devnet.engine.trainer import Objective


class FSNet(LandmarkDetector):
    """Learn a representation in which anomalies and unlabelled rows have means far apart.

    Each step is an episode: equally many labelled anomalies and unlabelled rows are drawn, the
    mean representation of each class is its prototype, and rows are assigned to the classes by
    the softmax over negative squared distances. A row's score is the log-odds of that softmax for
    the prototypes of the training rows: it ranks like the probability but never saturates.

    Parameters
    ----------
    hidden : tuple of int or torch.nn.Module, default=(20,)
        Widths of the ReLU layers of the representation, or a module that computes it.
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    n_epochs, n_batches, batch_size : int, default=50, 20 and 256
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
    landmarks_ : array of shape (n_members, 2, width)
        The prototypes of unlabelled rows and of anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    classes_, network_, history_, best_epoch_, n_iter_, n_features_in_, feature_names_in_
        As for `DevNet`.

    References
    ----------
    J. Snell, K. Swersky, R. Zemel. Prototypical Networks for Few-shot Learning. NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.competitors import FSNet
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3
    >>> y = np.zeros(1000)
    >>> y[:5] = 1
    >>> model = FSNet(random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[5:10]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = LandmarkDetector._constraints

    def __init__(
        self,
        hidden: Any = (20,),
        *,
        confidence: float = 0.95,
        n_epochs: int = 50,
        n_batches: int = 20,
        batch_size: int = 256,
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

    def _landmark_shape(self, n_outputs: int) -> tuple[int, ...]:
        return (2, n_outputs)

    def _objective(
        self, network: Any, n_steps: int, generators: list[np.random.Generator]
    ) -> Objective:
        def objective(outputs: Array, batch: Batch) -> tuple[Array, Array]:
            return prototype_loss_and_slope(
                outputs, is_anomaly=batch.is_anomaly, weight=batch.weight
            )

        return objective

    def _after_training(
        self, rows: Rows, halves: Halves, generators: list[np.random.Generator]
    ) -> None:
        chosen = (some(halves.unlabelled), halves.labelled)
        means = [self._represent(rows.select(half)).mean(1) for half in chosen]
        self.landmarks_ = np.stack(means, axis=1)  # (m, 2, k)

    def _member_scores(self, outputs: Array) -> Array:
        distances = squared_distances(outputs, convert_like(outputs, self.landmarks_))  # (m, b, 2)
        return distances[:, :, 0] - distances[:, :, 1]


def prototype_loss_and_slope(
    outputs: Array, *, is_anomaly: Array, weight: Array
) -> tuple[Array, Array]:
    """Cross-entropy of the softmax over negative squared distances to the classes' means.

    Parameters
    ----------
    outputs : (m, b, k) array
        Representations of a batch, whose rows also make the prototypes.
    is_anomaly : (m, b, 1) bool array
    weight : (m, b, 1) array
        Multiplicity of each row over the batch size.

    Returns
    -------
    loss : (m,) array, and its slope for the outputs, (m, b, k)
    """
    xp = namespace(outputs)
    is_class = xp.stack([~is_anomaly, is_anomaly])  # (2, m, b, 1)
    share = is_class * weight
    share = share / share.sum(2)[:, :, None]  # sums to 1 over b
    prototypes = (share * outputs).sum(2)[:, :, None]  # (2, m, 1, k)
    offsets = outputs - prototypes  # (2, m, b, k)
    logits = -(offsets * offsets).sum(3)[:, :, :, None]  # (2, m, b, 1)
    logits = logits - xp.amax(logits, 0)  # so that exp cannot overflow
    log_total = xp.log(xp.exp(logits).sum(0))
    loss = ((log_total - xp.where(is_anomaly, logits[1], logits[0])) * weight).sum((1, 2))
    excess = (xp.exp(logits - log_total) - 1 * is_class) * weight  # slope for the logits
    pull = 2 * excess * offsets  # for the prototypes; the negative for the outputs themselves
    slope = (share * pull.sum(2)[:, :, None] - pull).sum(0)
    return loss, slope
