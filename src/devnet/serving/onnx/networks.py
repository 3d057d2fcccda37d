"""Networks as matrix products that give a row the same score in any batch."""

from collections.abc import Sequence
from math import ceil, log2

import numpy as np

from devnet.detectors.ensemble.deviation_networks import BaggedNetworks, Weights
from devnet.detectors.ensemble.rank_normal import EXTREME, RESOLUTION
from devnet.serving.onnx.encodings import add_encoded
from devnet.serving.onnx.graph import DOUBLE, FLOAT, Graph

DIGITS = 53  # binary digits that double precision holds
MOST_DIGITS = 33  # of a hidden unit; in wide tables it has more, which are rounded
ENOUGH = 34  # digits of a weight of the last layer, ten more than it has in training


def add_bagged_networks(graph: Graph, rows: str, networks: BaggedNetworks, scale: float) -> str:
    """The mean score of bagged networks times a scale, (b, d) float32 -> (b,) double.

    The first layer has exact sums by itself. In the last one, weights are cut into parts, so few
    binary digits each that the sum of a part's products is exact too.
    """
    weights = networks.weights
    hidden, n_digits = _add_hidden(graph, rows, networks)
    last = weights.last.astype(np.float64).ravel() * (scale / len(networks))
    parts = _in_parts(last, max(1, DIGITS - n_digits - ceil(log2(len(last))) - 1))
    products = graph.add("MatMul", hidden, graph.constant(parts))  # (b, parts)
    by_part = [
        graph.add("Gather", products, graph.constant(part, np.int64), axis=1)
        for part in range(parts.shape[1])
    ]
    bias = graph.constant(scale * float(weights.last_bias.mean(dtype=np.float64)))
    return graph.sum(*by_part, bias)


def _add_hidden(graph: Graph, rows: str, networks: BaggedNetworks) -> tuple[str, int]:
    """Hidden units of all networks, (b, m h) double, and how many binary digits they may have."""
    weights = networks.weights
    encoded, order = add_encoded(graph, rows, networks.encoding)
    is_double = weights.kernel.dtype == np.float64
    encoded = graph.cast(encoded, DOUBLE) if is_double else encoded
    sums = graph.add("MatMul", encoded, graph.constant(weights.kernel[order]))
    hidden = graph.add("Relu", graph.add("Add", sums, graph.constant(weights.bias)))
    hidden = hidden if is_double else graph.cast(hidden, DOUBLE)
    n_digits, last_digit = _digits(weights)
    if n_digits <= MOST_DIGITS:
        return hidden, n_digits
    step = graph.constant(np.ldexp(last_digit, n_digits - MOST_DIGITS))
    whole = graph.add("Round", graph.add("Div", hidden, step))
    return graph.add("Mul", whole, step), MOST_DIGITS


def _digits(weights: Weights) -> tuple[int, float]:
    """Binary digits that the sums of the first layer may have, and what the last one is worth."""
    kernel = np.abs(weights.kernel.astype(np.float64))
    largest = float((EXTREME * kernel.sum(axis=0) + np.abs(weights.bias)).max())
    parts = [weights.kernel.ravel().astype(np.float64), weights.bias.astype(np.float64)]
    step = _common_step(np.concatenate(parts)) / RESOLUTION
    return max(1, ceil(log2(max(largest, step) / step)) + 1), step


def _common_step(values: np.ndarray) -> float:
    """The largest power of two of which all values are multiples."""
    known = values[values != 0]
    if not len(known):
        return 1.0
    mantissa, exponent = np.frexp(known)
    whole = np.ldexp(mantissa, DIGITS).astype(np.int64)
    zeros = np.log2((whole & -whole).astype(np.float64))
    return float(np.ldexp(1.0, int((exponent - DIGITS + zeros).min())))


def _in_parts(weights: np.ndarray, n_digits: int) -> np.ndarray:
    """Weights (h,) as sums of parts, (h, parts), each of which has at most so many digits."""
    largest = float(np.abs(weights).max(initial=0)) or 1.0
    exponent, rest, parts = ceil(log2(largest)) + 1, weights, []
    for part in range(-(-ENOUGH // n_digits)):
        step = np.ldexp(1.0, exponent - n_digits * (part + 1))
        parts.append(np.rint(rest / step) * step)
        rest = rest - parts[-1]
    return np.stack(parts, axis=1)


def add_layers(
    graph: Graph,
    rows: str,
    layers: Sequence[tuple[np.ndarray, np.ndarray]],
    is_relu: Sequence[bool],
) -> str:
    """Outputs of m networks, (b, d) float32 -> (m, b, k) double.

    Kernels are (m, fan_in, fan_out), biases (m, 1, fan_out).
    """
    activation = graph.cast(rows, DOUBLE)
    for (kernel, bias), has_relu in zip(layers, is_relu, strict=True):
        products = graph.add("MatMul", activation, graph.constant(kernel, np.float64))
        activation = graph.add("Add", products, graph.constant(bias, np.float64))
        if has_relu:
            activation = graph.add("Relu", activation)
    return activation


def as_single(graph: Graph, scores: str) -> str:
    """Scores in double precision, rounded to single precision: what a batch changes is below it."""
    most = np.float64(np.finfo(np.float32).max)
    within = graph.add("Clip", scores, graph.constant(-most), graph.constant(most))
    return graph.cast(graph.cast(within, FLOAT), DOUBLE)
