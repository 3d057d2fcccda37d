"""Why rows of a table have their scores: contributions of its columns, in words."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from devnet.core.model_file import ascends, edited, field, is_texts, size_of, tensor
from devnet.core.rows import WIDE
from devnet.core.wording import contribution_text
from devnet.detectors.base import ScoreError
from devnet.explanation import baseline_score, contributions, nearest, sum_groups
from devnet.significance.ranks import ConformalRanks
from devnet.tables.column_spreads import learn_spreads, read_spreads
from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.columns.spread import Place, Spread
from devnet.tables.encoder import TableEncoder
from devnet.tables.typical_row import dense_block, typical_row

N_REASONS = 3  # columns that a text names
LEAST_SHARE = 0.05  # of the largest contribution that a reason must have
LEAST_RISE = 0.02  # of a score's rise above a typical row that a reason other than the first adds
MAX_PROFILES = 1000  # labelled anomalies that rows are compared with
LARGEST_PART = 1e30  # of a score in a model file, so that sums of many are finite
EXPLAINED_VALUES = 1 << 24  # of a matrix whose rows are explained together


class Reason(NamedTuple):
    """What one column adds to a score."""

    column: str
    contribution: float
    text: str  # "amount 9,120 is far above typical 74: +3.1"
    place: Place | None = None  # where the value stands among those of other rows


class Explanation(NamedTuple):
    """Why a row has its score."""

    row: int  # its number in the table, counted from 0
    id: str  # its name in the table
    score: float
    p_value: float
    baseline_score: float  # of a typical unlabelled row
    contributions: dict[str, float]  # of columns that add something, the largest first
    reasons: list[Reason]  # what raises the score most
    nearest: str | None  # the labelled anomaly with the most similar reasons, if any are similar
    values: dict[str, Any] | None = None  # of all columns but nested ones, as the table has them
    like_it: tuple["Explanation", ...] = ()  # alerts that are nearly the same row


class Explainer:
    """Explains rows by comparing them with a typical row and with labelled anomalies.

    Parameters
    ----------
    encoder : TableEncoder
    detector : FewLabelDetector
    baseline : array of shape (n_columns,)
        The typical unlabelled row, encoded.
    profiles : csr_array of shape (n_labelled, n_input_columns)
        Contributions to the scores of labelled anomalies.
    ids : sequence of str
        Names of these anomalies.
    spreads : dict of Spread by column
        How labelled anomalies and other rows are spread over the values of columns.
    """

    def __init__(
        self,
        encoder: TableEncoder,
        detector: Any,
        baseline: np.ndarray,
        profiles: sp.csr_array,
        ids: Sequence[str],
        spreads: dict[str, Spread] | None = None,
    ) -> None:
        self.encoder = encoder
        self.detector = detector
        self.baseline = baseline
        self.profiles = profiles
        self.ids = list(ids)
        self.spreads = spreads or {}

    @classmethod
    def learn(
        cls, encoder: TableEncoder, detector: Any, unlabelled: Any, labelled: Any, ids: list[str]
    ) -> Self:
        """Learn from encoded training rows."""
        baseline = typical_row(encoder, detector, unlabelled)
        nothing = sp.csr_array((0, len(encoder.names)), dtype=np.float32)
        without = cls(encoder, detector, baseline, nothing, [])
        if not labelled.shape[0]:
            return without
        profiles = sp.csr_array(without.contributions(labelled[:MAX_PROFILES]), dtype=np.float32)
        spreads = learn_spreads(encoder, unlabelled, labelled, profiles)
        return cls(encoder, detector, baseline, profiles, ids[:MAX_PROFILES], spreads)

    @cached_property
    def typical_score(self) -> float:
        """Score of the typical row."""
        return baseline_score(self.detector, self.baseline)

    def contributions(self, matrix: Any) -> Any:
        """Encoded rows (n, d) -> contributions of the table's columns (n, c), dense or CSR."""
        return contributions(self.detector, matrix, self.baseline, self.encoder.owner)

    def explain(
        self, rows: pa.Table, number: np.ndarray, ids: list[str], ranks: ConformalRanks
    ) -> list[Explanation]:
        """Explain raw rows of a checked table.

        Takes their numbers and names, and the ranks that p-values come from.
        """
        width = self.encoder.n_columns
        if self.encoder.is_sparse:
            width = min(width, WIDE)  # wider ones stay sparse
        step = max(1, EXPLAINED_VALUES // width)
        found = []
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            found += self._explain(rows.slice(start, step), number[part], ids[part], ranks)
        return found

    def _explain(
        self, rows: pa.Table, number: np.ndarray, ids: list[str], ranks: ConformalRanks
    ) -> list[Explanation]:
        matrix = self.encoder.encode_checked(rows)
        try:
            scores = self.detector.anomaly_score(matrix)
        except ScoreError as error:
            raise error.at(int(number[error.row])) from None
        by_entry = self._by_entry(matrix)
        profiles = sp.csr_array(
            self.contributions(matrix)
            if by_entry is None
            else sum_groups(by_entry, self.encoder.owner)
        )
        parts = self._by_column(profiles)
        raw = rows.select(self.encoder.read_columns())
        typical = self.typical_score
        alike = self._most_like(profiles, ids)
        return [
            Explanation(
                int(number[i]),
                ids[i],
                float(scores[i]),
                float(p_value),
                typical,
                parts[i],
                self._reasons(
                    self._raw_values(raw, i, parts[i]),
                    parts[i],
                    matrix[[i]],
                    None if by_entry is None else by_entry[[i]],
                ),
                alike[i],
            )
            for i, p_value in enumerate(ranks.p_value(scores))
        ]

    def _most_like(self, profiles: sp.csr_array, names: list[str]) -> list[str | None]:
        """For each row, the labelled anomaly, other than itself, with the most similar reasons."""
        labelled: dict[str, list[int]] = {}
        for position, name in enumerate(self.ids):
            labelled.setdefault(name, []).append(position)
        alike: list[str | None] = [None] * len(names)
        new = [i for i, name in enumerate(names) if name not in labelled]
        groups: list[tuple[list[int], list[int]]] = [(new, [])]
        groups += [([i], labelled[name]) for i, name in enumerate(names) if name in labelled]
        for rows, left_out in groups:
            others = np.delete(np.arange(len(self.ids)), left_out)
            if not rows or not len(others):
                continue
            found = nearest(profiles[rows], self.profiles[others])
            for i, position, similarity in zip(rows, *found, strict=True):
                alike[i] = self.ids[others[position]] if similarity > 0 else None
        return alike

    def labelled_scores(self) -> np.ndarray:
        """Scores of the labelled anomalies: a typical row's score plus what their columns add."""
        added = np.asarray(self.profiles.sum(axis=1)).ravel()
        scores: np.ndarray = self.typical_score + added
        return scores

    def _by_column(self, profiles: sp.csr_array) -> list[dict[str, float]]:
        """For each row, what its columns add, the largest first."""
        found = []
        for start, end in pairwise(profiles.indptr.tolist()):
            data, columns = profiles.data[start:end], profiles.indices[start:end]
            order = np.argsort(-data, kind="stable")
            names = [self.encoder.names[i] for i in columns[order]]
            found.append(dict(zip(names, data[order].tolist(), strict=True)))
        return found

    def _by_entry(self, matrix: Any) -> sp.csr_array | None:
        """Contributions of the matrix columns (n, d), if texts are explained by their words."""
        if not self.encoder.has_text:
            return None
        found = sp.csr_array(contributions(self.detector, matrix, self.baseline))
        found.sort_indices()
        return found

    def _raw_values(self, raw: pa.Table, i: int, parts: dict[str, float]) -> dict[str, Any]:
        """The values of a row that reasons may name."""
        columns = [self.encoder.names.find(name) for name in list(parts)[:N_REASONS]]
        return {one[0].name: raw[one[0].name][i] for one in columns if one is not None}

    def _reasons(
        self,
        raw: dict[str, Any],
        parts: dict[str, float],
        row: Any,
        by_entry: sp.csr_array | None,
    ) -> list[Reason]:
        highest = list(parts.items())[:N_REASONS]
        largest, rise = max(parts.values(), default=0.0), sum(parts.values())
        least = min(largest, max(LEAST_SHARE * largest, LEAST_RISE * rise))
        found = []
        for name, part in highest:
            if part > 0 and part >= least:
                place, added = self.place(row, name), self._of_column(by_entry, name)
                words = self.encoder.phrase(raw, name, place, added)
                found.append(Reason(name, part, f"{words}: {contribution_text(part)}", place))
        return found

    def _of_column(self, by_entry: sp.csr_array | None, name: str) -> sp.csr_array | None:
        """The part of a row's contributions (1, d) that is of one table column."""
        if by_entry is None or name not in self._blocks:
            return None
        return by_entry[:, self._blocks[name][1]]

    def place(self, row: Any, name: str) -> Place | None:
        """Where an encoded row (1, d) stands in a column, if that is known."""
        spread = self.spreads.get(name)
        if spread is None:
            return None
        column, block = self._blocks[name]
        places = column.places(dense_block(row, block))
        if places is None:
            return None
        at = float(places.at[0])
        return Place(None if np.isnan(at) else at, spread)

    @cached_property
    def _blocks(self) -> dict[str, tuple[ColumnEncoding, slice]]:
        pairs = zip(self.encoder.columns, self.encoder.blocks(), strict=True)
        return {column.name: (column, block) for column, block in pairs}

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        arrays = {
            "profile_value": self.profiles.data.astype(np.float32),
            "profile_column": self.profiles.indices.astype(np.int64),
            "profile_start": self.profiles.indptr.astype(np.int64),
        }
        columns = np.flatnonzero(self.baseline)
        return {**arrays, "typical_column": columns, "typical_value": self.baseline[columns]}

    @classmethod
    def from_tensors(
        cls,
        encoder: TableEncoder,
        detector: Any,
        header: dict[str, Any],
        tensors: dict[str, np.ndarray],
    ) -> Self:
        """Take over the arrays of a model file, all of them checked."""
        ids = field(header, "labelled_ids", is_texts)
        n = size_of(tensors, "profile_value")
        value = tensor(tensors, "profile_value", (n,), largest=LARGEST_PART)
        column = tensor(tensors, "profile_column", (n,), "int64")
        start = tensor(tensors, "profile_start", (len(ids) + 1,), "int64")
        n_names = len(encoder.names)
        is_valid = start[0] == 0 and start[-1] == n and ascends(start, strictly=False)
        if not is_valid or (n and not (column.min() >= 0 and column.max() < n_names)):
            raise edited("the reasons of labelled anomalies", "they are of other columns")
        profiles = sp.csr_array((value, column, start), shape=(len(ids), n_names))
        n_typical = size_of(tensors, "typical_column")
        columns = tensor(tensors, "typical_column", (n_typical,), "int64")
        if n_typical and not (columns.min() >= 0 and columns.max() < encoder.n_columns):
            raise edited("the typical row", f"it has other than {encoder.n_columns} columns")
        baseline = np.zeros(encoder.n_columns, np.float32)
        baseline[columns] = tensor(tensors, "typical_value", (n_typical,))
        return cls(encoder, detector, baseline, profiles, ids, read_spreads(header, encoder))
