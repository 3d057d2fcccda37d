"""Numbers and texts that name rows, customers and the like rather than measure anything."""

import re

import numpy as np
import pyarrow as pa

from devnet.tables.columns.left_out import LeftOut, Why

MIN_IDENTIFIERS = 50  # values needed before they are called identifiers
DISTINCT = 0.95  # share of distinct texts from which a text says nothing about other rows
DISTINCT_CODES = 0.9  # the same if texts are codes, without blanks; equal rows repeat them
FREQUENT = 0.5  # share of rows with frequent texts, from which named identifiers are categories
LONG_DIGITS = 15  # which quantities rarely have
LONG = 10 ** (LONG_DIGITS - 1)  # the smallest whole number of so many digits
MIN_OTHERS = 50  # fewer may be the codes of a category
IDENTIFIER = re.compile(
    r"(?i:(.*[\W_])?(id|uuid|guid|key|no|number|nr|index))"
    r"|.*[a-z0-9](Id|ID|Uuid|UUID|Key|No|Nr|Number)"
    r"|Unnamed: \d+"
)
NAMES_OTHERS = re.compile(r"(?i:(.*[\W_])?(id|uuid|guid))|.*[a-z0-9](Id|ID|Uuid|UUID|Guid|GUID)")


def unique(name: str, *, nearly: bool = False) -> LeftOut:
    """A column left out because its values name rows."""
    if nearly:
        return LeftOut(name, Why.NEARLY_UNIQUE, "identifier: nearly every value occurs once")
    return LeftOut(name, Why.UNIQUE, "identifier: every value occurs once")


def names_rows(name: str, values: pa.Array, found: np.ndarray) -> bool:
    """Whether numbers are whole, all distinct, and long, named or sorted as identifiers are.

    `found` are the values as float64, NaN where one is missing.
    """
    if len(found) < MIN_IDENTIFIERS or pa.types.is_duration(values.type):
        return False
    if np.isnan(found).any() or (np.trunc(found) != found).any():
        return False
    if pa.types.is_integer(values.type):  # large ones may be equal as float64
        found = values.to_numpy(zero_copy_only=False)
    ordered = np.sort(found)
    if (ordered[1:] == ordered[:-1]).any():
        return False
    if np.abs(ordered).min() >= LONG:
        return True
    rises = found[1:] > found[:-1]
    is_sorted = bool(rises.all() or not rises.any())
    return is_sorted or IDENTIFIER.fullmatch(name) is not None


def names_others(name: str, found: np.ndarray) -> bool:
    """Whether whole numbers are many, and named like identifiers of customers and the like."""
    found = found[~np.isnan(found)]
    is_whole = bool((np.trunc(found) == found).all())
    return bool(NAMES_OTHERS.fullmatch(name)) and is_whole and len(np.unique(found)) > MIN_OTHERS


def is_named_text(name: str, n_values: int, n_frequent: int, n_rows: int) -> bool:
    """Whether texts are many, mostly rare, and named like identifiers.

    `n_frequent` of the rows have a text that is frequent enough to learn something about it.
    """
    is_named = bool(NAMES_OTHERS.fullmatch(name))
    return is_named and n_values > MIN_OTHERS and n_frequent < FREQUENT * n_rows


def are_distinct(counts: np.ndarray, *, are_codes: bool) -> bool:
    """Whether there are enough texts, by these counts, and nearly all are distinct."""
    n_known, n_distinct = int(counts.sum()), int((counts > 0).sum())
    least = DISTINCT_CODES if are_codes else DISTINCT
    return n_known > MIN_IDENTIFIERS and n_distinct >= least * n_known
