"""Integrated gradients of a scoring network: what each column adds on the way from a baseline.

Along the straight line from the baseline to a row, a ReLU unit has slope 0 or 1. Its mean slope
over a segment is the rise of its output over the rise of its input. With one hidden layer, these
mean slopes give the integral in closed form. For deeper networks the line is cut into segments,
each with the mean slopes of all layers. That is exact except in segments where units of several
layers switch, and even there the contributions add up to the rise of the output.

M. Sundararajan, A. Taly, Q. Yan. Axiomatic attribution for deep networks. ICML 2017.
"""

import numpy as np
import scipy.sparse as sp

from devnet.engine.scoring_network import ScoringNetwork

N_SEGMENTS = 24  # of the line, for networks with two or more hidden layers
BLOCK_VALUES = 1 << 21  # of a layer, held in memory at a time


def integrated_gradients(
    network: ScoringNetwork,
    rows: np.ndarray | sp.csr_array,
    baseline: np.ndarray | None,
    output_weight: np.ndarray,
) -> np.ndarray | sp.csr_array:
    """Contributions to the weighted sum of all members' outputs, (b, d) in float64.

    Parameters
    ----------
    network : ScoringNetwork
        On the CPU.
    rows : array, or CSR if the network has a sparse first kernel, of shape (b, d)
    baseline : array of shape (d,), or None
        Where the line begins; None is the empty row, the only choice with a sparse first kernel.
    output_weight : array of shape (m, k)
    """
    widest = max(network.sizes[1:]) * (_n_segments(network) + 1)
    height = max(1, BLOCK_VALUES // widest)
    spans = [slice(start, start + height) for start in range(0, rows.shape[0], height)]
    if sp.issparse(rows):
        parts = [_sparse_block(network, rows[span], output_weight) for span in spans]
        return sp.vstack(parts, format="csr")
    return np.concatenate([_block(network, rows[s], baseline, output_weight) for s in spans])


def mean_slope(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Mean slope of a ReLU while its input goes from start to end."""
    rise = end - start
    slope = np.broadcast_to(start > 0, rise.shape).astype(np.float64)
    np.divide(np.maximum(end, 0) - np.maximum(start, 0), rise, out=slope, where=rise != 0)
    return slope


def _n_segments(network: ScoringNetwork) -> int:
    n_relu = sum(network.is_relu(layer) for layer in range(len(network.sizes) - 1))
    return 1 if n_relu <= 1 else N_SEGMENTS


def _block(
    network: ScoringNetwork,
    rows: np.ndarray,
    baseline: np.ndarray | None,
    output_weight: np.ndarray,
) -> np.ndarray:
    rows = rows.astype(np.float64)
    start = np.zeros(rows.shape[1]) if baseline is None else baseline.astype(np.float64)
    gradient = np.zeros_like(rows)
    kernels, biases = network.layers[0]
    for member, (kernel, bias) in enumerate(zip(kernels, biases, strict=True)):
        kernel = kernel.astype(np.float64)
        ends = start @ kernel + bias, rows @ kernel + bias
        gradient += _mean_gradient(network, member, *ends, output_weight) @ kernel.T
    contributions: np.ndarray = (rows - start) * gradient
    return contributions


def _sparse_block(
    network: ScoringNetwork, rows: sp.csr_array, output_weight: np.ndarray
) -> sp.csr_array:
    """The same from the empty row; a column outside the kernel adds nothing."""
    first = network.first_kernel
    if first is None or not len(first.columns):
        return rows * 0.0
    products, bias = first.forward([rows])[0].astype(np.float64), network.layers[0][1]
    position = np.minimum(np.searchsorted(first.columns, rows.indices), len(first.columns) - 1)
    is_known = first.columns[position] == rows.indices
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    slope = np.zeros(len(rows.indices))
    for member, kernel in enumerate(first.kernel):
        ends = bias[member].astype(np.float64), products[member] + bias[member]
        gradient = _mean_gradient(network, member, *ends, output_weight)  # (b, h)
        for unit in range(kernel.shape[1]):  # unit by unit, which bounds memory
            slope += gradient[row, unit] * kernel[position, unit]
    return sp.csr_array((slope * rows.data * is_known, rows.indices, rows.indptr), rows.shape)


def _mean_gradient(
    network: ScoringNetwork,
    member: int,
    start: np.ndarray,
    end: np.ndarray,
    output_weight: np.ndarray,
) -> np.ndarray:
    """Mean gradient (b, h) for the first layer's sums, which go from start (1, h) to end (b, h)."""
    at = np.linspace(0, 1, _n_segments(network) + 1)[:, None, None]
    inputs = start + at * (end - start)  # (n_segments + 1, b, h)
    slopes = []
    for layer, (kernels, biases) in enumerate(network.layers):
        if layer:
            inputs = np.maximum(inputs, 0) @ kernels[member].astype(np.float64) + biases[member]
        if network.is_relu(layer):
            slopes.append(mean_slope(inputs[:-1], inputs[1:]))
    gradient = np.broadcast_to(output_weight[member], inputs[1:].shape)
    for layer in range(len(network.layers) - 1, -1, -1):
        if network.is_relu(layer):
            gradient = gradient * slopes[layer]
        if layer:
            gradient = gradient @ network.layers[layer][0][member].T.astype(np.float64)
    mean: np.ndarray = gradient.mean(axis=0)
    return mean
