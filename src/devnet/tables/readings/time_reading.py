"""Times of day: 14:30, 14:30:05 or 02:30 PM."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.readings.date_reading import ISO, DateReading
from devnet.tables.readings.reading import DISTINCT_SHARE, Reading

_HALF = r"[ap]\.?m\.?"
PATTERN = (
    rf"(?i)^\s*(?:\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d{{1,9}})?)?(?:\s*{_HALF})?"
    rf"|\d{{1,2}}\s*{_HALF})\s*$"
)
_COMPILED = re.compile(PATTERN)
_SOME_DAY, _NOTHING = (pa.scalar(text, pa.large_string()) for text in ("1970-01-01 ", ""))


@final
@dataclass(frozen=True)
class TimeReading(Reading):
    """Texts as times of day, to the microsecond."""

    form: ClassVar[str] = "time"
    reads: ClassVar[str] = "text"
    becomes: ClassVar[pa.DataType] = pa.time64("us")

    def read(self, values: pa.Array) -> pa.Array:
        """Times; null where a text is not one."""
        codes = values.cast(pa.large_string()).dictionary_encode()
        texts = codes.dictionary
        is_time = pc.match_substring_regex(texts, PATTERN)
        texts = pc.if_else(is_time, pc.utf8_trim_whitespace(texts), "")
        found = DateReading(ISO).read(pc.binary_join_element_wise(_SOME_DAY, texts, _NOTHING))
        found = pc.if_else(is_time, found, pa.scalar(None, found.type))
        return found.cast(pa.int64()).cast(self.becomes).take(codes.indices)

    def in_words(self) -> str:
        """How the column is read."""
        return "text read as times of day"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`."""
        return cls()


def learn_times(texts: Sequence[str]) -> TimeReading | None:
    """How distinct texts are read as times of day; None if they are none."""
    n_times = sum(_COMPILED.match(text) is not None for text in texts)
    return TimeReading() if n_times and n_times >= DISTINCT_SHARE * len(texts) else None
