"""A row of a table whose score is not finite is named by its number in the table."""

from copy import copy

import numpy as np
import pytest
from support.payment_tables import fitted, make_table

from devnet.detectors.base import ScoreError
from devnet.tables import find_alerts, row_scores, score_table


@pytest.fixture(scope="module")
def table():
    return make_table()[0]


@pytest.fixture
def model(table):
    """A model that gives the highest amount without a label no score, and that row's number."""
    model = copy(fitted())
    model.detector_ = copy(model.detector_)
    is_labelled = table["fraud"].is_valid().to_numpy()
    highest = int(np.argmax(np.where(is_labelled, 0, table["amount"].to_numpy())))
    row = model.encoder_.encode(table)[highest]

    def score(rows):
        is_highest = (rows.dense(slice(None)) == row).all(axis=1)
        return np.where(is_highest, np.nan, 0.0)

    model.detector_._score = score
    return model, highest


@pytest.mark.parametrize("n_values", [1 << 26, 1000])
def test_scoring_names_the_row_of_the_table(model, table, n_values, tmp_path, monkeypatch):
    monkeypatch.setattr(row_scores, "MATRIX_VALUES", n_values)
    model, row = model
    words = f"DeviationEnsemble gives row {row} the score nan, which cannot be ranked"
    with pytest.raises(ScoreError, match=words):
        model.score(table)
    with pytest.raises(ScoreError, match=words):
        find_alerts(model, table)
    with pytest.raises(ScoreError, match=words):
        score_table(model, table, tmp_path / "scored.csv")
    assert not list(tmp_path.iterdir())


def test_explaining_names_the_row_of_the_table(model, table):
    model, row = model
    model.explainer_ = copy(model.explainer_)
    model.explainer_.detector = model.detector_
    with pytest.raises(ScoreError, match=f"gives row {row} the score nan"):
        model.explain(table, [3, row])
