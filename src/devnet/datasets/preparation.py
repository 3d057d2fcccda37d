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
    known, codes = np.unique(np.array(texts), return_inverse=True)
    keep = [code for code, value in enumerate(known) if value != MISSING]
    if drop_one_of_two and len(keep) == 2:
        keep = keep[1:]
    values = np.zeros((len(texts), len(keep)), dtype=np.float32)
    for column, code in enumerate(keep):
        values[codes == code, column] = 1
    return Columns(values, [f"{name}={known[code]}" for code in keep])


def side_by_side(parts: list[Columns]) -> Columns:
    """All columns in one table."""
    names = [name for part in parts for name in part.names]
    return Columns(np.concatenate([part.values for part in parts], axis=1), names)


def min_max(rows: np.ndarray) -> np.ndarray:
    """Scale each column to [0, 1]; a constant column becomes 0."""
    low, high = rows.min(0), rows.max(0)
    span = np.where(high > low, high - low, 1)
    scaled: np.ndarray = ((rows - low) / span).astype(np.float32)
    return scaled
