"""Methods that learn from the same splits, whatever these are made of, and what follows from it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from devnet.core.seeds import draw_seed
from devnet.core.wording import cut
from devnet.experiments.advice import Evaluated, SplitResult, advise, choose_method, evaluate

LONGEST_REASON = 300  # characters
RECALLS = np.linspace(0, 1, 51)  # at which precision is read off

OnFit = Callable[[int, int, str], None]
"""Called before each fit with the number of fits done, their total, and the method."""

Part = TypeVar("Part")


class Contest(NamedTuple):
    """The runs of each method, split by split, and the errors of those that failed."""

    runs: dict[str, list[SplitResult]]
    failed: dict[str, str]


class Conclusion(NamedTuple):
    """What a contest comes to, as a `Comparison` has it."""

    to_beat: str
    methods: list[Evaluated]  # the best first
    recommended: str
    advice: str
    undecided: list[str]


def hold_contest(
    splits: Iterable[Part],
    n_splits: int,
    names: Sequence[str],
    run: Callable[[str, Part, int], SplitResult],
    generator: np.random.Generator,
    on_fit: OnFit | None,
) -> Contest:
    """Let every method learn from every split.

    Parameters
    ----------
    splits : iterable
        Made one by one, as `run` takes them.
    n_splits : int
    names : sequence of str
        The methods.
    run : callable
        Takes a method, a split and a seed, which is the same for all methods.
    generator : Generator
    on_fit : callable or None
    """
    runs: dict[str, list[SplitResult]] = {name: [] for name in names}
    failed: dict[str, str] = {}
    for number, split in enumerate(splits):
        seed = draw_seed(generator)
        for i, name in enumerate(names):
            if on_fit is not None:
                on_fit(number * len(names) + i, n_splits * len(names), name)
            if name in failed:
                continue
            try:
                runs[name].append(run(name, split, seed))
            except Exception as error:  # a method that fails must not stop the others
                failed[name] = _reason(error)
                del runs[name]
    return Contest(runs, failed)


def conclude(runs: dict[str, list[SplitResult]], by_chance: float, test_share: float) -> Conclusion:
    """Which method to take; arguments as for `choose_method`."""
    to_beat = choose_method(runs, by_chance, test_share)
    evaluated = evaluate(runs, to_beat, test_share)
    return Conclusion(to_beat, evaluated, *advise(evaluated, to_beat, by_chance))


def judge(y: np.ndarray, scores: np.ndarray, weight: np.ndarray, seconds: float) -> SplitResult:
    """How well scores rank the rows of a split, of which `y` says which are anomalies."""
    return SplitResult(
        float(average_precision_score(y, scores, sample_weight=weight)),
        float(roc_auc_score(y, scores)),
        precision_at(RECALLS, y, scores, weight),
        seconds,
    )


def precision_at(
    recalls: np.ndarray, y: np.ndarray, scores: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Precision at the highest threshold that reaches each recall; at recall 0, the first find."""
    found: Any = precision_recall_curve(y, scores, sample_weight=weight)
    precision, recall = (part[-2::-1] for part in found[:2])  # without the made-up last point
    index = np.searchsorted(recall, np.maximum(recalls - 1e-9, 1e-9))
    reached: np.ndarray = precision[np.minimum(index, len(precision) - 1)]
    return reached


def _reason(error: Exception) -> str:
    """What was raised, on one line."""
    text = " ".join(str(error).split())
    return cut(text, LONGEST_REASON) or f"it raised {type(error).__name__}"
