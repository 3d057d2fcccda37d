"""What one run measures: functions of a detector, a data set, a seed and settings."""

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.metrics import average_precision_score

from devnet.datasets import Dataset
from devnet.experiments.feedback_measure import feedback
from devnet.experiments.image_measure import images
from devnet.experiments.outcome import Outcome, auc, fit_and_score
from devnet.experiments.protocol import Task, make_task
from devnet.experiments.raw_measure import raw_tables
from devnet.experiments.sequence_measure import events, sequences
from devnet.experiments.text_measure import text
from devnet.significance.calibration import calibrate

LEVELS = (0.8, 0.9, 0.95, 0.975, 0.99, 0.999)  # confidence
LEVEL, BAND = 0.01, (0.025, 0.975)  # for calibrated p-values
KINDS = ("all", "all but one")
WARM_UP = (200, 5)  # rows and columns


def ranking(
    detector: Any,
    dataset: Dataset,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
    wrong_labels: float = 0.0,
    protocol: str = "paper",
) -> Outcome:
    """Ranking quality on the test rows."""
    task = make_task(
        dataset.rows,
        dataset.is_anomaly,
        seed=seed,
        n_labelled=n_labelled,
        contamination=contamination,
        wrong_labels=wrong_labels,
        protocol=protocol,
    )
    scores, seconds = fit_and_score(detector, task)
    return Outcome(auc(task.is_anomaly, scores), seconds)


def significance(
    detector: Any,
    dataset: Dataset,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Shares of normal and anomalous test rows with a p-value below each level."""
    task = _few_labels(dataset, seed, n_labelled, contamination)
    _, seconds = fit_and_score(detector, task)
    p_values = detector.p_value(task.test)
    metrics = {}
    for level in LEVELS:
        is_beyond = p_values < 1 - level
        metrics[f"normal beyond {level}"] = float(is_beyond[~task.is_anomaly].mean())
        metrics[f"anomalies beyond {level}"] = float(is_beyond[task.is_anomaly].mean())
    return Outcome(metrics, seconds)


def calibration(
    detector: Any,
    dataset: Dataset,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Share of normal test rows whose p-value is at most 1%, calibrated and nominal.

    It varies because both the test rows and the rows ranked among are finite samples. The band
    holds 95% of the shares that exact p-values would give; the narrower binomial band allows for
    the test rows alone.
    """
    task = _few_labels(dataset, seed, n_labelled, contamination)
    start = time.perf_counter()
    found = calibrate(detector, task.train, task.y, random_state=seed)
    fitted = time.perf_counter()
    scores = detector.anomaly_score(task.test)[~task.is_anomaly]
    seconds = {"fit": fitted - start, "score": time.perf_counter() - fitted}
    share = float((found.ranks().p_value(scores) <= LEVEL).mean())
    n_rare = int(LEVEL * (len(found.unlabelled) + 1))  # ranks with a p-value of at most the level
    expected = stats.betabinom(len(scores), n_rare, len(found.unlabelled) + 1 - n_rare)
    low, high = (float(expected.ppf(end) / len(scores)) for end in BAND)
    alone = [stats.binom(len(scores), LEVEL).ppf(end) / len(scores) for end in BAND]
    nominal = detector.nominal_p_value(scores)
    metrics = {
        "calibrated": share,
        "low": low,
        "high": high,
        "within": float(low <= share <= high),
        "within the binomial band": float(alone[0] <= share <= alone[1]),
    }
    if nominal is not None:
        metrics["nominal"] = float((nominal <= LEVEL).mean())
    return Outcome(metrics, seconds)


def expectation(
    detector: Any,
    dataset: Dataset,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Ranking quality that a detector expects, next to that on the test rows.

    The expectation is for rows like the unlabelled ones, so test rows are weighted to have the
    same share of anomalies.
    """
    task = _few_labels(dataset, seed, n_labelled, contamination)
    scores, seconds = fit_and_score(detector, task)
    expected = detector.expected_quality(contamination)
    share = detector.hidden_anomaly_share_
    share_of_test = task.is_anomaly.mean()
    weight = np.where(
        task.is_anomaly, contamination / share_of_test, (1 - contamination) / (1 - share_of_test)
    )
    auc_pr = float(average_precision_score(task.is_anomaly, scores, sample_weight=weight))
    metrics = {
        "expected AUC-PR": expected.auc_pr,
        "low": expected.low,
        "high": expected.high,
        "AUC-PR": auc_pr,
        "within": float(expected.low <= auc_pr <= expected.high),
        "hidden share": share.value,
        "hidden share, low": share.low,
        "hidden share, high": share.high,
        "hidden share within": float(share.low <= contamination <= share.high),
    }
    return Outcome(metrics, seconds)


def unknown_anomalies(
    detector: Any,
    dataset: Dataset,
    seed: int,
    *,
    labelled_kinds: str = "all",
    n_kinds: int = 3,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Ranking quality for a kind of anomaly that is never labelled, and for the other kinds.

    Kinds are the k-means clusters of the set's anomalies. Run `seed` singles out kind `seed`
    modulo their number, and labels either "all" kinds or "all but one", the one singled out.
    Both ways have the same test rows. Contamination includes all kinds.
    """
    if labelled_kinds not in KINDS:
        raise ValueError(f"labelled_kinds={labelled_kinds!r} is not one of {', '.join(KINDS)}.")
    kind = np.full(len(dataset.is_anomaly), -1)
    anomalies = np.flatnonzero(dataset.is_anomaly)
    clusters = KMeans(n_kinds, n_init=4, random_state=0).fit(dataset.rows[anomalies])
    kind[anomalies] = clusters.labels_
    is_chosen = kind == seed % n_kinds
    task = make_task(
        dataset.rows,
        dataset.is_anomaly,
        seed=seed,
        n_labelled=n_labelled,
        contamination=contamination,
        may_be_labelled=~is_chosen if labelled_kinds == "all but one" else dataset.is_anomaly,
    )
    scores, seconds = fit_and_score(detector, task)
    metrics = {"share of anomalies": float(is_chosen.sum() / len(anomalies))}
    for name, part_of in (("this kind", is_chosen), ("other kinds", ~is_chosen)):
        part = part_of[task.origin] | ~task.is_anomaly
        found = auc(task.is_anomaly[part], scores[part])
        metrics |= {f"{metric}, {name}": value for metric, value in found.items()}
    return Outcome(metrics, seconds)


def runtime(
    detector: Any, dataset: Dataset | None, seed: int, *, n_rows: int, n_columns: int
) -> Outcome:
    """Seconds on a Gaussian cloud with 2% shifted anomalies, 30 of them labelled.

    As in the paper, there are as many test rows as training rows. A copy of the detector first
    learns from a few rows, so that what a process does once, such as imports, is not measured.
    """
    fit_and_score(copy.deepcopy(detector), _cloud(seed, *WARM_UP))
    task = _cloud(seed, n_rows, n_columns)
    scores, seconds = fit_and_score(detector, task)
    return Outcome(auc(task.is_anomaly, scores), seconds)


def _cloud(seed: int, n_rows: int, n_columns: int) -> Task:
    generator = np.random.default_rng(seed)
    is_anomaly = np.arange(n_rows) < max(30, round(0.02 * n_rows))
    train, test = (
        generator.standard_normal((n_rows, n_columns), dtype=np.float32) for _ in range(2)
    )
    for rows in (train, test):
        rows[is_anomaly] += np.float32(0.5)
    y = (np.arange(n_rows) < 30).astype(int)
    return Task(train, y, test, is_anomaly, np.arange(n_rows), is_anomaly)


MEASURES: dict[str, Callable[..., Outcome]] = {
    "ranking": ranking,
    "significance": significance,
    "calibration": calibration,
    "expectation": expectation,
    "unknown anomalies": unknown_anomalies,
    "runtime": runtime,
    "raw tables": raw_tables,
    "text": text,
    "feedback": feedback,
    "images": images,
    "sequences": sequences,
    "events": events,
}


def _few_labels(dataset: Dataset, seed: int, n_labelled: int, contamination: float) -> Task:
    """The paper's task."""
    return make_task(
        dataset.rows,
        dataset.is_anomaly,
        seed=seed,
        n_labelled=n_labelled,
        contamination=contamination,
    )
