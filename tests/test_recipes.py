"""Recipes for other engines write the rows that `devnet score` writes.

Those of engines that are not installed are skipped; `make recipes` installs all of them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from devnet import TableModel, score_table
from devnet.datasets.payments import make_payments

GUIDE = (Path(__file__).parents[1] / "docs" / "how_to" / "engines.md").read_text()
RECIPES = dict(re.findall(r"```python (\w+)\n(.*?)```", GUIDE, re.S))
PACKAGES = {"spark": "pyspark", "ray": "ray.data", "polars": "polars", "duckdb": "duckdb"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    payments = make_payments(3000, seed=1).table
    pq.write_table(payments, folder / "payments.parquet", row_group_size=700)
    model = TableModel("DevNet", random_state=0).fit(payments, "fraud")
    model.save(folder / "fraud.devnet")
    score_table(model, folder / "payments.parquet", folder / "expected.parquet", only_id=True)
    return folder


def test_there_are_four_short_recipes():
    assert set(RECIPES) == set(PACKAGES)
    assert all(len(program.splitlines()) <= 10 for program in RECIPES.values())


@pytest.mark.parametrize("engine", PACKAGES)
def test_a_recipe_scores_as_the_command_does(engine, folder, tmp_path):
    pytest.importorskip(PACKAGES[engine].partition(".")[0])
    for name in ("payments.parquet", "fraud.devnet"):
        (tmp_path / name).symlink_to(folder / name)
    subprocess.run(
        [sys.executable, "-c", RECIPES[engine]],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        check=True,
        capture_output=True,
        timeout=300,
    )
    scored = ds.dataset(tmp_path / "scored.parquet", format="parquet").to_table()
    expected = pq.read_table(folder / "expected.parquet")
    assert scored.sort_by("payment_id").to_pylist() == expected.sort_by("payment_id").to_pylist()
