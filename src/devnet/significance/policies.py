"""Alert policies: the score above which a row is an alert, chosen after training.

A policy sees the calibration of a fitted detector and, batch by batch, the scores of the table at
hand, and sets one threshold. Rows that score above it are alerts, as in `predict`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from math import ceil, floor, log10
from typing import Any, ClassVar, NamedTuple

import numpy as np

from devnet.core.model_file import ModelFileError
from devnet.core.parameters import Constraint, check_parameters, number, whole_number
from devnet.core.sentence import Setting, UserError
from devnet.significance.calibration import MIN_LABELLED, Calibration, Quantile
from devnet.significance.ranks import ConformalRanks, refuse_nan

ROUNDING = 1e-12  # relative error of a product, by which equal numbers may differ


class Threshold(NamedTuple):
    """The score above which rows are alerts, and how many rows with exactly this score are too."""

    score: float  # infinite if no row is an alert
    n_equal: int = 0  # the first ones of the table


class Alarm:
    """Decides which rows of a table are alerts, batch by batch, in row order."""

    def __init__(self, threshold: Threshold) -> None:
        self._threshold = threshold.score
        self._n_equal = threshold.n_equal

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Whether each row of the next batch is an alert."""
        is_alert: np.ndarray = scores > self._threshold
        if self._n_equal:
            equal = np.flatnonzero(scores == self._threshold)[: self._n_equal]
            is_alert[equal] = True
            self._n_equal -= len(equal)
        return is_alert


class AlertPolicy(ABC):
    """The score above which a row is an alert. Abstract; its subclasses are final."""

    needs_scores: ClassVar[bool] = False  # whether the threshold depends on the table at hand
    uses_hidden_share: ClassVar[bool] = False  # whether it depends on the calibration's
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
        """The score above which a row is an alert.

        Parameters
        ----------
        calibration : Calibration
        scores : iterable of arrays
            Of the table at hand, batch by batch; used only if `needs_scores`.
        quantile : function, optional
            Quantile function of the detector's prior, if it has one.
        """

    def summary(self, calibration: Calibration, scores: Iterable[np.ndarray]) -> np.ndarray:
        """What the threshold depends on of the scores of some rows, batch by batch; little."""
        return np.empty(0)

    def threshold_of(
        self,
        calibration: Calibration,
        summaries: Iterable[np.ndarray],
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The threshold of a table, given the summaries of its parts in any order."""
        return self.threshold(calibration, (), quantile)

    def by_part(self, threshold: Threshold, summaries: Iterable[np.ndarray]) -> Iterator[Threshold]:
        """The threshold for each part, given those of the table and summaries in row order."""
        for _ in summaries:
            yield threshold

    @abstractmethod
    def in_words(self) -> str:
        """Which rows are alerts, to complete a sentence that begins with "alerts are"."""

    def warning(self, calibration: Calibration, quantile: Quantile | None = None) -> str | None:
        """Why no row can ever be an alert; None if one can."""
        return None

    def if_none(self) -> str | None:
        """What it does not mean that a table has no alerts, if that may mislead."""
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
        """The policy in words."""
        return f"rows that score as high as the top {100 * self.rate:.3g}% of unlabelled rows"

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The lowest score of an unlabelled row above which p-values are small enough."""
        ranks = calibration.ranks()
        return _score_below_rank(ranks, ranks.p_value_of_rank <= self.rate)

    def warning(self, calibration: Calibration, quantile: Quantile | None = None) -> str | None:
        """Why no row can be an alert, if the rate is below the smallest possible p-value."""
        return _too_small(calibration, "false-alarm rate", self.rate)


@dataclass(frozen=True)
class Confidence(AlertPolicy):
    """Alerts are rows above the score that normal rows stay below with this confidence.

    The paper's policy. The score is the quantile of the detector's prior. A detector without a
    prior uses the score that this share of the unlabelled rows stays below.
    """

    level: float = 0.95
    _constraints = {"level": number(0, below=1)}

    def in_words(self) -> str:
        """The policy in words."""
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
        """Why no row can be an alert, if the level is out of reach without a prior."""
        return None if quantile is not None else self._without_prior().warning(calibration)

    def _without_prior(self) -> FalseAlarmRate:
        return FalseAlarmRate(max(round(1 - self.level, 12), 1e-12))  # 0.9 leaves exactly 0.1


@dataclass(frozen=True)
class Budget(AlertPolicy):
    """Alerts are the n rows with the highest scores of the table at hand; ties go to the first."""

    n: int
    needs_scores = True
    _constraints = {"n": whole_number(1)}

    def in_words(self) -> str:
        """The policy in words."""
        return "the highest row" if self.n == 1 else f"the {self.n:,} highest rows"

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The lowest score within the budget; only n scores are kept in memory."""
        return self.threshold_of(calibration, scores)

    def summary(self, calibration: Calibration, scores: Iterable[np.ndarray]) -> np.ndarray:
        """The n highest scores."""
        highest: np.ndarray = np.empty(0)
        for batch in scores:
            refuse_nan(batch)
            highest = np.append(highest, batch)
            if len(highest) > self.n:
                highest = np.partition(highest, -self.n)[-self.n :]
        return highest

    def threshold_of(
        self,
        calibration: Calibration,
        summaries: Iterable[np.ndarray],
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The lowest score within the budget: the highest of all are among those of the parts."""
        highest = self.summary(calibration, summaries)
        if not len(highest):
            return Threshold(np.inf)
        lowest = float(highest.min())
        return Threshold(lowest, n_equal=int((highest == lowest).sum()))

    def by_part(self, threshold: Threshold, summaries: Iterable[np.ndarray]) -> Iterator[Threshold]:
        """The threshold for each part: of rows with exactly this score, the first are alerts."""
        left = threshold.n_equal
        for highest in summaries:
            n_equal = min(left, int((highest == threshold.score).sum()))
            yield Threshold(threshold.score, n_equal)
            left -= n_equal


@dataclass(frozen=True)
class FalseDiscoveryRate(AlertPolicy):
    """On average at most this share of the alerts is false: Benjamini and Hochberg's procedure.

    It uses the calibrated p-values of all rows of the table at hand. A p-value depends only on the
    rank of a score, so counts by rank are all that is kept in memory.
    """

    rate: float
    needs_scores = True
    _constraints = {"rate": number(0, below=1)}

    def in_words(self) -> str:
        """The policy in words."""
        return f"rows of which at most {100 * self.rate:.3g}% are false on average"

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The lowest score above which few enough of the alerts are expected to be false."""
        return self.threshold_of(calibration, [self.summary(calibration, scores)])

    def summary(self, calibration: Calibration, scores: Iterable[np.ndarray]) -> np.ndarray:
        """Rows by rank, (n + 1,)."""
        ranks = calibration.ranks()
        size = len(ranks.p_value_of_rank)
        counts = np.zeros(size, dtype=np.int64)
        for batch in scores:
            counts += np.bincount(ranks.rank(batch), minlength=size)
        return counts

    def threshold_of(
        self,
        calibration: Calibration,
        summaries: Iterable[np.ndarray],
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The threshold, given rows by rank; those of parts add up."""
        ranks = calibration.ranks()
        counts = np.zeros(len(ranks.p_value_of_rank), dtype=np.int64)
        for part in summaries:
            counts += part
        n_alerts = np.cumsum(counts[::-1])[::-1]  # rows of this rank or higher
        expected = ranks.p_value_of_rank * n_alerts[0]  # false alerts among them
        allowed = self.rate * n_alerts * (1 + ROUNDING)  # 0.2 * 3 must not exceed 0.6
        return _score_below_rank(ranks, (expected <= allowed) & (n_alerts > 0))

    def warning(self, calibration: Calibration, quantile: Quantile | None = None) -> str | None:
        """Why no row can be an alert, if the rate is below the smallest possible p-value."""
        return _too_small(calibration, "false discovery rate", self.rate)

    def if_none(self) -> str:
        """That there may be anomalies all the same."""
        return (
            "this does not mean that there are no anomalies: the rows used for comparison contain "
            "some too, which makes p-values too large for a false discovery rate."
        )


@dataclass(frozen=True)
class ExpectedCost(AlertPolicy):
    """Alerts are chosen to minimise the expected cost of missed anomalies and false alarms.

    Unlabelled rows above the threshold count as false alarms, except for hidden anomalies, which
    are assumed to score like labelled ones.
    """

    missed: float
    false_alarm: float
    uses_hidden_share: ClassVar[bool] = True
    _constraints = {"missed": number(0), "false_alarm": number(0)}

    def in_words(self) -> str:
        """The policy in words."""
        return (
            f"rows where a miss at {self.missed:,.6g} would cost more than a false alarm at "
            f"{self.false_alarm:,.6g}"
        )

    def threshold(
        self,
        calibration: Calibration,
        scores: Iterable[np.ndarray] = (),
        quantile: Quantile | None = None,
    ) -> Threshold:
        """The score with the lowest expected cost; the lowest such score if there are several."""
        labelled, share = calibration.labelled, calibration.hidden_share
        if labelled is None or share is None:
            raise UserError(
                "the expected cost needs out-of-bag scores of labelled anomalies and their share "
                "among the unlabelled rows, which only the deviation ensemble has, from "
                f"{MIN_LABELLED} labelled anomalies on; fit again with ",
                Setting("method", "deviation ensemble"),
                ".",
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


def check_policy(policy: Any) -> None:
    """Refuse what is no policy, such as the name of one."""
    if not isinstance(policy, AlertPolicy):
        raise TypeError(
            f"policy={policy!r} is no alert policy; give one such as devnet.Budget(100)."
        )


def policy_to_json(policy: AlertPolicy) -> dict[str, Any]:
    """A policy as JSON values: its name and its parameters."""
    check_policy(policy)
    (name,) = (name for name, kind in POLICIES.items() if type(policy) is kind)
    return {"policy": name, **asdict(policy)}  # type: ignore[call-overload]


def policy_from_json(value: Any) -> AlertPolicy:
    """Invert `policy_to_json`, or raise a ModelFileError."""
    try:
        name, parameters = value["policy"], {k: v for k, v in value.items() if k != "policy"}
        return POLICIES[name](**parameters)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"the model file has an impossible alert policy, {str(value)[:80]} ({error}); known "
            f"are {', '.join(POLICIES)}. The file was edited or damaged; save the model again."
        ) from error


def _score_below_rank(ranks: ConformalRanks, is_alert: np.ndarray) -> Threshold:
    """The score exceeded by rows of the lowest alert rank and higher, given is_alert (n + 1,)."""
    alert_ranks = np.flatnonzero(is_alert)
    return Threshold(float(ranks.scores[alert_ranks[0] - 1]) if len(alert_ranks) else np.inf)


def _too_small(calibration: Calibration, what: str, rate: float) -> str | None:
    """Why no row can be an alert, if the rate is below the smallest possible p-value."""
    smallest = float(calibration.ranks().p_value_of_rank[-1])
    if rate >= smallest:
        return None
    unit = 10.0 ** (floor(log10(smallest)) - 1)  # of the second digit, to round up to
    shown = ceil(smallest / unit) * unit
    return (
        f"no row can be an alert: the {what} is {rate:g}, but with {len(calibration.unlabelled)} "
        f"unlabelled rows to compare with, the smallest possible is {shown:.2g}; choose a rate of "
        "at least that, or fit on more unlabelled rows."
    )
