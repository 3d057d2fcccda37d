"""All experiments as one self-contained page: tables, figures, environment, differences."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from devnet.core.wording import capitalised, duration_text, join_words
from devnet.experiments.cells import RANKING, Cells, differing_cells, differing_data
from devnet.experiments.claim_evidence import Evidence
from devnet.experiments.claims import Claim
from devnet.experiments.figure import Figure
from devnet.experiments.figures import figures
from devnet.experiments.plan import Experiment
from devnet.experiments.results import RunRecord, computing_seconds
from devnet.experiments.table import ResultTable
from devnet.experiments.tables import tables
from devnet.experiments.verdicts import (
    Checked,
    Verdict,
    check,
    of_the_paper,
    sections,
    tally,
    tally_text,
)
from devnet.experiments.verification import Verification
from devnet.report.charts import chart, legend
from devnet.report.page import render

DIFFERENCES = (
    "Every run has its own split and its own labelled anomalies. Our standard deviations are "
    "larger than the published ones, even with the single split of the authors' script (see "
    "Protocols).",
    "Labels and contamination come from training anomalies only; the authors' script makes "
    "contamination from all anomalies, test rows included. The Protocols experiment shows both.",
    "Where the training anomalies run out, more are made from pairs of them by swapping 5% of the "
    "columns, as that script does; the paper says only that anomalies are added. Contamination has "
    "the shares.",
    "REPEN does at most 100 steps an epoch; its authors' code has no limit.",
    "From 4,096 columns on, forests and gradient boosting learn from 1,000 random projections of a "
    "row; the paper projects URL and news20, and only for iForest.",
    "For sparse rows with more than 4,095 columns, the L2 penalty shrinks a weight only in steps "
    "whose batch has a value in its column.",
    "Duplicate rows of a data set can fall on both sides of a split, as they could in the paper.",
    "The paper's significance level is two-sided; alerts use the upper tail, so 5% lie beyond "
    "1.645 here.",
)


class Section(NamedTuple):
    """One experiment on the page."""

    experiment: Experiment
    n_done: int
    n_planned: int
    seconds: float  # total over the runs that this experiment did itself
    tables: list[ResultTable]
    figures: list[Figure]


class Claims(NamedTuple):
    """The paper's claims on the page."""

    summary: str
    tally: list[tuple[Verdict, int]]
    sections: dict[str, list[Checked]]


class Page(NamedTuple):
    """What the template gets."""

    claims: Claims | None
    sections: list[Section]
    environment: dict[str, str]
    differences: list[str]
    remark: str  # what the reader must know about all results
    verification: Verification | None
    not_repeated: list[str]  # what it does not include
    outdated: list[str]  # of those that have other results now


def make_page(
    results: Sequence[tuple[Experiment, Sequence[RunRecord]]],
    claims: Sequence[Claim] = (),
    *,
    verification: Verification | None = None,
    left_out: Sequence[str] = (),
    outdated: Sequence[str] = (),
) -> str:
    """The page's HTML.

    Parameters
    ----------
    results : sequence of (Experiment, sequence of RunRecord)
        In page order. Experiments without finished runs are left out.
    claims : sequence of Claim
        The paper's, to be checked against the results; the page opens with them.
    verification : Verification, optional
        What running everything again has shown.
    left_out : sequence of str
        Titles of experiments that a first look does not include.
    outdated : sequence of str
        Names of experiments that were run again before their results were made anew.
    """
    made = [_section(*one) for one in results if any(not r.error for r in one[1])]
    records = [record for _, found in results for record in found]
    checked = _claims(check(claims, Evidence(results))) if claims else None
    remark = _shared_remark([one for one, _ in results])
    if left_out:
        remark += f" Left out: {', '.join(left_out)}."
    differences = _differences(results)
    experiments = [section.experiment for section in made]
    not_repeated = _not_repeated(experiments, verification, outdated) if verification else []
    page = Page(
        checked,
        made,
        _environment(records),
        differences,
        remark,
        verification,
        not_repeated,
        list(outdated),
    )
    functions: dict[str, Callable[..., Any]] = {
        "chart": chart,
        "legend": legend,
        "tally": tally,
        "duration": duration_text,
        "capitalised": capitalised,
    }
    return render("experiments.html", page._asdict(), functions)


def _shared_remark(experiments: Sequence[Experiment]) -> str:
    """The remark of all of them; one that is of some only stands with their figures and tables."""
    remarks = {one.remark for one in experiments}
    return remarks.pop() if len(remarks) == 1 else ""


def _not_repeated(
    experiments: Sequence[Experiment], verification: Verification, outdated: Sequence[str]
) -> list[str]:
    """What was not run again: the names of experiments, some with those data sets that are left."""
    found = []
    for one in experiments:
        left = verification.left(one.name, one.datasets)
        if left and one.name not in outdated:
            found.append(one.name if left == one.datasets else f"{one.name} on {join_words(left)}")
    return found


def _claims(checked: Sequence[Checked]) -> Claims:
    return Claims(tally_text(checked), tally(of_the_paper(checked)), sections(checked))


def _section(experiment: Experiment, records: Sequence[RunRecord]) -> Section:
    planned = {run.key for run in experiment.plan()}
    done = [record for record in records if not record.error]
    return Section(
        experiment,
        len(planned & {record.run.key for record in done}),
        len(planned),
        computing_seconds(records),
        tables(experiment, records),
        figures(experiment, records),
    )


def _environment(records: Sequence[RunRecord]) -> dict[str, str]:
    """All versions that occur; usually one of each."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.versions.items():
            found.setdefault(name, set()).add(value)
    return {name: ", ".join(sorted(values)) for name, values in found.items()}


def _differences(results: Sequence[tuple[Experiment, Sequence[RunRecord]]]) -> list[str]:
    """What differs from the paper: our choices, the data, and the results."""
    data = differing_data(record for _, records in results for record in records)
    cells = [
        f"{experiment.paper}: {sentence}."
        for experiment, records in results
        if experiment.paper.startswith("Table")
        for metric in RANKING
        for sentence in differing_cells(Cells(experiment, records), metric)
    ]
    return [*DIFFERENCES, *data, *cells]
