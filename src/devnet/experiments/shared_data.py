"""A prepared data set as files that all workers map: one copy on the machine, none a worker."""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from devnet import datasets
from devnet.datasets import Dataset

CSR = ("data", "indices", "indptr")


def share(name: str, folder: Path) -> None:
    """Read a data set and put it into a new folder of that name."""
    dataset = datasets.load(name)
    place = folder / name
    place.mkdir()
    if sp.issparse(dataset.rows):
        for part in CSR:
            np.save(place / f"{part}.npy", getattr(dataset.rows, part))
    else:
        np.save(place / "rows.npy", dataset.rows)
    np.save(place / "is_anomaly.npy", dataset.is_anomaly)
    facts = {
        "shape": dataset.rows.shape,
        "names": dataset.feature_names,
        "description": dataset.description,
    }
    (place / "facts.json").write_text(json.dumps(facts))


def open_shared(name: str, folder: Path) -> Dataset:
    """The data set that `share` put there, mapped instead of read."""
    place = folder / name
    facts = json.loads((place / "facts.json").read_text())
    if (place / "rows.npy").exists():
        rows = np.load(place / "rows.npy", mmap_mode="r")
    else:
        parts = tuple(np.load(place / f"{part}.npy", mmap_mode="r") for part in CSR)
        rows = sp.csr_matrix(parts, shape=facts["shape"], copy=False)
    is_anomaly = np.load(place / "is_anomaly.npy")
    return Dataset(name, rows, is_anomaly, facts["names"], facts["description"])
