"""Which value could not be read as the model learned to read its column."""

import numpy as np
import pyarrow as pa

from devnet.tables.readings.column_learning import unreadable


def first_unread(values: pa.Array, found: pa.Array) -> int | None:
    """The first row whose value was not read; marks of missing values, such as n/a, do not count.

    Parameters
    ----------
    values, found : pyarrow.Array
        Before and after reading.
    """
    if found.null_count == values.null_count:
        return None
    lost = np.flatnonzero(
        values.is_valid().to_numpy(zero_copy_only=False)
        & found.is_null().to_numpy(zero_copy_only=False)
    )
    for row in lost.tolist():
        if len(unreadable(values.slice(row, 1), found.slice(row, 1))):
            return int(row)
    return None
