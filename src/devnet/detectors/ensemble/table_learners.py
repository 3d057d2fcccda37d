"""The learners of tables: deviation networks and three kinds of trees, which err differently."""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from devnet.core.model_file import tensor
from devnet.core.rows import Rows, dense_tiles
from devnet.detectors.ensemble.bags import draw_bags, extend_bags
from devnet.detectors.ensemble.deviation_networks import (
    BAG_ROWS,
    HIDDEN,
    BaggedNetworks,
    train_networks,
)
from devnet.detectors.ensemble.deviation_trees import DeviationTrees, grow_trees
from devnet.detectors.ensemble.learners import Learners, OutOfBag, Settings
from devnet.detectors.ensemble.pool import Pool
from devnet.detectors.ensemble.pu_trees import grow_pu_trees
from devnet.detectors.ensemble.rank_normal import LARGEST, RankNormal

POOL_ROWS = 20_000  # more do not help
POOL_VALUES = 1 << 24  # in these rows
MIN_POOL_ROWS = 2_000
PU_TREES = 1.5  # per balanced tree, and per extra tree; extra trees take longer to walk
HALF_TRUSTED = 10  # labelled anomalies with which a vote of PU trees counts half
FORESTS = (
    "tree",
    "pu_tree",
    "extra_tree",
)  # prefixes in a model file; files of 0.1.0 have the first only


class TableLearners(Learners):
    """Networks on rank-normal columns and forests, all on bags of dense rows; final class.

    Networks and balanced trees see what labelled anomalies have in common; PU trees box in single
    groups of them. The model files of 0.1.0 have no PU trees.
    """

    makes_dense = True

    def __init__(
        self, networks: BaggedNetworks, forests: Sequence[DeviationTrees], baseline: np.ndarray
    ) -> None:
        self.networks = networks
        self.forests = forests
        self._baseline = baseline

    @property
    def n_scorers(self) -> int:
        """The networks are one, and each forest is one."""
        return 1 + len(self.forests)

    def trust(self, n_labelled: int) -> np.ndarray:
        """PU trees count less the fewer anomalies they can box in."""
        share = n_labelled / (n_labelled + HALF_TRUSTED)
        return np.array([1.0, 1.0, *[share] * (len(self.forests) - 1)])

    @staticmethod
    def n_pool_rows(n_columns: int) -> int:
        """Fewer if there are very many columns, so that the pool stays small in memory."""
        return min(POOL_ROWS, max(POOL_VALUES // n_columns, MIN_POOL_ROWS))

    @staticmethod
    def gather(rows: Rows, indices: np.ndarray) -> np.ndarray:
        """Training rows, dense."""
        return rows.dense(indices)

    def tiles(self, rows: Rows, span: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the rows of a span as dense tiles."""
        return dense_tiles(rows, span, np.float32, self.n_made)

    @property
    def n_made(self) -> int:
        """How many values scores and contributions make of one row: those of all hidden units."""
        return HIDDEN * len(self.networks)

    @staticmethod
    def look(pool: Pool, settings: Settings, generator: np.random.Generator) -> OutOfBag:
        """Out-of-bag scores by a first pass of trees."""
        generators = generator.spawn(settings.n_trees)
        return grow_trees(pool, margin=settings.margin, generators=generators)[1]

    @classmethod
    def learn(
        cls,
        pool: Pool,
        settings: Settings,
        generator: np.random.Generator,
        earlier: Self | None,
    ) -> tuple[Self, list[OutOfBag]]:
        """Train networks and grow trees; networks resume, trees are always grown from scratch."""
        generators = generator.spawn(settings.n_networks)
        if earlier is None:
            encoding, network = RankNormal.learn(pool.rows), None
            bags = draw_bags(BAG_ROWS, pool, generators)
        else:
            encoding, network = earlier.networks.encoding, earlier.networks.network
            bags = earlier.networks.bags
            bags = bags if pool.earlier is None else bags.moved(pool.earlier)
            bags = extend_bags(bags, pool, generators)
        networks, network_votes = train_networks(
            pool, encoding, bags, margin=settings.margin, generators=generators, earlier=network
        )
        generators = generator.spawn(settings.n_trees)
        balanced = grow_trees(pool, margin=settings.margin, generators=generators)
        generators = generator.spawn(round(PU_TREES * settings.n_trees))
        pu = grow_pu_trees(
            pool, margin=settings.margin, generators=generators, n_extra=settings.n_trees
        )
        forests, tree_votes = zip(balanced, *pu, strict=True)
        baseline = np.median(np.clip(pool.rows, -LARGEST, LARGEST), axis=0, overwrite_input=True)
        return cls(networks, forests, baseline), [network_votes, *tree_votes]

    def scores(self, rows: np.ndarray) -> list[np.ndarray]:
        """Scores of rows (b, d) by the networks and by each forest, (b,) each."""
        return [self.networks.score(rows), *(forest.score(rows) for forest in self.forests)]

    def contributions(self, rows: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Integrated gradients of the networks plus path contributions of the trees, (b, d)."""
        learners: list[BaggedNetworks | DeviationTrees] = [self.networks, *self.forests]
        parts = [learner.contributions(rows, self._baseline) for learner in learners]
        return np.tensordot(scale, parts, axes=1)

    @property
    def n_networks(self) -> int:
        """Number of networks."""
        return len(self.networks)

    @property
    def baseline(self) -> np.ndarray:
        """The medians of the pool's columns."""
        return self._baseline

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        tensors = {**self.networks.to_tensors(), "baseline": self._baseline}
        for name, trees in zip(FORESTS, self.forests, strict=False):
            tensors |= trees.forest.to_tensors(name)
        return tensors

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int, n_pool: int) -> Self:
        """Restore the learners from the arrays of a model file, after checking them."""
        names = FORESTS if f"{FORESTS[-1]}_start" in tensors else FORESTS[:1]
        return cls(
            BaggedNetworks.from_tensors(tensors, n_columns, n_pool),
            [DeviationTrees.from_tensors(tensors, n_columns, name) for name in names],
            tensor(tensors, "baseline", (n_columns,)),
        )
