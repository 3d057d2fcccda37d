"""Claims get the verdict that the runs give them, whatever the paper says."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support.experiments import experiment, runs

from devnet.datasets.catalogue import DATASETS
from devnet.experiments.cells import Cells
from devnet.experiments.claim_evidence import Evidence
from devnet.experiments.claims import Claim
from devnet.experiments.published import TABLE_1
from devnet.experiments.runtime_results import growth_of
from devnet.experiments.verdicts import Verdict, check, claim_tables, tally_text

METHODS = ["DevNet", "REPEN", "DSVDD", "FSNet", "iForest"]
CLAIM = Claim(
    id="one",
    section="5.5 Effectiveness",
    claim="AUC-PR is 118% better than REPEN's",
    published="118%",
    refuted_by="an interval that reaches 0%",
    experiment="made",
    query="improvement",
    ask={"method": "DevNet", "over": ["REPEN"]},
    holds_at=118,
    refuted_at=0,
)
table_1 = partial(
    experiment, paper="Table 1", methods={name: {"method": "DevNet"} for name in METHODS}
)


def as_published(change=lambda dataset, method, value: value, **changes):
    return [
        one
        for dataset, row in TABLE_1.items()
        for method, figures in row.items()
        for one in runs(dataset, method, [change(dataset, method, figures[2])] * 2, **changes)
    ]


def checked(claim, records, made=None):
    (found,) = check([claim], Evidence([(made or table_1(), records)]))
    return found


def test_the_paper_s_own_figures_bear_out_the_paper():
    found = checked(CLAIM, as_published())
    assert found.verdict is Verdict.HOLDS
    assert found.answer.value == pytest.approx(118, abs=0.5)
    assert found.answer.paper == found.answer.value
    assert (found.ours, found.published) == ("118%", "118%")


@pytest.mark.parametrize(
    ("rival", "verdict"),
    [(0.5, Verdict.HOLDS), (1.5, Verdict.PARTLY), (2.5, Verdict.FAILS)],
)
def test_a_better_rival_leaves_less_of_a_claim(rival, verdict):
    def change(dataset, method, value):
        return value * rival if method == "REPEN" else value

    assert checked(CLAIM, as_published(change)).verdict is verdict


def test_what_the_runs_do_not_show_does_not_hold():
    pairs = {"DevNet": [0.1, 0.9], "REPEN": [0.45, 0.45]}  # ahead on average, by chance
    records = [one for name, values in pairs.items() for one in runs("thyroid", name, values)]
    claim = replace(CLAIM, ask=CLAIM.ask | {"datasets": ["thyroid"]})
    found = checked(claim, records)
    assert found.answer.value > 0 > found.answer.low
    assert found.verdict is Verdict.FAILS


def test_a_number_below_the_published_one_holds_if_its_interval_reaches_it():
    values = {"DevNet": [0.3, 0.4], "REPEN": [0.1, 0.1]}  # 250%, from 200% to 300%
    records = [one for name, found in values.items() for one in runs("synthetic", name, found)]
    made = experiment(paper="", datasets=["synthetic"], methods={n: {} for n in values})
    for published, verdict in ((290, Verdict.HOLDS), (310, Verdict.PARTLY)):
        records = [replace(one, parameters={}) for one in records]
        assert checked(replace(CLAIM, holds_at=published), records, made).verdict is verdict


def test_intervals_are_those_of_paired_runs_and_the_same_each_time():
    values = np.linspace(0.2, 0.6, 10)  # splits differ, but DevNet is always twice as good
    records = [*runs("thyroid", "DevNet", 2 * values), *runs("thyroid", "REPEN", values)]
    claim = replace(CLAIM, ask=CLAIM.ask | {"datasets": ["thyroid"]})
    made = table_1(runs=10)
    found = checked(claim, records, made)
    assert (found.answer.low, found.answer.high) == pytest.approx((100, 100))
    noisy = [*runs("thyroid", "DevNet", 2 * values[::-1]), *runs("thyroid", "REPEN", values)]
    first, second = (checked(claim, noisy, made).answer for _ in range(2))
    assert first.low < 60 < 150 < first.high
    assert (first.low, first.high) == (second.low, second.high)


def test_sets_that_stand_in_for_the_paper_s_do_not_count():
    def change(dataset, method, value):
        return 0.9 if (dataset, method) == ("URL", "REPEN") else value

    records = [
        replace(one, data={"likeness": "substitute" if one.dataset == "URL" else "exact"})
        for one in as_published(change)
    ]
    without = checked(CLAIM, records)
    assert without.answer.n_sets == 8
    assert without.published == "118%; 98% on these 8 sets"
    assert without.verdict is Verdict.HOLDS
    everything = replace(CLAIM, ask=CLAIM.ask | {"substitutes": True})
    assert checked(everything, records).verdict is Verdict.PARTLY
    alike = f"without URL {without.ours}"
    assert checked(everything, records).remark == alike
    alone = replace(CLAIM, ask=CLAIM.ask | {"datasets": ["URL"]})
    found = checked(alone, records)
    assert found.verdict is Verdict.UNTESTABLE
    assert found.remark == "our URL stands in for the paper's"


def test_missing_runs_are_not_measured_yet_and_the_command_is_told():
    one_run = [one for one in as_published() if one.seed == 0]  # of the two that are planned
    only_devnet = [one for one in as_published() if one.method == "DevNet"]
    for records in ([], only_devnet, as_published()[:-10], one_run):
        found = checked(CLAIM, records)
        assert found.verdict is Verdict.NOT_MEASURED
        assert found.remark == "devnet experiment run made"
        assert found.ours == "-"
    elsewhere = replace(CLAIM, experiment="not yet a file")
    assert checked(elsewhere, as_published()).verdict is Verdict.NOT_MEASURED


def test_sets_without_planned_runs_are_left_out_and_told():
    fewer = [{"datasets": ["URL"], "methods": ["REPEN"], "runs": 0, "reason": "too large"}]
    records = [one for one in as_published() if (one.dataset, one.method) != ("URL", "REPEN")]
    found = checked(CLAIM, records, table_1(fewer=fewer))
    assert found.answer.n_sets == 8
    assert found.remark == "no runs of URL"


def test_failed_runs_are_not_measured():
    records = [replace(one, error="no") for one in as_published()]
    assert checked(CLAIM, records).verdict is Verdict.NOT_MEASURED


def test_a_claim_without_a_query_cannot_be_tested():
    claim = replace(CLAIM, query="none", reason="it is about another machine")
    found = checked(claim, as_published())
    assert (found.verdict, found.remark) == (Verdict.UNTESTABLE, "it is about another machine")


def test_wins_are_compared_with_those_of_the_paper_on_the_same_sets():
    claim = replace(
        CLAIM, query="wins", ask={"method": "DevNet", "over": METHODS[1:]}, published="9 of 9"
    )
    found = checked(claim, as_published())
    assert (found.ours, found.published, found.verdict) == ("9 of 9", "9 of 9", Verdict.HOLDS)
    records = [replace(one, data={"likeness": "exact"}) for one in as_published()]
    fewer = replace(claim, ask=claim.ask | {"datasets": ["thyroid", "fraud"]})
    assert checked(fewer, records).published == "9 of 9; 2 of these 2"


def test_a_test_of_significance_is_its_own_interval():
    words = {"method": "DevNet", "over": METHODS[1:]}
    claim = replace(CLAIM, query="p-value", ask=words, better="lower", holds_at=0.01)
    claim = replace(claim, refuted_at=0.05)
    found = checked(claim, as_published())
    assert (found.ours, found.verdict) == ("p = 0.004", Verdict.HOLDS)
    assert found.remark.startswith("REPEN p = 0.004, DSVDD p = 0.004")


def test_several_methods_are_significantly_better_if_each_is():
    words = {"methods": ["DevNet", "DSVDD"], "over": ["iForest"]}
    claim = replace(CLAIM, query="p-values", ask=words, better="lower", holds_at=0.01)
    found = checked(replace(claim, refuted_at=0.05), as_published())
    assert (found.ours, found.verdict) == ("p = 0.004", Verdict.HOLDS)
    assert found.remark == "DevNet p = 0.004, DSVDD p = 0.004"


def test_other_methods_may_be_those_of_another_experiment():
    other = table_1(name="other")
    ablation = experiment(name="ablation", paper="Table 2")
    words = {"method": "Rep", "over": ["DSVDD"], "over_experiment": "other"}
    claim = replace(CLAIM, experiment="ablation", ask=words)
    rep = [one for dataset in TABLE_1 for one in runs(dataset, "Rep", [0.55, 0.55])]
    (found,) = check([claim], Evidence([(ablation, rep), (other, as_published())]))
    assert found.answer.value == pytest.approx(100 * (0.55 / 0.4733 - 1), abs=0.1)
    assert found.answer.paper == pytest.approx(16, abs=0.5)  # as the paper says


def runtime(seconds, sizes=(1000, 2000, 4000)):
    grid = [{"n_rows": list(sizes), "n_columns": [7]}]
    methods = {name: {"method": "DevNet"} for name in seconds}
    made = experiment(
        measure="runtime", paper="", grid=grid, datasets=["synthetic"], methods=methods
    )
    records = [
        replace(one, seconds={"fit": of(s["n_rows"]), "score": 0.0, "total": 9.0})
        for name, of in seconds.items()
        for s in made.settings
        for one in runs("synthetic", name, [0, 0], settings=s, measure="runtime")
    ]
    return made, records


def test_times_are_those_of_training_and_scoring():
    made, records = runtime({"DevNet": lambda n: n / 1000, "REPEN": lambda n: n / 50})
    words = {"metric": "seconds", "growing": "n_rows"}
    claim = replace(CLAIM, query="seconds", ask=CLAIM.ask | words, holds_at=10, refuted_at=1)
    assert checked(claim, records, made).ours == "20 times"
    words = {"methods": ["DevNet"], "growing": "n_rows"}
    claim = replace(claim, query="exponent", ask=words, better="lower", holds_at=1, refuted_at=1.2)
    assert checked(claim, records, made).ours == "1.00"


def test_an_exponent_is_the_table_s_of_the_steepest_method():
    """Below 40 rows fixed costs hide growth, so only the larger half of the sizes counts."""
    hidden = {"DevNet": lambda n: max(n, 40) / 1000, "REPEN": lambda n: n**2 / 1000}
    made, records = runtime(hidden, [10, 20, 40, 80, 160])
    ask = {"methods": ["DevNet"], "growing": "n_rows"}
    words = {"query": "exponent", "better": "lower", "holds_at": 1, "refuted_at": 1.2}
    claim = replace(CLAIM, ask=ask, **words)
    found = checked(claim, records, made)
    assert (found.answer.low, found.answer.value, found.answer.high) == pytest.approx((1, 1, 1))
    slope = growth_of(Cells(made, records), "DevNet", "both", "n_rows")
    assert slope == (found.answer.value, found.answer.low, found.answer.high)
    both = checked(replace(claim, ask=ask | {"methods": ["DevNet", "REPEN"]}), records, made)
    assert both.answer.value == pytest.approx(2)
    assert both.remark == "DevNet 1.00, REPEN 2.00"
    unknown = replace(claim, ask=ask | {"methods": ["FSNet"]})
    for missing in (checked(unknown, records, made), checked(claim, records[1:], made)):
        assert missing.verdict is Verdict.NOT_MEASURED
        assert missing.remark == "devnet experiment run made"


def test_the_upper_tail_is_half_of_both():
    claim = replace(
        CLAIM, query="upper tail", experiment="", ask={"deviation": 1.959964}, better="lower"
    )
    found = checked(replace(claim, holds_at=0.05, refuted_at=0.1), [])
    assert found.answer.value == pytest.approx(0.025)
    assert found.remark == "0.05 is of both tails"


def sensitivity(auc_pr):
    """One method for each value of the margin, with its AUC-PR by set; the default comes first."""
    methods = {
        f"margin {m:g}" if i else "DevNet": {"method": "DevNet"} | ({"margin": m} if i else {})
        for i, m in enumerate(auc_pr)
    }
    made = experiment(paper="", datasets=["thyroid", "fraud"], methods=methods)
    return made, [
        replace(one, parameters=methods[name])
        for name, values in zip(methods, auc_pr.values(), strict=True)
        for dataset, value in zip(made.datasets, values, strict=True)
        for one in runs(dataset, name, [value, value])
    ]


MARGINS = {5.0: (0.5, 0.5), 1.0: (0.54, 0.46), 7.0: (0.51, 0.51), 50.0: (0.1, 0.9)}


def test_the_largest_change_over_a_grid_counts_ups_and_downs():
    made, records = sensitivity(MARGINS)
    words = {"setting": "margin", "default": 5.0, "most": 10.0}
    claim = replace(
        CLAIM, query="largest change", ask=words, better="lower", holds_at=0.02, refuted_at=0.05
    )
    found = checked(claim, records, made)
    assert found.answer.value == pytest.approx(0.04)
    assert found.remark == "largest at 1: thyroid +0.040, fraud -0.040"
    assert found.verdict is Verdict.PARTLY
    everything = replace(claim, ask={"setting": "margin", "default": 5.0})
    assert checked(everything, records, made).verdict is Verdict.FAILS
    without_runs = replace(claim, ask={"setting": "learning rate", "default": 0.001})
    assert checked(without_runs, records, made).verdict is Verdict.NOT_MEASURED


def test_the_best_other_value_is_best_on_average():
    made, records = sensitivity(MARGINS | {60.0: (0.9, 0.9)})
    words = {"setting": "margin", "default": 5.0, "most": 55.0}
    claim = replace(CLAIM, query="best other value", ask=words, better="lower", holds_at=-1)
    found = checked(claim, records, made)
    assert found.answer.value == pytest.approx(0.01)
    assert found.remark == "at 7; 1 to 50 tried"


def test_shares_of_data_sets_are_those_of_the_runs_copies():
    sizes = {"likeness": "exact", "n_rows": 1000, "n_columns": 7, "n_anomalies": 60}
    records = as_published(data=sizes)
    claim = replace(CLAIM, query="labelled share", better="lower", holds_at=60, refuted_at=90)
    words = {"n_labelled": 30, "contamination": 0.02}
    of_anomalies = replace(claim, ask=words | {"of": "anomalies"})
    assert checked(of_anomalies, records).answer.value == 50
    of_training = replace(claim, ask=words | {"of": "training"})
    expected = 100 * 30 / (0.8 * 940 / 0.98 + 30)
    assert checked(of_training, records).answer.value == pytest.approx(expected)
    shares = replace(CLAIM, query="anomaly shares", ask={"percent": {"fraud": [5, 7]}})
    assert checked(replace(shares, holds_at=1), records).ours == "1 of 1"
    as_it_was = [
        replace(one, data=sizes | {"n_rows": of.n_rows, "n_columns": of.n_columns})
        for one in records
        for of in [DATASETS[one.dataset]]
    ]
    same = replace(CLAIM, query="sets as in the paper", ask={}, holds_at=1, refuted_at=0.5)
    assert checked(same, as_it_was).ours == "9 of 9"
    assert checked(same, records).verdict is Verdict.FAILS


def test_verdicts_are_counted_in_one_sentence():
    none = replace(CLAIM, query="none", reason="no")
    missing = replace(CLAIM, experiment="other")
    asked = [CLAIM, none, missing, missing, replace(CLAIM, own=True)]  # our own does not count
    found = check(asked, Evidence([(table_1(), as_published())]))
    assert tally_text(found) == (
        "Of 4 claims, 1 holds, 1 cannot be tested here and 2 are not measured yet."
    )
    (table,) = claim_tables(found)
    assert [row[3].text for row in table.rows] == [one.verdict for one in found]


def test_what_follows_is_said_only_where_a_claim_does_not_hold_in_full():
    claim = replace(CLAIM, follows="Less is left.")
    assert checked(claim, as_published()).follows == ""

    def change(dataset, method, value):
        return value * 1.5 if method == "REPEN" else value

    assert checked(claim, as_published(change)).follows == "Less is left."
