"""Which value of a label column marks anomalies, and which marks rows known to be normal."""

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.sentence import Setting
from devnet.tables.table_error import TableError

SHOWN = 4  # values that a message names
MANY = 20  # different values, beyond which a column may measure something, or name rows
AMOUNT = re.compile(r"[^a-z]*\d(e[+-]?\d)?[^a-z]*", re.IGNORECASE)  # $1,015.94, 12%, 04/23/2017
OTHERS = {  # texts that are unlikely to mark anomalies, however rare they are
    *("no", "n", "none", "normal", "negative", "neg", "ok", "okay", "good", "benign", "legit"),
    *("legitimate", "genuine", "inlier", "healthy", "clean", "valid", "clear", "cleared", "pass"),
    *("passed", "unlabelled", "unlabeled", "unknown"),
}


def label_text(column: pa.Array) -> pa.Array:
    """Labels as text, null if missing: 1 and 1.0 are both "1", and true is "true"."""
    trimmed = pc.utf8_trim_whitespace(written_label(column))
    return pc.if_else(pc.equal(trimmed, ""), None, trimmed)


def as_label(anomaly: Any) -> str | None:
    """The label that marks anomalies as text, however a caller gives it."""
    if anomaly is None or isinstance(anomaly, str):
        return anomaly
    text: str | None = label_text(pa.array([anomaly]))[0].as_py()
    return text


def label_key(value: str) -> str:
    """What spellings of one label share: "Fraud" and "fraud " are the same."""
    return value.strip().casefold()


class _Rows(NamedTuple):
    """Rows in which a label is spelled in one way."""

    n_rows: int
    first: int  # the number of the first one


class Spellings:
    """Labels as they are written, counted; each is known by its most common spelling.

    Labels are in the order of their first rows, and so are spellings that are equally common.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, _Rows]] = {}  # label key -> spelling -> its rows

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, value: str, count: int, first: int) -> None:
        """Count rows of a label, given the number of the first one."""
        spelled = self._rows.setdefault(label_key(value), {})
        known = spelled.get(value, _Rows(0, first))
        spelled[value] = _Rows(known.n_rows + count, min(known.first, first))

    def merged(self, other: "Spellings") -> "Spellings":
        """The labels of the rows of both."""
        found = Spellings()
        for one in (*self._rows.values(), *other._rows.values()):
            for value, rows in one.items():
                found.add(value, *rows)
        return found

    def counts(self) -> dict[str, int]:
        """Rows of each label."""
        labels = sorted(
            self._rows.values(), key=lambda one: min(rows.first for rows in one.values())
        )
        return {
            _by_count(one)[0].strip(): sum(rows.n_rows for rows in one.values()) for one in labels
        }

    def of(self, value: str) -> list[str]:
        """The spellings of a label, the most common first."""
        return _by_count(self._rows[label_key(value)])


def _by_count(spelled: dict[str, _Rows]) -> list[str]:
    return sorted(spelled, key=lambda value: (-spelled[value].n_rows, spelled[value].first))


def written_label(column: pa.Array) -> pa.Array:
    """Labels as text, spaces and all."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        if pa.types.is_float16(column.type):  # which Arrow cannot round
            column = column.cast(pa.float32())
        column = pc.if_else(pc.is_nan(column), None, column)
        is_whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), 2.0**53))
        whole = pc.if_else(is_whole, column, 0).cast(pa.int64(), safe=False).cast(pa.string())
        return pc.if_else(is_whole, whole, column.cast(pa.string()))  # 0.5 stays "0.5"
    if pa.types.is_nested(column.type):
        raise TableError(
            f"the label column holds values of the type {column.type}; labels are numbers, "
            "booleans or text, such as 1 for a labelled anomaly. Name another column with ",
            Setting("label"),
            ".",
        )
    return column.cast(pa.string())


def has_label(column: pa.Array, anomaly: str) -> np.ndarray:
    """Which rows of a label column mark anomalies; true, 1 and 1.0 are the same."""
    if pa.types.is_nested(column.type):
        column = label_text(column)  # which refuses it
    is_coded = pa.types.is_dictionary(column.type)
    codes = column if is_coded else pc.dictionary_encode(column)  # few values become text
    values = label_text(codes.dictionary).to_pylist()
    meant = [one is not None and same_label(anomaly, [one]) is not None for one in values]
    position = pc.fill_null(codes.indices, -1).to_numpy(zero_copy_only=False)
    found: np.ndarray = np.append(meant, False)[position].astype(bool)
    return found


def find_anomaly_value(
    label: str, counts: dict[str, int], n_missing: int, anomaly: str | None = None
) -> str:
    """The value that marks labelled anomalies.

    It is the larger of two numbers or booleans, the rarer of two texts, or a single value next to
    missing ones, unless that is zero. A guess that may well be wrong is refused: a value that most
    rows have (next to it, -1 or 0 may mark anomalies), or a text such as "ok". Then, or if there
    are more values, `anomaly` must name it.

    Parameters
    ----------
    label : str
        Name of the column, for messages.
    counts : dict
        Rows of each value, as text.
    n_missing : int
        Rows without a label.
    anomaly : str, optional
        The value, if the caller names it.
    """
    if not counts:
        raise TableError(
            f"the label column {label!r} is empty in all {n_missing:,} rows: no labelled anomaly. "
            "Put 1 into it for rows that are known anomalies, or name another column with ",
            Setting("label"),
            ".",
        )
    values = sorted(counts, key=_as_number_or_text)
    named = None if anomaly is None else _named(label, counts, "anomaly", anomaly)
    found = _guess(label, values, counts, n_missing) if named is None else named
    n_rows = sum(counts.values()) + n_missing
    if counts[found] == n_rows:
        raise TableError(
            f"all {counts[found]:,} rows have the label {found!r} in {label!r}: all are labelled "
            "anomalies. Add the unlabelled rows, with an empty label; what is normal is learned "
            "from them."
        )
    if named is None:
        _refuse_doubtful(label, found, counts, n_rows)
    return found


class LabelValues(NamedTuple):
    """What marks labelled anomalies and, if anything does, known normal rows."""

    anomaly: str
    normal: str | None


def find_label_values(
    label: str,
    counts: dict[str, int],
    n_missing: int,
    anomaly: str | None = None,
    normal: str | None = None,
    *,
    needs_anomalies: bool = True,
) -> LabelValues:
    """Both values; all others are unlabelled. Parameters as for `find_anomaly_value`.

    The label of normal rows is never guessed, and never guessed to mark anomalies. Unless
    anomalies are needed, no row has to have the label that is named for them.
    """
    if normal is None or not counts:
        return LabelValues(find_anomaly_value(label, counts, n_missing, anomaly), None)
    found = _named(label, counts, "normal", normal)
    if anomaly is not None and same_label(anomaly, [found]) is not None:
        raise TableError(
            f"the label {found!r} would mark both anomalies and known normal rows; name another "
            "value with ",
            Setting("normal"),
            ".",
        )
    others = {value: count for value, count in counts.items() if value != found}
    if not others and anomaly is not None and not needs_anomalies:
        return LabelValues(anomaly, found)
    if not others:
        raise TableError(
            f"every label in {label!r} is {found!r}, which marks rows known to be normal: no "
            "labelled anomaly. Put 1 into the rows that are known anomalies, or name another "
            "column with ",
            Setting("label"),
            ".",
        )
    n_others = n_missing + counts[found]
    return LabelValues(find_anomaly_value(label, others, n_others, anomaly), found)


def _named(label: str, counts: dict[str, int], setting: str, value: str) -> str:
    """The label that a caller names, as the column has it."""
    found = same_label(value, counts)
    if found is None:
        values = sorted(counts, key=_as_number_or_text)
        raise TableError(
            f"no row has the value {value!r} in the label column {label!r}, which has "
            f"{_list(values)}; name one of them with ",
            Setting(setting),
            ".",
        )
    return found


def _refuse_doubtful(label: str, found: str, counts: dict[str, int], n_rows: int) -> None:
    """Refuse a guess that most rows have, or that reads as if it marked other rows."""
    others = [value for value in counts if value != found]
    is_sign = {_number(value) for value in counts} == {-1, 1}  # -1 marks scikit-learn's outliers
    if is_sign and counts[found] >= counts[others[0]]:
        why = f"{others[0]!r} marks them in scikit-learn, and is not more common"
    elif 2 * counts[found] > n_rows:
        why = f"most rows have it, {counts[found]:,} of {n_rows:,}"
    elif label_key(found) in OTHERS:
        why = f"it reads like the label of other rows, although only {counts[found]:,} have it"
    else:
        return
    choice = f"{found!r} or {others[0]!r}" if others else repr(found)
    raise TableError(
        f"it is not clear which rows are anomalies by the label column {label!r}: {found!r} would "
        f"mark them, but {why}. Say which value marks anomalies, {choice}: ",
        Setting("anomaly", others[0] if others else found),
    )


def same_label(anomaly: str, values: Iterable[str]) -> str | None:
    """The value that a caller means: the same text, number or boolean; None if there is none.

    Case is ignored, unless a value has the same case.
    """
    values = list(values)
    wanted = anomaly.strip()
    if wanted in values:
        return wanted
    key = label_key(wanted)
    if alike := [value for value in values if label_key(value) == key]:
        return alike[0]
    meant = _number(wanted)
    return next((v for v in values if meant is not None and _number(v) == meant), None)


def _guess(label: str, values: list[str], counts: dict[str, int], n_missing: int) -> str:
    if len(values) > 2:
        _refuse_measurements(label, counts, values)
        raise TableError(
            f"the label column {label!r} has {len(values)} or more different values "
            f"({_list(values)}), but only one can mark anomalies. Name it, and all others are "
            "unlabelled: ",
            Setting("anomaly", _rarest(values, counts)),
        )
    if len(values) == 2:
        return values[-1] if _are_numbers(values) else _rarest(values, counts)
    (value,) = values
    is_zero = value == "no" or _number(value) == 0
    if is_zero and n_missing:
        raise TableError(
            f"every label in {label!r} is {value!r} or missing, and {value!r} does not read like "
            "the label of anomalies. If it is, say so with ",
            Setting("anomaly", value),
            "; otherwise put 1 into the rows that are known anomalies, or name another column "
            "with ",
            Setting("label"),
            ".",
        )
    if not n_missing:
        raise TableError(
            f"every label in {label!r} is {value!r}: no labelled anomaly next to other rows. Put 1 "
            "into the rows that are known anomalies, or name another column with ",
            Setting("label"),
            ".",
        )
    return value


def _refuse_measurements(label: str, counts: dict[str, int], values: list[str]) -> None:
    """Refuse a column that measures or names rows: none of its values marks anomalies."""
    is_many = len(values) > MANY
    measures = all(map(AMOUNT.fullmatch, values)) and (is_many or any(map(_is_fraction, values)))
    names = is_many and 2 * len(values) > sum(counts.values())
    if measures or names:
        raise TableError(
            f"the column {label!r} has {len(values)} or more different values ({_list(values)}); "
            "it looks like a measurement or a name of rows, not a label. Name a column that is 1 "
            "for known anomalies with ",
            Setting("label"),
            "; if there is none, add it: 1 in the rows that you know to be anomalies, empty in "
            "all others. If one of these values does mark them, name it with ",
            Setting("anomaly"),
            ".",
        )


def _is_fraction(value: str) -> bool:
    number = _number(value)
    return number is not None and number != number.to_integral_value()


def _are_numbers(values: Iterable[str]) -> bool:
    return all(_number(value) is not None for value in values)


def _as_number_or_text(value: str) -> tuple[bool, Decimal | str]:
    """A key that sorts numbers and booleans before text."""
    number = _number(value)
    return (True, value) if number is None else (False, number)


def _number(value: str) -> Decimal | None:
    """A label as a number, 1 and 0 for true and false; None for other text."""
    if value.lower() in ("false", "true"):
        return Decimal(value.lower() == "true")
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _rarest(values: list[str], counts: dict[str, int]) -> str:
    return min(values, key=lambda value: counts[value])


def _list(values: list[str]) -> str:
    shown = ", ".join(repr(value[:40]) for value in values[:SHOWN])
    return shown + (", ..." if len(values) > SHOWN else "")
