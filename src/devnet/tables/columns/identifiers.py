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
    r"(?i:(.*[\W_])?(id|uuid|guid|key|no|number|nr|index)([\W_](str|hash|hashed))?)"
    r"|(?i:row[\W_]?(names?)?)"
    r"|.*[a-z0-9](Id|ID|Uuid|UUID|Key|No|Nr|Number)"
    r"|Unnamed: \d+"
)
NAMES_OTHERS = re.compile(
    r"(?i:(.*[\W_])?(id|uuid|guid)([\W_](str|hash|hashed))?)"
    r"|.*[a-z0-9](Id|ID|Uuid|UUID|Guid|GUID)"
)
CHANCE = 200  # equal values to expect of chance, from which hardly any are no chance
RANK = re.compile(r"(?i:(.*[\W_])?(rank|ranking|position|place|order)([\W_].*)?)")
RARELY = 0.25  # of these, up to which equal rows may be the cause


def unique(name: str, *, nearly: bool = False) -> LeftOut:
    """A column left out because its values name rows."""
    if nearly:
        return LeftOut(name, Why.NEARLY_UNIQUE, "identifier: nearly every value occurs once")
    return LeftOut(name, Why.UNIQUE, "identifier: every value occurs once")


def names_rows(name: str, values: pa.Array, found: np.ndarray) -> bool:
    """Whether numbers are whole, nearly all distinct, and long, named or used up as names are.

    `found` are the values as float64, NaN where one is missing. Equal rows repeat names.
    """
    if len(found) < MIN_IDENTIFIERS or pa.types.is_duration(values.type):
        return False
    if np.isnan(found).any() or (np.trunc(found) != found).any():
        return False
    if pa.types.is_integer(values.type):  # large ones may be equal as float64
        found = values.to_numpy(zero_copy_only=False)
    ordered = np.sort(found)
    n_repeated = int((ordered[1:] == ordered[:-1]).sum())
    if n_repeated > (1 - DISTINCT_CODES) * len(found):
        return False
    if abs(ordered[len(ordered) // 2]) >= LONG or IDENTIFIER.fullmatch(name):
        return True
    rises = found[1:] > found[:-1]
    is_sorted = not n_repeated and bool(rises.all() or not rises.any())
    return is_sorted or (not RANK.fullmatch(name) and _are_used_up(ordered, n_repeated))


def _are_used_up(ordered: np.ndarray, n_repeated: int) -> bool:
    """Whether far fewer whole numbers are equal than if each row had any of their range."""
    n_rows, n_numbers = len(ordered), float(ordered[-1]) - float(ordered[0]) + 1
    by_chance = n_rows + n_numbers * np.expm1(-n_rows / n_numbers)
    return bool(by_chance >= CHANCE and n_repeated < RARELY * by_chance)


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
