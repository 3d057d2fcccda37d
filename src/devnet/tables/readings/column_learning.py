"""How one column is read: as numbers, dates or times if nearly all of its values are such."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.wording import cut, join_words, share_text, shown
from devnet.tables.columns.arrow_values import is_dictionary, kind_of, plain
from devnet.tables.readings.compact_reading import learn_compact
from devnet.tables.readings.compound_reading import learn_compound
from devnet.tables.readings.currencies import CURRENCY_OF
from devnet.tables.readings.date_reading import learn_dates
from devnet.tables.readings.epoch_reading import learn_epoch
from devnet.tables.readings.markers import is_marker
from devnet.tables.readings.number_reading import NumberReading, learn_numbers
from devnet.tables.readings.number_shape import shape_of
from devnet.tables.readings.reading import READ_SHARE, Conventions, Reading
from devnet.tables.readings.side_reading import learn_sides
from devnet.tables.readings.time_reading import learn_times

LOOKED_AT = 2000  # distinct texts of a sample by which a reading is chosen
MAX_LENGTH = 60  # characters; a longer text is neither a number nor a date
MOSTLY = 0.8  # share of the known values that must be readable if others are a few marks
FEW_MARKS = 3  # distinct texts, such as T for a trace of rain
MOST_UNITS = 3  # that are called units; more are names
MANY = 20  # distinct texts from which several units deserve a note
DIGITS = r"^\d+$"


class AsWritten(NamedTuple):
    """Why a column that looks like numbers stays text."""

    why: str

    def note(self, name: str) -> str:
        """What a user should know."""
        return f"{shown(name)}: {self.why}; kept as text"


def learn_column(
    name: str, values: pa.Array, conventions: Conventions, *, may_be_codes: bool
) -> Reading | AsWritten | None:
    """How a sample of a column is read; None if its values are taken as they are.

    Parameters
    ----------
    name : str
    values : pyarrow.Array
        Null where the caller says that a value is missing.
    conventions : Conventions
    may_be_codes : bool
        Whether a few whole numbers as texts are codes, as the table could have stored numbers.
    """
    kind = kind_of(values.type).name
    if is_dictionary(values.type) or kind not in ("text", "number"):
        return None
    if kind == "number":
        return _by_digits(name, plain(values))
    known = plain(values).cast(pa.large_string()).drop_null()
    known = pc.utf8_trim_whitespace(known.filter(pc.invert(is_marker(known))))
    if (pc.mean(pc.less_equal(pc.utf8_length(known), MAX_LENGTH)).as_py() or 0) < READ_SHARE:
        return None
    if pc.mean(pc.match_substring_regex(known, DIGITS)).as_py() >= READ_SHARE:
        found = _by_digits(name, NumberReading(".").read(known))
        if found is not None:
            return found
    return _by_texts(known, conventions, may_be_codes)


def _by_digits(name: str, values: pa.Array) -> Reading | None:
    return learn_epoch(name, values) or learn_compact(name, values)


def _by_texts(
    known: pa.Array, conventions: Conventions, may_be_codes: bool
) -> Reading | AsWritten | None:
    distinct = pc.unique(known)
    looked_at = np.unique(np.linspace(0, len(distinct) - 1, LOOKED_AT).astype(np.int64))
    texts = [text[: MAX_LENGTH + 1] for text in distinct.take(pa.array(looked_at)).to_pylist()]
    found: Reading | None = (
        learn_compound(texts)
        or learn_sides(texts)
        or learn_times(texts)
        or learn_dates(texts, conventions.day_first)
        or learn_numbers(texts, conventions.decimal_comma, may_be_codes=may_be_codes)
    )
    if found is None:
        return _several_units(texts)
    failed = unreadable(known, found.read(known))
    if len(failed) <= (1 - READ_SHARE) * len(known) or _are_marks(failed, known, distinct):
        return found
    share = len(failed) / len(known)
    if 1 - share < MOSTLY or not isinstance(found, NumberReading):
        return None
    example = cut(failed[0].as_py())
    return AsWritten(f"{share_text(share)} of its values are no numbers, such as {example!r}")


def _are_marks(failed: pa.Array, known: pa.Array, distinct: pa.Array) -> bool:
    """Whether what cannot be read is a few texts, however often each occurs."""
    n_marks = len(pc.unique(failed))
    is_rest = len(known) - len(failed) >= MOSTLY * len(known)  # 1 - 0.8 is less than 0.2
    return is_rest and n_marks <= FEW_MARKS and n_marks <= (1 - READ_SHARE) * len(distinct)


def _several_units(texts: list[str]) -> AsWritten | None:
    """A note if numbers have two or three units, each of them often."""
    shapes = [shape for shape in map(shape_of, texts) if shape is not None]
    if len(texts) < MANY or len(shapes) < READ_SHARE * len(texts):
        return None
    counts = Counter(CURRENCY_OF.get(one.unit.casefold(), one.unit) for one in shapes)
    units = [unit for unit, _ in counts.most_common() if unit]
    if not 2 <= len(units) <= MOST_UNITS:
        return None
    return AsWritten(f"its numbers are in {join_words(units)}")


def unreadable(values: pa.Array, found: pa.Array) -> pa.Array:
    """Known values that were not read, without markers of missing values."""
    failed = values.filter(pc.and_(values.is_valid(), found.is_null()))
    if kind_of(values.type).name == "text":
        return failed.filter(pc.invert(is_marker(failed)))
    return failed.filter(pc.is_finite(failed))
