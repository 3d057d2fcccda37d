"""NetworkDetector: what all detectors trained by gradients share."""

import logging
import re
import sys
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.callback import ProgressBar, with_callbacks

from devnet.core.arrays import Array, is_module, mean_over, one_blas_thread, to_numpy
from devnet.core.cores import n_cores
from devnet.core.labels import Labels
from devnet.core.model_file import field, is_finite_number
from devnet.core.parameters import Constraint, number, one_of, whole_number
from devnet.core.rows import WIDE, Rows, spans, to_single
from devnet.core.seeds import RANDOM_STATE, member_generators
from devnet.detectors.base import FewLabelDetector
from devnet.engine.optimizer import Optimizer, RMSprop
from devnet.engine.sampler import BalancedSampler, Halves, find_halves
from devnet.engine.scoring_network import ScoringNetwork, layer_sizes
from devnet.engine.trainer import Epoch, Objective, Training, train

logger = logging.getLogger(__name__)

THREADED_PRODUCTS = 1 << 24  # multiplications per step above which several threads are faster


def _is_hidden(value: Any) -> bool:
    if is_module(value):
        return True
    return isinstance(value, tuple | list) and all(whole_number(1).accepts(v) for v in value)


class NetworkDetector(FewLabelDetector):
    """Trains a stack of networks on balanced batches.

    Abstract. A detector defines whether its network ends in a linear unit (`_has_output_unit`),
    the objective of the outputs (`_objective`) and how they score a row (`_member_scores`). It may
    use other batches (`_sampler`) or steps (`_rule`), and leave out biases.
    """

    _sampler: ClassVar[Any] = BalancedSampler
    _rule: ClassVar[Any] = RMSprop
    _has_biases: ClassVar[bool] = True

    _constraints: ClassVar[dict[str, Constraint]] = {
        "hidden": Constraint(
            _is_hidden, "a tuple of layer widths such as (20,) or (), or a torch.nn.Module"
        ),
        "n_epochs": whole_number(1),
        "n_batches": whole_number(1),
        "batch_size": whole_number(2, even=True),
        "learning_rate": number(0),
        "l2": number(0, or_equal=True),
        "clip_norm": number(0, or_none=True),
        "keep_best": one_of(True, False),
        "n_members": whole_number(1),
        "device": Constraint(
            lambda value: re.fullmatch(r"[a-z]+(:\d+)?", str(value)) is not None,
            "'auto', 'cpu' or, for a torch module, a torch device such as 'cuda' or 'cuda:0'",
        ),
        "warm_start": one_of(True, False),
        "keep_interrupted": one_of(True, False),
        "verbose": one_of(True, False),
        "random_state": RANDOM_STATE,
    }

    network_: Any
    history_: list[dict[str, Any]]
    best_epoch_: list[int]
    n_iter_: int

    @with_callbacks
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training from the present weights, for `n_epochs` epochs on these rows.

        The first call is a `fit`. Use it when labels arrive: give the labelled anomalies, old and
        new, together with unlabelled rows.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : sequence of two values, optional
            All values of y, if the first call does not see both.

        Returns
        -------
        self : the detector
        """
        return self._fit(X, y, sample_weight, resume=True, classes=classes)

    @abstractmethod
    def _has_output_unit(self) -> bool:
        """Whether one linear unit follows the feature learner."""

    @abstractmethod
    def _objective(
        self, network: Any, n_steps: int, generators: list[np.random.Generator]
    ) -> Objective:
        """Loss of the outputs in each of `n_steps` steps; draws from the members' generators."""

    @abstractmethod
    def _member_scores(self, outputs: Array) -> Array:
        """Outputs (m, b, k) -> scores (m, b)."""

    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        self._refuse_device()
        generators = member_generators(self.random_state, self.n_members)
        if resume:
            self._refuse_changed_parameters("train on")
            network = self.network_
        else:
            network = self._initial_network(rows, generators)
        network = network.start_training(rows, generators)
        halves = find_halves(labels.is_anomaly, sample_weight)
        if not resume:
            self._before_training(network, rows, halves)
        n_batches = self._steps_of_an_epoch(rows.shape[0])
        n_steps = self.n_epochs * n_batches
        sampler = self._sampler(
            rows,
            labels,
            batch_size=self.batch_size,
            n_steps=n_steps,
            generators=generators,
            sample_weight=sample_weight,
        )
        objective = self._objective(network, n_steps, generators)
        batches = sampler.batches(network.to_device, sparse=network.first_kernel is not None)
        with self._threads(network):
            training = self._train(network, batches, objective, n_batches)
        network.end_training()
        self.network_ = network
        self._record(training, resume=resume)
        self._after_training(rows, halves, generators)

    def _threads(self, network: Any) -> AbstractContextManager[None]:
        """Limits the threads of training."""
        n_products = self.batch_size * network.parameters.shape[1]
        return one_blas_thread() if n_products < THREADED_PRODUCTS else nullcontext()

    def _steps_of_an_epoch(self, n_rows: int) -> int:
        return int(self.n_batches)

    def _before_training(self, network: Any, rows: Rows, halves: Halves) -> None:
        """Learn what the detector needs from the initial network."""

    def _after_training(
        self, rows: Rows, halves: Halves, generators: list[np.random.Generator]
    ) -> None:
        """Learn what the detector needs from the trained `network_`."""

    def _refuse_device(self) -> None:
        if str(self.device) not in ("auto", "cpu") and not is_module(self.hidden):
            raise ValueError(
                f"device={str(self.device)!r} is for torch modules, but hidden={self.hidden!r} is "
                "a built-in network, which runs on the CPU; leave device out, or give a "
                "torch.nn.Module as hidden."
            )

    def _initial_network(self, rows: Rows, generators: list[np.random.Generator]) -> Any:
        n_columns = rows.shape[1]
        is_wide = rows.is_sparse and n_columns >= WIDE
        output_unit = self._has_output_unit()
        if is_module(self.hidden):
            if is_wide:
                raise ValueError(
                    f"a torch module as feature learner needs dense rows, but X is sparse with "
                    f"{n_columns} columns; give hidden as a tuple of layer widths instead."
                )
            from devnet.engine.module_network import ModuleNetwork

            network = ModuleNetwork(
                self.hidden,
                n_columns,
                len(generators),
                output_unit=output_unit,
                device=self.device,
            )
            network.draw_output_units(generators)
            return network
        sizes = layer_sizes(self.hidden, n_columns, output_unit)
        return ScoringNetwork.initialise(
            sizes, generators, output_unit=output_unit, biases=self._has_biases, sparse=is_wide
        )

    def _train(self, network: Any, batches: Any, objective: Objective, n_batches: int) -> Training:
        context = self._start_callbacks()
        context.call_on_fit_task_begin(estimator=self)

        def on_epoch(epoch: Epoch) -> bool:
            loss = float(np.mean(epoch.loss))
            logger.debug("epoch %d of %d: loss %.4f", epoch.number, self.n_epochs, loss)
            task = context.subcontext(task_name="epoch")
            task.call_on_fit_task_begin(estimator=self)
            return bool(task.call_on_fit_task_end(estimator=self, metadata={"loss": loss}))

        try:
            return train(
                network,
                batches,
                objective,
                Optimizer(
                    network,
                    self._rule(float(self.learning_rate)),
                    l2=self.l2,
                    clip_norm=self.clip_norm,
                ),
                n_epochs=self.n_epochs,
                n_batches=n_batches,
                keep_best=self.keep_best,
                keep_interrupted=self.keep_interrupted,
                on_epoch=on_epoch,
            )
        finally:
            context.call_on_fit_task_end(estimator=self)

    def _start_callbacks(self) -> Any:
        """Set up the caller's callbacks, or else a progress bar if `verbose` asks for one."""
        has_callbacks = hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx")
        if self.verbose and sys.stdout.isatty() and not has_callbacks:
            self.set_callbacks(*_progress_bar())
        try:
            return self._init_callback_context(max_subtasks=self.n_epochs)
        finally:
            if not has_callbacks:
                self.set_callbacks()  # the bar is for this fit alone

    def _record(self, training: Training, *, resume: bool) -> None:
        earlier = self.history_ if resume else []
        done = len(earlier)
        self.history_ = earlier + [
            {
                "epoch": done + epoch.number,
                "loss": float(np.mean(epoch.loss)),
                "member_loss": epoch.loss,
            }
            for epoch in training.history
        ]
        self.best_epoch_ = [done + epoch for epoch in training.best_epoch]
        self.n_iter_ = len(self.history_)

    def _score(self, rows: Rows) -> np.ndarray:
        scores = np.empty(rows.shape[0], dtype=np.float32)

        def score_span(span: slice) -> None:
            for selection, outputs in self.network_.outputs(rows, span, self._n_made()):
                scores[selection] = to_single(self._mean_score(outputs))

        cut = spans(rows.shape[0], n_cores() if self.is_thread_safe else 1)
        if len(cut) == 1:
            score_span(cut[0])
        else:
            with one_blas_thread(), ThreadPoolExecutor(len(cut)) as pool:
                list(pool.map(score_span, cut))
        return scores.astype(np.float64)

    def _n_made(self) -> int:
        """How many values `_member_scores` makes of one row."""
        return 1

    def _mean_score(self, outputs: Array) -> np.ndarray:
        """Scores (b,): the mean over the members."""
        return to_numpy(mean_over(0, self._member_scores(outputs)))

    @property
    def is_thread_safe(self) -> bool:
        """True for built-in networks; a caller's module may not be thread-safe."""
        return not is_module(self.hidden)

    @property
    def has_sparse_rows(self) -> bool:
        """Whether the first kernel is sparse."""
        return self.network_.first_kernel is not None

    def _refuse_changed_parameters(self, what: str) -> None:
        output_unit = self._has_output_unit()
        if not self.network_.matches(
            self.hidden, n_members=self.n_members, output_unit=output_unit
        ):
            raise ValueError(
                f"cannot {what} from the present weights, because `hidden`, `end_to_end` or "
                "`n_members` was changed after the fit; change them back, or fit a new detector."
            )

    def _tensors(self) -> dict[str, np.ndarray]:
        self._refuse_changed_parameters("save a model")
        tensors: dict[str, np.ndarray] = self.network_.to_tensors()
        return tensors

    def _facts(self) -> dict[str, Any]:
        return {"history": self.history_, "best_epoch": self.best_epoch_}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.network_ = self._network_of(tensors)
        self.history_ = field(header, "history", _is_history)
        self.best_epoch_ = field(header, "best_epoch", self._is_best_epoch)
        self.n_iter_ = len(self.history_)

    def _network_of(self, tensors: dict[str, np.ndarray]) -> Any:
        """The network of a model file."""
        shape = (self.hidden, self.n_features_in_, self.n_members)
        output_unit = self._has_output_unit()
        if is_module(self.hidden):
            from devnet.engine.module_network import ModuleNetwork

            return ModuleNetwork.from_tensors(
                tensors, *shape, output_unit=output_unit, device=self.device
            )
        return ScoringNetwork.from_tensors(
            tensors, *shape, output_unit=output_unit, biases=self._has_biases
        )

    def _is_best_epoch(self, value: Any) -> bool:
        is_list = isinstance(value, list) and len(value) == self.n_members
        return is_list and all(type(epoch) is int and epoch >= 0 for epoch in value)


def _progress_bar() -> list[Any]:
    try:
        return [ProgressBar()]
    except ImportError:
        logger.warning(
            "verbose=True shows no progress bar, because rich is not installed; install it with: "
            "pip install 'deviation-network[progress]'"
        )
        return []


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(record, dict)
        and set(record) == {"epoch", "loss", "member_loss"}
        and type(record["epoch"]) is int
        and isinstance(record["member_loss"], list)
        and all(is_finite_number(loss) for loss in [record["loss"], *record["member_loss"]])
        for record in value
    )
