"""The scoring network phi = eta(psi(x)): a feature learner and one linear unit (equations 1-3).

m independent members are stacked: every array starts with the member axis and every product is
batched, so an ensemble trains as one network. All of it is NumPy with a written-out backward pass,
because for 20 hidden units the bookkeeping of autograd costs several times the arithmetic.

Axes: m members, b rows, d columns, h units of a layer, k outputs (1, or h without output unit).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.arrays import Array, is_module
from devnet.core.model_file import ModelFileError, refuse_unknown, tensor
from devnet.core.rows import Rows, dense_tiles, is_mostly_zero, sparse_tiles
from devnet.engine.sparse_layer import (
    LARGEST_WEIGHT,
    SPARSE_TENSORS,
    ColumnGradient,
    SparseKernel,
)


@dataclass
class Gradient:
    """Where a backward pass leaves its result."""

    dense: Array  # (m, P), laid out like the parameters
    kernels: list[np.ndarray] = field(default_factory=list)  # views of `dense`, layer by layer
    biases: list[np.ndarray] = field(default_factory=list)
    columns: list[ColumnGradient] = field(default_factory=list)  # of a sparse kernel, by member


class ScoringNetwork:
    """m multilayer perceptrons with ReLU hidden layers; final class.

    Parameters
    ----------
    sizes : tuple of int
        Widths from input to output: (d, 20, 1) is the paper's network, (d, 1) its linear variant,
        (d, 20) the variant without an output unit.
    parameters : (m, P) array
        One row per member: its kernels in the order of the layers, then its biases. A sparse
        first kernel is not included.
    output_unit : bool
        Whether the last layer is the linear unit eta; otherwise it is a ReLU layer.
    biases : bool
        Whether biases are trained; otherwise they stay zero.
    first_kernel : SparseKernel, optional
        The kernel of the first layer, for rows with very many columns.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        parameters: np.ndarray,
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
        if parameters.shape != expected:
            raise ValueError(
                f"a network of widths {sizes} has parameters of shape {expected}, "
                f"not {parameters.shape}."
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
        """Glorot-uniform kernels, zero biases; one generator per member.

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

    @classmethod
    def from_tensors(
        cls,
        tensors: dict[str, np.ndarray],
        hidden: Sequence[int],
        n_columns: int,
        n_members: int,
        *,
        output_unit: bool,
        biases: bool,
    ) -> "ScoringNetwork":
        """Build the network of a model file from exactly these tensors."""
        refuse_unknown(tensors, ("parameters", *SPARSE_TENSORS))
        try:
            sizes = layer_sizes(hidden, n_columns, output_unit)
        except ValueError as error:
            raise ModelFileError(f"the model file has an impossible network: {error}") from error
        sparse = any(name in tensors for name in SPARSE_TENSORS)
        shape = (n_members, parameter_count(sizes, sparse=sparse))
        parameters = tensor(tensors, "parameters", shape, largest=LARGEST_WEIGHT)
        first = None
        if sparse:
            is_hidden = is_first_hidden(sizes, output_unit)
            first = SparseKernel.from_tensors(
                tensors, n_members, sizes[0], sizes[1], is_penalised=is_hidden
            )
        return cls(sizes, parameters, output_unit=output_unit, biases=biases, first_kernel=first)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """All weights, as the named arrays of a model file."""
        sparse = {} if self.first_kernel is None else self.first_kernel.to_tensors()
        return {"parameters": self.parameters, **sparse}

    def matches(self, hidden: Any, *, n_members: int, output_unit: bool) -> bool:
        """Whether these parameters of a detector describe this network."""
        return (
            not is_module(hidden)
            and len(self.parameters) == n_members
            and self.output_unit == output_unit
            and self.sizes == layer_sizes(hidden, self.sizes[0], output_unit)
        )

    @property
    def n_outputs(self) -> int:
        """Outputs k of a row."""
        return self.sizes[-1]

    @property
    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Kernel (m, fan_in, fan_out) and bias (m, 1, fan_out) of each layer, as views."""
        return list(zip(self._kernels, self._biases, strict=True))

    @property
    def n_penalised(self) -> int:
        """How many parameters, counted from the first, are weights of hidden kernels.

        The L2 penalty applies to these, not to biases or the output unit.
        """
        kernels = self._shapes["kernels"]
        hidden = kernels[:-1] if self.output_unit else kernels
        return sum(fan_in * fan_out for fan_in, fan_out in hidden)

    def to_device(self, array: np.ndarray) -> np.ndarray:
        """Leave an array where it is: a built-in network computes with NumPy."""
        return array

    def start_training(
        self, rows: Rows, generators: Sequence[np.random.Generator]
    ) -> "ScoringNetwork":
        """Copy to train on these rows; new columns of a sparse kernel draw from the generators."""
        first = self.first_kernel
        if first is not None:
            first = first.start_training(rows.columns(), generators)
        return self._with(self.parameters.copy(), first)

    def end_training(self) -> None:
        """Prepare for scoring."""
        self._buffers.clear()
        if self.first_kernel is not None:
            self.first_kernel.end_training()

    def outputs(self, rows: Rows, span: slice, made: int = 1) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the outputs (m, b, k) of the rows of a span, tile by tile.

        In double precision; `rows.dense_tiles` says why. `made` is how many values the caller makes
        of a row's outputs. Many threads may call this at once.
        """
        made = max(made, len(self.parameters) * max(self.sizes[1:]))
        network = self._with(self.parameters.astype(np.float64), self.first_kernel)
        if network.first_kernel is not None:
            for selection, part in sparse_tiles(rows, span, made):
                yield selection, network.forward([part])[0]
        elif is_mostly_zero(rows):
            for selection, part in sparse_tiles(rows, span, made):
                yield selection, network._outputs_of_sparse(part.astype(np.float64))
        else:
            for selection, tile in dense_tiles(rows, span, made=made):
                yield selection, network.forward(tile[None])[0]

    def _outputs_of_sparse(self, rows: sp.csr_array) -> np.ndarray:
        """Outputs (m, b, k) of CSR rows by a dense first kernel.

        A row's products are added up in the order of its columns, so its position does not matter.
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

    def forward(self, rows: np.ndarray | list[sp.csr_array]) -> tuple[np.ndarray, list[Any]]:
        """Outputs (m, b, k), and what `backward` needs: the inputs of each layer and the outputs.

        Rows are (m, b, d), or (1, b, d) shared by all members. The next call overwrites the
        outputs.
        """
        activation: Any = rows
        tape: list[Any] = []
        for layer, (kernel, bias) in enumerate(zip(self._kernels, self._biases, strict=True)):
            inputs = activation
            if layer == 0 and self.first_kernel is not None:
                products, inputs = self.first_kernel.forward(inputs)
                activation = products.astype(bias.dtype, copy=False)
            else:
                activation = self._product(layer, inputs, kernel)  # (m, b, h)
            activation += bias
            if self.is_relu(layer):
                np.maximum(activation, 0, out=activation)
            tape.append(inputs)
        return activation, [*tape, activation]

    def new_gradient(self) -> Gradient:
        """Memory for the result of `backward`."""
        dense = np.zeros_like(self.parameters)
        return Gradient(dense, *_views(dense, self._shapes))

    def backward(self, tape: list[Any], slope: np.ndarray, gradient: Gradient) -> None:
        """Write the gradient of sum(slope * outputs), slope (m, b, k), to `gradient`."""
        ones = np.ones_like(slope[:, :, :1]).swapaxes(1, 2)  # (m, 1, b)
        for layer in range(len(self._kernels) - 1, -1, -1):
            inputs, outputs = tape[layer], tape[layer + 1]
            if self.is_relu(layer):
                slope *= outputs > 0
            if self.biases:
                np.matmul(ones, slope, out=gradient.biases[layer])  # faster than a sum over rows
            if layer == 0 and self.first_kernel is not None:
                gradient.columns = self.first_kernel.backward(inputs, slope)
            else:
                np.matmul(inputs.swapaxes(1, 2), slope, out=gradient.kernels[layer])
            if layer > 0:
                back = self._kernels[layer].swapaxes(1, 2)
                # (m, b, h of the layer below); with one output it is an outer product
                slope = slope @ back if slope.shape[2] > 1 else slope * back

    def _product(self, layer: int, inputs: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        """Multiply into reused memory: allocating it costs more than the product."""
        shape = (kernel.shape[0], inputs.shape[1], kernel.shape[2])
        buffer = self._buffers.get(layer)
        if buffer is None or buffer.shape != shape:
            buffer = self._buffers[layer] = inputs @ kernel
        else:
            np.matmul(inputs, kernel, out=buffer)
        return buffer

    def is_relu(self, layer: int) -> bool:
        """Whether the units of a layer, counted from 0, are ReLUs."""
        return layer < len(self._kernels) - 1 or not self.output_unit

    def _with(self, parameters: np.ndarray, first_kernel: SparseKernel | None) -> "ScoringNetwork":
        return ScoringNetwork(
            self.sizes,
            parameters,
            output_unit=self.output_unit,
            biases=self.biases,
            first_kernel=first_kernel,
        )

    def _prepare(self) -> None:
        self._kernels, self._biases = _views(self.parameters, self._shapes)
        self._buffers: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_kernels", "_biases", "_buffers")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()


def layer_sizes(hidden: Sequence[int], n_columns: int, output_unit: bool) -> tuple[int, ...]:
    """Widths of a network from input to output."""
    if not (len(hidden) or output_unit):
        raise ValueError(
            "hidden=() with end_to_end=False leaves no layer to train; give at least one hidden "
            "layer, or the output unit."
        )
    return (n_columns, *(int(width) for width in hidden), *([1] if output_unit else []))


def is_first_hidden(sizes: tuple[int, ...], output_unit: bool) -> bool:
    """Whether the first layer is hidden, not the output unit itself."""
    return len(sizes) > 2 or not output_unit


def parameter_count(sizes: tuple[int, ...], *, sparse: bool) -> int:
    """Parameters P of one member, without those of a sparse first kernel."""
    shapes = _shapes(sizes, sparse=sparse)
    return sum(fan_in * fan_out for part in shapes.values() for fan_in, fan_out in part)


def _shapes(sizes: tuple[int, ...], *, sparse: bool) -> dict[str, list[tuple[int, int]]]:
    """Shape of each parameter, in the order of the flat row; a sparse kernel has no rows."""
    kernels = list(pairwise(sizes))
    biases = [(1, fan_out) for _, fan_out in kernels]
    if sparse:
        kernels[0] = (0, sizes[1])
    return {"kernels": kernels, "biases": biases}


def _views(
    flat: np.ndarray, shapes: dict[str, list[tuple[int, int]]]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Kernels and biases of flat rows (m, P), without a copy."""
    views: dict[str, list[np.ndarray]] = {"kernels": [], "biases": []}
    start = 0
    for part, shapes_of_part in shapes.items():
        for fan_in, fan_out in shapes_of_part:
            stop = start + fan_in * fan_out
            views[part].append(flat[:, start:stop].reshape(len(flat), fan_in, fan_out))
            start = stop
    return views["kernels"], views["biases"]
