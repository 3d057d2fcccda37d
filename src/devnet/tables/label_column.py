"""Which value of a label column marks anomalies; everything else is unlabelled."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.table_error import TableError

SHOWN = 4  # values that a message names


def label_text(column: pa.Array) -> pa.Array:
    """Labels as text, missing ones null: 1 and 1.0 are both "1", and true is "true"."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        is_whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 2.0**53))
        whole = pc.if_else(is_whole, column, 0).cast(pa.int64(), safe=False).cast(pa.string())
        return pc.if_else(is_whole, whole, column.cast(pa.string()))
    if pa.types.is_nested(column.type):
        raise TableError(
            f"the label column holds values of the type {column.type}; labels are numbers, "
            "booleans or text, such as 1 for a labelled anomaly. Name another column with --label."
        )
    text = column.cast(pa.string())
    trimmed = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(trimmed, ""), None, trimmed)


def find_anomaly_value(
    label: str, counts: dict[str, int], n_missing: int, anomaly: str | None = None
) -> str:
    """The value that marks labelled anomalies.

    Of two numbers or booleans the larger one; of two texts the rarer one; a single value beside
    missing ones, unless it is zero. `anomaly` names it where that would be wrong, or where there
    are more values.

    Parameters
    ----------
    label : str
        Name of the column, for messages.
    counts : dict
        Rows of each value, as text.
    n_missing : int
        Rows without a label.
    anomaly : str, optional
        What the caller says.
    """
    if not counts:
        raise TableError(
            f"the label column {label!r} is empty in all {n_missing:,} rows: no labelled anomaly. "
            f"Put 1 into it for rows that are known anomalies, or name another column with --label."
        )
    values = sorted(counts, key=_as_number_or_text)
    if anomaly is not None:
        found = plain_label(anomaly)
        if found not in counts:
            raise TableError(
                f"no row has the value {anomaly!r} in the label column {label!r}, whose values are "
                f"{_list(values)}; name one of them with --anomaly."
            )
    else:
        found = _guess(label, values, counts, n_missing)
    if counts[found] == sum(counts.values()) + n_missing:
        raise TableError(
            f"all {counts[found]:,} rows have the label {found!r} in {label!r}: all are labelled "
            "anomalies. Add the unlabelled rows, with an empty label; what is normal is learned "
            "from them."
        )
    return found


def plain_label(value: str) -> str:
    """A number as labels are written: "1.0" is "1"."""
    order, number = _as_number_or_text(value)
    if order == 0 and isinstance(number, float) and number.is_integer():
        return str(int(number))
    return value.strip()


def _guess(label: str, values: list[str], counts: dict[str, int], n_missing: int) -> str:
    if len(values) > 2:
        raise TableError(
            f"the label column {label!r} has {len(values)} or more different values "
            f"({_list(values)}), but only one can mark anomalies. Name it, and all others are "
            f"unlabelled: --label {label} --anomaly {_quoted(_rarest(values, counts))}"
        )
    if len(values) == 2:
        return values[-1] if _are_numbers(values) else _rarest(values, counts)
    (value,) = values
    is_zero = value in ("false", "False", "no") or (_are_numbers(values) and float(value) == 0)
    if is_zero or not n_missing:
        raise TableError(
            f"every label in {label!r} is {value!r}: no labelled anomaly beside other rows. Put 1 "
            "into the rows that are known anomalies, or name another column with --label."
        )
    return value


def _are_numbers(values: Iterable[str]) -> bool:
    return all(isinstance(_as_number_or_text(value)[1], float) for value in values)


def _as_number_or_text(value: str) -> tuple[int, float | str]:
    """A key that sorts numbers and booleans before text."""
    if value in ("false", "true"):
        return 0, float(value == "true")
    try:
        number = float(value)
    except ValueError:
        return 1, value
    return (0, number) if np.isfinite(number) else (1, value)


def _rarest(values: list[str], counts: dict[str, int]) -> str:
    return min(values, key=lambda value: counts[value])


def _list(values: list[str]) -> str:
    shown = ", ".join(repr(value[:40]) for value in values[:SHOWN])
    return shown + (", ..." if len(values) > SHOWN else "")


def _quoted(value: str) -> str:
    return value if value.isalnum() else repr(value)
