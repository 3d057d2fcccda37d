"""Labels as a caller gives them: the name of a column, or one label for each row."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Setting
from devnet.tables.label_column import label_key, label_text
from devnet.tables.sources.labelled import LabelledSource
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError

NAME = "label"  # of a column of labels without a name
OTHER, ANOMALY = 0, 1  # what `predict` returns if a column of the table has the labels


class StandIn(NamedTuple):
    """Labels that stand in for a column of the table, whether it has one of that name or not."""

    name: str
    column: pa.Array


class GivenLabels(NamedTuple):
    """The column of labels, and the labels themselves unless they are in the table."""

    name: str | None  # None if there are none
    column: pa.Array | None
    is_stand_in: bool = False

    def beside(self, source: Source) -> Source:
        """The table with its labels."""
        if self.column is None or self.name is None:
            return source
        if self.name in source.schema.names and not self.is_stand_in:
            raise TableError(
                f"{source.name} already has a column {self.name!r}, the name of the labels, which "
                "would give the labels away. Give the column's name instead of labels, "
                f"fit(table, {self.name!r}), or a table without it."
            )
        return LabelledSource(source, self.name, self.column)

    def classes(self, anomaly: str, normal: str | None = None) -> np.ndarray:
        """The values for other rows and for anomalies, (2,), as the labels have them.

        Unlabelled rows may have none; then the other rows are called normal, if some are.
        """
        if self.column is None or self.is_stand_in:
            return np.array([OTHER, ANOMALY])
        values = self.column.unique().drop_null()
        keys = [label_key(text) if text else "" for text in label_text(values).to_pylist()]
        named = list(zip(values.to_pylist(), keys, strict=True))
        found = next((value for value, key in named if key == label_key(anomaly)), anomaly)
        others = [(value, key) for value, key in named if key != label_key(anomaly)]
        if normal is not None:
            others.sort(key=lambda other: other[1] in ("", label_key(normal)))
        return np.array([others[0][0] if others else _opposite(found), found])


def given_labels(table: Any, label: Any, *, needed: bool = True) -> GivenLabels:
    """What a caller's `label` means: a column of the table, or an array of labels.

    Arguments in the wrong order are refused, and so is None if labels are needed.
    """
    _refuse_swapped(table, label)
    if isinstance(label, StandIn):
        return GivenLabels(*label, is_stand_in=True)
    if isinstance(label, str):
        return GivenLabels(label, None)
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return GivenLabels(str(label), None)  # frames may have numbers as names
    if label is None and not needed:
        return GivenLabels(None, None)
    if label is None:
        raise TableError(
            "no labels are given: y is None. Name the column that marks anomalies, "
            "fit(table, 'fraud'), or give one label for each row, 1 for a labelled anomaly."
        )
    name = getattr(label, "name", None)
    return GivenLabels(NAME if name is None else str(name), _as_column(label))


def _as_column(y: Any) -> pa.Array:
    if hasattr(y, "to_arrow"):  # polars
        y = y.to_arrow()
    if isinstance(y, pa.ChunkedArray):
        return y.combine_chunks()
    if isinstance(y, pa.Array):
        return y
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    values = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise TableError(
            f"y has the shape {values.shape}; give one label for each row, or the name of the "
            "column that marks anomalies."
        )
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TableError(
            f"y mixes values of several kinds ({error}); use one kind of label, such as 1 for a "
            "labelled anomaly and 0 otherwise."
        ) from error


def _opposite(value: Any) -> Any:
    """What rows without a label are called, in the type of the label of anomalies."""
    if isinstance(value, str):
        return "unlabelled"
    return type(value)(not value)


def _refuse_swapped(table: Any, label: Any) -> None:
    is_path = isinstance(table, str | os.PathLike)
    is_file = isinstance(label, os.PathLike) or (
        isinstance(label, str) and Path(label).suffix != "" and Path(label).is_file()
    )
    if is_path and (is_table(label) or (is_file and not Path(table).exists())):
        raise TableError(
            f"the arguments are in the wrong order: {os.fspath(table)!r} names no table. The table "
            "comes first, then ",
            Setting("label"),
            f": fit(table, {os.fspath(table)!r}).",
        )


def is_table(value: Any) -> bool:
    """Whether it is a frame, an Arrow table or a dictionary, rather than one column."""
    names = getattr(value, "columns", getattr(value, "column_names", None))
    return isinstance(value, dict) or (names is not None and len(names) != 1)
