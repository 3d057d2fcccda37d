"""Why rows of a table have their scores: contributions of its columns, in words."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from devnet.core.model_file import edited, field, size_of, tensor
from devnet.core.wording import contribution_text
from devnet.explanation import baseline_score, contributions, nearest, sum_groups, typical_row
from devnet.significance.ranks import ConformalRanks
from devnet.tables.encoder import TableEncoder

N_REASONS = 3  # columns that a text names
LEAST_SHARE = 0.05  # of the largest contribution that a reason must have
MAX_PROFILES = 1000  # labelled anomalies that rows are compared with


class Reason(NamedTuple):
    """What one column adds to a score."""

    column: str
    contribution: float
    text: str  # "amount 9,120 is far above typical 74: +3.1"


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
    """

    def __init__(
        self,
        encoder: TableEncoder,
        detector: Any,
        baseline: np.ndarray,
        profiles: sp.csr_array,
        ids: Sequence[str],
    ) -> None:
        self.encoder = encoder
        self.detector = detector
        self.baseline = baseline
        self.profiles = profiles
        self.ids = list(ids)

    @classmethod
    def learn(
        cls, encoder: TableEncoder, detector: Any, unlabelled: Any, labelled: Any, ids: list[str]
    ) -> Self:
        """Learn from encoded training rows."""
        baseline = typical_row(detector, unlabelled).astype(np.float32)
        without = cls(encoder, detector, baseline, sp.csr_array((0, len(encoder.names))), [])
        profiles = sp.csr_array(without.contributions(labelled[:MAX_PROFILES]), dtype=np.float32)
        return cls(encoder, detector, baseline, profiles, ids[:MAX_PROFILES])

    def contributions(self, matrix: Any) -> Any:
        """Encoded rows (n, d) -> contributions of the table's columns (n, c), dense or CSR."""
        return contributions(self.detector, matrix, self.baseline, self.encoder.owner)

    def explain(
        self, rows: pa.Table, number: np.ndarray, ids: list[str], ranks: ConformalRanks
    ) -> list[Explanation]:
        """Explain raw rows of a checked table.

        Takes their numbers and names, and the ranks that p-values come from.
        """
        if not len(rows):
            return []
        matrix = self.encoder.encode_checked(rows)
        scores = self.detector.anomaly_score(matrix)
        by_entry = self._by_entry(matrix)
        profiles = sp.csr_array(
            self.contributions(matrix)
            if by_entry is None
            else sum_groups(by_entry, self.encoder.owner)
        )
        parts = [self._by_column(profiles[[i]]) for i in range(len(rows))]
        raw = rows.select(self.encoder.read_columns())
        typical = baseline_score(self.detector, self.baseline)
        alike = [self._most_like(profiles[[i]], ids[i]) for i in range(len(rows))]
        return [
            Explanation(
                int(number[i]),
                ids[i],
                float(scores[i]),
                float(p_value),
                typical,
                parts[i],
                self._reasons(
                    {name: raw[name][i] for name in raw.column_names},
                    parts[i],
                    None if by_entry is None else by_entry[[i]],
                ),
                alike[i],
            )
            for i, p_value in enumerate(ranks.p_value(scores))
        ]

    def _most_like(self, profile: sp.csr_array, name: str) -> str | None:
        """The labelled anomaly, other than the row itself, with the most similar contributions."""
        others = [i for i, one in enumerate(self.ids) if one != name]
        if not others:
            return None
        (position,), (similarity,) = nearest(profile, self.profiles[others])
        return self.ids[others[position]] if similarity > 0 else None

    def labelled_scores(self) -> np.ndarray:
        """Scores of the labelled anomalies: a typical row's score plus what their columns add."""
        added = np.asarray(self.profiles.sum(axis=1)).ravel()
        scores: np.ndarray = baseline_score(self.detector, self.baseline) + added
        return scores

    def _by_column(self, profile: sp.csr_array) -> dict[str, float]:
        order = np.argsort(-profile.data, kind="stable")
        names = [self.encoder.names[i] for i in profile.indices[order]]
        return dict(zip(names, profile.data[order].tolist(), strict=True))

    def _by_entry(self, matrix: Any) -> sp.csr_array | None:
        """Contributions of the matrix columns (n, d), if a text is to be explained by its words."""
        if not self.encoder.has_text:
            return None
        found = sp.csr_array(contributions(self.detector, matrix, self.baseline))
        found.sort_indices()
        return found

    def _reasons(
        self, raw: dict[str, Any], parts: dict[str, float], by_entry: sp.csr_array | None
    ) -> list[Reason]:
        least = LEAST_SHARE * max(parts.values(), default=0.0)
        highest = list(parts.items())[:N_REASONS]
        return [
            Reason(
                name,
                part,
                f"{self.encoder.phrase(raw, name, by_entry)}: {contribution_text(part)}",
            )
            for name, part in highest
            if part > least
        ]

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
        value = tensor(tensors, "profile_value", (n,))
        column = tensor(tensors, "profile_column", (n,), "int64")
        start = tensor(tensors, "profile_start", (len(ids) + 1,), "int64")
        n_names = len(encoder.names)
        is_valid = start[0] == 0 and start[-1] == n and (np.diff(start) >= 0).all()
        if not is_valid or (n and not (column.min() >= 0 and column.max() < n_names)):
            raise edited("the reasons of labelled anomalies", "they are of other columns")
        profiles = sp.csr_array((value, column, start), shape=(len(ids), n_names))
        n_typical = size_of(tensors, "typical_column")
        columns = tensor(tensors, "typical_column", (n_typical,), "int64")
        if n_typical and not (columns.min() >= 0 and columns.max() < encoder.n_columns):
            raise edited("the typical row", f"it has other than {encoder.n_columns} columns")
        baseline = np.zeros(encoder.n_columns, np.float32)
        baseline[columns] = tensor(tensors, "typical_value", (n_typical,))
        return cls(encoder, detector, baseline, profiles, ids)


def is_texts(value: Any) -> bool:
    """Whether a value of a header is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
