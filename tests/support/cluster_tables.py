"""A table in several files, a quick model of it, and what tests of clusters ask again and again."""

from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from devnet import TableModel, score_table


def make_rows(n_rows, seed=0):
    """Rows of numbers and a category; scores of some are equal, as their values are."""
    generator = np.random.default_rng(seed)
    odd = generator.random(n_rows) < 0.01
    return pa.table(
        {
            "id": [f"R{i:07}" for i in range(n_rows)],
            "a": np.round(generator.normal(size=n_rows) + 4 * odd, 1),
            "b": np.round(generator.normal(size=n_rows) - 4 * odd, 1),
            "kind": generator.choice(["x", "y", "z"], n_rows),
            "odd": pa.array(
                np.where(odd & (generator.random(n_rows) < 0.3), 1.0, np.nan), from_pandas=True
            ),
        }
    )


@cache
def quick_model():
    """A model that is fitted and scores within moments."""
    model = TableModel("DevNet", parameters={"n_epochs": 1}, random_state=0)
    return model.fit(make_rows(5000, seed=1), "odd")


def write_files(folder, table, n_files, row_group_size):
    """A table as Parquet files of several row groups; returns the pattern that reads it."""
    folder.mkdir()
    size = -(-len(table) // n_files)
    for i in range(n_files):
        part = table.slice(i * size, size)
        pq.write_table(part, folder / f"{i:02}.parquet", row_group_size=row_group_size)
    return str(folder / "*.parquet")


def read_parts(folder):
    """The rows of all parts, in their order."""
    parts = sorted(Path(folder).glob("part-*.parquet"))
    return pa.concat_tables([pq.read_table(part) for part in parts])


def assert_as_on_one_machine(done, table, tmp_path, **options):
    """Compare the parts and what is said of them with what one machine writes."""
    one = tmp_path / "one.parquet"
    said = score_table(quick_model(), table, one, **options)
    assert done[3:] == said
    assert read_parts(done.folder).equals(pq.read_table(one))
    assert {*Path(done.folder).glob("_*")} >= {Path(done.folder) / "_SUCCESS"}


@contextmanager
def threads_as_workers(n_workers=2):
    """A cluster within this process, which starts at once."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
