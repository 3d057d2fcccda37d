"""What is usual, and what verdicts said about it: the order of rows to review next."""

from typing import NamedTuple, Self

import numpy as np

from devnet.core.labels import Labels
from devnet.core.model_file import edited, tensor
from devnet.core.rows import Rows, dense_tiles
from devnet.detectors.ensemble.pool import choose_rows
from devnet.detectors.leaf_lessons import N_TREES, grow_random_trees, learn_lessons
from devnet.detectors.usual_columns import LARGEST, UsualColumns, learned_rows
from devnet.engine.forest import Forest

ANOMALY, NORMAL = 1.0, -1.0  # verdicts
LEAST = -0.5  # what is expected of an average row,
MOST = 0.5  # and of one that deviates more than 99.9% of all
TOP = 0.999
MOST_VERDICTS = 4_000  # that are learned from, which bounds the time of a fit
ROOT = "tree_start"  # of the arrays of a forest


class TaughtColumns:
    """How far columns deviate, on the scale of verdicts, plus what verdicts taught."""

    tiles = staticmethod(lambda rows, span: dense_tiles(rows, span, np.float32))

    def __init__(self, usual: UsualColumns, scale: np.ndarray, forest: Forest | None) -> None:
        self.usual = usual
        self.scale = scale  # (2,) factor and summand that turn its scores into expectations
        self.forest = forest  # None without a verdict

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """What to expect of rows, (b, d) float32 -> (b,): 1 is an anomaly, -1 a normal row."""
        expected: np.ndarray = self.scale[0] * self.usual.scores(rows) + self.scale[1]
        return expected if self.forest is None else expected + self.forest.sum_values(rows)

    def summands(self, rows: np.ndarray) -> np.ndarray:
        """What each column adds to the scores, up to a constant, (b, d) -> (b, d)."""
        summands: np.ndarray = self.scale[0] * self.usual.summands(rows)
        return summands if self.forest is None else summands + self.forest.contributions(rows)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        trees = {} if self.forest is None else self.forest.to_tensors()
        return {**self.usual.to_tensors(), "expected": self.scale, **trees}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore from the arrays of a model file, after checking them."""
        scale, forest = tensor(tensors, "expected", (2,), "float64", LARGEST), None
        if not scale[0] > 0:
            raise edited("the order", "a row that deviates more must be expected more")
        if ROOT in tensors:
            forest = Forest.from_tensors(tensors, n_trees=N_TREES, n_columns=n_columns)
        return cls(UsualColumns.from_tensors(tensors, n_columns), scale, forest)


class Taught(NamedTuple):
    """What was learned, and how it would score judged rows had they not been judged."""

    columns: TaughtColumns
    judged: np.ndarray  # (K,) rows by number, ascending
    unseen: np.ndarray  # (K,) their scores by the verdicts of all others

    def unseen_scores(self, rows: Rows, which: np.ndarray) -> np.ndarray:
        """Scores of rows by number, ascending; judged ones by the verdicts of all others."""
        scores = np.empty(len(which))
        for part, tile in self.columns.tiles(rows.select(which), slice(0, len(which))):
            scores[part] = self.columns.scores(tile)
        _, here, there = np.intersect1d(which, self.judged, assume_unique=True, return_indices=True)
        scores[here] = self.unseen[there]
        return scores


def teach(
    rows: Rows, labels: Labels, sample_weight: np.ndarray | None, generator: np.random.Generator
) -> Taught:
    """Learn what is usual, then from verdicts by how much they differ from what was expected."""
    learned = rows.dense(learned_rows(rows, sample_weight, generator))
    usual = UsualColumns.of(learned)
    untaught = TaughtColumns(usual, _scale(usual.scores(learned)), None)
    is_judged = labels.is_anomaly | labels.is_normal
    if sample_weight is not None:
        is_judged &= sample_weight > 0
    judged = choose_rows(np.flatnonzero(is_judged), MOST_VERDICTS, generator)
    if not len(judged):
        return Taught(untaught, judged, np.empty(0))
    examples = rows.dense(judged)
    expected = untaught.scores(examples)
    verdict = np.where(labels.is_anomaly[judged], ANOMALY, NORMAL)
    trees = grow_random_trees(learned, generator)
    lessons = learn_lessons(trees, examples, verdict - expected)
    taught = TaughtColumns(usual, untaught.scale, lessons.forest)
    return Taught(taught, judged, expected + lessons.unseen)


def _scale(scores: np.ndarray) -> np.ndarray:
    """Factor and summand that turn scores into what is expected of rows, (2,)."""
    mean = scores.mean()
    rise = np.quantile(scores, TOP) - mean
    factor = (MOST - LEAST) / (rise if rise > 0 else 1.0)
    return np.array([factor, LEAST - factor * mean])
