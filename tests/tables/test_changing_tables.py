"""A table that changes between the passes of one task gives an error, never other rows."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import csv
from support.payment_tables import fitted, make_table

from devnet.cli.main import main
from devnet.significance import Budget, FalseDiscoveryRate
from devnet.tables import TableError, TableModel, find_alerts, score_table

CHANGED = "was changed while it was read"
WRITERS = {"t.parquet": pq.write_table, "t.csv": csv.write_csv}


@pytest.fixture(params=WRITERS)
def file(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 12, 1 << 20))
    WRITERS[request.param](make_table()[0], request.param)
    return tmp_path / request.param


class Swap:
    """Replaces a file once, when so many rows are done, or some."""

    def __init__(self, file, after=None):
        self._file, self._after = file, after

    def __call__(self, done):
        if self._after in (None, done) and self._file is not None:
            file, self._file = self._file, None
            WRITERS[file.name](make_table(seed=1)[0], file.with_name("new"))
            os.replace(file.with_name("new"), file)


@pytest.mark.parametrize("policy", [Budget(10), FalseDiscoveryRate(0.5)])
def test_scores_after_a_change_are_not_held_against_a_threshold_from_before(file, policy):
    with pytest.raises(TableError, match=f"^{file} {CHANGED}"):
        score_table(fitted(), file, "out.csv", policy=policy, on_rows=Swap(file, after=3000))
    assert not (file.parent / "out.csv").exists()


def test_alerts_are_of_the_table_that_gave_the_threshold(file):
    with pytest.raises(TableError, match=CHANGED):
        find_alerts(fitted(), file, policy=Budget(10), on_rows=Swap(file, after=3000))


def test_values_of_alerts_are_of_the_rows_that_were_scored(file):
    if file.suffix == ".parquet":
        assert find_alerts(fitted(), file, on_rows=Swap(file, after=3000)).n_alerts
        return  # its values were read with the rows
    with pytest.raises(TableError, match=CHANGED):
        find_alerts(fitted(), file, on_rows=Swap(file, after=3000))


def test_texts_that_are_passed_on_are_of_the_rows_that_were_scored(file):
    if file.suffix == ".csv":  # read twice at the same time: typed, and as it is written
        with pytest.raises(TableError, match=CHANGED):
            score_table(fitted(), file, "out.csv", on_rows=Swap(file))


def test_a_fit_that_reads_a_table_again_reads_the_same_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    amount = np.round(np.random.default_rng(0).lognormal(3, 1, 100_000))
    amounts = [f"1,{int(value) % 900 + 100}" for value in amount]
    table = pa.table({"amount": amounts, "fraud": np.arange(100_000) % 97 == 0})
    shows = table.set_column(0, "amount", pa.array([*amounts[:-1], "1,5"]))
    pq.write_table(shows, "t.parquet")
    done = []

    def swap(n_rows):
        done.append(n_rows)
        if n_rows == 65_536 and done.count(n_rows) == 1:
            pq.write_table(table, "new")
            os.replace("new", "t.parquet")

    with pytest.raises(TableError, match=rf"^t\.parquet {CHANGED}"):
        TableModel("PU trees", random_state=0).fit("t.parquet", "fraud", on_rows=swap)


def test_the_command_says_so_and_leaves_nothing_behind(file, monkeypatch):
    from devnet.tables import opened_table

    def threshold(*arguments, **options):
        found = original(*arguments, **options)
        Swap(file)(0)
        return found

    original = opened_table.alert_threshold
    fitted().save("m.devnet")
    monkeypatch.setattr(opened_table, "alert_threshold", threshold)
    words = ["score", "m.devnet", file.name, "-o", "out.csv", "--budget", "10"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert f"Error: {file.name} {CHANGED}" in done.output
    assert not (file.parent / "out.csv").exists()


def test_the_report_of_a_fit_is_about_the_rows_that_were_learned_from(file, monkeypatch):
    original = TableModel.save

    def save(model, path):
        original(model, path)
        Swap(file)(0)

    monkeypatch.setattr(TableModel, "save", save)
    words = ["fit", file.name, "--label", "fraud", "-o", "m.devnet", "--report", "r.html"]
    done = CliRunner().invoke(main, [*words, "--method", "PU trees"])
    assert done.exit_code == 2
    assert f"Error: {file.name} {CHANGED}" in done.output
    assert not (file.parent / "r.html").exists()
