"""The file of claims is complete and can be answered; a wrong one gets a sentence."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from devnet.detectors.methods import METHODS
from devnet.experiments.cells import RANKING
from devnet.experiments.claim_evidence import Evidence
from devnet.experiments.claim_queries import NEEDS_NO_RUNS, NO_QUERY
from devnet.experiments.claims import read_claims
from devnet.experiments.measures import LEVELS
from devnet.experiments.plan import experiment_names, read_experiments
from devnet.experiments.results import RunRecord
from devnet.experiments.verdicts import check

FOLDER = Path(__file__).parents[2] / "experiments"
CLAIMS = read_claims(FOLDER)
GOOD = """
[[claim]]
id = "one"
section = "Abstract"
claim = "DevNet is better than iForest"
published = "better"
experiment = "effectiveness"
query = "improvement"
ask = { method = "DevNet", over = ["iForest"] }
holds_at = 10
refuted_at = 0
refuted_by = "an interval that reaches 0%"
"""


def test_every_section_with_results_has_claims():
    sections = dict.fromkeys(claim.section for claim in CLAIMS)
    assert list(sections) == [
        "Abstract",
        "1 Introduction",
        "3 Framework",
        "4 Deviation networks",
        "5.1 to 5.3 Settings",
        "5.5 Effectiveness",
        "5.6 Data efficiency",
        "5.7 Contamination",
        "5.8 Ablation",
        "5.9 Scalability",
        "6 Conclusions",
        "A.1 Data",
        "A.2 Implementation",
        "Questions of our own",
    ]
    assert len(CLAIMS) >= 30
    own = {claim.section for claim in CLAIMS if claim.own}
    assert own == {"Questions of our own"}
    assert all(claim.own for claim in CLAIMS if claim.section in own)


@pytest.mark.parametrize(
    "number",
    ["3%", "9%", "22%", "29%", "21%", "118%", "113%", "309%"]  # Table 1
    + ["75%", "83%", "88%", "400%", "200%", "28%", "336%", "800%", "600%"]  # figures 3 and 4
    + ["1%", "16%", "6%", "30%", "10 to 20", "0.08%", "0.005%", "8 of 9", "9 of 9"],
)
def test_every_number_in_the_paper_s_text_has_a_claim(number):
    assert any(re.search(rf"(?<![\d.]){re.escape(number)}", claim.published) for claim in CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_claim_can_be_answered_by_an_experiment(claim):
    if claim.query == NO_QUERY:
        assert claim.reason
        return
    if claim.query in NEEDS_NO_RUNS:
        return
    experiments = {one.name: one for one in read_experiments(FOLDER)}
    assert claim.experiment in experiments
    other = claim.ask.get("over_experiment")
    assert other is None or other in experiments
    sets = experiments[claim.experiment].datasets
    assert set(claim.ask.get("datasets", [])) <= set(sets)
    assert {dataset for _, dataset in claim.ask.get("cases", [])} <= set(sets)
    methods = experiments[claim.experiment].methods
    setting = claim.ask.get("setting", "")
    assert not setting or any(name.startswith(f"{setting} ") for name in methods)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_what_refutes_a_claim_is_the_number_that_its_verdict_uses(claim):
    if claim.query != NO_QUERY:
        numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", claim.refuted_by)]
        assert abs(claim.refuted_at) in numbers
    assert not claim.claim.endswith(".")


def made_up(experiment):
    """A finished line for every planned run, with all methods that claims may be about."""
    methods = {name: {"method": name} for name in METHODS}
    full = replace(experiment, methods=methods | experiment.methods, fewer=[], runs=2)
    generator = np.random.default_rng(0)
    metrics = [*RANKING, *(f"normal beyond {level}" for level in LEVELS)]
    metrics += [f"{metric}, this kind" for metric in RANKING]
    return full, [
        RunRecord(
            **run._asdict(),
            metrics=dict(zip(metrics, generator.random(len(metrics)), strict=True)),
            seconds={"fit": generator.random(), "score": generator.random(), "total": 2.0},
            peak_memory_mb=1.0,
            error="",
            description="",
            versions={"devnet": "0"},
            data={"likeness": "exact", "n_rows": 900, "n_columns": 3, "n_anomalies": 50},
        )
        for run in full.plan()
    ]


def test_every_claim_is_answered_once_its_runs_are_there():
    asked = {claim.experiment for claim in CLAIMS} - {""}
    experiments = [one for one in read_experiments(FOLDER) if one.name in asked]
    evidence = Evidence([made_up(one) for one in experiments])
    for checked in check(CLAIMS, evidence):
        if checked.claim.query != NO_QUERY:
            assert checked.answer is not None, checked.claim.id
            assert checked.answer.low <= checked.answer.value <= checked.answer.high
            assert "nan" not in checked.ours


def test_the_file_of_claims_is_not_an_experiment():
    assert "claims" not in experiment_names(FOLDER)


def wrong(tmp_path, text):
    (tmp_path / "claims.toml").write_text(text)
    with pytest.raises(ValueError, match="claim") as caught:
        read_claims(tmp_path)
    return str(caught.value)


def test_a_good_file_is_read(tmp_path):
    (tmp_path / "claims.toml").write_text(GOOD)
    assert [claim.id for claim in read_claims(tmp_path)] == ["one"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("improvement", "improvment"), "Did you mean 'improvement'?"),
        (("over =", "ovr ="), "unknown word of the query 'improvement' 'ovr'"),
        ((', over = ["iForest"]', ""), "also needs over"),
        (('section = "Abstract"', ""), "section must be given"),
        (("refuted_at = 0", ""), "refuted_at must be given"),
        (("refuted_at = 0", "refuted_at = 20"), "holds at 10 and is refuted at 20"),
        (("published", "publishd"), "Did you mean 'published'?"),
        (('query = "improvement"', 'query = "none"'), "must say why"),
        (('experiment = "effectiveness"', ""), "experiment must be given"),
        (("holds_at", "better = 'more'\nholds_at"), "unknown value of better 'more'"),
    ],
)
def test_a_wrong_claim_gets_a_sentence(tmp_path, change, sentence):
    said = wrong(tmp_path, GOOD.replace(*change))
    assert sentence in said
    assert said.startswith("claim 'one' of ")


def test_wrong_files_of_claims_get_a_sentence(tmp_path):
    assert "has more than one claim 'one'" in wrong(tmp_path, GOOD + GOOD)
    assert "is not a file of claims" in wrong(tmp_path, "[[claim")
    (tmp_path / "claims.toml").unlink()
    with pytest.raises(ValueError, match=r"looked for claims\.toml there"):
        read_claims(tmp_path)
