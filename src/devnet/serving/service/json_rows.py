"""JSON rows as a record batch: a list of objects, or an object that has it under "rows"."""

import json
from typing import Any

import pyarrow as pa

from devnet.serving.service.asked import Asked
from devnet.serving.service.json_columns import JsonColumn
from devnet.serving.service.limits import Limits
from devnet.serving.service.refusal import Refusal
from devnet.serving.service.served_model import ServedModel

ROWS = "rows"
FORM = f'send a list of objects, or {{"{ROWS}": [...]}}, each object a row with a value by column'
SCALARS = (str, int, float, bool, type(None))


class _NamedTwice(ValueError):
    """An object with two values for one name."""


def read_json(body: bytes, model: ServedModel, limits: Limits) -> Asked:
    """The rows of a body that has all columns of the model; their values are still to be typed."""
    rows = _rows(_parsed(body))
    if len(rows) > limits.n_rows:
        raise too_many(len(rows), limits.n_rows)
    names = frozenset().union(*rows) if rows else frozenset(model.taken.names)
    notes = model.notes_about(names)
    return Asked(rows, _ids(rows, model.id_column if model.id_column in names else None), notes)


def typed(rows: list[dict[str, Any]], model: ServedModel) -> pa.RecordBatch:
    """Rows as a batch, typed by what the model learned; refuses the first value that is wrong."""
    names = model.taken.names
    by_row = [[*map(row.get, names)] for row in rows]  # a row at a time, while the cache has it
    by_column = [*map(list, zip(*by_row, strict=True))] or [[] for _ in names]
    columns = map(JsonColumn.array, model.json_columns, by_column)
    return pa.RecordBatch.from_arrays([*columns], names)


def too_many(n_rows: int, most: int) -> Refusal:
    """The refusal of a request with too many rows."""
    return Refusal(
        413, f"the request has {n_rows:,} rows, and at most {most:,} are taken; send fewer at once."
    )


def _parsed(body: bytes) -> Any:
    try:
        return _DECODER.decode(body.decode())
    except _NamedTwice as error:
        raise Refusal(
            400, f"an object of the body has {str(error)!r} twice; send each name once."
        ) from None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else _reason(error)
        raise Refusal(400, f"the body is not JSON: {reason}; {FORM}.") from None


def _reason(error: ValueError) -> str:
    """Where JSON ends, without what is there: errors may be logged by clients."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _NamedTwice(next(name for name in names if names.count(name) > 1))
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)


def _rows(body: Any) -> list[dict[str, Any]]:
    """The objects of a body."""
    if isinstance(body, dict):
        if {*body} != {ROWS}:
            raise Refusal(400, f"the body is an object, but not with {ROWS!r} alone; {FORM}.")
        body = body[ROWS]
    if not isinstance(body, list):
        raise Refusal(400, f"the body has no list of rows; {FORM}.")
    if set(map(type, body)) - {dict}:
        row = next(i for i, one in enumerate(body) if type(one) is not dict)
        raise Refusal(
            422, f"row {row} (counted from 0) is no object; {FORM}.", row=row, value=body[row]
        )
    return body


def _ids(rows: list[dict[str, Any]], name: str | None) -> list[Any] | None:
    """The names of the rows, as they are."""
    if name is None:
        return None
    found = [row.get(name) for row in rows]
    for row, value in enumerate(found):
        if not isinstance(value, SCALARS):
            raise Refusal(
                422,
                f"row {row} (counted from 0) has a list or object in the column {name!r}, which "
                "names rows; send a text or a number.",
                row=row,
                column=name,
            )
    return found
