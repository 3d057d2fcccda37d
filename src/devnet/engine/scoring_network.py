"""The scoring network phi = eta(psi(x)): a feature learner and one linear unit (equations 1-3).

m independent members are stacked: every array starts with the member axis and every product is a
batched one, so an ensemble trains as one network. The
backward pass is written out, because for 20 hidden units the bookkeeping of autograd costs
several times the arithmetic.

Axes: m members, b rows, d columns, h units of a layer, k outputs (1, or h without output unit).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.arrays import Array, Place, namespace, to_numpy
from devnet.engine.sparse_layer import ColumnGradient, SparseKernel


class Gradient:
    """Where a backward pass leaves its result."""

    def __init__(self, parameters: Array, shapes: dict[str, list[tuple[int, int]]]) -> None:
        self.dense = namespace(parameters).zeros_like(parameters)  # (m, P), as the parameters
        self.kernels, self.biases = _views(self.dense, shapes)
        self.columns: list[ColumnGradient] = []  # of a sparse first kernel, one a member


class ScoringNetwork:
    """m multilayer perceptrons with ReLU hidden layers; final class.

    Parameters
    ----------
    sizes : tuple of int
        Widths from input to output: (d, 20, 1) is the paper's network, (d, 1) its linear variant,
        (d, 20) the variant without output unit.
    parameters : (m, P) array
        The kernels of a member in the order of the layers, then its biases, in one row. A sparse
        first kernel is not among them.
    output_unit : bool
        Whether the last layer is the linear unit eta; without it the last layer is a ReLU layer.
    biases : bool
        Whether biases are trained; else they stay zero.
    first_kernel : SparseKernel, optional
        The kernel of the first layer for rows of very many columns.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        parameters: Array,
        *,
        output_unit: bool = True,
        biases: bool = True,
        first_kernel: SparseKernel | None = None,
    ) -> None:
        self.sizes = sizes
        self.output_unit = output_unit
        self.biases = biases
        self.first_kernel = first_kernel
        sparse = first_kernel is not None
        self._shapes = _shapes(sizes, sparse=sparse)
        expected = (len(parameters), parameter_count(sizes, sparse=sparse))
        if tuple(parameters.shape) != expected:
            raise ValueError(
                f"a network of widths {sizes} has parameters of shape {expected}, "
                f"not {tuple(parameters.shape)}."
            )
        self.parameters = parameters
        self._prepare()

    @classmethod
    def initialise(
        cls,
        sizes: tuple[int, ...],
        generators: Sequence[np.random.Generator],
        *,
        output_unit: bool = True,
        biases: bool = True,
        sparse: bool = False,
    ) -> "ScoringNetwork":
        """Glorot-uniform kernels, zero biases; one generator a member.

        A sparse first kernel starts without columns; see `SparseKernel.start_training`.
        """
        shapes = _shapes(sizes, sparse=sparse)
        parameters = np.zeros((len(generators), parameter_count(sizes, sparse=sparse)), np.float32)
        kernels, _ = _views(parameters, shapes)
        for member, generator in enumerate(generators):
            for kernel, (fan_in, fan_out) in zip(kernels, shapes["kernels"], strict=True):
                limit = np.sqrt(6 / (fan_in + fan_out))
                kernel[member] = generator.uniform(-limit, limit, (fan_in, fan_out))
        first = None
        if sparse:
            is_hidden = is_first_hidden(sizes, output_unit)
            first = SparseKernel.empty(len(generators), sizes[0], sizes[1], is_penalised=is_hidden)
        return cls(sizes, parameters, output_unit=output_unit, biases=biases, first_kernel=first)

    @property
    def n_outputs(self) -> int:
        """Outputs k of a row."""
        return self.sizes[-1]

    @property
    def layers(self) -> list[tuple[Array, Array]]:
        """Kernel (m, fan_in, fan_out) and bias (m, 1, fan_out) of each layer, as views."""
        return list(zip(self._kernels, self._biases, strict=True))

    @property
    def n_penalised(self) -> int:
        """How many parameters, from the first on, are weights of hidden kernels.

        The L2 penalty falls on them, not on biases and not on the output unit.
        """
        kernels = self._shapes["kernels"]
        hidden = kernels[:-1] if self.output_unit else kernels
        return sum(fan_in * fan_out for fan_in, fan_out in hidden)

    def copy(self, place: Place) -> "ScoringNetwork":
        """Copy to a place; a sparse first kernel is shared and stays where it is."""
        return ScoringNetwork(
            self.sizes,
            place(to_numpy(self.parameters).copy()),
            output_unit=self.output_unit,
            biases=self.biases,
            first_kernel=self.first_kernel,
        )

    def for_scoring(self, place: Place) -> "ScoringNetwork":
        """Copy to a place in double precision; see `rows.dense_tiles` for the reason."""
        return self.copy(lambda parameters: place(parameters.astype(np.float64)))

    def start_training(
        self, columns: np.ndarray | None, generators: Sequence[np.random.Generator]
    ) -> None:
        """Prepare for rows with these columns, which matter to a sparse first kernel only."""
        if self.first_kernel is not None and columns is not None:
            self.first_kernel = self.first_kernel.start_training(columns, generators)

    def end_training(self) -> None:
        """Prepare for scoring."""
        if self.first_kernel is not None:
            self.first_kernel.end_training()

    def outputs_of_sparse(self, rows: sp.csr_array) -> Array:
        """Outputs (m, b, k) of CSR rows that a dense first kernel takes, in main memory only.

        A row's products are added up in the order of its columns, so its place does not matter.
        """
        activation = np.stack([rows @ kernel for kernel in self._kernels[0]])  # (m, b, h)
        activation += self._biases[0]
        if self.is_relu(0):
            np.maximum(activation, 0, out=activation)
        for layer in range(1, len(self._kernels)):
            activation = activation @ self._kernels[layer] + self._biases[layer]
            if self.is_relu(layer):
                np.maximum(activation, 0, out=activation)
        return activation

    def forward(self, rows: Array | list[sp.csr_array]) -> tuple[Array, list[Any]]:
        """Outputs (m, b, k), and what `backward` needs: the inputs of each layer and the outputs.

        Rows are (m, b, d), or (1, b, d) for all members. The next call overwrites the outputs.
        """
        activation: Any = rows
        tape: list[Any] = []
        for layer, (kernel, bias) in enumerate(zip(self._kernels, self._biases, strict=True)):
            inputs = activation
            if layer == 0 and self.first_kernel is not None:
                activation, inputs = self.first_kernel.forward(inputs, like=bias)
            else:
                activation = self._product(layer, inputs, kernel)  # (m, b, h)
            activation += bias
            if self.is_relu(layer):
                namespace(activation).clip(activation, 0, None, out=activation)
            tape.append(inputs)
        return activation, [*tape, activation]

    def new_gradient(self) -> Gradient:
        """Room for the result of `backward`."""
        return Gradient(self.parameters, self._shapes)

    def backward(self, tape: list[Any], slope: Array, gradient: Gradient) -> None:
        """Leave the gradient of sum(slope * outputs), slope (m, b, k), in `gradient`."""
        xp = namespace(slope)
        ones = xp.ones_like(slope[:, :, :1]).swapaxes(1, 2)  # (m, 1, b)
        for layer in range(len(self._kernels) - 1, -1, -1):
            inputs, outputs = tape[layer], tape[layer + 1]
            if self.is_relu(layer):
                slope *= outputs > 0
            if self.biases:
                xp.matmul(ones, slope, out=gradient.biases[layer])  # faster than a sum over rows
            if layer == 0 and self.first_kernel is not None:
                gradient.columns = self.first_kernel.backward(inputs, slope)
            else:
                xp.matmul(inputs.swapaxes(1, 2), slope, out=gradient.kernels[layer])
            if layer > 0:
                back = self._kernels[layer].swapaxes(1, 2)
                # (m, b, h of the layer below); from one output it is an outer product
                slope = slope @ back if slope.shape[2] > 1 else slope * back

    def _product(self, layer: int, inputs: Array, kernel: Array) -> Array:
        """Multiply into memory that is kept: fresh memory costs more than the product."""
        shape = (kernel.shape[0], inputs.shape[1], kernel.shape[2])
        room = self._rooms.get(layer)
        if room is None or tuple(room.shape) != shape:
            room = self._rooms[layer] = inputs @ kernel
            return room
        return namespace(kernel).matmul(inputs, kernel, out=room)

    def is_relu(self, layer: int) -> bool:
        """Whether the units of a layer, counted from 0, are ReLUs."""
        return layer < len(self._kernels) - 1 or not self.output_unit

    def _prepare(self) -> None:
        self._kernels, self._biases = _views(self.parameters, self._shapes)
        self._rooms: dict[int, Array] = {}

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_kernels", "_biases", "_rooms")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()


def is_first_hidden(sizes: tuple[int, ...], output_unit: bool) -> bool:
    """Whether the first layer is a hidden one, not the output unit itself."""
    return len(sizes) > 2 or not output_unit


def parameter_count(sizes: tuple[int, ...], *, sparse: bool) -> int:
    """Parameters P of one member, those of a sparse first kernel left out."""
    shapes = _shapes(sizes, sparse=sparse)
    return sum(fan_in * fan_out for part in shapes.values() for fan_in, fan_out in part)


def _shapes(sizes: tuple[int, ...], *, sparse: bool) -> dict[str, list[tuple[int, int]]]:
    """Shape of each parameter, in the order of the flat row; a sparse kernel has no rows there."""
    kernels = list(pairwise(sizes))
    biases = [(1, fan_out) for _, fan_out in kernels]
    if sparse:
        kernels[0] = (0, sizes[1])
    return {"kernels": kernels, "biases": biases}


def _views(
    flat: Array, shapes: dict[str, list[tuple[int, int]]]
) -> tuple[list[Array], list[Array]]:
    """Kernels and biases of flat rows (m, P), without a copy."""
    views: dict[str, list[Array]] = {"kernels": [], "biases": []}
    start = 0
    for part, shapes_of_part in shapes.items():
        for fan_in, fan_out in shapes_of_part:
            stop = start + fan_in * fan_out
            views[part].append(flat[:, start:stop].reshape(len(flat), fan_in, fan_out))
            start = stop
    return views["kernels"], views["biases"]
