"""The columns that scoring adds to a table, and how to recognise a table that has them."""

from collections.abc import Collection

import pyarrow as pa

from devnet.tables.columns.left_out import LeftOut, Why

SCORE, P_VALUE, NOMINAL, ALERT = "anomaly_score", "p_value", "nominal_p_value", "is_alert"
SCORE_COLUMNS = (SCORE, P_VALUE, NOMINAL, ALERT)
FEWEST = 2  # of these columns; a single one may be the user's own


def score_columns(schema: pa.Schema, taken: Collection[str] = ()) -> set[str]:
    """The columns of a table that earlier scoring added, except those with another use."""
    found = {name for name in SCORE_COLUMNS if name in schema.names}
    return found - set(taken) if len(found) >= FEWEST else set()


def scored_before(name: str) -> LeftOut:
    """A column left out because a model made it."""
    return LeftOut(name, Why.SCORED, "scores of an earlier model: the table was scored before")
