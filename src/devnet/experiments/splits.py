"""Which rows a comparison learns from and which it ranks: at random, by time, by entity.

Rows that belong together, such as those of one customer or rows equal to each other, are a unit.
A unit is never on both sides of a split.
"""

from typing import NamedTuple

import numpy as np

from devnet.core.sentence import Setting
from devnet.core.wording import cut
from devnet.detectors.methods import RECOMMENDED
from devnet.tables.table_error import TableError

N_FOLDS = 3
FEWEST = 2 * N_FOLDS  # labelled anomalies, and unlabelled rows
FEWEST_BY_TIME = 8  # labelled anomalies: four to start with, and two windows of two
IN_WINDOW = 3  # labelled anomalies, if there are enough for two such windows


class RowsToSplit(NamedTuple):
    """What a split must know about rows, and the names that errors mention."""

    is_labelled: np.ndarray  # (n,)
    unit: np.ndarray  # (n,) equal for rows that belong together
    table: str
    time: np.ndarray | None = None  # (n,) ascending from past to future
    time_column: str = ""
    group_column: str = ""


class Split(NamedTuple):
    """Row numbers to learn from and to rank."""

    train: np.ndarray
    test: np.ndarray


def make_splits(rows: RowsToSplit, n_repeats: int, generator: np.random.Generator) -> list[Split]:
    """All splits: folds at random, or windows of time, each after the rows to learn from."""
    if rows.time is not None:
        return _windows(rows, rows.time, N_FOLDS * n_repeats)
    splits = [split for _ in range(n_repeats) for split in _folds(rows, generator)]
    if not all(_has_both_kinds(split, rows.is_labelled) for split in splits):
        raise _too_few_units(rows)
    return splits


def ranked_share(splits: list[Split]) -> float:
    """Mean share of a split's rows that it ranks."""
    return float(np.mean([len(test) / (len(train) + len(test)) for train, test in splits]))


def _folds(rows: RowsToSplit, generator: np.random.Generator) -> list[Split]:
    """Units dealt out at random, so that folds are alike in labelled anomalies, then in rows."""
    _, unit = np.unique(rows.unit, return_inverse=True)
    n_rows = np.bincount(unit)
    n_labelled = np.bincount(unit, weights=rows.is_labelled)
    order = generator.permutation(len(n_rows))
    order = order[np.lexsort((-n_rows[order], -n_labelled[order]))]  # large ones first; stable
    fold_of_unit: np.ndarray = np.empty(len(n_rows), dtype=np.int64)
    filled = [[0.0, 0] for _ in range(N_FOLDS)]  # labelled anomalies and rows of each fold
    for one, labelled, size in zip(
        order.tolist(), n_labelled[order].tolist(), n_rows[order].tolist(), strict=True
    ):
        fold = min(range(N_FOLDS), key=lambda f: filled[f] if labelled else filled[f][1:])
        fold_of_unit[one] = fold
        filled[fold][0] += labelled
        filled[fold][1] += size
    fold_of_row = fold_of_unit[unit]
    return [
        Split(np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold))
        for fold in range(N_FOLDS)
    ]


def _windows(rows: RowsToSplit, time: np.ndarray, most: int) -> list[Split]:
    """Windows over the later half of the labelled anomalies; each learns from all rows before it.

    Units of a window are dropped from the rows before it.
    """
    at = np.sort(time[rows.is_labelled])
    later = len(at) - len(at) // 2
    n_windows = min(most, max(2, later // IN_WINDOW))
    places = len(at) // 2 + np.arange(n_windows) * later // n_windows
    starts = np.unique(at[places])
    ends = [*starts[1:], np.inf]
    splits = [_window(rows.unit, time, *ends_of) for ends_of in zip(starts, ends, strict=True)]
    splits = [split for split in splits if _has_both_kinds(split, rows.is_labelled)]
    if len(splits) < 2:
        raise _too_close(rows)
    return splits


def _too_close(rows: RowsToSplit) -> TableError:
    needed = "two labelled anomalies and two unlabelled rows before, and one of each in, at least "
    if rows.group_column:
        return TableError(
            f"rows of {rows.table} cannot be split by its column {rows.time_column!r} with each "
            f"{cut(rows.group_column)!r} on one side: learning from the past takes {needed}two "
            "later windows, and few rows before a window are of others than those in it. Compare "
            "without ",
            Setting("group"),
            ", or without ",
            Setting("time"),
            ".",
        )
    return TableError(
        f"the labelled anomalies of {rows.table} lie too close together in time, by its column "
        f"{rows.time_column!r}: learning from the past takes {needed}two later windows. Give rows "
        "of a longer time, or compare without ",
        Setting("time"),
        ".",
    )


def _window(unit: np.ndarray, time: np.ndarray, start: float, end: float) -> Split:
    test = np.flatnonzero((time >= start) & (time < end))
    before = np.flatnonzero(time < start)
    return Split(before[~np.isin(unit[before], unit[test])], test)


def _has_both_kinds(split: Split, is_labelled: np.ndarray) -> bool:
    """Whether there are two rows of each kind to learn from, and one of each to rank."""
    counts = [np.bincount(is_labelled[part].astype(int), minlength=2).min() for part in split]
    return bool(counts[0] >= 2 and counts[1] >= 1)


def _too_few_units(rows: RowsToSplit) -> TableError:
    n_units = len(np.unique(rows.unit[rows.is_labelled]))
    if rows.group_column:
        return TableError(
            f"the {rows.is_labelled.sum():,} labelled anomalies of {rows.table} belong to "
            f"{n_units} different values of {rows.group_column!r}, and those cannot be dealt out "
            f"to {N_FOLDS} folds with rows of both kinds. Give rows of more of them, or compare "
            "without ",
            Setting("group"),
            ".",
        )
    return TableError(
        f"the {rows.is_labelled.sum():,} labelled anomalies of {rows.table} are only {n_units} "
        "different rows by the columns that are used, and equal rows must not be learned from and "
        f"ranked at once, so {N_FOLDS} folds cannot be made. Give other rows or more columns, or "
        "fit the recommended method without comparing it: ",
        Setting("method", RECOMMENDED),
    )
