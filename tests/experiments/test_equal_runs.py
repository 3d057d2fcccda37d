"""A run that another experiment has done is taken from its results, never a doubtful one."""

import json
from dataclasses import asdict, replace

import pytest
from click.testing import CliRunner
from support.experiments import FILE, make_sets, record

from devnet.cli.main import main
from devnet.experiments.equal_runs import EqualRuns
from devnet.experiments.plan import Run, read_experiment
from devnet.experiments.results import read_results
from devnet.experiments.runner import longest_first, run_experiment

OTHER = FILE.replace("n_labelled = [5]", "n_labelled = [5, 10]").replace("quick =", "named =")


@pytest.fixture
def folder(tmp_path, monkeypatch, in_this_process):
    """Two experiments that share the runs with 5 labels, under different names of the method."""
    make_sets(tmp_path)
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    (tmp_path / "quick.toml").write_text(FILE)
    (tmp_path / "other.toml").write_text(OTHER)
    return tmp_path


def run(folder, name, others=(), **changes):
    experiment = replace(read_experiment(name, folder), **changes)
    return run_experiment(
        experiment,
        experiment.plan(),
        folder / f"{name}.jsonl",
        others=[folder / f"{other}.jsonl" for other in others],
        n_workers=2,
    )


def write(path, *records):
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in records))
    return path


def test_runs_of_another_experiment_are_taken_over_with_their_seconds(folder):
    first = {(r.dataset, r.seed): r for r in run(folder, "quick")}
    records = run(folder, "other", ["quick"])
    assert len(records) == 8
    taken = [r for r in records if r.taken_from]
    assert {(r.taken_from, r.settings["n_labelled"], r.method) for r in taken} == {
        ("quick", 5, "named")
    }
    assert len(taken) == 4
    for one in taken:
        assert one == replace(
            first[one.dataset, one.seed], method="named", taken_from="quick"
        )  # seconds too
    assert read_results(folder / "other.jsonl") == records


def test_a_run_that_was_taken_over_equals_the_one_that_would_have_been_done(folder):
    run(folder, "quick")
    taken = run(folder, "other", ["quick"])
    (folder / "other.jsonl").unlink()
    done = run(folder, "other")
    assert not [r for r in done if r.taken_from]
    assert [r.metrics for r in taken] == [r.metrics for r in done]  # to the last bit


def test_an_experiment_that_measures_time_takes_nothing_over(folder):
    run(folder, "quick")
    assert not [r for r in run(folder, "other", ["quick"], in_parallel=False) if r.taken_from]


def test_lines_of_runs_that_were_done_here_look_as_before(folder):
    run(folder, "quick")
    lines = (folder / "quick.jsonl").read_text().splitlines()
    assert not [line for line in lines if "taken_from" in json.loads(line)]


def test_runs_on_other_data_with_other_versions_or_in_doubt_are_not_taken(tmp_path):
    facts, versions = {"n_rows": 1}, {"devnet": "1"}
    good = replace(record(0), data=facts, versions=versions)
    one = write(tmp_path / "one.jsonl", good)
    found = EqualRuns([one, tmp_path / "absent.jsonl"])
    assert found.find(good.run, facts, versions) == replace(good, taken_from="one")
    assert found.find(good.run, {"n_rows": 2}, versions) is None
    assert found.find(good.run, facts, {"devnet": "2"}) is None
    assert found.find(good.run._replace(seed=1), facts, versions) is None
    assert found.find(good.run._replace(parameters={"method": "x"}), facts, versions) is None
    outdated = write(tmp_path / "two.jsonl", replace(good, metrics={"AUC-PR": 0.2}))
    assert EqualRuns([one, outdated]).find(good.run, facts, versions) is None
    failed = write(tmp_path / "three.jsonl", replace(good, error="no"))
    assert EqualRuns([failed]).find(good.run, facts, versions) is None


def test_a_run_that_was_taken_over_names_the_experiment_that_did_it(tmp_path):
    second = replace(record(0), taken_from="first")
    found = EqualRuns([write(tmp_path / "second.jsonl", second)])
    assert found.find(second.run, {}, second.versions).taken_from == "first"


def test_unknown_runs_come_first_then_the_longest():
    records = [
        replace(record(), dataset=name, method="x", seconds={"total": seconds})
        for name, seconds in [("a", 1.0), ("b", 5.0)]
    ]
    runs = [Run("ranking", name, "x", {}, seed, {}) for name in "abc" for seed in (0, 1)]
    assert [f"{r.dataset}{r.seed}" for r in longest_first(runs, records)] == [
        *("c0", "c1"),
        *("b0", "b1"),
        *("a0", "a1"),
    ]


def test_the_command_line_takes_runs_from_the_other_results_of_the_folder(folder):
    where = ["--folder", str(folder), "--results", str(folder), "--workers", "1"]
    for name in ("quick", "other"):
        arguments = ["experiment", "run", name, "--datasets", "thyroid", "--runs", "1", *where]
        assert CliRunner().invoke(main, arguments, catch_exceptions=False).exit_code == 0
    found = [r.taken_from for r in read_results(folder / "other.jsonl")]
    assert found == ["quick", ""]
