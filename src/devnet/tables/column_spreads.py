"""The spreads that a model keeps: how anomalies and other rows are spread over columns' values."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import field
from devnet.tables.columns.spread import Spread
from devnet.tables.encoder import TableEncoder
from devnet.tables.typical_row import dense_block, some_rows

MOST_SPREADS = 500  # columns, the most important ones


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
