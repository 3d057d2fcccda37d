"""An experiment does what is missing, records what fails, and gives the same figures again."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.experiments import FILE, NoWorkers, make_sets, record

from devnet.experiments import runner
from devnet.experiments.plan import Run, read_experiment
from devnet.experiments.results import read_results
from devnet.experiments.runner import estimate, run_experiment
from devnet.experiments.tables import tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two small sets in the formats of the real ones, and an experiment on them."""
    make_sets(tmp_path)
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    (tmp_path / "quick.toml").write_text(FILE)
    return tmp_path


def run(folder, *, n_workers=2, file="results.jsonl", **narrowed):
    experiment = read_experiment("quick", folder)
    seen = []
    records = run_experiment(
        experiment,
        experiment.plan(**narrowed),
        folder / file,
        n_workers=n_workers,
        on_progress=seen.append,
    )
    return records, seen


def figures(records):
    return [(record.run.key, record.metrics) for record in records]


def test_all_runs_are_done_in_parallel_and_told(folder):
    records, seen = run(folder)
    assert len(records) == 4
    assert not [r.error for r in records if r.error]
    assert all(record.metrics["AUC-ROC"] > 0.9 for record in records)
    assert [progress.n_done for progress in seen] == [0, 1, 2, 3, 4]
    assert seen[0].is_at_least
    assert (seen[-1].seconds_left, seen[-1].is_at_least) == (0, False)
    assert all(record.peak_memory_mb > 10 for record in records)
    assert "the paper's has 7,200 rows" in records[0].description


@pytest.mark.usefixtures("in_this_process")
def test_an_estimator_of_the_callers_runs_by_its_import_path(folder):
    own = 'own = { method = "sklearn.ensemble:RandomForestClassifier", n_estimators = 5 }'
    (folder / "quick.toml").write_text(FILE + own)
    records, _ = run(folder, methods=["own"], runs=1)
    assert not [r.error for r in records if r.error]
    assert all(record.metrics["AUC-ROC"] > 0.9 for record in records)


def test_the_same_figures_come_again_however_many_workers_there_are(folder, monkeypatch):
    one, _ = run(folder, n_workers=1, file="one.jsonl")
    two, _ = run(folder, n_workers=2, file="two.jsonl")
    monkeypatch.setattr(runner, "Workers", NoWorkers)
    none, _ = run(folder, file="none.jsonl")
    assert figures(one) == figures(two) == figures(none)  # to the last bit


@pytest.mark.usefixtures("in_this_process")
def test_only_what_is_missing_is_done(folder):
    run(folder, datasets=["campaign"], runs=1)
    before = (folder / "results.jsonl").read_text()
    records, seen = run(folder)
    assert seen[0].n_done == 1
    assert len(seen) == 1 + 3
    assert before.strip() in (folder / "results.jsonl").read_text()
    assert [(r.dataset, r.seed) for r in read_results(folder / "results.jsonl")] == [
        ("thyroid", 0),
        ("thyroid", 1),
        ("campaign", 0),
        ("campaign", 1),
    ]
    assert len(records) == 4


@pytest.mark.usefixtures("in_this_process")
def test_runs_on_another_copy_of_a_set_do_not_join(folder):
    run(folder, datasets=["campaign"], runs=1)
    with np.load(folder / "campaign.npz") as file:
        np.savez(folder / "campaign.npz", X=file["X"][:500], y=file["y"][:500])
    records, _ = run(folder, datasets=["campaign"])
    assert [bool(record.error) for record in records] == [False, True]
    assert "the results hold runs on another copy (campaign: 600 rows" in records[1].error


@pytest.mark.usefixtures("in_this_process")
def test_changed_parameters_are_other_runs_and_the_old_ones_are_kept(folder):
    run(folder, datasets=["campaign"], runs=1)
    (folder / "quick.toml").write_text(FILE.replace("n_epochs = 2", "n_epochs = 3"))
    records, seen = run(folder, datasets=["campaign"], runs=1)
    assert seen[0].n_done == 0
    assert [record.parameters["n_epochs"] for record in records] == [3]
    everything = read_results(folder / "results.jsonl")
    assert sorted(record.parameters["n_epochs"] for record in everything) == [2, 3]
    shown = tables(read_experiment("quick", folder), everything)
    assert "(1 run)" in shown[0].rows[0][1].text
    assert any(note.startswith("1 runs are left out") for note in shown[-1].notes)


@pytest.mark.usefixtures("in_this_process")
def test_failures_are_recorded_do_not_stop_the_rest_and_are_tried_again(folder):
    (folder / "annthyroid_21feat_normalised.csv").rename(folder / "hidden.csv")
    records, _ = run(folder)
    failed = [record for record in records if record.error]
    assert {record.dataset for record in failed} == {"thyroid"}
    assert all("FileNotFoundError: no copy of thyroid" in record.error for record in failed)
    assert len(records) == 4
    (folder / "hidden.csv").rename(folder / "annthyroid_21feat_normalised.csv")
    records, seen = run(folder)
    assert seen[0].n_done == 2
    assert not [r.error for r in records if r.error]


@pytest.mark.usefixtures("in_this_process")
def test_a_run_that_raises_is_recorded_with_its_error(folder):
    (folder / "quick.toml").write_text(FILE.replace("n_labelled = [5]", "n_labelled = [500]"))
    records, _ = run(folder)
    assert len(records) == 4
    assert all("cannot label 500 anomalies" in record.error for record in records)


def test_killed_at_any_moment_it_goes_on_where_it_was(folder):
    (folder / "quick.toml").write_text(FILE.replace("runs = 2", "runs = 8"))
    command = [sys.executable, "-m", "devnet.cli", "experiment", "run", "quick"]
    options = ["--folder", str(folder), "--results", str(folder)]
    path = folder / "quick.jsonl"
    with subprocess.Popen(
        [*command, *options], stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        while not (path.exists() and path.read_text().count("\n") >= 3):
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    finished = [record for record in read_results(path) if not record.error]
    assert len(finished) >= 3
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert "16 of 16 runs are in" in done.stdout
    after = {record.run.key: record for record in read_results(path)}
    assert len(after) == 16
    assert all(after[record.run.key] == record for record in finished)


def test_the_estimate_is_of_runs_alike_and_says_where_it_knows_none():
    records = [
        replace(record(), dataset=dataset, method=method, seconds={"total": seconds})
        for dataset, method, seconds in [("a", "x", 1.0), ("a", "x", 3.0), ("b", "x", 100.0)]
    ]
    missing = [Run("ranking", name, "x", {}, 2, {}) for name in ("a", "b")]
    assert estimate(missing, records) == (102.0, False)
    assert estimate([*missing, Run("ranking", "a", "y", {}, 0, {})], records) == (102.0, True)
    assert estimate([], []) == (0, False)


def test_a_results_folder_that_cannot_be_made_gets_a_sentence(folder):
    with pytest.raises(ValueError, match="cannot write results to .* with results"):
        run(folder, file="campaign.npz/results.jsonl")
    assert Path(folder / "campaign.npz").is_file()
