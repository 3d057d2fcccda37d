"""A caller's sparse matrix: its indices are checked before compiled code follows them.

SciPy checks them when a matrix is built from coordinates, but not when it is built from the arrays
of a CSR matrix, nor when these are changed later.
"""

from typing import Any

import numpy as np


def refuse_malformed(X: Any) -> None:
    """Refuse a sparse matrix with an index outside its shape, and say where it is."""
    if X.format == "coo":
        _check_coordinates(X)
    elif X.format in ("csr", "csc", "bsr"):
        _check_compressed(X)


def without_duplicates(X: Any) -> Any:
    """A CSR matrix with sorted columns, each at most once in a row: equal ones are added up.

    The caller's matrix stays as it is.
    """
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _check_coordinates(X: Any) -> None:
    for axis, (name, found) in enumerate(zip(("row", "column"), X.coords, strict=False)):
        if len(found) != len(X.data):
            raise _malformed(
                X, f"it has {len(X.data)} values, but {len(found)} numbers of a {name}"
            )
        is_outside = (found < 0) | (found >= X.shape[axis])
        if is_outside.any():
            index = int(found[is_outside.argmax()])
            raise _malformed(X, f"it has a value in {name} {index} of {X.shape[axis]}")


def _check_compressed(X: Any) -> None:
    names = ("column", "row") if X.format == "csc" else ("row", "column")
    n_lines, n_places = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        n_lines, n_places = n_lines // X.blocksize[0], n_places // X.blocksize[1]
        names = ("row of blocks", "column of blocks")
    start, index = X.indptr, X.indices
    n_values = min(len(index), len(X.data))
    is_ascending = len(start) == n_lines + 1 and start[0] == 0 and start[-1] <= n_values
    if not is_ascending or (start[1:] < start[:-1]).any():
        raise _malformed(X, f"its indptr does not ascend from 0 to its {n_values} values")
    index = index[: start[-1]]
    if len(index) and not (index.min() >= 0 and index.max() < n_places):
        position = int(np.argmax((index < 0) | (index >= n_places)))
        line = int(np.searchsorted(start, position, side="right")) - 1
        where = f"{names[0]} {line} has a value in {names[1]} {int(index[position])}"
        raise _malformed(X, f"{where}, but there are only {n_places}, from 0 on")


def _malformed(X: Any, why: str) -> ValueError:
    return ValueError(
        f"X is not a valid {X.format.upper()} matrix: {why}. Build it again, for example with "
        "scipy.sparse.csr_array((values, (rows, columns)), shape=...), which checks its indices."
    )
