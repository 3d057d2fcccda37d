"""Does the advice of `compare` name the better method? On tables of which the truth is known.

Methods are compared on few labels, as a user would, and by a large set of fresh rows, with all
labels known. `python benchmarks/advice.py` takes minutes.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import sections
from sections import Effort
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import average_precision_score, roc_auc_score

from devnet.detectors.methods import METHODS, RECOMMENDED
from devnet.experiments.advice import SplitResult, advise, choose_method, evaluate
from devnet.experiments.splits import RowsToSplit, make_splits

COMPARED = (RECOMMENDED, "PU trees", "logistic regression", "gradient boosting")
N_UNLABELLED = 600
N_LABELLED = (10, 20, 40)
AS_GOOD = 0.005  # AUC-PR

Runs = dict[str, list[SplitResult]]
RULES: dict[str, Callable[[Runs], str]] = {
    "the advice": lambda runs: choose_method(runs, 0.5, 1 / 3),
    "highest mean": lambda runs: max(runs, key=lambda name: _mean(runs[name])),
    "clear lead": lambda runs: _clearly_ahead(runs),
}


def rules(effort: Effort) -> None:
    """How often each rule names the best of two or three methods, and what it loses on average."""
    drawn = [*_draws(effort)]
    for size in (2, 3):
        sets = [one for one in combinations(COMPARED, size) if RECOMMENDED in one]
        cases = [(runs, truth, names) for runs, truth in drawn for names in sets]
        print(f"\nBest of {size} methods, {len(drawn)} draws of labels, {len(cases)} choices")
        for rule, choose in RULES.items():
            lost = [
                max(truth[name] for name in names) - truth[choose({n: runs[n] for n in names})]
                for runs, truth, names in cases
            ]
            named = np.mean(np.array(lost) <= AS_GOOD)
            print(f"{rule:<13} right {named:.1%}  AUC-PR lost {np.mean(lost):.4f}", flush=True)
    told, right = _told_apart(drawn)
    print(f"\nOf two methods: told apart {told:.1%}, and then right {right:.1%}")


def _draws(effort: Effort) -> Iterator[tuple[Runs, dict[str, float]]]:
    """For each draw of labels, what a comparison sees and the true AUC-PR of each method."""
    n_repeats = effort.repeats(3)
    for place, (rows, y) in enumerate(_tables(1 if effort.is_quick else 6)):
        for n_labelled in N_LABELLED[: effort.repeats(len(N_LABELLED))]:
            generator = np.random.default_rng([place, n_labelled])
            anomalies, normal = (generator.permutation(np.flatnonzero(y == k)) for k in (1, 0))
            known = np.concatenate([normal[:N_UNLABELLED], anomalies[:n_labelled]])
            fresh = np.concatenate([normal[N_UNLABELLED:], anomalies[n_labelled:]])
            X, is_labelled = rows[known], np.arange(len(known)) >= len(known) - n_labelled
            splits = make_splits(
                RowsToSplit(is_labelled, np.arange(len(X)), "it"), n_repeats, generator
            )
            runs = {
                name: [
                    _run(name, X[train], is_labelled[train], X[test], is_labelled[test])
                    for train, test in splits
                ]
                for name in COMPARED
            }
            truth = {
                name: _run(name, X, is_labelled, rows[fresh], y[fresh]).auc_pr for name in COMPARED
            }
            yield runs, truth


def _tables(n_made: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for seed in range(n_made):
        yield make_classification(
            8000, 10 + 5 * seed, n_informative=4 + seed % 3, weights=[0.93], random_state=seed
        )
    if n_made > 1:
        digits, digit = load_digits(return_X_y=True)
        yield from ((digits, digit == one) for one in (3, 8, 9))


def _run(
    name: str, X: np.ndarray, y: np.ndarray, test: np.ndarray, truth: np.ndarray
) -> SplitResult:
    low, reach = X.min(axis=0), np.maximum(np.ptp(X, axis=0), 1e-9)
    X, test = (((rows - low) / reach).astype(np.float32) for rows in (X, test))
    scores = METHODS[name](random_state=0).fit(X, y.astype(int)).anomaly_score(test)
    areas = (float(area(truth, scores)) for area in (average_precision_score, roc_auc_score))
    return SplitResult(*areas, np.zeros(1), 0.0)


def _mean(runs: list[SplitResult]) -> float:
    return float(np.mean([run.auc_pr for run in runs]))


def _clearly_ahead(runs: Runs) -> str:
    """The best of those whose 95% interval of the lead is above 0, or the recommended method."""
    ahead = [one for one in evaluate(runs, RECOMMENDED, 1 / 3) if one.lead.low > 0]
    return ahead[0].method if ahead else RECOMMENDED


def _told_apart(drawn: list[tuple[Runs, dict[str, float]]]) -> tuple[float, float]:
    """How often two methods are told apart, and how often the verdict is then right."""
    is_right, n_pairs = [], 0
    for runs, truth in drawn:
        for pair in combinations(COMPARED, 2):
            n_pairs += 1
            two = {name: runs[name] for name in pair}
            taken = choose_method(two, 0.5, 1 / 3)
            if not advise(evaluate(two, taken, 1 / 3), taken, 0.5).undecided:
                is_right.append(truth[taken] >= max(truth[name] for name in pair) - AS_GOOD)
    return len(is_right) / n_pairs, float(np.mean(is_right)) if is_right else np.nan


SECTIONS = (rules,)

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
