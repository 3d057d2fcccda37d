"""DevNet, the deviation network of Pang, Shen and van den Hengel (KDD 2019)."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from devnet.core.arrays import Array, convert_like, mean_over, to_numpy
from devnet.core.model_file import ModelFileError, field
from devnet.core.parameters import Constraint, number, one_of
from devnet.core.rows import Rows, blockwise
from devnet.detectors.network_detector import NetworkDetector
from devnet.engine.deviation_loss import deviation_objective
from devnet.engine.reference_scores import (
    GaussianPrior,
    Reference,
    ReferenceScores,
    UnlabelledScores,
)
from devnet.engine.sampler import Halves
from devnet.engine.trainer import Objective
from devnet.explanation.contributions import refuse_other_than_empty
from devnet.explanation.integrated_gradients import integrated_gradients
from devnet.significance.calibration import Quantile

REFERENCE_ROWS = 10_000  # unlabelled rows scored to measure the trained networks
LARGEST_REFERENCE = 1e100  # mean or spread in a model file, and inverse of the smallest spread


class DevNet(NetworkDetector):
    """Learn anomaly scores end to end from few labelled anomalies and a prior.

    A network maps a row to one score. It is trained on batches of half labelled anomalies and half
    unlabelled rows, so that the scores of unlabelled rows stay near the mean of a Gaussian prior,
    while those of anomalies deviate from it by at least `margin` standard deviations. A score
    therefore reads as a Z-score: 0 is typical, 5 is what a labelled anomaly should reach.

    The defaults are the paper's settings. The columns of X should have similar ranges; the paper
    scales them to [0, 1].

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
        **NetworkDetector._constraints,
        "end_to_end": one_of(True, False),
        "margin": number(0),
        "reference": Constraint(
            lambda value: value is None or isinstance(value, ReferenceScores),
            "a GaussianPrior, StandardPrior, DataReference, HybridReference or None",
        ),
        "confidence": number(0, below=1),
    }

    reference_: Reference

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

    def p_value(self, X: Any, *, two_sided: bool = False) -> np.ndarray:
        """Probability that a normal row deviates at least as much as each row of X.

        It is nominal: it holds as far as the scores of normal rows follow the prior, or a normal
        distribution if there is no prior.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_rows, n_columns)
        two_sided : bool, default=False
            Count deviations below the mean too, as the paper's proposition does: the probability
            of lying outside mean +- z standard deviations.

        Returns
        -------
        p_values : array of shape (n_rows,)
        """
        return self._reference_scores().p_value(self.anomaly_score(X), two_sided=two_sided)

    def nominal_p_value(self, scores: np.ndarray) -> np.ndarray:
        """Tail of the prior beyond scores, or the normal tail if there is no prior."""
        return self._reference_scores().p_value(scores)

    @property
    def prior_quantile(self) -> Quantile:
        """Quantile function of the prior."""
        return self._reference_scores().quantile

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

    def _reference_scores(self) -> ReferenceScores:
        return self.reference or GaussianPrior()

    def _has_output_unit(self) -> bool:
        return self.end_to_end

    def _objective(
        self, network: Any, n_steps: int, generators: list[np.random.Generator]
    ) -> Objective:
        reference_of = self._reference_scores().for_training(
            network.n_outputs, n_steps, generators, network.to_device
        )
        return deviation_objective(reference_of, self.margin)

    def _after_training(
        self, rows: Rows, halves: Halves, generators: list[np.random.Generator]
    ) -> None:
        self._settle(lambda: self._unlabelled_scores(rows, halves))

    def _settle(self, measure: Callable[[], UnlabelledScores]) -> None:
        reference = self._reference_scores().after_training(measure)
        parts = (reference.mean, reference.std)
        self.reference_ = Reference(*(np.full((self.n_members, 1), p, float) for p in parts))

    def _unlabelled_scores(self, rows: Rows, halves: Halves) -> UnlabelledScores:
        """Scores of an even selection of the unlabelled rows by the trained networks."""
        step = -(-len(halves.unlabelled) // REFERENCE_ROWS)
        chosen = rows.select(halves.unlabelled[::step])
        n = chosen.shape[0]
        weight = np.ones(n)
        if halves.unlabelled_weight is not None:
            weight = halves.unlabelled_weight[::step]
        scores = np.empty((self.n_members, n))
        for selection, outputs in self.network_.outputs(chosen, slice(0, n)):
            scores[:, selection] = to_numpy(mean_over(2, outputs))
        return UnlabelledScores(scores, weight)

    def _member_scores(self, outputs: Array) -> Array:
        reference = (self.reference_.mean, self.reference_.std)
        mean, std = (convert_like(outputs, part) for part in reference)
        return (mean_over(2, outputs) - mean) / std

    def _facts(self) -> dict[str, Any]:
        mean, std = (part[:, 0].tolist() for part in (self.reference_.mean, self.reference_.std))
        return {**super()._facts(), "reference": {"mean": mean, "std": std}}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        super()._restore(header, tensors)
        if "reference" in header:
            self.reference_ = _read_reference(header, self.n_members)
        else:  # a file from before references could be learned
            self._settle(_refuse_missing_reference)

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._reference_scores().quantile(self.confidence)


def _read_reference(header: dict[str, Any], n_members: int) -> Reference:
    """What the scores of each member are measured against, (m, 1)."""
    constraints = {
        "mean": number(-LARGEST_REFERENCE, below=LARGEST_REFERENCE),
        "std": number(1 / LARGEST_REFERENCE, below=LARGEST_REFERENCE),
    }

    def is_valid(value: Any) -> bool:
        return isinstance(value, dict) and all(
            isinstance(value.get(part), list)
            and len(value[part]) == n_members
            and all(constraint.accepts(found) for found in value[part])
            for part, constraint in constraints.items()
        )

    found = field(header, "reference", is_valid)
    return Reference(*(np.array(found[part], dtype=np.float64)[:, None] for part in constraints))


def _refuse_missing_reference() -> UnlabelledScores:
    raise ModelFileError(
        "the model file's header has no 'reference', which this model has learned. The file was "
        "edited or damaged; save the model again."
    )
