"""What a page says of a fit is what the model says."""

from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from support.pages import check

from devnet.core.wording import contribution_text, score_text
from devnet.report.fit_facts import N_ALERTS, fit_facts
from devnet.report.fit_page import make_fit_page
from devnet.significance.policies import (
    Budget,
    Confidence,
    ExpectedCost,
    FalseAlarmRate,
    FalseDiscoveryRate,
)
from devnet.tables import TableModel, find_alerts
from devnet.tables.explainer import MAX_PROFILES

QUICK = {"DevNet": {"n_epochs": 2}, "deviation ensemble": {"n_networks": 2, "n_trees": 16}}
POLICIES = [
    FalseAlarmRate(0.01),
    Confidence(0.95),
    Budget(7),
    FalseDiscoveryRate(0.3),
    ExpectedCost(50, 1),
]
NAMES = [type(policy).__name__ for policy in POLICIES]


class Fit(NamedTuple):
    model: TableModel
    table: dict


CROWDED = {"n": 600, "n_anomalies": 300, "n_labelled": 0}  # where false discoveries are few


def make_table(n=1500, n_anomalies=60, n_labelled=25):
    generator = np.random.default_rng(0)
    amount = generator.lognormal(3, 1, n)
    amount[:n_anomalies] *= 30
    return {
        "payment": [f"P{i}" for i in range(n)],
        "amount": amount,
        "hour": generator.integers(0, 24, n),
        "shop": generator.choice(["grocer", "casino", "florist"], n),
        "fraud": (np.arange(n) < n_labelled).astype(int),
    }


@pytest.fixture(scope="module", params=QUICK)
def fit(request):
    table = make_table()
    model = TableModel(request.param, parameters=QUICK[request.param], random_state=0)
    return Fit(model.fit(table, "fraud"), table)


@pytest.fixture(scope="module")
def ensemble():
    table = make_table()
    model = TableModel(parameters=QUICK["deviation ensemble"], random_state=0)
    return Fit(model.fit(table, "fraud"), table)


def facts_by(fit, policy):
    fit.model.policy = policy
    return fit_facts(fit.model, fit.table)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_the_threshold_is_the_one_that_alerts_exceed(fit, policy):
    fit.model.policy = policy
    if isinstance(policy, ExpectedCost) and fit.model.method == "DevNet":
        with pytest.raises(ValueError, match="method='deviation ensemble'"):
            fit_facts(fit.model, fit.table)
        return
    for table in (fit.table, make_table(**CROWDED)):
        facts = fit_facts(fit.model, table)
        found = find_alerts(fit.model, table, policy=policy)
        assert facts.threshold == pytest.approx(found.threshold, rel=1e-12)
    assert np.isfinite(facts.threshold)
    words = check(make_fit_page(facts))
    assert f"A score above {score_text(found.threshold)} is an alert ({policy.in_words()})" in words
    assert words.count(" no alert ") == max(0, N_ALERTS - found.n_alerts)
    assert f"threshold {score_text(found.threshold)}" in words
    assert "unknown" not in words


def test_a_budget_makes_as_many_cards_alerts_and_labelled_rows_do_not_use_it_up(fit):
    facts = facts_by(fit, Budget(7))
    scores = [alert.score for alert in facts.alerts]
    assert sum(score > facts.threshold for score in scores) == 7
    assert scores[7] <= facts.threshold < scores[6]
    labelled = {f"P{i}" for i in range(25)}
    assert labelled.isdisjoint(alert.row for alert in facts.alerts)


@pytest.mark.parametrize("policy", [FalseAlarmRate(1e-6), FalseDiscoveryRate(1e-6)])
def test_without_a_threshold_the_page_says_that_there_are_no_alerts_and_why(fit, policy):
    facts = facts_by(fit, policy)
    assert facts.threshold == np.inf
    words = check(make_fit_page(facts))
    assert f"No row of the table is an alert ({policy.in_words()})." in words
    assert "no row can be an alert: the false" in words
    for untold in ("unknown", "threshold", "no alert ", "score above"):
        assert untold not in words
    assert len(facts.alerts) == N_ALERTS


def test_numbers_are_those_of_the_model(fit):
    model, facts = fit.model, facts_by(fit, FalseAlarmRate(0.01))
    assert (facts.n_rows, facts.n_labelled) == (1500, 25)
    assert len(facts.labelled) == 25
    assert facts.labelled_unseen == (model.method == "deviation ensemble")
    np.testing.assert_array_equal(facts.unlabelled, model.calibration_.unlabelled)
    scores = facts.unlabelled[:9]
    np.testing.assert_array_equal(facts.nominal(scores), model.detector_.nominal_p_value(scores))
    scored = model.score(fit.table)
    for alert in facts.alerts[:3]:
        row = int(alert.row[1:])
        assert alert.score == scored["anomaly_score"][row].as_py()
        assert alert.p_value == scored["p_value"][row].as_py()
        (why,) = model.explain(fit.table, [row])
        assert [one.text for one in alert.reasons] == [one.text for one in why.reasons]
        assert alert.nearest == why.nearest
    words = check(make_fit_page(facts))
    highest = facts.alerts[0]
    reason = highest.reasons[0]
    words_of_reason = escape(reason.text.rpartition(": ")[0]).replace("&#x27;", "&#39;")
    assert f"{highest.row} score {score_text(highest.score)} as high: 1 in" in words
    assert f"{words_of_reason} {contribution_text(reason.contribution)}" in words
    assert "rows 1,500 labelled, fraud = 1 25 columns used 3 of 4" in words


def test_a_table_in_memory_is_called_the_table(ensemble, tmp_path):
    ensemble.model.policy = FalseAlarmRate(0.01)
    frame = pd.DataFrame(ensemble.table)
    facts = fit_facts(ensemble.model, frame)
    assert facts.table == "the table"
    assert "What stands out in the table" in check(make_fit_page(facts))
    path = tmp_path / "payments.csv"
    pyarrow.csv.write_csv(pa.table(ensemble.table), path)
    assert fit_facts(ensemble.model, path).table == path.name


def test_rows_are_counted_while_they_are_scored(ensemble):
    for policy, n_passes in ((FalseAlarmRate(0.01), 1), (Budget(7), 2)):
        counts = []
        ensemble.model.policy = policy
        fit_facts(ensemble.model, ensemble.table, on_rows=counts.append)
        assert counts.count(1500) == n_passes


def test_more_labelled_anomalies_than_are_kept_are_all_counted():
    table = make_table(4000, 1400, 1200)
    model = TableModel("logistic regression", random_state=0).fit(table, "fraud")
    facts = fit_facts(model, table)
    assert (facts.n_labelled, len(facts.labelled)) == (1200, MAX_PROFILES)
    words = check(make_fit_page(facts))
    assert "learned from 1,200 labelled anomalies what" in words
    assert "1,000 of 1,200 labelled anomalies" in words
