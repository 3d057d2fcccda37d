"""Bagged deviation networks: the paper's networks, each trained on a bag of rank-normal rows."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from devnet.core.arrays import one_blas_thread
from devnet.core.model_file import edited, size_of, tensor
from devnet.core.rows import in_threads
from devnet.detectors.ensemble.bagged_sampler import BaggedSampler
from devnet.detectors.ensemble.bags import Bags, out_of_bag_mean
from devnet.detectors.ensemble.first_layer import FirstLayer
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.ensemble.pool import Pool
from devnet.detectors.ensemble.rank_normal import EXTREME, RESOLUTION, RankNormal
from devnet.engine.deviation_loss import deviation_objective
from devnet.engine.optimizer import Optimizer, RMSprop
from devnet.engine.reference_scores import GaussianPrior
from devnet.engine.scoring_network import ScoringNetwork, parameter_count
from devnet.engine.trainer import train
from devnet.explanation.integrated_gradients import mean_slope

BAG_ROWS = 1024
HIDDEN = 20
LEARNING_RATE = 0.002
L2 = 0.01
CLIP_NORM = 1.0
N_STEPS = 500
N_STEPS_MORE = 100  # when further labels refit a trained ensemble
TILE = 2048  # rows that are scored together
THREADED = 200  # columns; steps on fewer are so short that threads wait for each other's Python
LARGEST_WEIGHT = 1e6  # far beyond any trained weight, and small enough for exact sums
MIN_BITS = 11  # of a weight after the binary point; with fewer, float64 is used


class Weights(NamedTuple):
    """What rank-normal rows (b, d) are multiplied with and added to, layer by layer."""

    kernel: np.ndarray  # (d, m h) float32 or float64, rounded so that sums are exact
    bias: np.ndarray  # (m h,)
    last: np.ndarray  # (m, h)
    last_bias: np.ndarray  # (m,)


class BaggedNetworks:
    """The mean of m networks with one hidden layer, on rank-normal rows.

    BLAS sums products in an order that depends on a row's position in its matrix, and scores must
    not depend on it. So the first layer is computed without rounding: the encoded values are
    multiples of a step, and the kernels are rounded to a grid such that no sum of their products
    has more digits than float32, or else float64, can hold.
    """

    def __init__(self, encoding: RankNormal, network: ScoringNetwork, bags: Bags) -> None:
        self.encoding = encoding
        self.network = network
        self.bags = bags
        (first, first_bias), (last, last_bias) = network.layers
        m, d, h = first.shape
        kernel = first.transpose(1, 0, 2).reshape(d, m * h)
        self._kernel, self._bias = _on_a_grid(kernel, first_bias.reshape(m * h))
        self._first_layer = FirstLayer(encoding, self._kernel, self._bias)
        self._last = last.reshape(m, h)
        self._last_bias = last_bias.reshape(m)

    def __len__(self) -> int:
        return len(self._last)

    @property
    def weights(self) -> Weights:
        """The weights that score, as they are after rounding."""
        return Weights(self._kernel, self._bias, self._last, self._last_bias)

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Scores of rows, (b, d) float32 -> (b,) float64."""
        scores = np.empty(len(rows))
        for start in range(0, len(rows), TILE):  # few enough to stay in the processor's cache
            tile = slice(start, start + TILE)
            members = self._member_scores(self._first_layer(rows[tile]))
            # With a row's members contiguous, they are summed in the same order in any batch.
            scores[tile] = np.ascontiguousarray(members.T).mean(axis=1)
        return scores

    def member_scores(self, encoded: np.ndarray) -> np.ndarray:
        """Scores of encoded rows by each member, (b, d) -> (m, b)."""
        return self._member_scores(self._first_layer.of_encoded(encoded))

    def _member_scores(self, sums: np.ndarray) -> np.ndarray:
        """Scores by each member from the exact sums of the hidden units, (b, m h) -> (m, b)."""
        np.maximum(sums, 0, out=sums)
        hidden = sums.reshape(len(sums), *self._last.shape)
        scores: np.ndarray = np.einsum("bmh,mh->mb", hidden, self._last)
        scores += self._last_bias[:, None]
        return scores

    def contributions(self, rows: np.ndarray, baseline: np.ndarray) -> np.ndarray:
        """What each column adds to a row's score, compared with a baseline row (d,): (b, d).

        Integrated gradients along the straight line between the encoded rows, in closed form: the
        mean slope of a unit on the way is the rise of its output over the rise of its input.
        """
        encoded = self.encoding.encode(np.concatenate([rows, baseline[None]]))
        kernel = self._kernel.astype(np.float64)
        inputs = encoded @ kernel + self._bias  # (b + 1, m h)
        slope = mean_slope(inputs[-1], inputs[:-1])
        gradient = (slope * self._last.ravel()) @ kernel.T / len(self._last)  # (b, d)
        contributions: np.ndarray = (encoded[:-1] - encoded[-1]) * gradient
        return contributions

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {
            **self.encoding.to_tensors(),
            "parameters": self.network.parameters,
            **self.bags.to_tensors(),
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int, n_pool: int) -> Self:
        """Restore the networks from the arrays of a model file, after checking them."""
        sizes = (n_columns, HIDDEN, 1)
        n_parameters = parameter_count(sizes, sparse=False)
        n_networks = max(1, size_of(tensors, "parameters") // n_parameters)
        parameters = tensor(tensors, "parameters", (n_networks, n_parameters))
        if np.abs(parameters).max() > LARGEST_WEIGHT:
            raise edited("the networks", f"a weight is larger than {LARGEST_WEIGHT:.0e}")
        network = ScoringNetwork(sizes, parameters)
        bags = Bags.from_tensors(tensors, n_networks, n_pool)
        return cls(RankNormal.from_tensors(tensors, n_columns), network, bags)


def _on_a_grid(kernel: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kernel (d, h) and bias (h,) rounded so that the first layer's sums are exact."""
    sizes = np.abs(kernel).sum(axis=0, dtype=np.float64)
    largest = EXTREME * sizes + np.abs(bias)  # possible sums
    for dtype in (np.float32, np.float64):
        n_bits = np.finfo(dtype).nmant - np.ceil(np.log2(RESOLUTION * largest.max() + 1))
        step = 0.5 ** max(n_bits, 0)
        if n_bits >= MIN_BITS:
            break
    return tuple((np.rint(part / step) * step).astype(dtype) for part in (kernel, bias))


def train_networks(
    pool: Pool,
    encoding: RankNormal,
    bags: Bags,
    *,
    margin: float,
    generators: Sequence[np.random.Generator],
    earlier: ScoringNetwork | None = None,
) -> tuple[BaggedNetworks, OutOfBag]:
    """Train one network per generator, each on its own bag, resuming from `earlier` if given."""
    unlabelled, anomalies = encoding.encode(pool.rows), encoding.encode(pool.anomalies)
    network = earlier
    if network is None:
        network = ScoringNetwork.initialise((encoding.n_columns, HIDDEN, 1), generators)
    n_steps = N_STEPS if earlier is None else N_STEPS_MORE
    parameters = network.parameters.copy()
    prior = GaussianPrior()

    def train_members(span: slice) -> None:
        members = ScoringNetwork(network.sizes, parameters[span])
        sampler = BaggedSampler(
            unlabelled,
            anomalies,
            bags.members(span),
            pool.weight > 0,
            n_steps=n_steps,
            generators=generators[span],
            layout=pool.layout,
        )
        reference_of = prior.for_training(1, n_steps, list(generators[span]), lambda array: array)
        train(
            members,
            sampler.batches(),
            deviation_objective(reference_of, margin),
            Optimizer(members, RMSprop(LEARNING_RATE), l2=L2, clip_norm=CLIP_NORM),
            n_epochs=1,
            n_batches=n_steps,
            keep_best=False,
            keep_interrupted=False,
            on_epoch=lambda epoch: False,
        )

    n_members = len(parameters)
    with one_blas_thread():
        in_threads(
            n_members, train_members, at_least=1 if encoding.n_columns >= THREADED else n_members
        )
    networks = BaggedNetworks(encoding, ScoringNetwork(network.sizes, parameters), bags)
    out_of_bag = OutOfBag(
        out_of_bag_mean(networks.member_scores(unlabelled), bags.holds_unlabelled(len(unlabelled))),
        out_of_bag_mean(networks.member_scores(anomalies), bags.anomalies > 0),
    )
    return networks, out_of_bag
