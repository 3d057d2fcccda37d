"""Texts that stand for a missing value among numbers or dates."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.wording import is_number
from devnet.tables.columns.arrow_values import is_dictionary, kind_of, plain, unsliced

MARKERS = (
    *("", "-", "--", "---", "–", "—", ".", "..", "...", "?", "??", "*", "x", "\\n"),
    *("na", "n/a", "#n/a", "n.a.", "n.a", "<na>", "nan", "nat", "nil", "none", "null", "(null)"),
    *("missing", "unknown", "unspecified", "undefined", "not available", "not applicable"),
    *("not known", "not provided", "not specified", "no data", "tbd", "blank", "(blank)"),
)
_MARKERS = pa.array(MARKERS, pa.large_string())


def is_marker(texts: pa.Array) -> pa.Array:
    """Which texts stand for a missing value; a null is not one of them."""
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(texts.cast(pa.large_string())))
    return pc.is_in(lower, value_set=_MARKERS, skip_nulls=True)


def without(values: pa.Array, missing: Collection[str]) -> pa.Array:
    """The values, null where one is among those that the caller says are missing.

    A text is compared without blanks around it, a number by its value.
    """
    if not missing:
        return values
    kind = kind_of(values.type).name
    if kind == "text":
        texts = plain(values).cast(pa.large_string()) if is_dictionary(values.type) else values
        trimmed = pc.utf8_trim_whitespace(texts)
        is_meant = pc.is_in(trimmed, value_set=pa.array(list(missing), trimmed.type))
        found = pc.if_else(is_meant, pa.scalar(None, texts.type), unsliced(texts))
        return found.cast(values.type) if is_dictionary(values.type) else found
    numbers = [float(text) for text in missing if is_number(text)]
    if kind != "number" or not numbers or pa.types.is_duration(plain(values).type):
        return values
    found = plain(values).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    is_meant = pa.array(np.isin(found, numbers))
    return pc.if_else(is_meant, pa.scalar(None, plain(values).type), plain(values))
