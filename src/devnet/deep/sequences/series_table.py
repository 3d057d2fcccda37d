"""A table with a column of times, columns of channels and a column of labels, as a series."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Setting, UserError
from devnet.core.wording import visible
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.readings.reading import BY_VALUES, Conventions
from devnet.tables.readings.table_reader import TableReader, Tally

USUAL_GAP = 1.5  # times the usual time between rows


class SeriesTable(NamedTuple):
    """A series with what is known about its anomalies."""

    series: np.ndarray  # (t, c) float64; NaN where missing
    times: np.ndarray  # (t,) as the table has them
    channels: tuple[str, ...]
    intervals: list[tuple[int, int]]  # of labelled steps, the end not included
    gaps: list[int]  # steps that come later after the one before than usual
    reader: TableReader = TableReader()  # how texts were read, and which could not be


def series_reader(
    table: pa.Table, conventions: Conventions = BY_VALUES, known: TableReader | None = None
) -> TableReader:
    """How texts of a table are read as times and numbers.

    Parameters
    ----------
    table : pyarrow.Table
    conventions : Conventions, optional
        How the table writes values, where these leave it open.
    known : TableReader, optional
        How columns of the training table were read, which stands.
    """
    readings = {} if known is None else known.readings
    texts = [one.name for one in table.schema if kind_of(one.type).name == "text"]
    new = [name for name in texts if name not in readings]
    learned = TableReader.learn(table.select(new), conventions, may_be_codes=False)
    return learned.with_more(readings)


def read_series(
    table: pa.Table,
    *,
    time: str,
    channels: Sequence[str] = (),
    label: str | None = None,
    reader: TableReader | None = None,
) -> SeriesTable:
    """Read a series from a table whose rows are in the order of time.

    Rows that follow each other at unequal times are steps all the same; `gaps` says where more
    time than usual has passed.

    Parameters
    ----------
    table : pyarrow.Table
    time : str
        Column of times: dates, timestamps or numbers, or texts that read as such.
    channels : list of str, optional
        Columns of numbers; by default all but the two others.
    label : str, optional
        Column with 1 (or true) in the rows of known anomalies.
    reader : TableReader, optional
        How texts are read; by default, their values decide.
    """
    check_columns(table.column_names, time=time, channels=channels, label=label)
    names = tuple(channels) or tuple(n for n in table.column_names if n not in (time, label))
    if not names or not table.num_rows:
        raise UserError("the table has no rows or no channels; give a table with both.")
    reader = (reader or series_reader(table)).only([time, *names])
    tally = Tally()
    times, ticks = _times(_read(reader, table, time, Tally()), table.column(time), time)
    columns = [_channel(_read(reader, table, name, tally), name) for name in names]
    marks = np.zeros(len(times), bool) if label is None else _marks(table.column(label), label)
    return SeriesTable(
        np.stack(columns, axis=1),
        times,
        names,
        intervals_of(marks),
        _gaps(ticks),
        reader.counted(tally.unread),
    )


def check_columns(
    present: Sequence[str], *, time: str, channels: Sequence[str], label: str | None
) -> None:
    """Refuse a table that does not have the columns of a series."""
    for setting, name in [("time", time), ("label", label), *(("channel", n) for n in channels)]:
        if name is not None and name not in present:
            raise UserError(
                f"the table has no column {visible(name)!r}; its columns are "
                f"{', '.join(visible(n) for n in present)}. Give a table that has it, or name "
                "another column with ",
                Setting(setting),
                ".",
            )


def intervals_of(marks: np.ndarray) -> list[tuple[int, int]]:
    """Runs of marked steps, as pairs (start, end)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marks, [False]])))
    return [(start, end) for start, end in edges.reshape(-1, 2).tolist()]


def _read(reader: TableReader, table: pa.Table, name: str, tally: Tally) -> pa.ChunkedArray:
    return pa.chunked_array(
        [reader.column(name, chunk, tally) for chunk in table.column(name).chunks]
    )


def _times(
    column: pa.ChunkedArray, written: pa.ChunkedArray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Times as they were read, and as numbers that ascend."""
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        text = written[row].as_py()
        what = "is missing" if text is None else f"cannot be read ({visible(str(text))!r})"
        raise UserError(f"the time {visible(name)!r} {what} in row {row}; leave this row out.")
    times = column.to_numpy()
    if times.dtype.kind not in "Mmiuf":
        raise UserError(
            f"the column {visible(name)!r} holds {column.type}, which are no times; name a column "
            "of timestamps, dates or numbers with ",
            Setting("time"),
            ".",
        )
    ticks = times.astype(np.int64) if times.dtype.kind in "Mm" else times
    order = np.diff(ticks)
    if (order <= 0).any():
        row = int(np.argmax(order <= 0)) + 1
        what = "comes before" if order[row - 1] < 0 else "is the same as"
        raise UserError(
            f"the time {visible(str(times[row]))} of row {row} {what} that of the row before "
            f"({visible(str(times[row - 1]))}); sort the table by time, one row per time."
        )
    return times, ticks


def _channel(column: pa.ChunkedArray, name: str) -> np.ndarray:
    try:
        values: np.ndarray = column.cast("float64").to_numpy()
    except Exception as error:  # pyarrow has several kinds of errors for it
        raise UserError(
            f"the channel {visible(name)!r} holds {column.type}, which are no numbers; leave the "
            "column out, or name the others with ",
            Setting("channel"),
            ".",
        ) from error
    return values


def _marks(column: pa.ChunkedArray, name: str) -> np.ndarray:
    try:
        values = column.cast("float64").to_numpy()
    except Exception as error:
        raise UserError(
            f"the label {visible(name)!r} holds {column.type}; write 1 in rows of known anomalies "
            "and 0 or nothing in all others."
        ) from error
    marked: np.ndarray = np.nan_to_num(values, nan=0.0) > 0
    return marked


def _gaps(ticks: np.ndarray) -> list[int]:
    """Steps before which more time has passed than usual."""
    if len(ticks) < 3:
        return []
    passed = np.diff(ticks)
    return (np.flatnonzero(passed > USUAL_GAP * np.median(passed)) + 1).tolist()
