"""What a model keeps about columns' values: how anomalies and other rows are spread over them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import field
from devnet.tables.columns.spread import Spread
from devnet.tables.columns.whole import Whole
from devnet.tables.encoder import TableEncoder
from devnet.tables.typical_row import dense_block, some_rows

MOST_SPREADS = 500  # columns, the most important ones
WHOLE_ROWS = 2_000  # training rows whose vectors and texts are looked at, as they are long


def learn_spreads(
    encoder: TableEncoder, unlabelled: Any, labelled: Any, profiles: sp.csr_array
) -> dict[str, Spread]:
    """Spreads by column, for the columns with the largest contributions to labelled anomalies."""
    size = np.asarray(abs(profiles).sum(axis=0)).ravel()
    by_column = np.add.reduceat(size, encoder.names.starts[:-1])
    chosen = np.sort(np.argsort(-by_column, kind="stable")[:MOST_SPREADS])
    blocks = encoder.blocks()
    others, labelled = some_rows(unlabelled), some_rows(labelled)
    found = {}
    for i in chosen.tolist():
        if not encoder.columns[i].is_wide:
            spread = _spread(encoder.columns[i], blocks[i], others, labelled)
            found[encoder.columns[i].name] = spread
    return {name: spread for name, spread in found.items() if spread is not None}


def learn_wholes(encoder: TableEncoder, unlabelled: Any, labelled: Any) -> dict[str, Whole]:
    """What sparse vectors and texts are like as a whole, by column."""
    found = {}
    for column, block in zip(encoder.columns, encoder.blocks(), strict=True):
        if column.is_wide or column.n_entries:
            parts = (_entries(rows, block) for rows in (unlabelled, labelled))
            found[column.name] = Whole.learn(*parts)
    return {name: whole for name, whole in found.items() if whole is not None}


def _entries(rows: Any, block: slice) -> sp.csr_array:
    """The entries of at most WHOLE_ROWS rows, evenly spaced, in one block of columns."""
    some = rows[:: max(1, -(-rows.shape[0] // WHOLE_ROWS))]
    return sp.csr_array(some[:, block])


def read_wholes(header: dict[str, Any], encoder: TableEncoder) -> dict[str, Whole]:
    """The wholes of a model file; none in files of versions that kept none."""
    widths = {column.name: column.width for column in encoder.columns}
    found = field(
        {"wholes": {}, **header},
        "wholes",
        lambda value: isinstance(value, dict) and set(value) <= set(widths),
    )
    return {name: Whole.from_header(one, widths[name]) for name, one in found.items()}


def _spread(column: Any, block: slice, others: Any, labelled: Any) -> Spread | None:
    places = [column.places(dense_block(rows, block)) for rows in (others, labelled)]
    return None if None in places else Spread.learn(*places)


def read_spreads(header: dict[str, Any], encoder: TableEncoder) -> dict[str, Spread]:
    """The spreads of a model file; none in files of versions that kept none."""
    names = {column.name for column in encoder.columns}
    found = field(
        {"spreads": {}, **header},
        "spreads",
        lambda value: isinstance(value, dict) and set(value) <= names,
    )
    return {name: Spread.from_header(one) for name, one in found.items()}
