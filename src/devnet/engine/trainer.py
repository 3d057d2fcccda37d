"""The one gradient loop (Algorithm 1, steps 2 to 10) of every method trained by gradients."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from devnet.core.arrays import Array, to_numpy
from devnet.engine.optimizer import Optimizer, put_rows
from devnet.engine.sampler import Batch
from devnet.engine.scoring_network import Gradient
from devnet.engine.sparse_layer import SparseKernel

logger = logging.getLogger(__name__)

COPIED_ROWS = 1 << 12  # of a sparse kernel, so that they stay in the processor's cache

Objective = Callable[[Array, Batch], tuple[Array, Array]]
"""Outputs (m, b, k) and their batch -> loss of each member (m,), slope for the outputs."""


class Network(Protocol):
    """What the loop trains."""

    parameters: Array  # (m, P)
    first_kernel: SparseKernel | None

    def forward(self, rows: Any) -> tuple[Array, Any]:
        """Outputs (m, b, k), and what `backward` needs."""

    def new_gradient(self) -> Gradient:
        """Memory for the result of `backward`."""

    def backward(self, tape: Any, slope: Array, gradient: Gradient) -> None:
        """Write the gradient of sum(slope * outputs), slope (m, b, k), to `gradient`."""


class Epoch(NamedTuple):
    """What `on_epoch` gets; if it returns true, training ends."""

    number: int  # 1, 2, ...
    loss: list[float]  # mean over the epoch's steps, with penalty, by member


class Training(NamedTuple):
    """The record of a training run, besides the weights."""

    history: list[Epoch]
    best_epoch: list[int]  # the epoch whose weights were kept, by member


def train(
    network: Network,
    batches: Iterator[Batch],
    objective: Objective,
    optimizer: Optimizer,
    *,
    n_epochs: int,
    n_batches: int,
    keep_best: bool,
    keep_interrupted: bool,
    on_epoch: Callable[[Epoch], bool],
) -> Training:
    """Train the network in place; it ends up with the weights that were kept.

    With `keep_best` each member keeps its weights from the end of the epoch with its lowest loss,
    otherwise those of the last epoch. With `keep_interrupted`, once an epoch is done, Ctrl-C ends
    the training with the weights kept so far instead of raising.
    """
    history: list[Epoch] = []
    kept = _BestWeights(network, optimizer)
    try:
        for number in range(1, n_epochs + 1):
            loss = _run_epoch(network, batches, objective, optimizer, n_batches)
            kept.consider(loss, number, always=not keep_best)
            history.append(Epoch(number, loss.tolist()))
            if on_epoch(history[-1]):
                break
    except KeyboardInterrupt:
        if not (keep_interrupted and history):
            raise
        logger.warning("interrupted after %d of %d epochs", len(history), n_epochs)
    if not all(kept.epoch):
        raise ValueError(
            "training reached no finite loss; scale the columns of X to similar ranges, for "
            "example with sklearn.preprocessing.MinMaxScaler(), or lower learning_rate and margin."
        )
    kept.restore()
    return Training(history, kept.epoch)


def _run_epoch(
    network: Network,
    batches: Iterator[Batch],
    objective: Objective,
    optimizer: Optimizer,
    n_batches: int,
) -> np.ndarray:
    """Take `n_batches` steps; return the mean loss of each member, (m,)."""
    gradient = network.new_gradient()
    total = 0
    for _ in range(n_batches):
        batch = next(batches)
        outputs, tape = network.forward(batch.rows)
        loss, slope = objective(outputs, batch)
        total = total + loss + optimizer.penalty()
        network.backward(tape, slope, gradient)
        optimizer.step(gradient)
    return to_numpy(total) / n_batches


class _BestWeights:
    """The weights to keep, separately for each member."""

    def __init__(self, network: Network, optimizer: Optimizer) -> None:
        self._network = network
        self._optimizer = optimizer
        self._parameters = network.parameters * 1  # a copy
        first = network.first_kernel
        self._kernel = None if first is None else _copy_of_drawn(first.kernel)
        self._loss = np.full(len(network.parameters), np.inf)
        self.epoch = [0] * len(network.parameters)

    def consider(self, loss: np.ndarray, epoch: int, *, always: bool) -> None:
        better = np.isfinite(loss) & (always | (loss < self._loss))
        for member in np.flatnonzero(better).tolist():
            self._loss[member] = loss[member]
            self._parameters[member] = self._network.parameters[member]
            self.epoch[member] = epoch
            if self._kernel is not None and self._network.first_kernel is not None:
                changed = self._optimizer.changed_columns(member)
                _copy_rows(self._network.first_kernel.kernel[member], changed, self._kernel[member])

    def restore(self) -> None:
        self._network.parameters[:] = self._parameters
        if self._kernel is not None and self._network.first_kernel is not None:
            self._network.first_kernel.kernel = self._kernel


def _copy_of_drawn(kernel: np.ndarray) -> np.ndarray:
    """Copy, (m, c, h), that takes memory only for rows that are not zero."""
    copy = np.zeros(kernel.shape, kernel.dtype)
    for source, target in zip(kernel, copy, strict=True):
        _copy_rows(source, np.flatnonzero(source.any(axis=1)), target)
    return copy


def _copy_rows(source: np.ndarray, positions: np.ndarray, target: np.ndarray) -> None:
    """Like `target[positions] = source[positions]`, without a second copy of all these rows."""
    for start in range(0, len(positions), COPIED_ROWS):
        some = positions[start : start + COPIED_ROWS]
        put_rows(target, some, source.take(some, axis=0))
