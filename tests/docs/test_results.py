"""What the documents say of results is what the committed lines of results say."""

import re
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from support.documents import DOCUMENTS, README, ROOT, TEXTS

from devnet.cli.main import main
from devnet.experiments.claim_evidence import Evidence
from devnet.experiments.claims import read_claims
from devnet.experiments.plan import read_experiment, read_experiments
from devnet.experiments.protocol import TEST_SHARE
from devnet.experiments.results import read_results
from devnet.experiments.verdicts import Verdict, check, tally_text
from devnet.experiments.verification import read_verification


@cache
def committed(name):
    """The committed results of an experiment."""
    return read_results(ROOT / "experiments" / "results" / f"{name}.jsonl")


def test_table_1_is_that_of_the_committed_results():
    arguments = ["experiment", "table", "effectiveness", "--format", "markdown"]
    folder = ["--folder", str(ROOT / "experiments")]
    done = CliRunner().invoke(main, [*arguments, *folder], catch_exceptions=False)
    assert done.output.strip() in TEXTS["docs/explanation/results.md"]


def test_the_committed_page_is_that_of_the_committed_results(tmp_path):
    page = tmp_path / "report.html"
    folder = ["--folder", str(ROOT / "experiments"), "--output", str(page)]
    CliRunner().invoke(main, ["experiment", "report", *folder], catch_exceptions=False)
    assert page.read_text() == (ROOT / "experiments" / "report.html").read_text()


def test_every_experiment_is_documented_and_whole():
    for experiment in read_experiments(ROOT / "experiments"):
        assert f"| {experiment.name} |" in TEXTS["docs/explanation/results.md"]
        records = committed(experiment.name)
        done = {record.run.key for record in records if not record.error}
        assert done == {run.key for run in experiment.plan()}


@pytest.mark.parametrize(
    "name", ["ablation", "calibration", "contamination", "data_efficiency", "rivals"]
)
def test_fewer_runs_have_a_reason_that_the_committed_lines_bear_out(name):
    experiment = read_experiment(name, ROOT / "experiments")
    n_checked = 0
    for part in experiment.fewer:
        said = [int(seconds) for seconds in re.findall(r"(\d+) s\b", part["reason"])]
        took = [
            record.seconds["total"]
            for record in committed(name)
            if record.dataset in part["datasets"]
            and record.method in part.get("methods", experiment.methods)
            and experiment.n_runs(record.dataset, record.method, record.settings) == part["runs"]
        ]
        if said:
            assert max(said) == round(max(took)), part
            n_checked += 1
    assert n_checked > 0


@pytest.fixture(scope="module")
def checked_claims():
    folder = ROOT / "experiments"
    results = [(one, committed(one.name)) for one in read_experiments(folder)]
    return check(read_claims(folder), Evidence(results))


def test_the_page_of_results_opens_with_the_verdicts():
    opening = TEXTS["docs/explanation/results.md"].split("\n## ")[1].split("\n### ")[0]
    assert opening.startswith("What of the paper stands")
    assert opening.count("\n- ") == opening.count("<!-- claims: ") == 5


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_the_documents_say_of_claims_is_what_the_committed_results_say(
    document, checked_claims
):
    """`<!-- claims: id verdict; id verdict -->` after a sentence names the claims that it is of."""
    assert wrong_about_claims(TEXTS[document], checked_claims) == []


def wrong_about_claims(text, checked):
    """Verdicts, counts and numbers in a text that are not those of the claims it names."""
    by_id = {one.claim.id: one for one in checked}
    wrong = [
        said
        for said in re.findall(r"Of \d+ claims, [^.]*\.", " ".join(text.split()))
        if said != tally_text(checked)
    ]
    for sentence, named in re.findall(r"((?:(?!\n\n|-->).)+?)<!-- claims: (.+?) -->", text, re.S):
        known_numbers = set()
        for one_named in named.split(";"):
            name, _, verdict = " ".join(one_named.split()).partition(" ")
            one = by_id.get(name)
            if one is None or one.verdict != verdict:
                wrong.append(f"{name} {verdict}")
                continue
            known_numbers |= numbers(f"{one.claim.claim} {one.published} {one.ours} {one.remark}")
        wrong += sorted(numbers(sentence) - known_numbers)
    return wrong


def numbers(text):
    return set(re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", text))


def test_wrong_words_about_claims_are_noticed(checked_claims):
    by_id = {one.claim.id: one for one in checked_claims}
    one = by_id["table1-auc-pr-iforest"]
    named = f"<!-- claims: {one.claim.id} {one.verdict} -->"
    assert wrong_about_claims(f"It is {one.ours} better. {named}", checked_claims) == []
    assert wrong_about_claims(f"It is 12345% better. {named}", checked_claims) == ["12345"]
    assert wrong_about_claims("It is so. <!-- claims: no-such holds -->", checked_claims)
    other = next(v for v in Verdict if v != one.verdict)
    assert wrong_about_claims(f"It is so. <!-- claims: {one.claim.id} {other} -->", checked_claims)
    assert wrong_about_claims("Of 2 claims,\n1 holds and 1 does not.", checked_claims)
    assert wrong_about_claims(tally_text(checked_claims), checked_claims) == []


def mean_auc_pr(name, method, **settings):
    """Mean over the data sets of the mean over runs."""
    records = committed(name)
    values = {}
    for record in records:
        if record.method == method and record.settings.items() >= settings.items():
            values.setdefault(record.dataset, []).append(record.metrics["AUC-PR"])
    return sum(sum(runs) / len(runs) for runs in values.values()) / len(values)


@pytest.mark.parametrize("method", ["deviation ensemble", "PU trees", "DevNet"])
def test_the_summary_is_that_of_the_committed_results(method):
    means = (
        mean_auc_pr("effectiveness", method),
        mean_auc_pr("data_efficiency", method, n_labelled=5),
        mean_auc_pr("contamination", method, contamination=0.2),
    )
    row = " | ".join([method, *(f"{mean:.3f}" for mean in means)])
    assert f"| {row} |" in TEXTS["docs/explanation/results.md"]
    assert f"{method} {means[0]:.3f}" in README


def means_of(name):
    """Mean AUC-PR of each cell: {(settings, data set): {method: mean}}."""
    values = {}
    for record in committed(name):
        cell = values.setdefault((repr(record.settings), record.dataset), {})
        cell.setdefault(record.method, []).append(record.metrics["AUC-PR"])
    return {
        place: {method: sum(runs) / len(runs) for method, runs in cell.items()}
        for place, cell in values.items()
    }


def test_averages_over_the_paper_s_own_sets_are_those_of_the_committed_results():
    own = [
        cell
        for (_, dataset), cell in means_of("effectiveness").items()
        if dataset not in ("URL", "news20")  # which stand in for its
    ]
    assert len(own) == 7
    means = [
        f"{sum(cell[method] for cell in own) / 7:.3f}"
        for method in ("deviation ensemble", "PU trees", "DevNet")
    ]
    said = "{}, {} and {}".format(*means)
    for text in (TEXTS["docs/explanation/results.md"], README):
        assert said in " ".join(text.split())


def test_all_sets_on_which_others_are_better_are_named():
    text = TEXTS["docs/explanation/results.md"]
    said = text.split("Where others are better, in AUC-PR:")[1].split("\n\n")[1]
    named = {}  # methods ahead by (experiment, data set)
    for name in ("effectiveness", "data_efficiency", "contamination"):
        for (_, dataset), cell in means_of(name).items():
            ensemble = cell["deviation ensemble"]
            ahead = [m for m, mean in cell.items() if round(mean - ensemble, 3) >= 0.006]
            if ahead:
                named.setdefault((name, dataset), set()).update(ahead)
    networks = {"DevNet", "DSVDD", "FSNet", "REPEN"}
    assert named == {
        ("effectiveness", "fraud"): {"DevNet"},
        ("data_efficiency", "donors"): {"DevNet", "FSNet"},
        ("data_efficiency", "backdoor"): {"DSVDD"},
        ("data_efficiency", "fraud"): {*networks, "PU trees"},
        ("contamination", "donors"): {"DevNet", "FSNet"},
        ("contamination", "fraud"): {*networks, "gradient boosting"},
    }
    for _, dataset in named:
        assert dataset in said
        rows = TEXTS["docs/explanation/limits.md"].split("## Where it loses")[1].split("\n\n")[1]
        assert dataset in rows


def test_the_shares_of_made_anomalies_are_those_of_the_protocol():
    sizes = {record.dataset: record.data for record in committed("effectiveness")}
    lines = TEXTS["docs/explanation/results.md"].splitlines()
    names = next(one for one in lines if one.startswith("| contamination | donors")).split(" | ")
    for contamination in (0.02, 0.05, 0.1, 0.15, 0.2):
        shares = []
        for name in (one.strip(" |") for one in names[1:]):
            n_anomalies = sizes[name]["n_anomalies"]
            n_normal = sizes[name]["n_rows"] - n_anomalies
            n_train = n_normal - round(TEST_SHARE * n_normal)
            n_hidden = round(n_train * contamination / (1 - contamination))
            n_spare = n_anomalies - round(TEST_SHARE * n_anomalies) - 30
            shares.append(f"{100 * max(0, n_hidden - n_spare) / n_hidden:.0f}")
        assert f"| {contamination:.0%} | {' | '.join(shares)} |" in lines
        if contamination in (0.02, 0.2):
            noted = read_experiment("contamination", ROOT / "experiments").notes[1]
            of_sets = {
                name.strip(" |"): share for name, share in zip(names[1:], shares, strict=True)
            }
            for name, share in of_sets.items():
                assert share == "0" or re.search(rf"\b{share}% (of .+? )?on {name}", noted)


def test_what_was_repeated_is_what_the_verification_says():
    found = read_verification(ROOT / "experiments" / "verification.json")
    text = " ".join(TEXTS["docs/explanation/results.md"].split())
    experiments = read_experiments(ROOT / "experiments")
    n_whole = sum(not found.left(one.name, one.datasets) for one in experiments)
    assert f"{n_whole} of the {len(experiments)} experiments were repeated whole" in text
    totals = found.totals
    assert f"{totals['n_equal']:,} of {totals['n_runs']:,} repeated runs are equal" in text


def cells(*values):
    return " | ".join(f"{value:.3f}" for value in values)


@pytest.mark.parametrize("method", ["deviation ensemble", "PU trees", "DevNet"])
def test_what_labels_are_worth_is_that_of_the_committed_results(method):
    by_labels = [mean_auc_pr("data_efficiency", method, n_labelled=n) for n in (5, 15, 30, 60, 120)]
    assert f"| {method} | {cells(*by_labels)} |" in TEXTS["docs/how_to/few_labels.md"]
    by_wrong = [mean_auc_pr("label_mistakes", method, wrong_labels=w) for w in (0.0, 0.1, 0.3)]
    assert f"| {method} | {cells(*by_wrong)} |" in TEXTS["docs/how_to/wrong_labels.md"]


def test_the_range_of_draws_is_that_of_the_committed_results():
    records = committed("data_efficiency")
    text = " ".join(TEXTS["docs/how_to/few_labels.md"].split())
    for dataset, said in (
        ("backdoor", "ten draws of five range from {} to {}, ten of thirty from {} to {}"),
        ("fraud", "on fraud from {} to {}, and from {} to {}"),
    ):
        ends = []
        for n_labelled in (5, 30):
            found = [
                record.metrics["AUC-PR"]
                for record in records
                if (record.dataset, record.method) == (dataset, "deviation ensemble")
                and record.settings["n_labelled"] == n_labelled
            ]
            ends += [f"{end:.2f}".lstrip("0") for end in (min(found), max(found))]
        assert said.format(*ends) in text


def test_what_reviews_find_is_that_of_the_committed_results():
    records = committed("feedback")

    def found(method, n_labelled):
        values = [
            record.metrics["found of 200"]
            for record in records
            if (record.dataset, record.method) == ("thyroid", method)
            and record.settings["n_labelled"] == n_labelled
        ]
        return f"{sum(values) / len(values):.0f}"

    review, kept = "review ensemble", "never fitted again"
    few = " ".join(TEXTS["docs/how_to/few_labels.md"].split())
    assert (
        f"found {found(review, 5)} anomalies when each round taught the next, {found(kept, 5)} "
        in few
    )
    assert f"from no label at all, {found(review, 0)} and {found(kept, 0)} " in few


def test_what_dismissed_rows_teach_is_that_of_the_committed_results():
    normals = " ".join(TEXTS["docs/how_to/known_normals.md"].split())
    for n_labelled, start in ((5, "From five labels"), (0, "From none")):
        known, unlabelled = (
            np.mean([*found_by(method, n_labelled).values()], axis=0)
            for method in ("dismissed rows known", "dismissed rows unlabelled")
        )
        assert (known > unlabelled).all()
        told = (*(f"{one[2]:.0f}" for one in (known, unlabelled)), f"{known[3]:.2f}")
        assert (
            "{} {} anomalies were found instead of {}, AUC-PR {} ".format(start, *told) in normals
        )
        assert f"instead of {unlabelled[3]:.2f}" in normals


def found_by(method, n_labelled):
    """Anomalies found after 50, 100 and 200 reviews, then AUC-PR, by set: means over the runs."""
    runs = {}
    for record in committed("feedback"):
        if (record.method, record.settings["n_labelled"]) == (method, n_labelled):
            found = [record.metrics[f"found of {n}"] for n in (50, 100, 200)]
            runs.setdefault(record.dataset, []).append([*found, record.metrics["AUC-PR"]])
    return {dataset: np.mean(found, axis=0) for dataset, found in runs.items()}


@pytest.mark.parametrize(
    ("rival", "n_sets"),
    [
        ("gradient boosting", 9),
        ("PU trees", 9),
        ("AADForest", 7),
        ("dismissed rows unlabelled", 9),
        ("never fitted again", 9),
    ],
)
def test_reviews_find_more_than_with_any_rival(rival, n_sets):
    found, quality = [], []
    for n_labelled in (5, 0):
        ours, theirs = (found_by(name, n_labelled) for name in ("review ensemble", rival))
        assert len(theirs) == n_sets
        both = [np.mean([of[name] for name in theirs], axis=0) for of in (theirs, ours)]
        assert (both[1] > both[0]).all()
        found += [" / ".join(f"{value:.0f}" for value in one[:3]) for one in both]
        quality += [f"{one[3]:.2f}" for one in both]
    page = TEXTS["docs/how_to/review.md"]
    assert f"| {rival} | {n_sets} | {' | '.join(found)} |" in page
    assert f"| {rival} | {' | '.join(quality)} |" in page
