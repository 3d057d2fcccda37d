"""y and sample weights: which rows are labelled anomalies, known normal, or unlabelled."""

from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

MISSING_IS = "unlabelled"  # name of missing text labels in `classes_`
MOST_ANOMALIES = 0.7  # share of rows above which the larger label is no good guess for anomalies


class Labels(NamedTuple):
    """A parsed y."""

    is_anomaly: np.ndarray  # (n,) bool
    is_normal: np.ndarray  # (n,) bool: verified; a row that is neither is unlabelled
    classes: np.ndarray  # (2,): the values that `predict` returns for other rows and for anomalies

    def select(self, rows: np.ndarray) -> "Labels":
        """The labels of some rows."""
        return self._replace(is_anomaly=self.is_anomaly[rows], is_normal=self.is_normal[rows])

    def as_y(self, normal_label: Any = None) -> np.ndarray:
        """The same labels as a new y; it has missing values only if nothing else is unlabelled."""
        if not self.is_normal.any():
            y: np.ndarray = self.classes[self.is_anomaly.astype(int)]
            return y
        other, anomaly = self.classes.tolist()
        y = np.full(len(self.is_anomaly), None if other == normal_label else other, dtype=object)
        y[self.is_anomaly], y[self.is_normal] = anomaly, normal_label
        return y


def unlabelled(y: Any, n_rows: int, normal_label: Any = None) -> Labels | None:
    """Labels without any anomaly, if y is None or zero everywhere; None for any other y.

    With a `normal_label`, rows may also have this label or none. For detectors that need no
    labelled anomalies.
    """
    values = np.zeros(n_rows) if y is None else _as_array(y)
    if values.ndim != 1 or not len(values):
        return None
    is_normal = _has_label(values, normal_label)
    others = values[~is_normal]
    if normal_label is not None:
        others = others[~_is_missing(others)]
        others = _tidy(others) if len(others) else np.zeros(0)
    if others.dtype.kind not in "biuf" or others.any():
        return None
    return Labels(np.zeros(len(values), dtype=bool), is_normal, np.array([0, 1]))


def read_labels(
    y: Any, *, pos_label: Any = None, normal_label: Any = None, classes: Any = None
) -> Labels:
    """Tell labelled anomalies, known normal rows and unlabelled rows apart.

    Rows with `normal_label` are known to be normal. Of two other values, the larger is the
    anomaly, unless `pos_label` names it; where both labels are named, every other value is
    unlabelled. So are missing values (None, NaN, pandas.NA). `classes` are the values of an
    earlier call, if any.
    """
    values = column_or_1d(_as_array(y), warn=True)
    if not len(values):
        raise ValueError("y is empty; give one label per row of X, 1 for a labelled anomaly.")
    is_normal = _has_label(values, normal_label)
    is_other = ~_is_missing(values) & ~is_normal
    if not is_other.any():
        raise ValueError(_only_missing(normal_label, int(is_normal.sum())))
    others = _tidy(values[is_other])
    if normal_label is not None:
        anomaly = classes[1] if classes is not None else pos_label
        _refuse_normal_label(normal_label, anomaly, others, is_used=bool(is_normal.any()))
        others = _as_two_values(others, pos_label)
    present = np.unique(others)
    _refuse_other_than_two_values(present, others)
    if classes is None:
        classes = _name_classes(present, not is_other.all(), pos_label)
        _refuse_many_anomalies(others, len(values), classes, pos_label)
        if normal_label is not None and len(present) == 1:
            classes = _pair(normal_label, classes[1])
    elif pos_label is not None and pos_label != classes[1]:
        raise ValueError(
            f"pos_label={pos_label!r}, but {_plain(classes[1])!r} has marked the anomalies so "
            "far; keep it, or fit a new detector."
        )
    elif unknown := [value for value in present.tolist() if value not in list(classes)]:
        raise ValueError(
            f"y contains {unknown[0]!r}, but the classes are {np.asarray(classes).tolist()}."
        )
    is_anomaly = np.zeros(len(values), dtype=bool)
    is_anomaly[is_other] = others == classes[1]
    _refuse_one_kind(is_anomaly, classes)
    return Labels(is_anomaly, is_normal, np.asarray(classes))


def read_weights(sample_weight: Any, is_anomaly: np.ndarray) -> np.ndarray:
    """A caller's sample weights, relative to the largest."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight cannot be read as numbers ({error}); give one number per row."
        ) from error
    if weights.shape != is_anomaly.shape:
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but there are {len(is_anomaly)} rows; give "
            "one weight per row."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        bad = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise ValueError(
            f"sample_weight of row {bad} is {weights[bad]}; a weight must be finite and at least 0."
        )
    for half, name in ((is_anomaly, "labelled anomalies"), (~is_anomaly, "unlabelled rows")):
        if half.any() and not weights[half].any():
            raise ValueError(
                f"the sample_weight of all {name} is zero, which leaves only one class to draw "
                "batches from; give at least one of them a positive weight."
            )
    scaled: np.ndarray = weights / weights.max()  # so that sums stay finite
    return scaled


def order_classes(classes: Any, pos_label: Any, normal_label: Any = None) -> np.ndarray:
    """Put announced classes in the order of `Labels.classes`, the anomaly last."""
    present = np.unique(_tidy(_as_array(classes)))
    others = present[~_has_label(present, normal_label)]
    if len(others) < len(present):
        if len(others) == 1:
            return _pair(normal_label, others[0])
        present = others
    if len(present) != 2:
        raise ValueError(f"classes={classes!r} must be two different values: unlabelled, anomaly.")
    return _name_classes(present, False, pos_label)


def _as_array(y: Any) -> np.ndarray:
    if hasattr(y, "to_numpy"):  # pandas and polars columns; keeps pandas.NA as an object
        y = y.to_numpy()
    array: np.ndarray = np.asarray(y)
    if array.dtype.kind == "U" and not isinstance(y, np.ndarray):
        mixed = np.asarray(y, dtype=object)  # ["fraud", nan] must not become ["fraud", "nan"]
        return array if all(isinstance(value, str) for value in mixed.ravel()) else mixed
    return array


def _is_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        found: np.ndarray = np.isnan(values)
        return found
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    # Only a missing value does not equal itself; a comparison with pandas.NA gives no bool.
    return np.array([v is None or (v != v) is not False for v in values], dtype=bool)  # noqa: PLR0124


def _has_label(values: np.ndarray, label: Any) -> np.ndarray:
    """Which values equal a label, (n,) bool: none if it is None or of another kind."""
    has_it = np.zeros(len(values), dtype=bool)
    is_there = ~_is_missing(values)
    if label is None or not is_there.any():
        return has_it
    known = _tidy(values[is_there])
    if _is_text(known) == isinstance(label, str):
        has_it[is_there] = known == label
    return has_it


def _is_text(known: np.ndarray) -> bool:
    return known.dtype.kind in "UO"


def _as_two_values(others: np.ndarray, pos_label: Any) -> np.ndarray:
    """All values but the named anomaly as one of them; unchanged if none is named."""
    rest = np.unique(others[others != pos_label])
    if pos_label is None or len(rest) < 2:
        return others
    two: np.ndarray = np.where(others == pos_label, others, rest[0])
    return two


def _pair(other: Any, anomaly: Any) -> np.ndarray:
    """Two classes, in the type of the second."""
    if isinstance(anomaly, str):
        return np.array([other, anomaly], dtype=object)
    return np.array([other, anomaly], dtype=np.result_type(np.asarray(anomaly), np.asarray(other)))


def _tidy(known: np.ndarray) -> np.ndarray:
    """Give object arrays the plain type of their values, so that they sort and compare."""
    if known.dtype.kind in "biufU":
        return known
    if known.dtype.kind != "O" or not all(isinstance(value, str | Number) for value in known):
        raise ValueError(
            f"y has labels such as {known[0]!r}; use numbers, booleans or text, for example 1 for "
            "a labelled anomaly and 0 otherwise."
        )
    kinds = {str if isinstance(value, str) else float for value in known}
    if len(kinds) > 1:
        raise ValueError(
            f"y mixes text and numbers, for example {known[0]!r}; use one kind of label."
        )
    return known if kinds == {str} else np.asarray(known.tolist())


def _only_missing(normal_label: Any, n_normal: int) -> str:
    if n_normal:
        return (
            f"no labelled anomaly: {n_normal} values of y are normal_label={normal_label!r}, all "
            "others are missing. Label at least one anomaly."
        )
    return (
        "Input y contains only missing values (NaN), no labelled anomaly: only one class. "
        "Mark at least one anomaly with 1."
    )


def _refuse_normal_label(
    normal_label: Any, anomaly: Any, others: np.ndarray, *, is_used: bool
) -> None:
    """Refuse a label of normal rows that marks anomalies, or that may be a slip of the pen.

    That no row has it yet is fine, unless its kind shows a mistake, or one of two texts would be
    taken for the anomaly by its alphabetical order.
    """
    if anomaly is not None and anomaly == normal_label:
        raise ValueError(
            f"{normal_label!r} would mark both anomalies and known normal rows; give another "
            "normal_label."
        )
    values = np.unique(others).tolist()
    is_guess = _is_text(others) and anomaly is None and len(values) > 1
    if not is_used and (is_guess or _is_text(others) != isinstance(normal_label, str)):
        raise ValueError(
            f"no value of y equals normal_label={normal_label!r}; the values are {values[:4]}. "
            "Name one of them, or leave normal_label out while no row is known to be normal."
        )


def _refuse_other_than_two_values(present: np.ndarray, known: np.ndarray) -> None:
    if len(present) <= 2:
        if present.dtype.kind == "f" and not np.isfinite(present).all():
            raise ValueError("Input y contains infinity; use 1 for an anomaly and 0 otherwise.")
        return
    kind = type_of_target(known, input_name="y")
    if kind.startswith("continuous"):
        raise ValueError(
            f"Unknown label type: {kind}. y has {len(present)} different values, for example "
            f"{_plain(present[0])!r} and {_plain(present[1])!r}; use 1 for a labelled anomaly and "
            "0 otherwise."
        )
    shown = ", ".join(repr(value) for value in present[:4].tolist())
    raise ValueError(
        f"Only binary classification is supported. The type of the target is {kind}: y has "
        f"{len(present)} different values ({shown}{', ...' if len(present) > 4 else ''}). Use "
        "y == value to mark the rows that are labelled anomalies."
    )


def _refuse_many_anomalies(
    others: np.ndarray, n_rows: int, classes: np.ndarray, pos_label: Any
) -> None:
    """Refuse a guess that makes most rows anomalies, as of "fraud" and "ok", or of -1 and 1."""
    other, anomaly = classes.tolist()
    n_anomalies = int((others == anomaly).sum())
    if pos_label is not None or {other, anomaly} == {0, 1}:
        return
    if n_anomalies > MOST_ANOMALIES * n_rows:
        raise ValueError(
            f"{n_anomalies:,} of {n_rows:,} rows have the label {anomaly!r}, the larger of two, "
            f"which would mark anomalies; if {other!r} marks them, give pos_label={other!r}, else "
            f"pos_label={anomaly!r}."
        )


def _name_classes(present: np.ndarray, has_missing: bool, pos_label: Any) -> np.ndarray:
    if len(present) == 2:
        if pos_label is None:
            return present
        if pos_label not in present.tolist():
            raise ValueError(
                f"pos_label={pos_label!r} does not occur in y, whose values are {present.tolist()}."
            )
        return present if pos_label == present[1] else present[::-1]
    (value,) = present.tolist()
    if pos_label is not None and value != pos_label:
        raise ValueError(
            f"no labelled anomaly: pos_label={pos_label!r} does not occur in y, which has only "
            f"one class, {value!r}."
        )
    if pos_label is None and (not has_missing or value == 0):
        raise ValueError(_one_class(value))
    if isinstance(value, str):
        return np.array([MISSING_IS if value != MISSING_IS else "", value], dtype=object)
    return np.array(
        [value == 0, value], dtype=present.dtype
    )  # missing rows are 0, or 1 if anomalies are 0


def _refuse_one_kind(is_anomaly: np.ndarray, classes: Any) -> None:
    anomaly = _plain(classes[1])
    if not is_anomaly.any():
        raise ValueError(
            f"no labelled anomaly: no value of y equals {anomaly!r}, so there is only one class "
            "to learn from. Label at least one anomaly."
        )
    if is_anomaly.all():
        raise ValueError(
            f"all {len(is_anomaly)} rows are labelled anomalies ({anomaly!r}), only one class. "
            "Add the unlabelled rows, from which the detector learns what is normal."
        )


def _one_class(value: Any) -> str:
    if value in (1, True):
        return (
            f"y has only one class, {value!r}: all rows are labelled anomalies. Add the unlabelled "
            "rows with y = 0, from which the detector learns what is normal."
        )
    return (
        f"y has only one class, {value!r}: no labelled anomaly. Mark at least one anomaly with 1, "
        "or name its label with pos_label."
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
