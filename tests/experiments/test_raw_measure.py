from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from devnet.datasets.raw_loading import LoadedTable
from devnet.datasets.raw_tables import PUT_ASIDE, RAW_TABLES
from devnet.detectors.own_estimator import OwnEstimator
from devnet.experiments.measures import MEASURES
from devnet.experiments.plan import read_experiment
from devnet.experiments.raw_measure import draw_rows
from devnet.experiments.raw_methods import RawTableEnsemble
from devnet.experiments.results import RunRecord
from devnet.experiments.tables import tables

pd = pytest.importorskip("pandas", reason="raw tables are data frames")
FOLDER = Path(__file__).parents[2] / "experiments"


def made_up(n=600):
    generator = np.random.default_rng(0)
    is_anomaly = np.arange(n) < 100
    amount = generator.uniform(1, 100, n) + np.where(is_anomaly, 200.0, 0.0)
    shop = generator.choice(["grocer", "casino"], n)
    raw = pd.DataFrame({"amount": [f"${value:,.2f}" for value in amount], "shop": shop})
    clean = pd.DataFrame({"amount": amount, "shop": shop})
    return LoadedTable(raw, clean, is_anomaly)


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(20, random_state=0), RawTableEnsemble(random_state=0)]
)
def test_a_method_ranks_a_small_raw_table(estimator):
    outcome = MEASURES["raw tables"](OwnEstimator(estimator), made_up(), 0, n_labelled=20)
    assert 0 < outcome.metrics["AUC-PR"] <= 1
    assert outcome.seconds["fit"] > 0


def test_no_row_is_both_learned_and_tested():
    is_anomaly = made_up().is_anomaly
    train, y, test = draw_rows(is_anomaly, 20, 0.02, seed=3)
    assert not set(train) & set(test)
    assert y.sum() == 20
    assert is_anomaly[train[y == 1]].all()
    assert is_anomaly[train[y == 0]].mean() <= 0.02
    assert is_anomaly[test].sum() == 40


def test_more_labels_than_anomalies_are_refused():
    with pytest.raises(ValueError, match="cannot label 70 anomalies: only 60"):
        draw_rows(made_up().is_anomaly, 70, 0.02, seed=0)


def test_the_experiment_asks_for_all_tables_and_draws():
    experiment = read_experiment("raw_tables", FOLDER)
    assert set(experiment.datasets) == set(RAW_TABLES)
    assert [settings["n_labelled"] for settings in experiment.settings] == [10, 20, 40]


def test_tables_to_tune_on_and_tables_put_aside_are_averaged_apart():
    experiment = read_experiment("raw_tables", FOLDER)
    records = [
        RunRecord(
            **run._asdict(),
            metrics={"AUC-PR": 0.3 if run.dataset in PUT_ASIDE else 0.5, "AUC-ROC": 0.5},
            seconds={"total": 1.0},
            peak_memory_mb=1.0,
            error="",
            description="",
            versions={},
            data={},
        )
        for run in experiment.plan(datasets=["ames", "birds"], runs=1)
    ]
    made = tables(experiment, records)
    assert [table.title for table in made][-1] == "AUC-PR, mean"
    averages = {row[0].text: row[1].text for row in made[0].rows}
    assert averages["Average, development"] == "0.500"
    assert averages["Average, held out"] == "0.300"
