"""Refusals: a request that is not answered gets a status and a sentence, as JSON."""

import json
from collections.abc import Mapping
from typing import Any, final

from starlette.responses import Response

from devnet.core.wording import cut

JSON = "application/json"
LONGEST_VALUE = 100  # characters of a value that a refusal repeats
LONGEST = 2000  # characters of a sentence


@final
class Refusal(Exception):  # noqa: N818 - it is an answer
    """Why a request is not answered.

    Parameters
    ----------
    status : int
    sentence : str
        What is wrong, and what to do.
    headers : mapping, optional
    **where : row, column and value that are wrong, if there are such
    """

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None, **where: Any
    ) -> None:
        super().__init__(sentence)
        self.status, self.headers, self.where = status, headers, where
        self.sentence = cut(sentence, LONGEST)

    def response(self) -> Response:
        """The answer that says so."""
        return json_response({"error": self.sentence, **self.where}, self.status, self.headers)


def bad_value(row: int, column: str, value: Any, wanted: str) -> Refusal:
    """The refusal of one value of one row, counted from 0."""
    shown = cut(value if isinstance(value, str) else json.dumps(value), LONGEST_VALUE)
    return Refusal(
        422,
        f"row {row} (counted from 0) has {shown!r} in the column {column!r}, which takes {wanted}, "
        "or null if it is missing; nothing was scored.",
        row=row,
        column=column,
        value=cut(value, LONGEST_VALUE) if isinstance(value, str) else _small(value),
    )


def _small(value: Any) -> Any:
    """A JSON value, or the beginning of its text if that is long."""
    text = json.dumps(value)
    return value if len(text) <= LONGEST_VALUE else cut(text, LONGEST_VALUE)


def json_response(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON in ASCII, in which nothing acts on a terminal."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, media_type=JSON)
