"""Everything is run again: resumed, compared, and never mixed with committed results."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.experiments import FILE, experiment, make_sets, record

from devnet.cli.main import main
from devnet.experiments import reproduction, source_key
from devnet.experiments.first_look import FIRST_LOOK, first_look
from devnet.experiments.plan import read_experiment, read_experiments
from devnet.experiments.reproduction import place_of, reproduce
from devnet.experiments.results import read_results
from devnet.experiments.runner import run_experiment
from devnet.experiments.source_key import result_modules
from devnet.experiments.verification import (
    Verification,
    digest_of,
    read_verification,
    repeated,
    verify,
)

TINY = FILE.replace('["thyroid", "campaign"]', '["thyroid"]').replace(
    "n_epochs = 2", "n_epochs = 1"
)


@pytest.fixture
def folder(tmp_path, monkeypatch, in_this_process):
    """One small experiment with two committed runs."""
    make_sets(tmp_path)
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    (tmp_path / "tiny.toml").write_text(TINY)
    one = read_experiment("tiny", tmp_path)
    run_experiment(one, one.plan(), tmp_path / "results" / "tiny.jsonl", n_workers=1)
    return tmp_path


def devnet(folder, *arguments):
    return CliRunner().invoke(main, ["experiment", *arguments, "--folder", str(folder)])


def test_make_reproduce_writes_how_many_runs_are_equal_and_the_page_shows_it(folder):
    committed = (folder / "results" / "tiny.jsonl").read_text()
    done = devnet(folder, "reproduce", "--workers", "1")
    assert done.exit_code == 0, done.output
    assert "2 of 2 repeated runs are equal bit for bit." in done.stdout
    written = json.loads((folder / "verification.json").read_text())
    assert (written["n_runs"], written["n_equal"], written["n_missing"]) == (2, 2, 0)
    assert written["computing_seconds"] > 0
    assert written["elapsed_seconds"] > 0
    assert devnet(folder, "report").exit_code == 0
    page = (folder / "report.html").read_text()
    assert "2 of 2 repeated runs are equal bit for bit." in page
    assert FIRST_LOOK not in page
    assert (folder / "results" / "tiny.jsonl").read_text() == committed


def test_an_interrupted_reproduction_is_resumed_on_another_day(folder, monkeypatch):
    n_done = []

    def interrupt(name):
        def stop(progress):
            n_done.append(progress.n_done)
            if progress.n_done == 1:
                raise KeyboardInterrupt

        return stop

    with pytest.raises(KeyboardInterrupt):
        reproduce(folder, folder / "results", n_workers=1, on_progress=interrupt)
    place = place_of(folder, is_quick=False)
    first = json.loads((place / "elapsed.json").read_text())["tiny"]
    assert len(read_results(place / "tiny.jsonl")) == 1
    n_done.clear()
    done = reproduce(
        folder, folder / "results", n_workers=1, on_progress=lambda name: lambda p: n_done.append(p)
    )
    assert [progress.n_done for progress in n_done] == [1, 2]
    assert done.verification.totals["n_equal"] == 2
    assert done.verification.totals["elapsed_seconds"] > first


def test_elapsed_time_is_on_disk_after_each_run(folder):
    noted = []

    def read(progress):
        text = (place_of(folder, is_quick=False) / "elapsed.json").read_text()
        noted.append(json.loads(text)["tiny"])

    reproduce(folder, folder / "results", n_workers=1, on_progress=lambda name: read)
    assert len(noted) == 3  # at the start, and after each of two runs
    assert 0 <= noted[0] < noted[1] < noted[2]


def test_quick_says_so_on_every_table_and_figure_and_leaves_committed_results_alone(folder):
    committed = (folder / "results" / "tiny.jsonl").read_text()
    timed = TINY.replace("runs = 2", "runs = 2\nin_parallel = false").replace("Quick", "Timed")
    (folder / "timed.toml").write_text(timed)
    done = devnet(folder, "reproduce", "--quick", "--workers", "1")
    assert done.exit_code == 0, done.output
    assert "1 of 1 repeated runs are equal bit for bit." in done.stdout
    place = place_of(folder, is_quick=True)
    page = (place / "report.html").read_text()
    n_shown = page.count("<table>") - 1 + page.count("<figure>")  # one is the verification
    assert n_shown >= 3
    assert page.count(FIRST_LOOK) == n_shown + 1
    assert "Left out: Timed." in page
    assert not (folder / "verification.json").exists()
    assert not (folder / "report.html").exists()
    assert (folder / "results" / "tiny.jsonl").read_text() == committed
    assert place != place_of(folder, is_quick=False)


def committed_otherwise(folder, change, *, keep=2):
    """Write the committed runs anew, with other metrics, and perhaps without the last."""
    path = folder / "results" / "tiny.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["metrics"]["AUC-PR"] += change
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:keep]))


def test_a_difference_in_the_last_bit_is_no_failure_of_a_first_look(folder):
    committed_otherwise(folder, 1e-12)
    done = devnet(folder, "reproduce", "--quick", "--workers", "1")
    assert done.exit_code == 0, done.output
    assert "0 of 1 repeated runs are equal bit for bit." in done.stdout
    assert "2 of 2 means lie within" in done.stdout


def test_a_comparison_with_other_results_says_nothing_of_the_committed_ones(folder):
    other = folder / "elsewhere"
    other.mkdir()
    (other / "tiny.jsonl").write_text((folder / "results" / "tiny.jsonl").read_text())
    committed_otherwise(folder, 0.1)
    done = devnet(folder, "reproduce", "--results", str(other), "--workers", "1")
    assert done.exit_code == 0, done.output
    assert not (folder / "verification.json").exists()


def test_an_entry_is_outdated_once_there_are_other_results(folder):
    assert devnet(folder, "reproduce", "--workers", "1").exit_code == 0
    committed_otherwise(folder, 1e-12)
    assert devnet(folder, "report").exit_code == 0
    page = (folder / "report.html").read_text()
    assert "Outdated, since there are other results now: tiny." in page
    assert "2 of 2 repeated runs" not in page
    assert "Not repeated yet" not in page


def test_runs_without_a_committed_one_are_told(folder):
    committed_otherwise(folder, 0.0, keep=1)
    done = devnet(folder, "reproduce", "--workers", "1")
    said = "1 of 1 repeated runs are equal bit for bit; 1 more have no committed result."
    assert said in done.stdout


def test_other_code_starts_anew(folder, monkeypatch):
    before = place_of(folder, is_quick=False)
    monkeypatch.setattr(reproduction, "source_key", lambda: "other")
    assert place_of(folder, is_quick=False).name == "other" != before.name


def test_the_key_is_of_the_code_that_results_depend_on_and_not_of_comments(tmp_path, monkeypatch):
    modules = result_modules()
    for name in ("engine.trainer", "detectors.methods", "experiments.raw_methods", "core.rows"):
        assert f"devnet.{name}" in modules
    rooms = {name.split(".")[1] for name in modules}
    assert not rooms & {"cli", "report"}
    assert not {"devnet.experiments.tables", "devnet.experiments.figures"} & set(modules)
    path = tmp_path / "module.py"
    monkeypatch.setattr(source_key, "result_modules", lambda: {"devnet.one": path})
    keys = []
    for text in ('"""A."""\nx = 1\n', "x  =  1  # why\n", "x = 2\n"):
        path.write_text(text)
        keys.append(source_key.source_key.__wrapped__())
    assert keys[0] == keys[1] != keys[2]


def test_the_key_is_of_every_method_that_a_plan_names():
    named = {
        run.parameters["method"].partition(":")[0]
        for one in read_experiments(Path(__file__).parents[2] / "experiments")
        for run in one.plan()
        if run.parameters["method"].startswith("devnet.")  # versions of libraries are in the key
    }
    assert len(named) > 3
    assert named <= set(result_modules())


def test_a_first_look_is_one_run_of_the_small_sets():
    one = experiment(datasets=["census", "thyroid"], fewer=[{"runs": 1}])
    look = first_look(one)
    assert [(run.dataset, run.seed) for run in look.plan()] == [("thyroid", 0)] * 4
    assert first_look(experiment(datasets=["census"])) is None
    assert first_look(replace(one, in_parallel=False)) is None


def test_a_run_that_is_missing_or_differs_is_not_reproduced(tmp_path):
    old = [record(seed) for seed in range(3)]
    new = [record(0), replace(record(1), metrics={"AUC-PR": 0.2})]
    found = Verification({"one": [repeated(verify(old, new), new, elapsed_seconds=60)]})
    assert not found.is_reproduced
    assert found.sentences[0] == "1 of 2 repeated runs are equal bit for bit; 1 are missing."
    found.write(tmp_path / "verification.json")
    assert read_verification(tmp_path / "verification.json") == found
    assert read_verification(tmp_path / "none.json") is None
    for text in ("{}", "[]", '{"experiments": {"one": [{"verdict": {}}]}}'):
        (tmp_path / "verification.json").write_text(text)
        with pytest.raises(ValueError, match="is not a verification"):
            read_verification(tmp_path / "verification.json")


def test_verify_writes_its_verdicts_to_a_file(folder):
    repeated = folder / "again"
    repeated.mkdir()
    (repeated / "tiny.jsonl").write_text((folder / "results" / "tiny.jsonl").read_text())
    output = folder / "verdicts.json"
    arguments = ["--results", str(repeated), "--against", str(folder / "results")]
    assert devnet(folder, "verify", *arguments, "--output", str(output)).exit_code == 0
    assert read_verification(output).totals["n_equal"] == 2


def test_experiments_are_repeated_one_by_one_and_by_newer_code(folder, monkeypatch):
    (folder / "other.toml").write_text(TINY.replace("Quick", "Other"))
    one = read_experiment("other", folder)
    run_experiment(one, one.plan(), folder / "results" / "other.jsonl", n_workers=1)
    first = devnet(folder, "reproduce", "tiny", "--workers", "1")
    assert first.exit_code == 0, first.output
    assert devnet(folder, "report").exit_code == 0
    assert "Not repeated yet: other." in (folder / "report.html").read_text()
    monkeypatch.setattr(reproduction, "source_key", lambda: "newer")
    second = devnet(folder, "reproduce", "other", "--workers", "1")
    assert "2 of 2 repeated runs are equal" in second.stdout
    both = read_verification(folder / "verification.json")
    assert set(both.experiments) == {"tiny", "other"}
    assert both.sentences[0] == "4 of 4 repeated runs are equal bit for bit."
    assert "by 2 states of the code" in both.sentences[2]
    assert devnet(folder, "report").exit_code == 0
    assert "Not repeated yet" not in (folder / "report.html").read_text()
    unknown = devnet(folder, "reproduce", "tini")
    assert unknown.exit_code == 2
    assert "Did you mean 'tiny'?" in unknown.output


def test_an_experiment_is_repeated_in_parts(folder, monkeypatch):
    (folder / "tiny.toml").write_text(TINY.replace('["thyroid"]', '["thyroid", "campaign"]'))
    one = read_experiment("tiny", folder)
    run_experiment(one, one.plan(), folder / "results" / "tiny.jsonl", n_workers=1)

    def repeat(*arguments):
        done = devnet(folder, "reproduce", *arguments, "--workers", "1")
        assert done.exit_code == 0, done.output
        assert devnet(folder, "report").exit_code == 0
        entries = read_verification(folder / "verification.json").entries
        return done.stdout, entries, (folder / "report.html").read_text()

    said, entries, page = repeat("tiny", "--datasets", "campaign")
    assert "tiny: campaign" in said
    assert [(name, one.verdict.n_runs) for name, one in entries] == [("tiny: campaign", 2)]
    assert "Not repeated yet: tiny on thyroid." in page
    monkeypatch.setattr(reproduction, "source_key", lambda: "newer")
    _, entries, page = repeat("tiny", "--datasets", "thyroid")
    assert [name for name, _ in entries] == ["tiny: campaign", "tiny: thyroid"]
    assert "Not repeated yet" not in page
    assert "<tr><td>tiny</td><td>4</td><td>4</td><td>0</td>" in page  # both parts in one row
    elapsed = json.loads((place_of(folder, is_quick=False) / "elapsed.json").read_text())
    assert entries[1][1].elapsed_seconds == pytest.approx(elapsed["tiny"])
    _, whole, page = repeat("tiny", "--datasets", "campaign,thyroid")
    assert [name for name, _ in whole] == ["tiny"]  # all sets: it takes the place of both
    assert whole[0][1].verdict.n_runs == 4
    _, entries, page = repeat("tiny", "--datasets", "campaign")
    assert [name for name, _ in entries] == ["tiny: campaign"]
    assert entries[0][1].elapsed_seconds < whole[0][1].elapsed_seconds
    unknown = devnet(folder, "reproduce", "tiny", "--datasets", "campain")
    assert unknown.exit_code == 2
    assert "Did you mean 'campaign'?" in unknown.output


def test_parts_of_an_experiment_are_joined():
    old = [record(seed, value=seed / 2) for seed in range(2)]
    new = [old[0], record(1, value=0.25)]
    far = verify(old, [record(seed, value=9.0) for seed in range(2)])
    parts = [
        repeated(verify(old, new), new, source="one", elapsed_seconds=5, datasets=["thyroid"]),
        repeated(far, old, source="two", elapsed_seconds=7, datasets=["fraud", "URL"]),
    ]
    both = Verification({"tiny": parts}).joined["tiny"]
    assert (both.verdict.n_runs, both.verdict.n_equal, both.verdict.n_means) == (4, 1, 2)
    assert both.verdict.largest_difference == far.largest_difference
    assert both.verdict.outside == [*parts[0].verdict.outside, *far.outside]
    assert both.computing_seconds == sum(one.computing_seconds for one in parts)
    assert (both.source, both.elapsed_seconds) == ("one, two", 12)
    assert both.datasets == ["thyroid", "fraud", "URL"]
    assert Verification({"tiny": [repeated(far, old)]}).joined["tiny"].datasets == []


def test_a_part_is_outdated_by_other_results_on_its_sets_alone(folder):
    old = [record(seed) for seed in range(2)]
    other = [replace(one, dataset="campaign") for one in old]
    every = [*old, *other]
    found = Verification({})
    for name, part in (("thyroid", old), ("campaign", other)):
        entry = repeated(verify(part, part), part, digest=digest_of(part), datasets=[name])
        found = found.updated("one", entry)
    assert found.current({"one": every}) == (found, [])
    changed = [*old, replace(other[0], metrics={"AUC-PR": 0.3}), other[1]]
    kept, outdated = found.current({"one": changed})
    assert [name for name, _ in kept.entries] == ["one: thyroid"]
    assert outdated == ["one"]
    assert kept.left("one", ["thyroid", "campaign"]) == ["campaign"]
    assert kept.left("two", ["thyroid"]) == ["thyroid"]


def test_a_run_of_two_experiments_is_repeated_once(folder):
    (folder / "other.toml").write_text(TINY.replace("Quick", "Other"))
    one = read_experiment("other", folder)
    run_experiment(one, one.plan(), folder / "results" / "other.jsonl", n_workers=1)
    found = reproduce(folder, folder / "results", n_workers=1)
    origins = [[record.taken_from for record in records] for _, records in found.found]
    assert origins == [["", ""], ["other", "other"]]
    assert [one.verdict.n_equal for _, one in found.verification.entries] == [2, 2]
    totals = found.verification.totals
    assert (totals["n_runs"], totals["n_equal"]) == (2, 2)
