"""Verbs on series, as a user types them."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import devnet
from devnet.cli.main import main

torch = pytest.importorskip("torch")
from devnet.deep.sequences.sequence_devnet import SequenceDevNet  # noqa: E402 - needs torch
from devnet.deep.sequences.series_model import SeriesModel  # noqa: E402

FAULTS = range(400, 8000, 500)  # first steps
N_LABELLED = 8
ABOUT = ("--series", "--time", "time", "--label", "fault", "--length", "32")


def write_series(path):
    """A hum with a burst of noise now and then."""
    generator = np.random.default_rng(0)
    steps = np.arange(8000)
    hum = np.sin(steps / 5) + 0.1 * generator.normal(size=len(steps))
    fault = np.zeros(len(steps), dtype=int)
    for number, first in enumerate(FAULTS):
        hum[first : first + 20] += 2 * generator.normal(size=20)
        fault[first : first + 20] = number < N_LABELLED
    times = np.datetime64("2026-01-01") + steps.astype("timedelta64[s]")
    pq.write_table(pa.table({"time": times, "hum": hum, "fault": fault}), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("series")
    write_series(folder / "pump.parquet")
    detector = SequenceDevNet((8,), n_epochs=8, batch_size=64, random_state=0)
    model = SeriesModel(detector, random_state=0)
    model.fit(folder / "pump.parquet", time="time", label="fault", length=32)
    model.save(folder / "m.devnet")
    return folder


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(main, list(map(str, words)))


def told(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_model_is_restored_to_the_bit(folder, tmp_path):
    model = devnet.load(folder / "m.devnet")
    model.save(tmp_path / "again.devnet")
    assert (tmp_path / "again.devnet").read_bytes() == (folder / "m.devnet").read_bytes()
    table = folder / "pump.parquet"
    assert devnet.load(tmp_path / "again.devnet").score(table).equals(model.score(table))


def test_a_budget_of_events_finds_the_faults_that_nobody_labelled(run):
    found = told(run("alerts", "m.devnet", "pump.parquet", "--budget", "16", "--json"))
    assert found["n_events"] == 16
    hit = {
        first
        for first in FAULTS
        if any(first - 16 <= one["peak"] < first + 36 for one in found["shown"])
    }
    assert len(hit) >= 14
    scores = [one["score"] for one in found["shown"]]
    assert scores == sorted(scores, reverse=True)
    text = run("alerts", "m.devnet", "pump.parquet", "--budget", "16", "--show", "2").output
    assert "2026-01-01 0" in text
    assert ".000" not in text
    assert "... and 14 more" in text


def test_every_step_is_scored(run, folder):
    done = told(run("score", "m.devnet", "pump.parquet", "-o", "s.parquet", "--json"))
    rows = pq.read_table(folder / "s.parquet")
    assert done["n_steps"] == len(rows) == 8000
    assert rows.column_names == ["time", "anomaly_score", "p_value", "is_alert"]
    assert done["n_alerts"] == sum(rows["is_alert"].to_pylist())


def test_a_row_is_explained_by_what_is_around_it(run):
    shown = run("explain", "m.devnet", "pump.parquet", "--row", "410").output
    assert "Row 410, 2026-01-01 00:06:50: score " in shown
    assert "hum" in shown
    assert "█" in shown
    (one,) = told(run("explain", "m.devnet", "pump.parquet", "--row", "410", "--json"))
    assert one["profile"][410 - one["first_row"]] == pytest.approx(one["score"])


def test_inspect_names_channels_and_windows(run):
    facts = told(run("inspect", "m.devnet", "--json"))
    assert (facts["channels"], facts["window"], facts["labelled_intervals"]) == (["hum"], 32, 8)
    assert "of 32 steps" in run("inspect", "m.devnet").output


def test_the_report_draws_events(folder):
    from devnet.report.series_page import make_series_page

    page = make_series_page(devnet.load(folder / "m.devnet"), folder / "pump.parquet")
    assert "<polyline" in page
    assert "<script" not in page


def test_a_report_without_events_draws_what_is_highest(folder):
    from devnet.report.series_page import make_series_page

    model = devnet.load(folder / "m.devnet")
    ranks = model.calibration_
    hidden = np.full(len(ranks.scores) // 8, 1000.0)  # faults that nobody labelled
    model.calibration_ = ranks._replace(scores=np.append(ranks.scores, hidden))
    page = make_series_page(model, folder / "pump.parquet")
    assert "There is none. These score highest" in page
    assert "<polyline" in page
    calm = pq.read_table(folder / "pump.parquet").slice(0, 350)
    calm = calm.set_column(1, "hum", pa.array(np.sin(np.arange(350) / 5)))
    page = make_series_page(model, calm)
    assert "There is none." in page
    assert "These score highest" not in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "pump.parquet", "--series", "-o", "x"], "a series needs --time COLUMN"),
        (
            ["fit", "pump.parquet", "--time", "time", "-o", "x"],
            "--time is not for tables: add --series",
        ),
        (["fit", "pump.parquet", "--size", "4", "4", "-o", "x"], "give a folder of images"),
        (
            ["fit", "pump.parquet", "--series", "--time", "t", "--label", "fault", "-o", "x"],
            "has no column 't'",
        ),
        (
            ["fit", "pump.parquet", "--series", "--time", "time", "--label", "fault", "-o", "x"]
            + ["--length", "9000"],
            "longer than the series",
        ),
        (
            ["fit", "pump.parquet", "--series", "--time", "time", "--label", "fault", "-o", "x"]
            + ["--head", "patches"],
            "--head patches is for images",
        ),
        (
            ["fit", "pump.parquet", "--series", "--time", "time", "--label", "fault", "-o", "x"]
            + ["--fdr", "0.1"],
            "depend on each other",
        ),
        (["alerts", "m.devnet", "pump.parquet", "--cost", "5", "1"], "depend on each other"),
        (["alerts", "m.devnet", "pump.parquet", "--maps", "x"], "--maps is for images"),
        (["explain", "m.devnet", "pump.parquet", "--row", "9999"], "there is no row 9999"),
        (["policy", "m.devnet", "--fdr", "0.1"], "depend on each other"),
        (
            ["review", "pump.parquet", "--model", "m.devnet", "--store", "x"],
            "not a model of tables",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(run, folder, words, said):
    before = (folder / "m.devnet").read_bytes()
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.output.split())
    assert (folder / "m.devnet").read_bytes() == before


READINGS = ({"reading": 3}, {"day_first": "yes"}, {"decimal_comma": 0.5})


def test_an_edited_file_is_refused(folder, tmp_path):
    from support.model_files import write_sealed

    from devnet.core import model_file

    header, tensors = model_file.read(folder / "m.devnet")
    for change in ({"step": 99}, {"channels": ["a", "b"]}, {"time": 3}, {"n_rows": -1}, *READINGS):
        header["series"] = {**model_file.read(folder / "m.devnet")[0]["series"], **change}
        write_sealed(tmp_path / "e.devnet", header, tensors)
        with pytest.raises(devnet.ModelFileError):
            devnet.load(tmp_path / "e.devnet")


def raw_times(table):
    """The same table with times as people in Europe write them."""
    times = [moment.strftime("%d.%m.%Y %H:%M:%S") for moment in table["time"].to_pylist()]
    return table.set_column(0, "time", pa.array(times))


def test_texts_are_read_as_they_were_learned(run, folder, tmp_path):
    raw = raw_times(pq.read_table(folder / "pump.parquet"))
    pq.write_table(raw, folder / "raw.parquet")
    model = SeriesModel(SequenceDevNet((8,), n_epochs=1, random_state=0), random_state=0)
    model.fit(folder / "raw.parquet", time="time", label="fault", length=32)
    (note,) = model.notes  # the first of January
    assert "'01.01.2026 00:00:00' is read as 2026-01-01" in str(note)
    model.save(tmp_path / "raw.devnet")
    loaded = devnet.load(tmp_path / "raw.devnet")
    assert loaded.read(folder / "raw.parquet").times[-1] == np.datetime64("2026-01-01T02:13:19")
    assert model.score(raw).equals(loaded.score(folder / "raw.parquet"))
    spoiled = raw.set_column(1, "hum", pa.array(["stuck", *map(str, raw["hum"].to_pylist()[1:])]))
    pq.write_table(spoiled, folder / "spoiled.parquet")
    done = run("alerts", tmp_path / "raw.devnet", "spoiled.parquet", "--budget", "1")
    assert "2026-01-01 " in done.stdout
    assert "Note: hum: 1 value, such as 'stuck', cannot be read" in done.stderr
    words = ("alerts", tmp_path / "raw.devnet", "spoiled.parquet", "--budget", "1", "--json")
    assert len(told(run(*words))["notes"]) == 1


@pytest.mark.slow
def test_what_is_left_open_may_be_said(run, folder):
    raw = raw_times(pq.read_table(folder / "pump.parquet"))
    pq.write_table(raw, folder / "raw.parquet")
    words = ("fit", "raw.parquet", *ABOUT)
    note, *others = told(run(*words, "-o", "r.devnet", "--json"))["notes"]
    assert note.endswith("say so with --month-first.")
    assert told(run(*words, "--day-first", "-o", "d.devnet", "--json"))["notes"] == others


def test_the_report_scores_a_series_once(folder, monkeypatch):
    from devnet.deep.sequences import opened_series
    from devnet.report.series_page import make_series_page

    calls = []
    score = opened_series.score_series
    monkeypatch.setattr(
        opened_series, "score_series", lambda *given: calls.append(1) or score(*given)
    )
    make_series_page(devnet.load(folder / "m.devnet"), folder / "pump.parquet")
    assert len(calls) == 1


@pytest.mark.slow
def test_a_series_is_learned_from(run, folder):
    done = run("fit", "pump.parquet", "-o", "new.devnet", *ABOUT, "--report", "r.html")
    assert done.exit_code == 0, done.output
    assert "8,000; labelled as anomalies: 8 intervals" in done.output
    assert (folder / "r.html").exists()


def test_methods_are_compared_on_a_series(run):
    words = (*ABOUT, "--method", "PU trees on features", "--repeats", 1)
    done = run("compare", "pump.parquet", *words)
    assert done.exit_code == 0, done.output
    assert re.search(r"pump.parquet: \d+ labelled windows, [\d,]+ unlabelled windows", done.stdout)
    assert "make_pipeline(WindowFeatures(), PUBaggedTrees()).fit(X, y)" in done.stdout


def test_comparing_on_a_series_recommends_a_command(run, monkeypatch):
    from devnet.deep.sequences.sequence_devnet import SequenceDevNet
    from devnet.experiments import deep_comparison

    def quick(seed):
        return SequenceDevNet((8,), n_epochs=8, batch_size=64, random_state=seed)

    monkeypatch.setattr(deep_comparison, "SERIES_METHODS", {"SequenceDevNet (steps)": quick})
    about = ("--series", "--time", "time", "--channel", "hum", "--label", "fault", "--length", 32)
    done = run("compare", "pump.parquet", *about, "--repeats", 1, "--seed", 1)
    assert done.stdout.endswith(
        "Next: devnet fit pump.parquet --series --time time --channel hum --length 32 "
        "--label fault --seed 1 --head steps --output MODEL\n"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--series", "--label", "fault"), "a series needs --time COLUMN"),
        (("--series", "--time", "time"), "and --label COLUMN"),
        (("--label", "fault", "--channel", "hum"), "--channel is not for tables: add --series"),
        (("--label", "fault", "--labels", "x"), "--labels does not apply to tables"),
        (
            ("--series", "--time", "time", "--label", "fault", "--group", "hum"),
            "--group does not apply to a series",
        ),
        (
            ("--series", "--time", "time", "--label", "fault", "--id", "hum"),
            "--id is about the columns of a table, not a series",
        ),
    ],
)
def test_wrong_words_about_comparing_on_a_series_get_a_sentence(run, words, says):
    done = run("compare", "pump.parquet", *words)
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
