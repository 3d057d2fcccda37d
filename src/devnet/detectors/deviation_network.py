"""DevNet, the deviation network of Pang, Shen and van den Hengel (KDD 2019)."""

from typing import Any, ClassVar

import numpy as np

from devnet.core.parameters import Constraint, one_of
from devnet.core.rows import blockwise
from devnet.detectors.deviation_detector import DeviationDetector
from devnet.engine.reference_scores import ReferenceScores
from devnet.explanation.contributions import refuse_other_than_empty
from devnet.explanation.integrated_gradients import integrated_gradients


class DevNet(DeviationDetector):
    """Learn anomaly scores end to end from few labelled anomalies and a prior.

    A network maps a row to one score. It is trained on batches of half labelled anomalies and half
    unlabelled rows, so that the scores of unlabelled rows stay near the mean of a Gaussian prior,
    while those of anomalies deviate from it by at least `margin` standard deviations. A score
    therefore reads as a Z-score: 0 is typical, 5 is what a labelled anomaly should reach.

    The defaults are the paper's settings. The columns of X should have similar ranges; the data
    that its authors published are scaled to [0, 1].

    Parameters
    ----------
    hidden : tuple of int or torch.nn.Module, default=(20,)
        Widths of the ReLU layers of the feature learner; () maps rows to scores linearly, and
        (1000, 250, 20) is the paper's deep variant. Or a module that maps rows (b, n_columns) to
        representations (b, width): it is copied with its weights, and the linear unit is added.
    end_to_end : bool, default=True
        False leaves out the linear unit and applies the loss to each unit of the representation
        (the paper's variant Rep). A row's score is then its mean deviation over the units.
    margin : float, default=5.0
        Deviation, the paper's a, that labelled anomalies should reach.
    reference : GaussianPrior, StandardPrior, DataReference or HybridReference, optional
        What scores are measured against; by default the paper's prior, GaussianPrior(): mean 0,
        standard deviation 1, 5000 scores. StandardPrior has other distributions, DataReference
        uses the scores of the unlabelled rows themselves, HybridReference mixes both.
    confidence : float, default=0.95
        Sets `threshold_`: the deviation that a normal row stays below with this probability if the
        prior holds. Upper tail, so 0.95 gives 1.645. The paper's 1.96 is the two-sided quantile;
        as an upper bound it has confidence 0.975.
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
        Networks trained side by side from independent draws; the score is their mean deviation.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal, such as dismissed alerts.
    device : str or torch.device, default="auto"
        Where your own torch module computes: "auto" is CUDA if there is one, else the CPU;
        "cpu", "cuda" or "cuda:0" name a device. It is read when `fit` or `load` builds the
        network. Built-in networks always run on the CPU.
    warm_start : bool, default=False
        Let `fit` continue from the present weights.
    keep_interrupted : bool, default=False
        Let Ctrl-C end `fit` with the weights kept so far instead of raising.
    verbose : bool, default=False
        Show a progress bar on a terminal; needs rich. Callbacks set by `set_callbacks` replace it.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the weights, the batches and the references.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    reference_ : Reference
        `mean` and `std` that the scores of each network are measured against, (n_members, 1).
    network_ : ScoringNetwork or ModuleNetwork
        The trained networks.
    history_ : list of dict
        Epoch, mean loss and loss of each member, for each epoch.
    best_epoch_ : list of int
        The epoch whose weights were kept, for each member.
    n_iter_ : int
        Epochs trained.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    References
    ----------
    G. Pang, C. Shen, A. van den Hengel. Deep Anomaly Detection with Deviation Networks. KDD 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import DevNet
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3                          # ten anomalies ...
    >>> y = np.zeros(1000)
    >>> y[:5] = 1                               # ... five of them known
    >>> model = DevNet(random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[5:10]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **DeviationDetector._constraints,
        "end_to_end": one_of(True, False),
    }

    def __init__(
        self,
        hidden: Any = (20,),
        *,
        end_to_end: bool = True,
        margin: float = 5.0,
        reference: ReferenceScores | None = None,
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
        self.end_to_end = end_to_end
        self.margin = margin
        self.reference = reference
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

    def own_contributions(self, X: Any, baseline: np.ndarray) -> Any:
        """Integrated gradients of the built-in networks; a caller's module cannot be read."""
        if self.network_.layers is None:
            return None
        n_outputs = self.network_.n_outputs
        weight = 1 / (self.n_members * n_outputs * self.reference_.std)  # (m, 1)
        weight = np.broadcast_to(weight, (self.n_members, n_outputs))
        rows = self._checked_rows(X)
        if self.network_.first_kernel is not None:
            refuse_other_than_empty(baseline)
            return integrated_gradients(self.network_, rows.sparse(slice(None)), None, weight)
        start = baseline.astype(np.float32)
        return blockwise(
            rows, lambda part: integrated_gradients(self.network_, part, start, weight)
        )

    def _has_output_unit(self) -> bool:
        return self.end_to_end
