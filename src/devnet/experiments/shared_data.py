"""A prepared data set as files that all workers map: one copy per machine, not per worker."""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from devnet.datasets import Dataset, load
from devnet.datasets.records import Likeness

CSR = ("data", "indices", "indptr")


def share(name: str, folder: Path) -> None:
    """Read a data set and write it to a new folder of that name."""
    dataset = load(name)
    shared = folder / name
    shared.mkdir()
    if sp.issparse(dataset.rows):
        for part in CSR:
            np.save(shared / f"{part}.npy", getattr(dataset.rows, part))
    else:
        np.save(shared / "rows.npy", dataset.rows)
    np.save(shared / "is_anomaly.npy", dataset.is_anomaly)
    facts = {
        "shape": dataset.rows.shape,
        "names": dataset.feature_names,
        "description": dataset.description,
        "likeness": dataset.likeness,
    }
    (shared / "facts.json").write_text(json.dumps(facts))


def open_shared(name: str, folder: Path) -> Dataset:
    """The data set that `share` wrote, mapped rather than read."""
    shared = folder / name
    facts = json.loads((shared / "facts.json").read_text())
    if (shared / "rows.npy").exists():
        rows = np.load(shared / "rows.npy", mmap_mode="r")
    else:
        parts = tuple(np.load(shared / f"{part}.npy", mmap_mode="r") for part in CSR)
        rows = sp.csr_matrix(parts, shape=facts["shape"], copy=False)
    is_anomaly = np.load(shared / "is_anomaly.npy")
    likeness = Likeness(facts["likeness"])
    return Dataset(name, rows, is_anomaly, facts["names"], facts["description"], likeness)
