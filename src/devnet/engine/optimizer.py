"""Gradient steps with an L2 penalty and a clipped gradient, as Keras 2 computes them.

The penalty adds l2 * sum(w^2) of the penalised kernels to the loss, so 2 * l2 * w to their
gradient, before each member's gradient is clipped to a global norm. torch's weight_decay and
optimizers differ in all of this.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from devnet.core.arrays import Array, convert_like, namespace, to_numpy
from devnet.engine.scoring_network import Gradient
from devnet.engine.sparse_layer import ColumnGradient, SparseKernel

EPSILON = 1e-7
BLOCK_VALUES = 1 << 16  # values of a sparse kernel that are updated together


class Rule(Protocol):
    """How a gradient becomes a step. Its states are running means that decay by `rho` per step."""

    @property
    def rho(self) -> float:
        """Share of a state that remains after a step."""

    @property
    def n_states(self) -> int:
        """Number of states of each weight."""

    def apply(self, gradient: Array, states: Sequence[Array]) -> None:
        """Turn the gradient into the step to subtract, in place; states have already decayed."""


class RMSprop(NamedTuple):
    """Divide by the root of the mean square; epsilon is outside the root."""

    learning_rate: float
    rho: float = 0.9
    n_states: int = 1

    def apply(self, gradient: Array, states: Sequence[Array]) -> None:
        """See `Rule`."""
        (mean_square,) = states
        mean_square += (1 - self.rho) * (gradient * gradient)
        gradient *= self.learning_rate
        gradient /= namespace(gradient).sqrt(mean_square) + EPSILON


class Adadelta(NamedTuple):
    """Scale by the ratio of the root mean squares of past steps and past gradients."""

    learning_rate: float
    rho: float = 0.95
    n_states: int = 2

    def apply(self, gradient: Array, states: Sequence[Array]) -> None:
        """See `Rule`."""
        mean_square, mean_square_step = states
        sqrt = namespace(gradient).sqrt
        mean_square += (1 - self.rho) * (gradient * gradient)
        gradient *= sqrt(mean_square_step / self.rho + EPSILON)  # as it was before it decayed
        gradient /= sqrt(mean_square + EPSILON)
        mean_square_step += (1 - self.rho) * (gradient * gradient)
        gradient *= self.learning_rate


class Trainable(Protocol):
    """What an optimizer needs to know about a network."""

    parameters: Array  # (m, P)
    first_kernel: SparseKernel | None

    @property
    def n_penalised(self) -> int:
        """How many parameters, counted from the first, are penalised."""


class Optimizer:
    """Updates the parameters of all members in place."""

    def __init__(
        self, network: Trainable, rule: Rule, *, l2: float, clip_norm: float | None
    ) -> None:
        self._parameters = network.parameters
        self._penalised = network.parameters[:, : network.n_penalised]
        self._rule = rule
        self._states = [network.parameters * 0 for _ in range(rule.n_states)]
        self._l2 = float(l2)
        self._clip_norm = clip_norm if clip_norm is None else float(clip_norm)
        self._columns: list[_LazyColumns] = []
        first = network.first_kernel
        if first is not None:
            column_l2 = self._l2 if first.is_penalised else 0.0
            self._columns = [
                _LazyColumns(kernel, rule, column_l2, first.expected_square())
                for kernel in first.kernel
            ]

    def penalty(self) -> Array:
        """Penalty l2 * sum(w^2) of each member at the current weights, (m,)."""
        penalty = (self._penalised * self._penalised).sum(1)
        for member, columns in enumerate(self._columns):
            penalty[member] += columns.sum_of_squares
        return penalty * self._l2

    def step(self, gradient: Gradient) -> None:
        """Apply one update; the gradient is used up."""
        dense = gradient.dense
        if self._l2:
            dense[:, : self._penalised.shape[1]] += 2 * self._l2 * self._penalised
            for state, columns in zip(self._columns, gradient.columns, strict=True):
                state.add_penalty(columns)
        if self._clip_norm is not None:
            _clip(gradient, self._clip_norm)
        for mean in self._states:
            mean *= self._rule.rho
        self._rule.apply(dense, self._states)
        self._parameters -= dense
        for state, columns in zip(self._columns, gradient.columns, strict=True):
            state.step(columns)

    def changed_columns(self, member: int) -> np.ndarray:
        """Rows of a member's sparse kernel that changed since the last call."""
        return self._columns[member].changed()


def _clip(gradient: Gradient, clip_norm: float) -> None:
    """Scale each member's gradient down to the norm if it is longer."""
    excess = _norms(gradient) / clip_norm
    excess[excess < 1] = 1
    gradient.dense /= excess[:, None]
    if gradient.columns:
        for columns, factor in zip(gradient.columns, to_numpy(excess), strict=True):
            if factor != 1:
                np.divide(columns.slope, factor, out=columns.slope)


def _norms(gradient: Gradient) -> Array:
    """The norm of each member's gradient, (m,); in double precision if squares exceed single."""
    with np.errstate(over="ignore"):
        square = (gradient.dense * gradient.dense).sum(1)
    for member, columns in enumerate(gradient.columns):
        square[member] += float(np.vdot(columns.slope, columns.slope))
    norm = namespace(square).sqrt(square)
    if bool(namespace(norm).isfinite(norm).all()):
        return norm
    exact = np.square(to_numpy(gradient.dense).astype(np.float64)).sum(1)
    for member, columns in enumerate(gradient.columns):
        exact[member] += np.square(columns.slope.astype(np.float64)).sum()
    return convert_like(norm, np.sqrt(exact))


class _LazyColumns:
    """The rule for one member's sparse kernel, at the cost of the touched rows only.

    An untouched row keeps its weights; its states decay by `rho` per step, and catch up when the
    row is next touched. Without a penalty this is exactly what the dense rule does. With a penalty
    the dense rule would shrink a row in every step, this one only in the steps that touch it.
    """

    def __init__(self, kernel: np.ndarray, rule: Rule, l2: float, expected_square: float) -> None:
        self._kernel = kernel  # (c, h), updated in place
        self._rule = rule
        # Not zeros_like, which writes: memory is taken only once a row is touched.
        self._states = [np.zeros(kernel.shape, kernel.dtype) for _ in range(rule.n_states)]
        self._last_step = np.full(len(kernel), -1, dtype=np.int32)
        self._decay: np.ndarray = np.ones(1, np.float32)  # by steps; looking up beats powers
        self._l2 = l2
        self._step = 0
        self._last_asked = -1
        # The penalty of an epoch must not depend on how many columns have been touched by then:
        # a row whose weights are yet to be drawn counts with its expected square.
        self._is_drawn: np.ndarray = np.any(kernel, axis=1)
        self._expected_square = expected_square if l2 else 0.0
        n_undrawn = int((~self._is_drawn).sum())
        self.sum_of_squares = 0.0
        if l2:
            self.sum_of_squares = float(np.vdot(kernel, kernel)) + n_undrawn * expected_square

    def add_penalty(self, columns: ColumnGradient) -> None:
        if self._l2:
            for _, weights, slope in _blocks(columns):
                slope += 2 * self._l2 * weights

    def step(self, columns: ColumnGradient) -> None:
        if self._l2:
            self._forget_squares(columns.touched, columns.weights)
        if self._step + 2 > len(self._decay):
            steps = np.arange(2 * self._step + 64, dtype=np.float32)
            self._decay = np.float32(self._rule.rho) ** steps
        for block in _blocks(columns):
            self._step_block(*block)
        self._step += 1

    def _step_block(self, touched: np.ndarray, weights: np.ndarray, slope: np.ndarray) -> None:
        elapsed = self._step - self._last_step.take(touched)
        decay = self._decay.take(elapsed)
        states = [state.take(touched, axis=0) for state in self._states]
        for state in states:
            state *= decay[:, None]
        self._rule.apply(slope, states)
        weights -= slope
        if self._l2:
            self.sum_of_squares += float(np.vdot(weights, weights))
        for full, state in zip(self._states, states, strict=True):
            put_rows(full, touched, state)
        put_rows(self._kernel, touched, weights)
        self._last_step[touched] = self._step

    def _forget_squares(self, touched: np.ndarray, weights: np.ndarray) -> None:
        is_drawn = self._is_drawn.take(touched)
        known = weights if is_drawn.all() else weights[is_drawn]
        n_new = len(weights) - len(known)
        self.sum_of_squares -= float(np.vdot(known, known)) + n_new * self._expected_square
        self._is_drawn[touched] = True

    def changed(self) -> np.ndarray:
        changed = np.flatnonzero(self._last_step > self._last_asked)
        self._last_asked = self._step - 1
        return changed


def _blocks(columns: ColumnGradient) -> Iterator[ColumnGradient]:
    """Views of a few rows at a time, so that they stay in the processor's cache."""
    height = max(1, BLOCK_VALUES // columns.slope.shape[1])
    for start in range(0, len(columns.touched), height):
        block = slice(start, start + height)
        yield ColumnGradient(*(part[block] for part in columns))


def put_rows(table: np.ndarray, positions: np.ndarray, rows: np.ndarray) -> None:
    """Like `table[positions] = rows`, but three times as fast: a row is moved as one item."""
    item = np.dtype((np.void, table.shape[1] * table.itemsize))
    np.put(table.view(item)[:, 0], positions, rows.view(item)[:, 0])
