"""Small experiments, and runs that never ran, for tests of experiments and their pages."""

from dataclasses import replace

import numpy as np

from devnet import __version__
from devnet.experiments.plan import Experiment
from devnet.experiments.results import RunRecord
from devnet.experiments.workers import Answer

FILE = """
title = "Quick"
question = "Does it run?"
measure = "ranking"
runs = 2
datasets = ["thyroid", "campaign"]

[[grid]]
n_labelled = [5]

[methods]
quick = { method = "DevNet", n_epochs = 2 }
"""


SETTINGS = {"n_labelled": 30}


def record(seed=0, *, error="", version=__version__, **metrics):
    return RunRecord(
        measure="ranking",
        dataset="thyroid",
        method="DevNet",
        parameters={"method": "DevNet"},
        seed=seed,
        settings={"n_labelled": 30},
        metrics=metrics or {"AUC-PR": 0.1 + seed},
        seconds={"total": 1.0},
        peak_memory_mb=1.0,
        error=error,
        description="",
        versions={"devnet": version},
    )


def experiment(**changes):
    values = {
        "name": "made",
        "title": "Made",
        "question": "?",
        "measure": "ranking",
        "runs": 2,
        "grid": [{"n_labelled": [30]}],
        "methods": {name: {"method": "DevNet"} for name in ("Def", "Rep", "Linear", "3HL")},
        "paper": "Table 2",
    }
    return Experiment(**(values | changes))


def runs(dataset, method, values, metric="AUC-PR", settings=SETTINGS, **changes):
    """One run a value; the other metric is the same."""
    both = dict.fromkeys(("AUC-ROC", "AUC-PR"), 0.5)
    return [
        replace(
            record(seed, **(both | {metric: value})),
            dataset=dataset,
            method=method,
            settings=settings,
            **changes,
        )
        for seed, value in enumerate(values)
    ]


def make_sets(folder):
    generator = np.random.default_rng(0)
    y = (np.arange(600) < 60).astype(int)
    rows = generator.random((600, 4)) + y[:, None]
    table = np.column_stack([rows, y])
    header = "a,b,c,d,class"
    path = folder / "annthyroid_21feat_normalised.csv"
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.6f")
    np.savez(folder / "campaign.npz", X=rows.astype(np.float32), y=y)


class NoWorkers:
    """Does the jobs of `Workers` at once and in this process: a process takes seconds to start."""

    def __init__(self, size, *, fresh=False):
        self.n_free = size
        self._answers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def start(self, label, function, *arguments):
        try:
            answer = Answer(label, function(*arguments), "")
        except Exception as error:
            answer = Answer(label, None, f"{type(error).__name__}: {error}")
        self._answers.append(answer)
        self.n_free -= 1

    def answers(self):
        answers, self._answers = self._answers, []
        self.n_free += len(answers)
        return answers
