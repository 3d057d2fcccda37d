"""The paper's nine data sets, read from their published formats."""

import difflib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from devnet.datasets.catalogue import DATASETS

__all__ = ["DATASETS", "Dataset", "load"]


class Dataset(NamedTuple):
    """A prepared data set."""

    name: str
    rows: Any  # (n, d) float32 array or CSR matrix
    is_anomaly: np.ndarray  # (n,) bool
    feature_names: list[str]  # empty where the source has none
    description: str  # says where it differs from the paper's set


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Read one of the paper's data sets.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    folder : str or path, optional
        Where its files are; by default the folder that the environment variable DEVNET_DATA names,
        then `devnet` in the user's cache folder.

    Returns
    -------
    dataset : Dataset

    Raises
    ------
    ValueError
        For an unknown name.
    FileNotFoundError
        Where no copy of the set is found; says which files are looked for.
    """
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(DATASETS)}.{hint}")
    record = DATASETS[name]
    folders = [Path(folder)] if folder is not None else _folders()
    found = record.find(folders)
    if found is None:
        wanted = " or ".join(" + ".join(source.files) for source in record.sources)
        raise FileNotFoundError(
            f"no copy of {name} in {', '.join(map(str, folders))}: looked for {wanted}. Get it "
            f"from {record.address} and set DEVNET_DATA to its folder."
        )
    source, paths = found
    table = source.parse(*paths)
    n, d = table.rows.shape
    facts = f"{name}: {n:,} rows, {d:,} columns, {int(table.is_anomaly.sum()):,} anomalies"
    differs = []
    if (n, d) != (record.n_rows, record.n_columns):
        differs.append(f"the paper's has {record.n_rows:,} rows and {record.n_columns:,} columns")
    differs += [source.note] if source.note else []
    description = f"{facts} ({record.anomaly}); {'; '.join(differs) or 'as in the paper'}."
    return Dataset(name, table.rows, table.is_anomaly, table.names, description)


def _folders() -> list[Path]:
    named = os.environ.get("DEVNET_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "devnet"
    return [Path(named), cache] if named else [cache]
