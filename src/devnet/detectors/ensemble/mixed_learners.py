"""The learners of tables with text: column tests on texts, networks and trees on the rest."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from devnet.core.layout import Layout
from devnet.core.model_file import ascends, edited, size_of, tensor
from devnet.detectors.ensemble.combination import combine
from devnet.detectors.ensemble.csr_learners import CsrLearners
from devnet.detectors.ensemble.learners import OutOfBag, Settings
from devnet.detectors.ensemble.pool import Pool
from devnet.detectors.ensemble.sparse_learner import SparseLearner, learn_sparse
from devnet.detectors.ensemble.table_learners import TableLearners


class Parts(NamedTuple):
    """The columns of a matrix in spans: wide blocks, and what lies between them."""

    wide: tuple[slice, ...]
    narrow: tuple[slice, ...]

    @classmethod
    def of(cls, wide: Sequence[slice], n_columns: int) -> Self:
        """Find what lies between wide blocks."""
        edges = [0, *(edge for span in wide for edge in (span.start, span.stop)), n_columns]
        between = [slice(*ends) for ends in list(pairwise(edges))[::2]]
        return cls(tuple(wide), tuple(span for span in between if span.start < span.stop))

    @classmethod
    def of_layout(cls, layout: Layout) -> Self:
        """Take the wide blocks of a layout."""
        spans = zip(layout.spans(), layout.is_wide, strict=True)
        return cls.of([span for span, is_wide in spans if is_wide], layout.n_columns)

    def dense(self, rows: sp.csr_array) -> np.ndarray:
        """The narrow columns of rows (b, d), dense."""
        return np.hstack([rows[:, span].toarray() for span in self.narrow])

    def texts(self, rows: sp.csr_array) -> list[sp.csr_array]:
        """The wide blocks of rows (b, d), each as CSR."""
        return [rows[:, span] for span in self.wide]

    def joined(self, dense: np.ndarray, texts: Sequence[sp.csr_array]) -> sp.csr_array:
        """Invert `dense` and `texts`: rows (b, d) as CSR."""
        ends = np.cumsum([0, *(span.stop - span.start for span in self.narrow)]).tolist()
        found = dict(zip([span.start for span in self.wide], texts, strict=True))
        for span, (start, stop) in zip(self.narrow, pairwise(ends), strict=True):
            found[span.start] = sp.csr_array(dense[:, start:stop])
        return sp.hstack([found[start] for start in sorted(found)], format="csr")


class MixedLearners(CsrLearners):
    """A table's learners on the narrow columns, and a learner of its own for each text.

    Final class. The evidence out of bag decides how much each of them counts.
    """

    def __init__(
        self, parts: Parts, table: TableLearners, texts: Sequence[SparseLearner], n_columns: int
    ) -> None:
        self._parts = parts
        self._table = table
        self._texts = texts
        self._n_columns = n_columns

    @property
    def n_scorers(self) -> int:
        """The scorers of the narrow columns, and one for each text."""
        return self._table.n_scorers + len(self._texts)

    def trust(self, n_labelled: int) -> np.ndarray:
        """Texts are trusted as much as the networks are."""
        return np.append(self._table.trust(n_labelled), np.ones(len(self._texts)))

    @staticmethod
    def look(pool: Pool, settings: Settings, generator: np.random.Generator) -> OutOfBag:
        """Out-of-bag scores by a first pass of trees, and leave-one-out scores of texts."""
        narrow, wide = _pools(pool)
        votes = [TableLearners.look(narrow, settings, generator)]
        votes += [learn_sparse(one)[1] for one in wide]
        combined = combine(votes, pool.weight)
        return OutOfBag(*(combined(scores) for scores in zip(*votes, strict=True)))

    @classmethod
    def learn(
        cls,
        pool: Pool,
        settings: Settings,
        generator: np.random.Generator,
        earlier: Self | None,
    ) -> tuple[Self, list[OutOfBag]]:
        """Learn from the narrow columns and from each text."""
        narrow, wide = _pools(pool)
        before = None if earlier is None else earlier._table
        table, votes = TableLearners.learn(narrow, settings, generator, before)
        texts, text_votes = zip(*map(learn_sparse, wide), strict=True)
        parts = Parts.of_layout(_layout(pool))
        return cls(parts, table, texts, pool.rows.shape[1]), [*votes, *text_votes]

    def scores(self, rows: sp.csr_array) -> list[np.ndarray]:
        """Scores of rows (b, d) by each scorer, (b,) each."""
        texts = zip(self._texts, self._parts.texts(rows), strict=True)
        found = self._table.scores(self._parts.dense(rows))
        return [*found, *(learner.scores(text) for learner, text in texts)]

    def contributions(self, rows: sp.csr_array, scale: np.ndarray) -> sp.csr_array:
        """What each value adds to the scaled scores, (b, d) CSR."""
        of_table = self._table.n_scorers
        dense = self._table.contributions(self._parts.dense(rows), scale[:of_table])
        learners = zip(self._texts, self._parts.texts(rows), scale[of_table:], strict=True)
        texts = [learner.contributions(text) * factor for learner, text, factor in learners]
        return self._parts.joined(dense, texts)

    @property
    def _n_made(self) -> int:
        n_narrow: int = sum(span.stop - span.start for span in self._parts.narrow)
        return max(n_narrow, self._table.n_made)

    @property
    def n_networks(self) -> int:
        """Number of networks."""
        return self._table.n_networks

    @property
    def baseline(self) -> np.ndarray:
        """A typical unlabelled row without any text."""
        baseline = np.zeros(self._n_columns, np.float32)
        narrow = np.r_[self._parts.narrow]
        baseline[narrow] = self._table.baseline
        return baseline

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        tensors = self._table.to_tensors()
        for i, learner in enumerate(self._texts):
            tensors |= {_prefix(i) + name: part for name, part in learner.to_tensors().items()}
        spans = [(span.start, span.stop) for span in self._parts.wide]
        return {**tensors, "text_span": np.array(spans, dtype=np.int64)}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int, n_pool: int) -> Self:
        """Restore the learners from the arrays of a model file, after checking them."""
        n_texts = size_of(tensors, "text_span") // 2
        spans = tensor(tensors, "text_span", (n_texts, 2), "int64")
        edges = np.concatenate([[0], spans.ravel(), [n_columns]])
        is_valid = n_texts and ascends(edges, strictly=False) and (spans[:, 0] < spans[:, 1]).all()
        n_narrow = n_columns - int((spans[:, 1] - spans[:, 0]).sum())
        if not is_valid or not n_narrow:
            raise edited("the ensemble", f"texts must be some of {n_columns} columns, in order")
        parts = Parts.of([slice(*span) for span in spans.tolist()], n_columns)
        texts = [
            SparseLearner.from_tensors(
                {
                    name.removeprefix(_prefix(i)): part
                    for name, part in tensors.items()
                    if name.startswith(_prefix(i))
                },
                span.stop - span.start,
            )
            for i, span in enumerate(parts.wide)
        ]
        return cls(parts, TableLearners.from_tensors(tensors, n_narrow, n_pool), texts, n_columns)


def _prefix(text: int) -> str:
    return f"text_{text}_"


def _layout(pool: Pool) -> Layout:
    if pool.layout is None:
        raise ValueError("there is no layout that says which columns are text; give one.")
    return pool.layout


def _pools(pool: Pool) -> tuple[Pool, list[Pool]]:
    """The narrow columns, dense, and each text as CSR, as pools of the same rows."""
    layout = _layout(pool)
    parts = Parts.of_layout(layout)
    narrow = pool._replace(
        rows=parts.dense(pool.rows), anomalies=parts.dense(pool.anomalies), layout=layout.narrow()
    )
    texts = zip(parts.texts(pool.rows), parts.texts(pool.anomalies), strict=True)
    return narrow, [
        pool._replace(rows=rows, anomalies=anomalies, layout=None) for rows, anomalies in texts
    ]
