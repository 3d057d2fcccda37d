"""Ranking quality of sequences, and whether faults are found when they happen."""

import time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from devnet.datasets.signal_sets import N_LABELLED_FAULTS, SignalSet, plant
from devnet.experiments.outcome import Outcome, auc, fit_and_score
from devnet.experiments.protocol import make_task

STEPS, PEAKS = "step AUC-ROC", "peaks in the fault"
N_BEATS, N_TEST_BEATS = 700, 400  # of a long series
LENGTH, STEP, BLOCK = 80, 20, 80  # of windows
N_TEST_FAULTS = 60
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
    series are of five. Contamination is the share of training windows that hold a hidden fault.
    """
    from devnet.deep.sequences.score_series import score_series
    from devnet.deep.sequences.series_calibration import fit_series

    generator = np.random.default_rng(seed)
    beats = generator.permutation(dataset.X[~dataset.is_anomaly])[: N_BEATS + N_TEST_BEATS]
    train, test = (part.ravel() for part in np.split(beats, [N_BEATS]))
    n_hidden = round(contamination * len(train) / LENGTH)
    planted = _plant(train, n_labelled + n_hidden, n_labelled, generator)
    true = _plant(test, N_TEST_FAULTS, 0, generator)
    model = getattr(detector, "estimator", detector)
    start = time.perf_counter()
    ranks = fit_series(
        model, train, planted[:n_labelled], LENGTH, STEP, block=BLOCK, random_state=seed
    )
    fitted = time.perf_counter()
    scored = score_series(model, test, ranks)
    seconds = {"fit": fitted - start, "score": time.perf_counter() - fitted}
    is_faulty = np.zeros(len(test), dtype=bool)
    near = np.zeros(len(test), dtype=bool)
    for first, end in true:
        is_faulty[first:end] = True
        near[max(0, first - LENGTH) : end + LENGTH] = True
    metrics = {
        STEPS: float(roc_auc_score(is_faulty, scored.score)),
        PEAKS: float(np.mean([_has_peak(scored.score, *one) for one in true])),
        "normal steps beyond 5%": float((scored.p_value[~near] <= LEVEL).mean()),
        "faults beyond 5%": float(
            np.mean([(scored.p_value[first:end] <= LEVEL).any() for first, end in true])
        ),
    }
    return Outcome(metrics, seconds)


def _plant(
    series: np.ndarray, n_faults: int, n_known: int, generator: np.random.Generator
) -> list[tuple[int, int]]:
    """Plant faults far from each other; the first ones are of the kinds that are labelled."""
    size = len(series) // n_faults
    intervals = []
    for number, place in enumerate(generator.permutation(n_faults).tolist()):
        kind = int(generator.integers(N_LABELLED_FAULTS if number < n_known else 5))
        room = series[place * size + size // 4 : place * size + 3 * size // 4]
        first, end = plant(room, kind, generator)
        intervals.append((place * size + size // 4 + first, place * size + size // 4 + end))
    return intervals


def _has_peak(score: np.ndarray, first: int, end: int) -> bool:
    """Whether the highest score around a fault is in it."""
    start = max(0, first - LENGTH)
    peak = start + int(np.nanargmax(score[start : end + LENGTH]))
    return first <= peak < end
