"""All of scikit-learn's estimator checks, and its usual companions."""

import pickle
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.tasks import make_task

from devnet import (
    DataReference,
    DeviationEnsemble,
    DevNet,
    HybridReference,
    ReviewEnsemble,
    StandardPrior,
    TaughtDeviation,
)
from devnet.competitors import (
    REPEN,
    BalancedLogistic,
    CatBoost,
    DeepSVDD,
    FSNet,
    GradientBoosting,
    IForest,
    PUBaggedTrees,
    XGBoost,
)
from devnet.detectors.competitors.boosting_libraries import LIBRARY_METHODS
from devnet.detectors.rank_deviation import RankDeviation

NOT_EQUIVALENT = (
    "weights are probabilities of being drawn; which rows are drawn depends on their order"
)
RELATIVE = "weights count relative to the largest, and the threshold is a quantile of the rows"
WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
DRAWS = dict.fromkeys(WEIGHT_CHECKS, NOT_EQUIVALENT)
EXPECTED_FAILURES = {
    DevNet: DRAWS,
    DeviationEnsemble: DRAWS,
    REPEN: DRAWS,
    DeepSVDD: DRAWS,
    FSNet: DRAWS,
    IForest: DRAWS,
    PUBaggedTrees: DRAWS,
    RankDeviation: DRAWS,
    TaughtDeviation: DRAWS,
    ReviewEnsemble: DRAWS,
    BalancedLogistic: dict.fromkeys(WEIGHT_CHECKS, RELATIVE),
    XGBoost: dict.fromkeys(WEIGHT_CHECKS, RELATIVE),
    CatBoost: dict.fromkeys(WEIGHT_CHECKS, RELATIVE),
}


@parametrize_with_checks(
    [
        DevNet(n_epochs=10),
        DevNet(hidden=(), n_epochs=20, n_members=2),
        DevNet(end_to_end=False),
        DevNet(reference=StandardPrior("laplace", 100), n_epochs=10),
        DevNet(reference=DataReference(), n_epochs=10),
        DevNet(reference=HybridReference(), n_epochs=10),
        DeviationEnsemble(n_networks=2, n_trees=5),
        REPEN(n_epochs=10),
        DeepSVDD(n_epochs=20),
        FSNet(n_epochs=20),
        IForest(n_trees=10),
        PUBaggedTrees(n_trees=10),
        BalancedLogistic(),
        RankDeviation(),
        TaughtDeviation(),
        ReviewEnsemble(n_networks=2, n_trees=5),
        GradientBoosting(n_trees=10, learning_rate=0.5),
        *(
            method(n_trees=10, learning_rate=0.5)
            for method in LIBRARY_METHODS
            if find_spec(method.library)
        ),
    ],
    expected_failed_checks=lambda model: EXPECTED_FAILURES.get(type(model), {}),
)
def test_scikit_learn_check(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # some checks provoke them
        check(estimator)


def test_is_a_binary_classifier():
    assert is_classifier(DevNet())
    assert not DevNet().__sklearn_tags__().classifier_tags.multi_class


def test_works_in_pipeline_and_grid_search(seed):
    rows, y, _ = make_task(seed, n=400)
    pipeline = make_pipeline(
        MinMaxScaler().set_output(transform="pandas"), DevNet(n_epochs=2, random_state=seed)
    )
    search = GridSearchCV(
        pipeline, {"devnet__margin": [2.0, 5.0]}, scoring="average_precision", cv=2
    )
    frame_rows = rows.astype(float)
    search.fit(frame_rows, y)
    assert search.best_score_ > 2 * y.mean()
    assert list(search.best_estimator_[-1].feature_names_in_) == [f"x{i}" for i in range(8)]


def test_average_precision_is_not_inverted(seed):
    rows, _, truth = make_task(seed, shift=3)
    model = DevNet(n_epochs=10, random_state=seed)
    assert cross_val_score(model, rows, truth, scoring="average_precision", cv=3).min() > 0.8
    assert cross_val_score(model, rows, truth, scoring="roc_auc", cv=3).min() > 0.9


def test_clone_and_pickle(task):
    rows, y, _ = task
    model = DevNet(hidden=(7,), n_epochs=2, random_state=3).fit(rows, y)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.anomaly_score(rows), model.anomaly_score(rows))
    again.set_params(warm_start=True).fit(rows, y)  # its weights are still one block of memory
    assert not np.array_equal(again.anomaly_score(rows), model.anomaly_score(rows))


def test_scikit_learn_callbacks_see_every_epoch_and_can_stop(task):
    rows, y, _ = task

    class StopAfterThree:
        def __init__(self):
            self.ended = []

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.ended.append(context.task_name)
            return self.ended.count("epoch") == 3

    callback = StopAfterThree()
    model = DevNet(n_epochs=10, random_state=0).set_callbacks(callback).fit(rows, y)
    assert callback.ended == ["epoch"] * 3 + ["fit"]
    assert model.n_iter_ == 3


def test_scikit_learn_progress_bar(task, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    rows, y, _ = task
    DevNet(n_epochs=2).set_callbacks(ProgressBar()).fit(rows, y)
    assert "DevNet" in capsys.readouterr().out
