"""Alert policies: from which score on a row is an alert, chosen after training.

A policy is shown the calibration of a fitted detector and, batch by batch, the scores of the table
at hand, and gives one threshold. Alerts are the scores above it, as in `predict`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import ceil, floor, log10
from typing import Any, ClassVar

import numpy as np

from devnet.core.model_file import ModelFileError
from devnet.core.parameters import Constraint, check_parameters, number, whole_number
from devnet.significance.alarm import Threshold
from devnet.significance.calibration import MIN_LABELLED, Calibration, Quantile, refuse_nan
from devnet.significance.ranks import ConformalRanks


class AlertPolicy(ABC):
    """From which score on a row is an alert. Abstract; its subclasses are final."""

    needs_scores: ClassVar[bool] = False  # whether the threshold depends on the table at hand
    _constraints: ClassVar[dict[str, Constraint]]

    def __post_init__(self) -> None:
        check_parameters(self, self._constraints)

    @abstractmethod
    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """From which score on a row is an alert.

        Parameters
        ----------
        calibration : Calibration
        scores : iterable of arrays
            Of the table at hand, batch by batch; looked at where `needs_scores`.
        quantile : function, optional
            Of the prior of the detector, if it has one.
        """

    @abstractmethod
    def in_words(self) -> str:
        """Which rows are alerts: the end of a sentence that begins with "alerts are"."""

    def warning(self, calibration: Calibration, quantile: Quantile | None = None) -> str | None:
        """A sentence, where no row can ever be an alert."""
        return None


@dataclass(frozen=True)
class FalseAlarmRate(AlertPolicy):
    """Alerts are rows whose calibrated p-value is at most the rate.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.significance.policies import FalseAlarmRate
    >>> from devnet.significance.calibration import Calibration
    >>> calibration = Calibration(np.arange(99.0), np.ones(99), None, None)
    >>> FalseAlarmRate(0.05).threshold(calibration).score
    94.0
    >>> calibration.ranks().p_value([94.0, 94.5]).tolist()
    [0.06, 0.05]
    """

    rate: float
    _constraints = {"rate": number(0, below=1)}

    def in_words(self) -> str:
        """How the policy is told to people."""
        return f"rows that score as high as the top {100 * self.rate:.3g}% of unlabelled rows"

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The lowest of the unlabelled rows' scores above which p-values are small enough."""
        ranks = calibration.ranks()
        return _score_below_rank(ranks, ranks.p_value_of_rank <= self.rate)

    def warning(self, calibration: Calibration, quantile: Quantile | None = None) -> str | None:
        """A sentence, where the rate is below the smallest p-value."""
        return _too_small(calibration, "false-alarm rate", self.rate)


@dataclass(frozen=True)
class Confidence(AlertPolicy):
    """Alerts are rows that a normal row stays below with this confidence: the paper's policy.

    Of a detector with a prior, it is the quantile of the prior. Of any other it is the score that
    this share of the unlabelled rows stays below.
    """

    level: float = 0.95
    _constraints = {"level": number(0, below=1)}

    def in_words(self) -> str:
        """How the policy is told to people."""
        return (
            f"rows above the {100 * self.level:.4g}% quantile of the prior, or of the unlabelled "
            "rows where the method has none"
        )

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The quantile of the prior, or of the unlabelled rows."""
        if quantile is not None:
            return Threshold(quantile(self.level))
        return self._without_prior().threshold(calibration)

    def warning(self, calibration: Calibration, quantile: Quantile | None = None) -> str | None:
        """A sentence, where without a prior so much confidence is impossible."""
        return None if quantile is not None else self._without_prior().warning(calibration)

    def _without_prior(self) -> FalseAlarmRate:
        return FalseAlarmRate(max(round(1 - self.level, 12), 1e-12))  # 0.9 leaves exactly 0.1


@dataclass(frozen=True)
class Budget(AlertPolicy):
    """Alerts are the n highest scores of the table at hand, of equal ones the first."""

    n: int
    needs_scores = True
    _constraints = {"n": whole_number(1)}

    def in_words(self) -> str:
        """How the policy is told to people."""
        return "the highest row" if self.n == 1 else f"the {self.n:,} highest rows"

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The lowest score within the budget; only n scores have to be kept for it."""
        highest = np.empty(0)
        for batch in scores:
            refuse_nan(batch)
            highest = np.append(highest, batch)
            if len(highest) > self.n:
                highest = np.partition(highest, -self.n)[-self.n :]
        if not len(highest):
            return Threshold(np.inf)
        lowest = float(highest.min())
        return Threshold(lowest, n_equal=int((highest == lowest).sum()))


@dataclass(frozen=True)
class FalseDiscoveryRate(AlertPolicy):
    """Of the alerts, this share is false in the mean at most: Benjamini and Hochberg's procedure.

    It takes the calibrated p-values of all rows of the table at hand. There are only as many
    different ones as there are ranks, so counts by rank are all that has to be kept.
    """

    rate: float
    needs_scores = True
    _constraints = {"rate": number(0, below=1)}

    def in_words(self) -> str:
        """How the policy is told to people."""
        return f"rows of which {100 * self.rate:.3g}% are false on average, at most"

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """Where so many rows have a p-value as small that few of them can be false."""
        ranks = calibration.ranks()
        size = len(ranks.p_value_of_rank)
        counts = np.zeros(size, dtype=np.int64)
        for batch in scores:
            refuse_nan(batch)
            counts += np.bincount(ranks.rank(batch), minlength=size)
        n_alerts = np.cumsum(counts[::-1])[::-1]  # of this rank or higher
        expected = ranks.p_value_of_rank * n_alerts[0]  # false ones among them
        return _score_below_rank(ranks, (expected <= self.rate * n_alerts) & (n_alerts > 0))

    def warning(self, calibration: Calibration, quantile: Quantile | None = None) -> str | None:
        """A sentence, where the rate is below the smallest p-value."""
        return _too_small(calibration, "false discovery rate", self.rate)


@dataclass(frozen=True)
class ExpectedCost(AlertPolicy):
    """Alerts where they cost least in the mean, given what a missed anomaly and a false alarm cost.

    Of the unlabelled rows above a threshold those that are not hidden anomalies would be false
    alarms; hidden anomalies score as labelled ones do.
    """

    missed: float
    false_alarm: float
    _constraints = {"missed": number(0), "false_alarm": number(0)}

    def in_words(self) -> str:
        """How the policy is told to people."""
        return (
            f"rows where a miss for {self.missed:,.6g} would cost more than a false alarm for "
            f"{self.false_alarm:,.6g}"
        )

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The score of least expected cost; of several, the lowest."""
        labelled, share = calibration.labelled, calibration.hidden_share
        if labelled is None or share is None:
            raise ValueError(
                "the expected cost takes out-of-bag scores of labelled anomalies and their share "
                f"among the unlabelled rows, which only the deviation ensemble has, from "
                f"{MIN_LABELLED} labelled anomalies on; fit again with: --method "
                '"deviation ensemble"'
            )
        ranks, labelled = calibration.ranks(), np.sort(labelled)
        candidates = np.unique(np.concatenate([ranks.scores, labelled]))
        candidates = np.append(np.nextafter(candidates[0], -np.inf), candidates)
        above = np.append(np.cumsum(ranks.weight[::-1])[::-1], 0) / ranks.weight.sum()
        above = above[np.searchsorted(ranks.scores, candidates, side="right")]
        below = np.searchsorted(labelled, candidates, side="right") / len(labelled)
        false_alarms = np.maximum(above - share * (1 - below), 0)
        cost = self.missed * share * below + self.false_alarm * false_alarms
        return Threshold(float(candidates[np.argmin(cost)]))


POLICIES: dict[str, type[AlertPolicy]] = {
    "confidence": Confidence,
    "false-alarm rate": FalseAlarmRate,
    "budget": Budget,
    "false discovery rate": FalseDiscoveryRate,
    "expected cost": ExpectedCost,
}


def policy_to_json(policy: AlertPolicy) -> dict[str, Any]:
    """A policy as JSON values: its name and its parameters."""
    (name,) = (name for name, kind in POLICIES.items() if type(policy) is kind)
    return {"policy": name, **asdict(policy)}  # type: ignore[call-overload]


def policy_from_json(value: Any) -> AlertPolicy:
    """Invert `policy_to_json`; raise a ModelFileError where that is not possible."""
    try:
        name, parameters = value["policy"], {k: v for k, v in value.items() if k != "policy"}
        return POLICIES[name](**parameters)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"the model file has an impossible alert policy, {str(value)[:80]} ({error}); known "
            f"are {', '.join(POLICIES)}. The file was edited or damaged; save the model again."
        ) from error


def _score_below_rank(ranks: ConformalRanks, is_alert: np.ndarray) -> Threshold:
    """The score that rows of the lowest such rank, of n + 1 ranks, and of higher ones exceed."""
    places = np.flatnonzero(is_alert)
    return Threshold(float(ranks.scores[places[0] - 1]) if len(places) else np.inf)


def _too_small(calibration: Calibration, what: str, rate: float) -> str | None:
    smallest = float(calibration.ranks().p_value_of_rank[-1])
    if rate >= smallest:
        return None
    unit = 10.0 ** (floor(log10(smallest)) - 1)  # two digits are shown, rounded up
    shown = ceil(smallest / unit) * unit
    return (
        f"no row can be an alert: the {what} is {rate:g}, but with {len(calibration.unlabelled)} "
        f"unlabelled rows to compare with, the smallest possible is {shown:.2g}; take a rate "
        "of at least that, or fit on more unlabelled rows."
    )
