"""Boosting libraries grow the trees; scores and model files are ours."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from support.competitor_checks import (
    check_a_competitor,
    check_layouts_do_not_matter,
    check_learns_from_labels,
)
from support.tasks import make_task

import devnet
from devnet.competitors import CatBoost, LightGBM, XGBoost
from devnet.detectors.competitors.boosting_libraries import LIBRARY_METHODS
from devnet.detectors.methods import METHODS

installed = pytest.mark.parametrize(
    "method",
    [
        pytest.param(
            method,
            marks=pytest.mark.skipif(
                find_spec(method.library) is None, reason=f"{method.library} is not installed"
            ),
        )
        for method in LIBRARY_METHODS
    ],
)


def quick(method, **parameters):
    return method(**{"n_trees": 15, "random_state": 0, **parameters})


@installed
def test_scores_are_the_library_s(method, seed, monkeypatch):
    rows, y, _ = make_task(seed)
    test = make_task(seed + 1)[0]
    theirs = []
    boost = method._boost

    def remember(self, *arguments):
        trees, score = boost(self, *arguments)
        theirs.append(score(test))
        return trees, score

    monkeypatch.setattr(method, "_boost", remember)
    found = quick(method, n_trees=40, random_state=seed).fit(rows, y).anomaly_score(test)
    np.testing.assert_allclose(found, theirs[0], atol=1e-4)


@installed
def test_it_does_what_every_competitor_does(method, tmp_path):
    check_a_competitor(quick(method), tmp_path / "m.devnet")


@installed
def test_layouts_do_not_matter(method):
    check_layouts_do_not_matter(quick(method))


@installed
def test_it_learns_from_labels(method, seed):
    check_learns_from_labels(quick(method, n_trees=50, random_state=seed), seed)


@installed
def test_a_model_file_opens_without_the_library(method, tmp_path, monkeypatch):
    rows, y, _ = make_task(0)
    model = quick(method).fit(rows, y)
    model.save(tmp_path / "m.devnet")
    monkeypatch.setitem(sys.modules, method.library, None)
    loaded = devnet.load(tmp_path / "m.devnet")
    np.testing.assert_array_equal(loaded.anomaly_score(rows), model.anomaly_score(rows))


@pytest.mark.parametrize("method", [XGBoost, LightGBM, CatBoost])
def test_without_the_library_there_is_the_line_to_type(method, task, monkeypatch):
    rows, y, _ = task
    monkeypatch.setitem(sys.modules, method.library, None)
    with pytest.raises(ImportError, match=r"pip install 'deviation-network\[boosting\]'"):
        method().fit(rows, y)


def test_they_are_registered_where_they_are_installed():
    for method in LIBRARY_METHODS:
        assert (method.__name__ in METHODS) == (find_spec(method.library) is not None)


@pytest.mark.parametrize("method", LIBRARY_METHODS)
def test_contributions_are_not_read_off_trees_whose_inner_nodes_have_no_value(method):
    model = method()
    model.projection_ = None
    assert model.own_contributions(np.zeros((1, 2)), np.zeros(2)) is None


@installed
def test_rows_that_are_all_the_same_get_an_answer_or_a_sentence(method):
    rows, y = np.ones((50, 3)), np.arange(50) < 5
    try:
        scores = quick(method).fit(rows, y).anomaly_score(rows)
    except ValueError as error:
        assert "all rows are the same" in str(error)  # noqa: PT017
    else:
        assert len({*scores.tolist()}) == 1
