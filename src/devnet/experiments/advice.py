"""From runs of several methods on one table to intervals, and to the method to take."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from devnet.tables.table_model import RECOMMENDED

LEVEL = 0.95  # of intervals


class Run(NamedTuple):
    """One method on one split."""

    auc_pr: float
    auc_roc: float
    precision: np.ndarray  # (n_recalls,) of its precision-recall curve
    seconds: float  # of the fit


class Interval(NamedTuple):
    """A mean over splits, and where it would lie on other splits of such rows."""

    mean: float
    low: float
    high: float


class Evaluated(NamedTuple):
    """One method on all splits."""

    method: str
    auc_pr: Interval
    auc_roc: Interval
    lead: Interval  # AUC-PR minus that of the recommended method, split by split
    seconds: float  # of a fit, the median
    precision: np.ndarray  # (n_splits, n_recalls)


def evaluate(runs: dict[str, list[Run]], test_share: float) -> list[Evaluated]:
    """Every method with its intervals, the best first.

    Parameters
    ----------
    runs : dict
        The runs of each method, in the same order of splits.
    test_share : float
        Share of the rows that a split is judged by.
    """
    against = runs.get(RECOMMENDED) or next(iter(runs.values()))
    auc_pr_against = np.array([run.auc_pr for run in against])
    found = []
    for method, parts in runs.items():
        auc_pr = np.array([run.auc_pr for run in parts])
        auc_roc = np.array([run.auc_roc for run in parts])
        found.append(
            Evaluated(
                method,
                _as_shares(interval(auc_pr, test_share)),
                _as_shares(interval(auc_roc, test_share)),
                interval(auc_pr - auc_pr_against, test_share),
                float(np.median([run.seconds for run in parts])),
                np.stack([run.precision for run in parts]),
            )
        )
    return sorted(found, key=lambda one: -one.auc_pr.mean)


def interval(values: np.ndarray, test_share: float) -> Interval:
    """Mean and 95% interval of values on splits that share rows.

    The splits' training rows overlap, so their values vary less than those of fresh tables would;
    Nadeau and Bengio's correction (2003) widens the interval for it.
    """
    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return Interval(mean, float("nan"), float("nan"))
    scale = np.sqrt((1 / n + test_share / (1 - test_share)) * values.var(ddof=1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * scale)
    return Interval(mean, mean - half, mean + half)


def advise(methods: list[Evaluated], chance: float) -> tuple[str, str]:
    """The method to take, and why, in plain words."""
    best = methods[0]
    ours = next((one for one in methods if one.method == RECOMMENDED), None)
    if not best.auc_pr.low > chance:
        return (ours or best).method, (
            f"No method ranks labelled anomalies clearly above chance (AUC-PR {chance:.3f}): the "
            "columns may say nothing about them, or there are too few. Look at the labels first."
        )
    quality = f"AUC-PR {_words(best.auc_pr)}"
    if ours is None:
        return best.method, f"Take {best.method}: {quality}, the best of those compared."
    if best is ours:
        return ours.method, _for_ours(methods, quality)
    if best.lead.low > 0:
        return best.method, (
            f"Take {best.method}: {quality}, ahead of the {RECOMMENDED} by {_words(best.lead)}."
        )
    return ours.method, (
        f"{best.method} is ahead by {_words(best.lead)}, which may be chance. Take the "
        f"{RECOMMENDED}: it has p-values that need no rows held back, and reasons for alerts."
    )


def _for_ours(methods: list[Evaluated], quality: str) -> str:
    if len(methods) == 1:
        return f"Take the {RECOMMENDED}: {quality}."
    second = methods[1]
    lead = Interval(*(-part for part in (second.lead.mean, second.lead.high, second.lead.low)))
    sure = "" if lead.low > 0 else ", which may be chance"
    return f"Take the {RECOMMENDED}: {quality}, ahead of {second.method} by {_words(lead)}{sure}."


def _as_shares(value: Interval) -> Interval:
    return Interval(*(float(np.clip(part, 0, 1)) for part in value))


def _words(value: Interval) -> str:
    return f"{value.mean:.2f} ({value.low:.2f} to {value.high:.2f})"
