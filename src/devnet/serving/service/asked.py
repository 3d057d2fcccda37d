"""What a request asks to be scored, whatever it came as."""

from typing import Any, NamedTuple

import pyarrow as pa


class Asked(NamedTuple):
    """Rows to score, with the columns that the model takes among others."""

    rows: list[dict[str, Any]] | pa.RecordBatch  # of JSON, still to be typed, or of Arrow
    ids: list[Any] | pa.Array | None  # names of the rows, as they were sent
    notes: tuple[str, ...]  # what is odd about the columns

    def __len__(self) -> int:
        return len(self.rows)
