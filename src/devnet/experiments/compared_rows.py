"""The rows of a table that methods are compared on, and which of them belong together."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Sentence, Setting
from devnet.core.wording import count_text, cut
from devnet.experiments.row_times import row_times
from devnet.experiments.splits import RowsToSplit
from devnet.experiments.units import equal_rows, n_repeated, together, value_codes
from devnet.tables.columns.left_out import Why
from devnet.tables.encoded_rows import ANOMALY, NORMAL, UNLABELLED
from devnet.tables.encoder import TableEncoder
from devnet.tables.reservoir import smallest
from devnet.tables.table_error import TableError
from devnet.tables.training_rows import TrainingRows


class ComparedRows(NamedTuple):
    """What all splits share: unlabelled rows, then known normal ones, then labelled anomalies."""

    rows: pa.Table  # without columns that are not learned from
    is_labelled: np.ndarray  # (n,) as anomalies
    is_normal: np.ndarray  # (n,) known to be normal
    weight: np.ndarray  # (n,) rows of the table that each row stands for
    label: str
    categorical: Collection[str]
    to_split: RowsToSplit
    n_equal: int  # rows that equal another one in all columns that are used
    readings: dict[str, str]  # how the values of columns were read, if not as they are
    notes: list[str | Sentence]


def choose_rows(
    training: TrainingRows,
    table: str,
    *,
    size: int,
    time: str | None,
    group: str | None,
    categorical: Collection[str],
) -> ComparedRows:
    """The rows to compare on.

    Parameters
    ----------
    training : TrainingRows
    table : str
        Its name, for errors.
    size : int
        The most rows of each kind.
    time, group : str, optional
        Columns that say when a row happened, and to which entity it belongs.
    categorical : collection of str
        Columns that are categories whatever their type.
    """
    for setting, name in (("time", time), ("group", group)):
        _refuse_label(setting, name, training.label)
    rows, kind, weight = _sampled(training, size)
    notes: list[str | Sentence] = []
    times = None
    if time is not None:
        times = row_times(rows.column(time), time)
        has_time = ~np.isnan(times)
        _note_missing_times(notes, table, time, has_time)
        rows, kind, weight, times = (
            rows.filter(has_time), kind[has_time], weight[has_time], times[has_time],
        )  # fmt: skip
    is_labelled = kind == ANOMALY
    learned = rows.select([n for n in rows.column_names if n in set(training.summary.needed())])
    encoder = TableEncoder.learn(training.summary, learned.filter(~is_labelled))
    reader = training.summary.reader.only([*encoder.read_columns(), *filter(None, (time, group))])
    notes += reader.notes()
    readings = {name: one.in_words() for name, one in reader.readings.items()}
    equal = equal_rows(learned.select(encoder.read_columns()))
    n_equal = n_repeated(equal)
    if n_equal:
        notes.append(_note_of_equal_rows(n_equal))
    notes += _hints(encoder, time, group)
    unit = equal
    if group is not None:
        unit = together(equal, _entities(rows.column(group), table, group, notes))
    to_split = RowsToSplit(is_labelled, unit, table, times, time or "", group or "")
    return ComparedRows(
        learned,
        is_labelled,
        kind == NORMAL,
        weight,
        training.label,
        categorical,
        to_split,
        n_equal,
        readings,
        notes,
    )


def _sampled(training: TrainingRows, size: int) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Rows, of which kind each is, and how many rows of the table it stands for."""
    samples = (training.unlabelled, training.normal, training.labelled)
    parts = [smallest([sample], size).rows for sample in samples]
    totals = (training.n_unlabelled, training.n_normal, training.n_labelled)
    sizes = [len(part) for part in parts]
    return (
        pa.concat_tables(parts).combine_chunks(),
        np.repeat([UNLABELLED, NORMAL, ANOMALY], sizes),
        np.repeat(np.divide(totals, np.maximum(sizes, 1)), sizes),
    )


def _refuse_label(setting: str, name: str | None, label: str) -> None:
    if name == label:
        raise TableError(
            f"{label!r} is the label column, so rows cannot be split by it; name another column "
            "with ",
            Setting(setting),
            ".",
        )


def _note_missing_times(
    notes: list[str | Sentence], table: str, time: str, has_time: np.ndarray
) -> None:
    n_missing = int((~has_time).sum())
    if n_missing == len(has_time):
        raise TableError(
            f"the column {time!r} of {table} has no values, so past and future cannot be told "
            "apart; name another column with ",
            Setting("time"),
            ".",
        )
    if n_missing:
        rows = count_text(n_missing, "row has", "rows have")
        notes.append(f"{rows} no {time!r}: left out, as the time is unknown.")


def _entities(
    column: pa.ChunkedArray, table: str, group: str, notes: list[str | Sentence]
) -> np.ndarray:
    """A number per row for its entity; a row without one is an entity of its own."""
    codes = value_codes(column)
    missing = column.combine_chunks().is_null().to_numpy(zero_copy_only=False)
    if len(np.unique(codes[~missing])) == 1 and not missing.any():
        raise TableError(
            f"the column {group!r} of {table} has one value only, so all rows belong together and "
            "cannot be split; name another column with ",
            Setting("group"),
            ".",
        )
    if missing.any():
        rows = count_text(int(missing.sum()), "row has", "rows have")
        notes.append(f"{rows} no {group!r}: kept, each as an entity of its own.")
    return np.where(missing, codes.max() + 1 + np.arange(len(codes)), codes)


def _hints(encoder: TableEncoder, time: str | None, group: str | None) -> list[str | Sentence]:
    """Columns that rows might better be split by, if the caller named none."""
    if time is not None or group is not None:
        return []
    dates = [one.name for one in encoder.columns if (one.kind, one.learned_from) == ("date",) * 2]
    entities = [name for name, one in encoder.left_out.items() if one.reason is Why.NAMED]
    hints: list[str | Sentence] = []
    if dates:
        setting = Setting("time", dates[0])
        hints.append(Sentence("rows are split at random; to rank the future, give ", setting, "."))
    if entities:
        what = f"rows with the same {cut(entities[0])!r} may be on both sides; to prevent it, give "
        hints.append(Sentence(what, Setting("group", entities[0]), "."))
    return hints


def _note_of_equal_rows(n_equal: int) -> str:
    rows = count_text(n_equal, "row equals", "rows equal")
    return (
        f"{rows} another one in all columns that are used; equal rows are never on both sides of "
        "a split."
    )
