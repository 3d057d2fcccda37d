"""Training from a cluster's table: workers read its parts, one machine learns from a sample."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devnet.core.wording import path_text
from devnet.tables.sources.opening import paths_of
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows

if TYPE_CHECKING:
    from distributed import Client


def fit_on_cluster(
    model: TableModel,
    table: str | Path,
    label: Any,
    client: "Client",
    *,
    on_rows: OnRows | None = None,
) -> TableModel:
    """Learn from a table whose parts are read by the workers of a Dask cluster.

    A part is a file, or a range of row groups of a Parquet file. Workers send what they learned
    about columns and the rows to learn from to each other until it is one whole; only that comes
    here, where the model is trained. It is the same model, to the bit, as `model.fit(table, label)`
    makes, whatever the parts and the order in which they are done.

    Parameters
    ----------
    model : TableModel
        It is fitted in place.
    table : path or glob
        Files that all workers have under the same name.
    label : str, or array of shape (n_rows,)
        As for `TableModel.fit`.
    client : distributed.Client
        Of a running cluster.
    on_rows : callable, optional
        Gets the number of rows, when all are read.

    Returns
    -------
    model : TableModel
    """
    _refuse_unseen(table, client)
    return model.fit(table, label, spread=partial(_on_workers, client), on_rows=on_rows)


def _refuse_unseen(table: Any, client: "Client") -> None:
    """Refuse a table that is not in files, or files that some worker does not see."""
    if not isinstance(table, str | Path):
        raise TableError(
            f"a cluster reads tables from files, not an object of the type {type(table).__name__}; "
            "write it as Parquet, or learn from it here with model.fit(table, label)."
        )
    paths = [path.absolute() for path in paths_of(str(table))]
    for worker, missing in client.run(_first_missing, paths).items():
        if missing is not None:
            raise TableError(
                f"the worker {worker} does not find {path_text(missing)}; workers read the table "
                "themselves, so all of them must see it under the same name."
            )


def _first_missing(paths: list[Path]) -> Path | None:
    return next((path for path in paths if not path.is_file()), None)


def _on_workers(
    client: "Client",
    read: Callable[[Any], Any],
    merge: Callable[[Any, Any], Any],
    parts: Sequence[Any],
) -> Any:
    """What workers read of all parts, merged in pairs by workers; see `Spread`."""
    from distributed import KilledWorker

    # A result must never be taken from an earlier call: files may have changed since.
    found = client.map(read, parts, pure=False)
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        odd = found[len(found) // 2 * 2 :]
        found = [client.submit(merge, *pair, pure=False) for pair in pairs] + odd
    try:
        return found[0].result()
    except KilledWorker as error:
        raise TableError(
            f"workers died again and again while they read the table, the last one at "
            f"{error.last_worker.address}. Look into its log; if it had too little memory, start "
            "workers with fewer threads or more memory."
        ) from error
