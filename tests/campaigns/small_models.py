"""One small model of every method and kind, fitted when first asked for."""

import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from support.tasks import make_task

from devnet.detectors.methods import METHODS, RECOMMENDED
from devnet.tables import TableModel

SMALL = {  # values of parameters, for methods that have them
    "n_epochs": 1,
    "n_batches": 2,
    "batch_size": 8,
    "n_networks": 2,
    "n_trees": 4,
    "sample_size": 16,
}
N_ROWS = 80
LABEL = "fraud"
WORDS = ["pay", "now", "refund", "parcel", "invoice", "urgent", "hello", "card", "bank", "order"]
PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])


def small_parameters(method: str) -> dict[str, int]:
    """Parameters with which a method is fitted in milliseconds."""
    known = METHODS[method]().get_params(deep=False)
    return {name: value for name, value in SMALL.items() if name in known}


KINDS = [
    *(f"{method}, {rows}" for method in METHODS for rows in ("dense", "wide", "table")),
    f"{RECOMMENDED}, text",
    f"{RECOMMENDED}, vector",
    f"{RECOMMENDED}, dismissed dense",
]
NORMAL = 2  # label of dismissed rows


@cache
def fitted(kind: str) -> Any:
    """A fitted detector, or a TableModel; callers leave it as it is."""
    method, _, rows = kind.rpartition(", ")
    parameters = small_parameters(method)
    if rows in ("dense", "wide"):
        detector = METHODS[method](random_state=0, **parameters)
        return detector.fit(probe(kind), np.arange(N_ROWS) < 8)
    if rows == "dismissed dense":
        detector = METHODS[method](random_state=0, normal_label=NORMAL, **parameters)
        return detector.fit(probe(kind), np.repeat([1, NORMAL, 0], [8, 6, N_ROWS - 14]))
    return TableModel(method, parameters=parameters, random_state=0).fit(probe(kind), LABEL)


@cache
def saved(kind: str) -> bytes:
    """The model file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.devnet"
        fitted(kind).save(path)
        return path.read_bytes()


@cache
def probe(kind: str) -> Any:
    """Rows to learn from and to score: a matrix, or a table."""
    rows = kind.rpartition(", ")[2]
    if rows in ("dense", "dismissed dense"):
        return make_task(0, n=N_ROWS, d=4, n_labelled=8)[0]
    if rows == "wide":
        generator = np.random.default_rng(0)
        matrix = sp.random_array((N_ROWS, 4200), density=0.004, format="lil", rng=generator)
        matrix[:8, :20] = 1.0
        return matrix.tocsr()
    return small_table(has_text=rows == "text", has_vector=rows == "vector")


def small_table(*, has_text: bool = False, has_vector: bool = False, n_rows: int = N_ROWS) -> Any:
    """A table with columns of every kind; the labelled rows are expensive and at night."""
    generator = np.random.default_rng(1)
    is_fraud = np.arange(n_rows) < 8
    amount = generator.lognormal(3, 1, n_rows) * np.where(is_fraud, 9, 1)
    hours = np.where(is_fraud, 2, generator.integers(7, 23, n_rows))
    columns = {
        "payment": [f"P{i:04}" for i in range(n_rows)],
        "time": [datetime.datetime(2026, 1, 1 + i % 28, int(hour)) for i, hour in enumerate(hours)],
        "amount": pa.array(amount, mask=generator.random(n_rows) < 0.1),
        "price": [f"${value:,.2f}" for value in amount],
        "shop": generator.choice(["grocer", "baker", "casino"], n_rows),
        "online": generator.random(n_rows) < 0.3,
        LABEL: pa.array([1 if one else None for one in is_fraud], pa.int64()),
    }
    if has_text:
        columns["message"] = [
            " ".join(generator.choice(WORDS, 12)) + f" {i}" for i in range(n_rows)
        ]
    if has_vector:
        places = generator.integers(0, 30, (n_rows, 3))
        vectors = [[{"index": int(i), "value": 1.0} for i in set(row)] for row in places.tolist()]
        columns["vector"] = pa.array(vectors, pa.list_(PAIR))
    return pa.table(columns)
