"""Anomalies that a table itself marks, in a column of labels: they need no review."""

from typing import Any

import numpy as np
import pyarrow as pa

from devnet.tables.label_column import has_label
from devnet.tables.sources.opening import open_table


def known_anomalies(table: Any, label: str, anomaly: str) -> np.ndarray:
    """The numbers of rows whose label is that of anomalies."""
    found, start = [np.empty(0, np.int64)], 0
    for batch in open_table(table, types={label: pa.string()}).batches([label]):
        found.append(start + np.flatnonzero(has_label(batch[label], anomaly)))
        start += len(batch)
    return np.concatenate(found)
