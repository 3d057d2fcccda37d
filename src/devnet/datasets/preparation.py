"""The paper's preparation of raw columns: mean imputation, one-hot categories, min-max scaling."""

from typing import NamedTuple

import numpy as np

MISSING = "?"


class Columns(NamedTuple):
    """Prepared columns and their names."""

    values: np.ndarray  # (n, d) float32
    names: list[str]


def numbers(name: str, texts: list[str]) -> Columns:
    """One numeric column; missing values become the mean."""
    values = np.array([np.nan if text == MISSING else float(text) for text in texts])
    values[np.isnan(values)] = np.nanmean(values)
    return Columns(values[:, None].astype(np.float32), [name])


def categories(name: str, texts: list[str], *, drop_one_of_two: bool = False) -> Columns:
    """One column per value, in alphabetical order; a missing value is zero in all of them.

    With `drop_one_of_two`, a column with two values becomes a single one.
    """
    known = sorted({*texts} - {MISSING})
    if drop_one_of_two and len(known) == 2:
        known = known[1:]
    column_of = {value: column for column, value in enumerate(known)}
    columns = np.array([column_of.get(text, -1) for text in texts])
    rows = np.flatnonzero(columns >= 0)
    values = np.zeros((len(texts), len(known)), dtype=np.float32)
    values[rows, columns[rows]] = 1
    return Columns(values, [f"{name}={value}" for value in known])


def side_by_side(parts: list[Columns]) -> Columns:
    """All columns in one table."""
    names = [name for part in parts for name in part.names]
    return Columns(np.concatenate([part.values for part in parts], axis=1), names)


def min_max(rows: np.ndarray) -> np.ndarray:
    """Scale each column to [0, 1]; a constant column becomes 0."""
    low, high = rows.min(0), rows.max(0)
    span = np.where(high > low, high - low, 1)
    scaled: np.ndarray = rows - low
    scaled /= span
    return scaled.astype(np.float32, copy=False)
