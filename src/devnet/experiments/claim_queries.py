"""From a claim's query to an answer: which cells, which statistic, our number and its interval."""

import contextlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from devnet.core.wording import decimals_text
from devnet.experiments import claim_facts as facts
from devnet.experiments import claim_statistics as statistics
from devnet.experiments.claim_evidence import (
    Evidence,
    NotPublishedError,
    NotTestableError,
    Place,
    interval,
)
from devnet.experiments.claim_statistics import At, Scope

SCOPE = {  # what every query may say about its cells
    "metric": "AUC-PR, AUC-ROC or another result of a run",
    "datasets": "only these sets",
    "without": "without these sets",
    "where": "only settings with these values",
    "growing": "only the settings along which this one grows",
    "substitutes": "whether sets that stand in for the paper's count",
    "over_experiment": "the experiment of the other methods, if it is another one",
}
NO_QUERY = "none"  # of claims that cannot be tested
NEEDS_NO_RUNS = ("upper tail",)


class Form(NamedTuple):
    """How numbers of a query are written."""

    write: Callable[[float], str]
    is_share: bool = False  # of `out_of` things, shown as a count


class Query(NamedTuple):
    """A word of the vocabulary."""

    statistic: Callable[..., np.ndarray]
    form: Form
    of: str = "mean"  # of a cell's runs: mean, median or spread
    has_rivals: bool = False  # the answer tells the number for each of several other methods
    is_sized: bool = False  # a claim is about its size, so the paper's of the same sets is the goal


class Answer(NamedTuple):
    """Our number."""

    value: float
    low: float
    high: float
    paper: float | None  # what the paper's own table says of the same data sets
    form: Form
    out_of: int = 0  # things, if the number is a share of them
    detail: str = ""  # such as the number for each rival
    untestable: str = ""  # why this is not about what the paper says
    n_sets: int = 0

    @property
    def text(self) -> str:
        """The number with its interval."""
        shown, low, high = (self.write(number) for number in (self.value, self.low, self.high))
        if low == high:
            return shown
        return f"{shown} ({low.split(' ')[0]} to {high.split(' ')[0]})"  # the unit once

    def write(self, number: float) -> str:
        """A number of this query in words."""
        if self.form.is_share and self.out_of:
            return f"{round(number * self.out_of)} of {self.out_of}"
        return self.form.write(number)


def _percent(value: float) -> str:
    """With three digits at most."""
    return f"{decimals_text(value, 0 if abs(value) >= 10 else 1 if abs(value) >= 1 else 2)}%"


def _p_text(value: float) -> str:
    if value >= 1:
        return "not ahead"
    return f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"


class _Chosen(NamedTuple):
    scope: Scope
    left_out: list[str]  # sets for which the experiment asks for no runs
    untestable: str  # that all sets stand in for the paper's, if they do


PERCENT = Form(_percent)
SHARE = Form(lambda value: f"{value:.0%}", is_share=True)
P_VALUE = Form(_p_text)
AUC = Form(lambda value: f"{value:+.3f}")
TIMES = Form(lambda value: f"{value:.2g} times" if value < 100 else f"{value:,.0f} times")
EXPONENT = Form(lambda value: decimals_text(value, 2))

QUERIES = {
    "improvement": Query(statistics.improvement, PERCENT, has_rivals=True, is_sized=True),
    "lead": Query(statistics.lead, AUC),
    "wins": Query(statistics.wins, SHARE, is_sized=True),
    "methods ahead": Query(statistics.ahead, SHARE),
    "p-value": Query(statistics.p_value, P_VALUE, has_rivals=True),
    "p-values": Query(statistics.p_values, P_VALUE, has_rivals=True),
    "change": Query(statistics.change, AUC),
    "methods moving": Query(statistics.moving, SHARE),
    "kept": Query(statistics.kept, PERCENT, has_rivals=True),
    "labels saved": Query(statistics.labels_saved, PERCENT),
    "falls": Query(statistics.falls, SHARE),
    "steadier": Query(statistics.steadier, AUC),
    "spread": Query(statistics.ratio, TIMES, of="spread"),
    "highest": Query(statistics.highest, PERCENT),
    "seconds": Query(statistics.ratio, TIMES, of="median", has_rivals=True),
    "slowest": Query(statistics.slowest, TIMES, of="median"),
}
FACTS: dict[str, tuple[Callable[..., facts.Fact], Form]] = {
    "sets as in the paper": (facts.sets_as_published, SHARE),
    "labelled share": (facts.labelled_share, Form(lambda value: f"{value:.2g}%")),
    "anomaly shares": (facts.anomaly_shares, SHARE),
    "largest change": (facts.largest_change, AUC),
    "best other value": (facts.best_other_value, AUC),
    "exponent": (facts.exponent, EXPONENT),
    "upper tail": (facts.upper_tail, Form(lambda value: f"{value:.3g}")),
}


def ask(evidence: Evidence, experiment: str, query: str, words: dict[str, Any]) -> Answer:
    """The answer to a query about an experiment.

    Raises
    ------
    NotMeasuredError
        If runs are missing that it needs.
    NotTestableError
        If no runs could answer it.
    """
    if query in FACTS:
        find, form = FACTS[query]
        found = find(evidence, experiment, **words)
        low, high = found.interval or interval(found.numbers)
        return Answer(float(found.numbers[0]), low, high, None, form, found.out_of, found.detail)
    return _measured(evidence, experiment, QUERIES[query], words)


def parameters(query: str) -> tuple[set[str], set[str]]:
    """The words that a query knows, and those that it needs."""
    function = FACTS[query][0] if query in FACTS else QUERIES[query].statistic
    own = {
        name: one.default is one.empty
        for name, one in inspect.signature(function).parameters.items()
        if one.kind is one.KEYWORD_ONLY
    }
    return set(own) | ({*SCOPE} if query in QUERIES else set()), {n for n in own if own[n]}


def _measured(evidence: Evidence, experiment: str, query: Query, words: dict[str, Any]) -> Answer:
    own = {word: value for word, value in words.items() if word not in SCOPE or word == "growing"}
    if "growing" not in inspect.signature(query.statistic).parameters:
        own.pop("growing", None)
    metric = words.get("metric", "AUC-PR")
    scope, left_out, untestable = _scope(evidence, experiment, words)

    def place(dataset: str, settings: dict[str, Any], method: str) -> Place:
        elsewhere = words.get("over_experiment", experiment)
        is_other = method in words.get("over", [])
        return Place(elsewhere if is_other else experiment, dataset, method, settings)

    def ours(*cell: Any) -> np.ndarray:
        found: np.ndarray = getattr(evidence, query.of)(place(*cell), metric)
        return found

    def theirs(*cell: Any) -> np.ndarray:
        return evidence.published(place(*cell), metric)

    numbers = query.statistic(ours, scope, **own)
    low, high = interval(numbers)
    paper = None
    if query.is_sized:
        with contextlib.suppress(NotPublishedError):
            paper = float(query.statistic(theirs, scope, **own)[0])
    details = [_by_rival(query, ours, scope, own)] if query.has_rivals else []
    details += [_without_stand_ins(evidence, experiment, query, ours, scope, own)]
    details += [f"no runs of {', '.join(left_out)}"] if left_out else []
    return Answer(
        float(numbers[0]),
        low,
        high,
        paper,
        query.form,
        _out_of(scope, own),
        "; ".join(filter(None, details)),
        untestable,
        len(scope.datasets),
    )


def _scope(evidence: Evidence, experiment: str, words: dict[str, Any]) -> _Chosen:
    """The cells that the words of a query choose."""
    plan = evidence.experiment(experiment)
    settings = dict(plan.growths())[words["growing"]] if "growing" in words else plan.settings
    where = words.get("where", {})
    settings = [s for s in settings if where.items() <= s.items()]
    if not settings:
        raise NotTestableError(f"{experiment} has no runs with {where}")
    wanted = set(words.get("datasets", plan.datasets)) - set(words.get("without", []))
    cells = [(s, method) for s in settings for method in _methods(words)]
    left_out: list[str] = []
    datasets: list[str] = []
    for dataset in plan.datasets:
        if dataset in wanted:
            absent = any(evidence.is_left_out(Place(experiment, dataset, m, s)) for s, m in cells)
            (left_out if absent else datasets).append(dataset)
    if not datasets:
        raise NotTestableError(f"{experiment} has no runs of {', '.join(sorted(wanted))}")
    same = [name for name in datasets if not evidence.cells(experiment).is_substitute(name)]
    untestable = "" if same else f"our {' and '.join(datasets)} stands in for the paper's"
    if words.get("substitutes"):
        return _Chosen(Scope(datasets, settings), left_out, "")
    return _Chosen(Scope(same or datasets, settings), left_out, untestable)


def _methods(words: dict[str, Any]) -> list[str]:
    """All methods that a query names."""
    named = [words.get("method", []), words.get("methods", []), words.get("over", [])]
    named += [[case[0] for case in words.get("cases", [])]]
    return [one for given in named for one in ([given] if isinstance(given, str) else given)]


def _by_rival(query: Query, at: At, scope: Scope, words: dict[str, Any]) -> str:
    """The number for each of several other methods, or for each method."""
    word = "methods" if "methods" in words else "over"
    if len(words.get(word, [])) < 2:
        return ""
    found = {
        name: query.statistic(at, scope, **(words | {word: [name]}))[0] for name in words[word]
    }
    return ", ".join(f"{name} {query.form.write(value)}" for name, value in found.items())


def _without_stand_ins(
    evidence: Evidence,
    experiment: str,
    query: Query,
    at: At,
    scope: Scope,
    words: dict[str, Any],
) -> str:
    """A percentage without the sets that stand in for the paper's, if it counts some."""
    cells = evidence.cells(experiment)
    others = [name for name in scope.datasets if cells.is_substitute(name)]
    same = [name for name in scope.datasets if name not in others]
    if query.form is not PERCENT or not (others and same):
        return ""
    value = query.statistic(at, Scope(same, scope.settings), **words)[0]
    return f"without {' and '.join(others)} {query.form.write(value)}"


def _out_of(scope: Scope, words: dict[str, Any]) -> int:
    """How many things a share is of: cases, methods, settings or cells."""
    if "cases" in words:
        return sum(case[1] in scope.datasets for case in words["cases"])
    if "methods" in words:
        return len(words["methods"])
    n_settings = len(scope.settings)
    return n_settings if words.get("by") == "setting" else n_settings * len(scope.datasets)
