"""Which rows of a table are equal, or belong to one entity."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from devnet.tables.columns.arrow_values import plain


def equal_rows(rows: pa.Table) -> np.ndarray:
    """A number per row, (n,), the same for rows that are equal in all columns."""
    return _joined(value_codes(column) for column in rows.columns)


def value_codes(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """A number per value, (n,), the same for equal values; missing values are equal."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values = plain(values)
    if pa.types.is_struct(values.type):
        fields = [values.field(i) for i in range(values.type.num_fields)]
        return _joined(value_codes(part) for part in (values.is_null(), *fields))
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        items = value_codes(values.flatten())
        lengths = pc.fill_null(values.value_lengths(), 0).to_numpy(zero_copy_only=False)
        parts = np.split(items, np.cumsum(lengths)[:-1])
        values = pa.array([part.tobytes() for part in parts], pa.large_binary())
    if pa.types.is_null(values.type):
        return np.zeros(len(values), dtype=np.int64)
    try:
        codes = pc.dictionary_encode(values, null_encoding="encode").indices
    except pa.ArrowNotImplementedError:  # other nested values
        return value_codes(pa.array([repr(one) for one in values.to_pylist()]))
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)


def together(*codes: np.ndarray) -> np.ndarray:
    """The unit of each row, (n,): rows that share a code, directly or through others, are one."""
    n = len(codes[0])
    numbered = [np.unique(part, return_inverse=True)[1] for part in codes]
    starts = np.cumsum([n, *(part.max() + 1 for part in numbered)])
    ends = np.concatenate([part + start for part, start in zip(numbered, starts, strict=False)])
    rows = np.tile(np.arange(n), len(codes))
    edges = sp.coo_array((np.ones(len(ends)), (rows, ends)), shape=(starts[-1], starts[-1]))
    unit: np.ndarray = connected_components(edges, directed=False)[1][:n]
    return unit


def n_repeated(codes: np.ndarray) -> int:
    """Rows that share their code with another row."""
    counts = np.unique(codes, return_counts=True)[1]
    return int(counts[counts > 1].sum())


def _joined(codes: Iterable[np.ndarray]) -> np.ndarray:
    """One code for several; the rest are not computed once all rows differ."""
    parts = iter(codes)
    joined = next(parts)
    while joined.max(initial=-1) + 1 < len(joined) and (part := next(parts, None)) is not None:
        joined = np.unique(joined * (part.max(initial=0) + 1) + part, return_inverse=True)[1]
    return joined
