"""One run on the small sets, for a first look within minutes."""

from dataclasses import replace

from devnet.experiments.plan import Experiment

SMALL = ("thyroid", "campaign", "backdoor", "computers", "jobs")  # seconds a run, for all methods
FIRST_LOOK = "One run on the small sets: a first look."


def first_look(experiment: Experiment) -> Experiment | None:
    """The experiment with one run on its small sets; None if it has none, or measures time."""
    datasets = [name for name in experiment.datasets if name in SMALL]
    if not (datasets and experiment.in_parallel):
        return None
    never = [part for part in experiment.fewer if not part["runs"]]
    return replace(experiment, runs=1, datasets=datasets, fewer=never, remark=FIRST_LOOK)
