"""The rows of each label: all of them counted, and a sample of them kept."""

from copy import copy
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.sentence import Setting
from devnet.tables.label_column import (
    Spellings,
    find_anomaly_value,
    label_key,
    same_label,
    written_label,
)
from devnet.tables.reservoir import Reservoir, row_keys
from devnet.tables.table_error import TableError

MAX_LABEL_VALUES = 100  # distinct labels that mark nothing and are named
_FirstRows = dict[str, tuple[int, str]]  # label key -> number of its first row, how it is spelled


class ManyLabelsError(TableError):
    """A column has so many labels that nobody can know which of them marks anomalies."""


class NamedLabels(NamedTuple):
    """The labels of anomalies and of known normal rows, as far as the caller names them."""

    anomaly: str | None
    normal: str | None


class LabelStrata:
    """A reservoir per label: which of two labels marks anomalies is known only at the end.

    Strata of the parts of a table are merged exactly, in any order.

    Parameters
    ----------
    label : str or None
        The column of labels; None if no row has one.
    named : NamedLabels
    size, n_bytes : int and float
        Rows to keep of each label, and bytes in them.
    seed : int
        Decides, with their numbers, which rows are kept.

    Attributes
    ----------
    kept : dict of Reservoir
        By label, as `label_key` has it; None for rows that cannot be anomalies or known normal.
    spellings : Spellings
        Of labels that may mark anomalies or known normal rows.
    n_rows, n_missing : int
        Rows, and those without a label.
    """

    def __init__(
        self, label: str | None, named: NamedLabels, size: int, n_bytes: float, seed: int
    ) -> None:
        self.kept: dict[str | None, Reservoir] = {}
        self.spellings = Spellings()
        self.n_rows = self.n_missing = 0
        self._others: _FirstRows = {}  # of labels that mark nothing
        self._label, self._named, self._seed = label, named, seed
        self._size, self._n_bytes = size, n_bytes

    def add(self, batch: pa.RecordBatch, first: int) -> None:
        """Count labels and keep rows that follow those added before, numbered from `first`."""
        codes = pc.dictionary_encode(self._labels(batch), null_encoding="encode")
        values = codes.dictionary.to_pylist()
        code = codes.indices.to_numpy()
        number = first + np.arange(len(batch))
        self.n_rows += len(batch)
        self._count(values, np.bincount(code, minlength=len(values)), _first(number, code, values))
        self.refuse_many_labels()
        keys = [label_key(value) or None if value else None for value in values]
        strata = [key if self._may_be_known(key) else None for key in keys]
        key = row_keys(number, self._seed)
        for stratum in dict.fromkeys(strata):
            codes_of_stratum = np.flatnonzero([one == stratum for one in strata])
            rows = np.flatnonzero(np.isin(code, codes_of_stratum))
            part = batch if len(rows) == len(batch) else batch.take(rows)
            if stratum not in self.kept:
                self.kept[stratum] = Reservoir(self._size, self._n_bytes)
            self.kept[stratum].add(part, number[rows], key[rows])

    def merged(self, other: "LabelStrata") -> "LabelStrata":
        """What is known of the rows of both."""
        found = copy(self)
        found.n_rows += other.n_rows
        found.n_missing += other.n_missing
        found.spellings = self.spellings.merged(other.spellings)
        found._others = _earliest(self._others, other._others)
        nothing = Reservoir(self._size, self._n_bytes)
        found.kept = {
            stratum: self.kept.get(stratum, nothing).merged(other.kept.get(stratum, nothing))
            for stratum in {**self.kept, **other.kept}
        }
        return found

    def shrink(self) -> None:
        """Hold no more rows than are kept in the end."""
        for reservoir in self.kept.values():
            reservoir.shrink()

    def counts(self) -> dict[str, int]:
        """Rows of each label; those that mark nothing are only named, as if one row had each."""
        return self.spellings.counts() | {text.strip(): 1 for _, text in self._others.values()}

    def refuse_many_labels(self) -> None:
        """Give up if too many labels might mark anomalies, however many rows follow."""
        if self._label is None or self._named.anomaly is not None or len(self.spellings) <= 2:
            return
        counts, normal = self.spellings.counts(), self._named.normal
        found = None if normal is None else same_label(normal, counts)
        others = {value: count for value, count in counts.items() if value != found}
        if len(others) > 2 + (normal is not None and found is None):  # its rows may come later
            try:
                find_anomaly_value(self._label, others, self.n_missing)
            except TableError as error:
                raise ManyLabelsError(*error.sentence.parts) from None

    def _may_be_known(self, value: str | None) -> bool:
        """Whether it may mark anomalies or known normal rows."""
        if self._named.anomaly is None or value is None:
            return True
        return any(same_label(one, [value]) is not None for one in self._named if one is not None)

    def _labels(self, batch: pa.RecordBatch) -> pa.Array:
        if self._label is None:
            return pa.nulls(len(batch), pa.string())
        try:
            return written_label(batch[self._label])
        except pa.ArrowException:
            raise TableError(
                f"the label column {self._label!r} holds values of the type "
                f"{batch[self._label].type} that are not text; labels are numbers, booleans or "
                "text, such as 1 for a labelled anomaly. Name another column with ",
                Setting("label"),
                ".",
            ) from None

    def _count(self, values: list[str | None], counts: np.ndarray, first: np.ndarray) -> None:
        for value, count, row in zip(values, counts.tolist(), first.tolist(), strict=True):
            if value is None or not label_key(value):
                self.n_missing += count
            elif self._may_be_known(value):
                self.spellings.add(value, count, row)
            elif len(self._others) < MAX_LABEL_VALUES:
                self._others.setdefault(label_key(value), (row, value))


def _earliest(one: _FirstRows, other: _FirstRows) -> _FirstRows:
    """The labels of both that come first, at most MAX_LABEL_VALUES."""
    found = dict(one)
    for key, first in other.items():
        found[key] = min(first, found.get(key, first))
    return {key: found[key] for key in sorted(found, key=found.__getitem__)[:MAX_LABEL_VALUES]}


def _first(number: np.ndarray, code: np.ndarray, values: list[str | None]) -> np.ndarray:
    """The number of the first row with each value, (k,)."""
    first = np.zeros(len(values), dtype=np.int64)
    first[code[::-1]] = number[::-1]  # the last assignment stays
    return first
