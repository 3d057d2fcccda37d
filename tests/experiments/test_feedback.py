"""The feedback experiment: reviews of the highest rows, answered by the truth."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.experiments import experiment, record

from devnet.datasets import Dataset
from devnet.datasets.records import Likeness
from devnet.detectors.deviation_network import DevNet
from devnet.detectors.methods import find_method
from devnet.detectors.rank_deviation import RankDeviation
from devnet.experiments.feedback_measure import COUNTED, feedback
from devnet.experiments.feedback_methods import InTheLoop
from devnet.experiments.figures import figures
from devnet.experiments.plan import read_experiment
from devnet.experiments.protocol import make_task
from devnet.experiments.tables import tables

FOLDER = Path(__file__).parents[2] / "experiments"
METHODS = "devnet.experiments.feedback_methods"


class Told:
    """Scores a row by a column, and keeps all that it was told."""

    def __init__(self, column=0):
        self.column = column
        self.told = []

    def fit(self, rows, y):
        self.told.append(y.copy())
        return self

    def anomaly_score(self, rows):
        return rows[:, self.column]


@pytest.fixture
def dataset(seed):
    """Anomalies are higher in the first column, the second is random, the third constant."""
    rows = np.random.default_rng(seed).random((12_000, 3)).astype(np.float32)
    is_anomaly = np.arange(12_000) < 500
    rows[is_anomaly, 0] += 1
    rows[:, 2] = 0
    return Dataset("made", rows, is_anomaly, [], "", Likeness.EXACT)


@pytest.mark.parametrize("n_labelled", [5, 0])
def test_every_round_reviews_twenty_more_rows_and_tells_the_truth(dataset, seed, n_labelled):
    detector = Told()
    outcome = feedback(detector, dataset, seed, n_labelled=n_labelled)
    counts = [np.count_nonzero(y) - n_labelled for y in detector.told]
    assert counts == list(range(0, 201, 20))
    for before, after in zip(detector.told, detector.told[1:], strict=False):
        np.testing.assert_array_equal(after[before != 0], before[before != 0])
    n_hidden = round(9200 * 0.02 / 0.98) + (not n_labelled)
    assert [outcome.metrics[f"found of {n}"] for n in COUNTED[:-1]] == list(COUNTED[:-1])
    assert outcome.metrics["found of 200"] == n_hidden
    assert outcome.metrics["AUC-PR"] == 1
    assert (detector.told[-1] < 0).sum() == 200 - n_hidden
    assert set(outcome.seconds) == {"fit", "score"}


@pytest.mark.parametrize("column", [1, 2])
def test_a_detector_that_knows_nothing_finds_what_chance_finds(dataset, seed, column):
    """Also one that gives all rows the same score: their order tells nothing."""
    metrics = feedback(Told(column), dataset, seed).metrics
    assert metrics["found of 200"] < 15


def test_the_truth_about_training_rows_is_that_of_the_set(dataset, seed):
    task = make_task(dataset.rows, dataset.is_anomaly, seed=seed, wrong_labels=0.2)
    np.testing.assert_array_equal(task.train_is_anomaly, task.train[:, 0] > 1)
    assert task.train_is_anomaly[task.y == 1].sum() == 24


def known(dataset, n_anomalies, n_normal=0):
    y = np.zeros(len(dataset.rows), dtype=int)
    y[:n_anomalies], y[len(y) - n_normal :] = 1, -1
    return y


def test_a_method_in_the_loop_starts_without_a_label_and_then_learns(dataset):
    model = InTheLoop("DevNet", random_state=0)
    model.fit(dataset.rows, known(dataset, 0, 20))
    assert isinstance(model.model_, RankDeviation)
    model.fit(dataset.rows, known(dataset, 3, 20))
    assert isinstance(model.model_, DevNet)


def test_one_that_never_learns_again_keeps_its_first_scores(dataset):
    model = InTheLoop("PU trees", learns=False, random_state=0)
    first, later = (
        model.fit(dataset.rows, known(dataset, n)).decision_function(dataset.rows) for n in (3, 400)
    )
    np.testing.assert_array_equal(first, later)


def test_dismissed_rows_pull_down_rows_like_them_the_more_they_weigh(dataset):
    rows = dataset.rows.copy()
    rows[-300:, 0] += 1  # normal, but alike anomalies
    light, heavy = (
        InTheLoop("PU trees", dismissed=weight, random_state=0).fit(rows, known(dataset, 30, 100))
        for weight in (1, 50)
    )
    similar = rows[-300:-100]
    assert heavy.decision_function(similar).mean() < light.decision_function(similar).mean()


@pytest.mark.parametrize("base", ["deviation ensemble", "PU trees"])
def test_dismissed_rows_that_are_known_to_be_normal_pull_down_rows_like_them(dataset, base):
    rows = dataset.rows.copy()
    rows[-200:] += [1, 0.5, 0]  # normal, but alike anomalies
    told, weighed_as_one = (
        InTheLoop(base, dismissed=weight, random_state=0).fit(rows, known(dataset, 30, 100))
        for weight in (None, 1)
    )
    assert _height(told, rows) < _height(weighed_as_one, rows)


def _height(model, rows):
    """Mean score of rows alike dismissed ones; that of normal rows is 0, of anomalies 1."""
    alike, anomalies, normal = (
        model.decision_function(part).mean() for part in (rows[-200:], rows[:500], rows[500:5000])
    )
    return (alike - normal) / (anomalies - normal)


def test_the_active_forest_learns_from_both_kinds_of_answers(dataset, seed):
    pytest.importorskip("coniferest", reason="in the dependency group feedback")
    outcome = feedback(find_method(f"{METHODS}:AADForest")(random_state=seed), dataset, seed)
    assert outcome.metrics["found of 200"] > 30


def made_experiment():
    names = ("ours", "theirs", "dense only")
    return experiment(
        measure="feedback",
        paper="",
        grid=[{"n_labelled": [5, 0]}],
        methods={name: {"method": f"{METHODS}:InTheLoop"} for name in names},
        datasets=["thyroid", "news20"],
        runs=1,
        fewer=[
            {"datasets": ["news20"], "methods": ["dense only"], "runs": 0, "reason": "sparse rows"}
        ],
    )


def made_records(made):
    worth = {"ours": 40, "theirs": 30, "dense only": 35}
    return [
        replace(
            record(
                run.seed,
                **{f"found of {n}": worth[run.method] * n / 200 for n in COUNTED},
                **{"AUC-PR": worth[run.method] / 100},
            ),
            **{name: value for name, value in run._asdict().items() if name != "seed"},
        )
        for run in made.plan()
    ]


def test_averages_compare_methods_on_the_sets_that_both_have():
    made = made_experiment()
    shown = tables(made, made_records(made))
    assert [table.title for table in shown[:2]] == [
        "Anomalies found of 50 reviews, from 5 labels",
        "Anomalies found of 100 reviews, from 5 labels",
    ]
    assert shown[-1].title == "AUC-PR on fresh rows, from no label"
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in shown[2].rows}
    assert rows["news20"] == ["40.0", "30.0", "-"]
    assert rows["Average of 1 set that all have"] == ["40.0", "30.0", "35.0"]
    assert rows["ours, same sets"] == ["40.0", "40.0", "40.0"]
    assert [cell.is_best for cell in shown[2].rows[0]] == [False, True, False, False]


def test_figures_show_what_was_found_by_reviews():
    made = made_experiment()
    from_five, _ = figures(made, made_records(made))
    assert from_five.title == "Anomalies found, from 5 labels"
    sparse = from_five.panels[-1]
    assert [series.name for series in sparse.series] == ["ours", "theirs"]
    assert [point.x for point in sparse.series[0].points] == list(COUNTED)


def test_the_plan_has_all_sets_both_starts_and_no_sparse_rows_for_the_active_forest():
    plan = read_experiment("feedback", FOLDER)
    assert len(plan.datasets) == 9
    assert [settings["n_labelled"] for settings in plan.settings] == [5, 0]
    assert not plan.plan(["news20", "URL"], ["AADForest"])
