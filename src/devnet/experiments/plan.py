"""An experiment as a small TOML file, and the runs that it asks for.

Reading one imports nothing that it names: a file may come from elsewhere.
"""

import inspect
import itertools
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from devnet.core.names import known
from devnet.core.parameters import check_parameters
from devnet.core.sentence import Setting, UserError
from devnet.datasets.catalogue import DATASETS
from devnet.datasets.image_sets import IMAGE_SETS
from devnet.datasets.raw_tables import RAW_TABLES
from devnet.datasets.raw_texts import RAW_TEXTS
from devnet.datasets.signal_sets import SIGNAL_SETS
from devnet.detectors.methods import METHODS, find_method
from devnet.detectors.own_estimator import check_path
from devnet.experiments.measures import MEASURES
from devnet.experiments.variations import Variation, decoded, vary

CLAIMS = "claims.toml"  # in the folder of experiments: what they are to answer
SYNTHETIC = "synthetic"  # for measures that make their own rows
OTHER_SETS: dict[str, Iterable[str]] = {
    "runtime": [SYNTHETIC],
    "raw tables": RAW_TABLES,
    "text": RAW_TEXTS,
    "images": IMAGE_SETS,
    "sequences": SIGNAL_SETS,
    "events": SIGNAL_SETS,
}
FIELDS = {
    "title": (str, "a text"),
    "question": (str, "a text"),
    "measure": (str, "a text"),
    "runs": (int, "a number of runs"),
    "grid": (list, "tables of settings: [[grid]]"),
    "datasets": (list, "a list of names"),
    "methods": (dict, "a list of names, or a table of methods"),
    "paper": (str, "a text"),
    "order": (int, "a number"),
    "notes": (list, "a list of texts"),
    "in_parallel": (bool, "true or false"),
    "fewer": (list, "tables: [[fewer]]"),
    "vary": (list, "tables: [[vary]]"),
    "remark": (str, "a text"),
}
REQUIRED = ("title", "question", "measure", "runs", "grid", "datasets", "methods")


class Run(NamedTuple):
    """What identifies a run."""

    measure: str
    dataset: str
    method: str  # what the experiment calls it
    parameters: dict[str, Any]  # the method's name in the registry, and its parameters
    seed: int
    settings: dict[str, Any]  # passed to the measure

    @property
    def key(self) -> str:
        """The same text for the same run."""
        return json.dumps(self, sort_keys=True)


@dataclass(frozen=True)
class Experiment:
    """A file in the folder of experiments.

    Each `grid` is a table of settings with lists of values; all combinations within it are run.
    `methods` lists names of `METHODS` or import paths of estimators, or is a table from a name to
    a method with its parameters. `fewer` lists data sets and methods, at all or some settings, with
    fewer runs, and why. `vary` lists parameters of the only method, with values to try one
    parameter at a time; each makes a method of its own.
    """

    name: str
    title: str
    question: str
    measure: str
    runs: int
    grid: list[dict[str, list[Any]]]
    datasets: list[str] = field(default_factory=lambda: list(DATASETS))
    methods: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {name: {"method": name} for name in METHODS}
    )
    paper: str = ""  # the table or figure of the paper
    order: int = 100  # position in lists and on the page
    notes: list[str] = field(default_factory=list)
    in_parallel: bool = True  # false when time is measured
    fewer: list[dict[str, Any]] = field(default_factory=list)
    vary: list[Variation] = field(default_factory=list)
    remark: str = ""  # with every table and figure

    @property
    def settings(self) -> list[dict[str, Any]]:
        """All combinations in the order of the file, each once."""
        combinations = [
            dict(zip(part, values, strict=True))
            for part in self.grid
            for values in itertools.product(*part.values())
        ]
        return [one for i, one in enumerate(combinations) if one not in combinations[:i]]

    @property
    def varied(self) -> list[str]:
        """The settings with more than one value."""
        names = dict.fromkeys(name for part in self.grid for name in part)
        return [name for name in names if len({repr(one.get(name)) for one in self.settings}) > 1]

    def growths(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """For each timing grid, the setting that grows and its combinations, ascending."""
        found = []
        for part in self.grid:
            growing = next(name for name, values in part.items() if len(values) > 1)
            inside = [s for s in self.settings if all(s[name] in part[name] for name in part)]
            found.append((growing, sorted(inside, key=itemgetter(growing))))
        return found

    def n_runs(self, dataset: str, method: str, settings: dict[str, Any]) -> int:
        """The number of runs that the file asks for."""
        caps: list[int] = [
            part["runs"]
            for part in self.fewer
            if dataset in part["datasets"]
            and method in part.get("methods", self.methods)
            and all(settings[name] in values for name, values in part.get("settings", {}).items())
        ]
        return min([self.runs, *caps])

    def plan(
        self,
        datasets: Iterable[str] = (),
        methods: Iterable[str] = (),
        runs: int | None = None,
    ) -> list[Run]:
        """All runs, or only those of some data sets, methods or first seeds."""
        datasets = [known(name, self.datasets, "data set") for name in datasets] or self.datasets
        methods = [known(name, self.methods, "method") for name in methods] or list(self.methods)
        if runs is not None and runs < 1:
            raise ValueError(f"runs={runs}: at least one run is needed.")
        return [
            Run(self.measure, dataset, method, self.methods[method], seed, settings)
            for dataset in datasets
            for settings in self.settings
            for method in methods
            for seed in range(min(runs or self.runs, self.n_runs(dataset, method, settings)))
        ]


def read_experiments(folder: Path) -> list[Experiment]:
    """All experiments of a folder, in order."""
    experiments = [read_experiment(name, folder) for name in experiment_names(folder)]
    return sorted(experiments, key=lambda experiment: (experiment.order, experiment.name))


def experiment_names(folder: Path) -> list[str]:
    """The names of the experiments of a folder."""
    names = sorted(path.stem for path in folder.glob("*.toml") if path.name != CLAIMS)
    if not names:
        raise UserError(
            f"no experiments in {folder.resolve()}: looked for *.toml there. Change to a clone of "
            "the repository, or name another folder with ",
            Setting("folder"),
            ".",
        )
    return names


def read_experiment(name: str, folder: Path) -> Experiment:
    """Read `folder/name.toml` and check it."""
    path = folder / f"{known(name, experiment_names(folder), 'experiment')}.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        content["methods"] = _methods(content.get("methods", list(METHODS)))
        if content.get("vary"):
            (method,) = content["methods"]
            content["vary"], content["methods"] = vary(method, content["vary"])
        experiment = Experiment(name=name, **content)
        _check(experiment)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        reason = str(error).replace("Experiment.__init__() ", "")
        raise ValueError(f"{path} is not an experiment: {reason}") from error
    return experiment


def _methods(given: Any) -> Any:
    """A list of names stands for methods with their default parameters."""
    return {name: {"method": name} for name in given} if isinstance(given, list) else given


def _check(experiment: Experiment) -> None:
    for name, (kind, words) in FIELDS.items():
        value = getattr(experiment, name)
        if type(value) is not kind or (name in REQUIRED and not value):
            raise ValueError(f"{name} = {value!r} must be {words}.")
    known(experiment.measure, MEASURES, "measure")
    sets = OTHER_SETS.get(experiment.measure, DATASETS)
    for dataset in experiment.datasets:
        known(dataset, sets, f"data set of {experiment.measure}")
    for name, method in experiment.methods.items():
        _check_method(name, method)
    _check_grid(experiment)
    for part in experiment.fewer:
        _check_fewer(part, experiment)


def _check_method(name: str, given: Any) -> None:
    if not isinstance(given, dict) or "method" not in given:
        raise ValueError(f'{name} = {given!r} must be a table such as {{ method = "DevNet" }}.')
    parameters = decoded(given)
    path = parameters.pop("method")
    if ":" in path:  # the caller's own estimator, which only a run imports
        check_path(path)
        return
    method = find_method(path)
    for parameter in parameters:
        known(parameter, method().get_params(deep=False), f"parameter of {name}")
    detector = method(**parameters)
    check_parameters(detector, detector._constraints)


def _check_grid(experiment: Experiment) -> None:
    settings = [
        parameter.name
        for parameter in inspect.signature(MEASURES[experiment.measure]).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    for part in experiment.grid:
        if not isinstance(part, dict):
            raise ValueError(f"{part!r} in grid must be a table of settings: [[grid]].")
        for name, values in part.items():
            known(name, settings, "setting")
            if not (isinstance(values, list) and values):
                raise ValueError(f"{name} = {values!r} in grid must be a list of values.")
        n_varied = sum(len(values) > 1 for values in part.values())
        if experiment.measure == "runtime" and n_varied != 1:
            raise ValueError(
                f"{n_varied} settings of a grid vary; exactly one must, to measure how time grows."
            )
    has_table = experiment.paper.startswith("Table") or experiment.measure == "significance"
    has_table = has_table or bool(experiment.vary)
    n_settings = len(experiment.settings)
    if has_table and n_settings > 1:
        raise ValueError(
            f"the grids have {n_settings} combinations of settings; only one is possible."
        )
    if experiment.measure == "ranking" and len(experiment.varied) > 1:
        raise ValueError(f"{' and '.join(experiment.varied)} vary; only one setting may.")


def _check_fewer(part: Any, experiment: Experiment) -> None:
    is_table = isinstance(part, dict) and {"datasets", "runs", "reason"} <= set(part)
    if not is_table or type(part["runs"]) is not int or part["runs"] < 0:
        raise ValueError(f"{part!r} in fewer must have datasets, a number of runs, and a reason.")
    for dataset in part["datasets"]:
        known(dataset, experiment.datasets, "data set in fewer")
    for method in part.get("methods", []):
        known(method, experiment.methods, "method in fewer")
    for name, values in part.get("settings", {}).items():
        known(name, experiment.settings[0], "setting in fewer")
        if not isinstance(values, list):
            raise ValueError(f"{name} = {values!r} in fewer must be a list of values.")
