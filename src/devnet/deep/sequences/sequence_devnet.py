"""SequenceDevNet: the deviation network of sequences."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from devnet.core.model_file import field, is_count
from devnet.core.parameters import Constraint, number, one_of, whole_number
from devnet.deep.deep_detector import DeepDetector
from devnet.deep.sequences.encoding import Encoding, learn_encoding
from devnet.deep.sequences.reading import Steps, read_steps
from devnet.deep.sequences.sequence_rows import SequenceRows, row_width
from devnet.deep.sequences.surprise import Surprise, learn_surprise, read_surprise
from devnet.engine.reference_scores import ReferenceScores
from devnet.engine.sampler import Halves

LONGEST = 1 << 24  # steps of a sequence in a model file


class SequenceDevNet(DeepDetector):
    """Learn anomaly scores of sequences end to end from few labelled anomalies and a prior.

    It is the paper's framework with a network that reads sequences: batches, loss, reference and
    scores are those of `DevNet`. Sequences may have different lengths and missing values. A
    sequence's score depends on its own steps alone: neither padding nor the sequences beside it
    change it.

    X is an array (n, t) or (n, t, c), or a list of n arrays (t,) or (t, c) of any lengths. Numbers
    are standardised channel by channel, as learned from the training sequences; NaN is missing.
    Beside each value the network sees how surprising it is: how far from what the steps around it
    lead to expect or, of a symbol, how rare between its neighbours. That is learned from all
    training sequences, so a few labels need only tell which surprises are anomalies.

    Parameters
    ----------
    hidden : tuple of int or torch.nn.Module, default=(16, 16, 16)
        Widths of the layers of the feature learner. Or a module that maps sequences (b, t, c) to
        features (b, steps, width) with at most t steps: it is copied with its weights, gets
        sequences of one length at a time, and sees 0 where a value is missing, and no surprises.
    learner : "convolution" or "recurrent", default="convolution"
        Temporal convolution (5 steps wide, 2**i steps apart in layer i), or gated recurrent units,
        the paper's choice for sequences, which take several times as long.
    head : "global" or "steps", default="global"
        "global" takes the features to one score: their means over all steps, and over the steps
        where each is highest. "steps" scores each step; the sequence's score is the mean of its
        highest step scores. "global" is for shapes, "steps" for short faults, and tells when.
    top_share : float, default=0.3
        The share of steps that are the highest. It shrinks to that from all steps in the first half
        of training.
    symbols : bool, default=False
        Whether steps are symbols, such as the events of a log: texts or whole numbers, one per
        step. Symbols that are in fewer than two training sequences, or in none, share a code.
    embedding : int, default=8
        Numbers that represent a symbol.
    margin, reference, confidence
        As of `DevNet`.
    n_epochs, n_batches, batch_size : int, default=20, 20 and 128
        Epochs, steps per epoch, and draws per step: half from the labelled anomalies, half from
        the unlabelled sequences.
    learning_rate : float, default=0.003
    l2 : float, default=0.001
        Penalty l2 * sum(w^2) on the kernels of the feature learner.
    clip_norm, keep_best, n_members, pos_label, normal_label
        As of `DevNet`.
    device : str or torch.device, default="auto"
        Where the network computes: "auto" is CUDA if there is one, else the CPU.
    warm_start, keep_interrupted, verbose, random_state
        As of `DevNet`.

    Attributes
    ----------
    classes_, threshold_, reference_, network_, history_, best_epoch_, n_iter_
        As of `DevNet`.
    n_features_in_ : int
        Channels.
    encoding_ : Encoding
        Mean and standard deviation of each channel, or the known symbols.
    surprise_ : Surprise
        What is expected beside its neighbours.
    longest_ : int
        Steps of the longest training sequence; longer ones can be scored.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import SequenceDevNet
    >>> generator = np.random.default_rng(0)
    >>> signals = [generator.normal(size=generator.integers(30, 60)) for _ in range(300)]
    >>> for signal in signals[:10]:
    ...     signal[10:20] += 3                  # ten faults ...
    >>> y = np.zeros(300)
    >>> y[:5] = 1                               # ... five of them known
    >>> model = SequenceDevNet(n_epochs=5, random_state=0).fit(signals, y)
    >>> bool(model.anomaly_score(signals[5:10]).min() > model.threshold_)
    True
    """

    _shaping: ClassVar[tuple[str, ...]] = ("learner", "head", "top_share", "symbols", "embedding")
    _own_parts: ClassVar[tuple[str, ...]] = ("embedding.", "unit.")
    _constraints: ClassVar[dict[str, Constraint]] = {
        **DeepDetector._constraints,
        "learner": one_of("convolution", "recurrent"),
        "head": one_of("global", "steps"),
        "top_share": Constraint(
            lambda value: number(0).accepts(value) and value <= 1,
            "a number above 0 and at most 1",
        ),
        "symbols": one_of(True, False),
        "embedding": whole_number(1),
    }

    encoding_: Encoding
    surprise_: Surprise
    longest_: int

    def __init__(
        self,
        hidden: Any = (16, 16, 16),
        *,
        learner: str = "convolution",
        head: str = "global",
        top_share: float = 0.3,
        symbols: bool = False,
        embedding: int = 8,
        margin: float = 5.0,
        reference: ReferenceScores | None = None,
        confidence: float = 0.95,
        n_epochs: int = 20,
        n_batches: int = 20,
        batch_size: int = 128,
        learning_rate: float = 0.003,
        l2: float = 0.001,
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
        self.learner = learner
        self.head = head
        self.top_share = top_share
        self.symbols = symbols
        self.embedding = embedding
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

    def anomaly_profile(self, X: Any) -> Any:
        """Tell when: a number per time step that is high where the anomaly is.

        With head="steps" these are the deviations of the steps, and a sequence's score is the mean
        of its highest ones (for several members, the mean of the members' scores). With
        head="global" they are integrated gradients, which add up to the sequence's score minus
        that of a sequence of the same length that stays at the channels' means, or has no symbols.

        Parameters
        ----------
        X : array of shape (n, t) or (n, t, c), or list of n sequences

        Returns
        -------
        profiles : array of shape (n, t), or list of n arrays if X is a list
        """
        from devnet.deep.sequences.profile import profiles

        check_is_fitted(self)
        rows = self._read(X, reset=False)
        rows.check_finite()
        is_of_steps = self.head == "steps"
        with self._threads(self.network_):
            found = profiles(self.network_, self.reference_, rows, is_of_steps=is_of_steps)
        return np.stack(found) if rows.is_array else found

    def _read(self, X: Any, *, reset: bool) -> Any:
        steps = read_steps(X, symbols=bool(self.symbols))
        if reset:
            self.encoding_ = learn_encoding(steps, symbols=bool(self.symbols))
            self.surprise_ = learn_surprise(steps, self.encoding_)
            self.n_features_in_ = steps.values.shape[1]
            self.longest_ = int(steps.lengths.max())
        self._refuse_other_channels(steps)
        rows = SequenceRows(steps, self.encoding_, self.surprise_)
        rows.refuse_unobserved()
        return rows

    def _refuse_other_channels(self, steps: Steps) -> None:
        found = steps.values.shape[1]
        if found != self.n_features_in_:
            raise ValueError(
                f"the sequences of X have {found} channels, but the model learned from "
                f"{self.n_features_in_}; give the same channels."
            )

    def _module(self) -> Any:
        import torch

        from devnet.deep.sequences.sequence_network import SequenceNetwork

        symbols = self.encoding_.symbols
        with torch.random.fork_rng():  # the caller's draws are left alone
            return SequenceNetwork(
                n_channels=self.n_features_in_,
                n_codes=0 if symbols is None else 1 + len(symbols),
                n_steps=self.longest_,
                hidden=self.hidden,
                **{name: getattr(self, name) for name in self._shaping if name != "symbols"},
            )

    def _before_training(self, network: Any, rows: Any, halves: Halves) -> None:
        for member in network.members:
            member[0].top_share.start(self.n_epochs * self.n_batches)

    def _has_output_unit(self) -> bool:
        return self.head == "global"

    def _n_columns(self) -> int:
        return row_width(self.longest_, self.n_features_in_)

    def _facts(self) -> dict[str, Any]:
        return {
            **super()._facts(),
            "encoding": self.encoding_.to_header(),
            "surprise": self.surprise_.to_header(),
            "longest": self.longest_,
        }

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.encoding_ = Encoding.from_header(header, self.n_features_in_, bool(self.symbols))
        self.surprise_ = read_surprise(header, self.encoding_)
        self.longest_ = field(header, "longest", lambda value: is_count(value, 1, LONGEST))
        super()._restore(header, tensors)
