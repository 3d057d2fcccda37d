"""Text that a spreadsheet would run as a formula, made plain text."""

import re

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+-]?(\d[\d., ]*|\.\d+)([eE][+-]?\d+)?%?$"
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def safe_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows, with an apostrophe before each text and name that begins like a formula.

    Numbers such as -3.5 stay numbers, also where they are stored as text.
    """
    columns = [_safe_column(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=safe_names(batch.schema))


def safe_names(schema: pa.Schema) -> pa.Schema:
    """The columns, with an apostrophe before each name that begins like a formula."""
    return pa.schema([field.with_name(_safe_name(field.name)) for field in schema])


def _safe_name(name: str) -> str:
    return f"'{name}" if re.match(_FORMULA, name) and not re.match(_NUMBER, name) else name


def _safe_column(column: pa.Array) -> pa.Array:
    if column.type not in _TEXTS:
        return column
    is_number = pc.match_substring_regex(column, _NUMBER)
    is_formula = pc.and_not(pc.match_substring_regex(column, _FORMULA), is_number)
    apostrophe, nothing = (pa.scalar(text, column.type) for text in ("'", ""))
    return pc.if_else(is_formula, pc.binary_join_element_wise(apostrophe, column, nothing), column)
