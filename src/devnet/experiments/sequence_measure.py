"""Ranking quality of sequences, and whether faults are found when they happen."""

import time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from devnet.datasets.signal_sets import N_LABELLED_FAULTS, SignalSet, plant
from devnet.deep.sequences.score_series import score_series
from devnet.deep.sequences.series_calibration import fit_series
from devnet.deep.sequences.windows import covered
from devnet.experiments.outcome import Outcome, auc, fit_and_score
from devnet.experiments.protocol import make_task

STEPS, PEAKS = "step AUC-ROC", "peaks in the fault"
N_BEATS, N_TEST_BEATS = 500, 250  # of a long series
LENGTH, STEP, BLOCK = 64, 8, 64  # of windows
N_TEST_FAULTS, N_KINDS = 60, 5
LEVEL = 0.05


def sequences(
    detector: Any,
    dataset: SignalSet,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Ranking quality on the test sequences.

    The task is the paper's; anomalies of kinds that are never labelled are hidden and tested too.
    If it is known where faults are, profiles of the test anomalies are judged as well.
    """
    task = make_task(
        dataset.X,
        dataset.is_anomaly,
        seed=seed,
        n_labelled=n_labelled,
        contamination=contamination,
        may_be_labelled=dataset.may_be_labelled,
    )
    scores, seconds = fit_and_score(detector, task)
    metrics = auc(task.is_anomaly, scores)
    model = getattr(detector, "estimator", detector)
    if dataset.intervals is not None and hasattr(model, "anomaly_profile"):
        profiles = model.anomaly_profile(task.test[task.is_anomaly])
        metrics |= localisation(profiles, dataset.intervals[task.origin[task.is_anomaly]])
    return Outcome(metrics, seconds)


def localisation(profiles: np.ndarray, intervals: np.ndarray) -> dict[str, float]:
    """How well profiles (n, t) tell faulty steps, and how often the highest one is faulty."""
    step = np.arange(profiles.shape[1])
    is_inside = (step >= intervals[:, :1]) & (step < intervals[:, 1:])
    peaks = profiles.argmax(axis=1)
    return {
        STEPS: float(roc_auc_score(is_inside.ravel(), profiles.ravel())),
        PEAKS: float(is_inside[np.arange(len(peaks)), peaks].mean()),
    }


def events(
    detector: Any,
    dataset: SignalSet,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Faults planted into a long series of joined beats: their steps, peaks and false alarms.

    Labelled faults are of three kinds; those hidden in the training series and those of the test
    series are of five, and "unknown" are metrics of the two that are never labelled. Contamination
    is the number of hidden faults, as a share of the training windows that fit side by side.
    """
    generator = np.random.default_rng(seed)
    beats = generator.permutation(dataset.X[~dataset.is_anomaly])[: N_BEATS + N_TEST_BEATS]
    train, test = (part.ravel() for part in np.split(beats, [N_BEATS]))
    n_hidden = round(contamination * len(train) / LENGTH)
    kinds = [
        *generator.integers(N_LABELLED_FAULTS, size=n_labelled),
        *generator.integers(N_KINDS, size=n_hidden),
    ]
    planted = _plant(train, kinds, generator)
    kinds_of_test = np.arange(N_TEST_FAULTS) % N_KINDS
    true = np.array(_plant(test, kinds_of_test.tolist(), generator))
    model = getattr(detector, "estimator", detector)
    start = time.perf_counter()
    ranks = fit_series(
        model, train, planted[:n_labelled], LENGTH, STEP, block=BLOCK, random_state=seed
    )
    fitted = time.perf_counter()
    scored = score_series(model, test, ranks)
    seconds = {"fit": fitted - start, "score": time.perf_counter() - fitted}
    is_known = kinds_of_test < N_LABELLED_FAULTS
    metrics = _found(scored, true[is_known], true)
    unknown = _found(scored, true[~is_known], true)
    metrics |= {f"{name}, unknown": value for name, value in unknown.items()}
    is_normal = ~covered(len(test), true + [-LENGTH, LENGTH])
    metrics["normal steps beyond 5%"] = float((scored.p_value[is_normal] <= LEVEL).mean())
    return Outcome(metrics, seconds)


def _found(scored: Any, chosen: np.ndarray, faults: np.ndarray) -> dict[str, float]:
    """How well some of the faults are found; steps of the others do not count."""
    is_faulty = covered(len(scored.score), chosen)
    counts = is_faulty | ~covered(len(scored.score), faults)
    alarms = [(scored.p_value[first:end] <= LEVEL).any() for first, end in chosen]
    return {
        STEPS: float(roc_auc_score(is_faulty[counts], scored.score[counts])),
        PEAKS: float(np.mean([_has_peak(scored.score, *one) for one in chosen])),
        "faults beyond 5%": float(np.mean(alarms)),
    }


def _plant(
    series: np.ndarray, kinds: list[int], generator: np.random.Generator
) -> list[tuple[int, int]]:
    """Plant faults of these kinds in random order, far from each other."""
    size = len(series) // len(kinds)
    intervals = []
    for kind, place in zip(kinds, generator.permutation(len(kinds)).tolist(), strict=True):
        room = series[place * size + size // 4 : place * size + 3 * size // 4]
        first, end = plant(room, int(kind), generator)
        intervals.append((place * size + size // 4 + first, place * size + size // 4 + end))
    return intervals


def _has_peak(score: np.ndarray, first: int, end: int) -> bool:
    """Whether the highest score around a fault is in it."""
    start = max(0, first - LENGTH)
    peak = start + int(np.nanargmax(score[start : end + LENGTH]))
    return first <= peak < end
