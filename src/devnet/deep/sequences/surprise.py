"""How unexpected each step is beside its neighbours, as learned from all training sequences.

With few labels a network cannot learn what is usual, but the sequences without a label tell. A
number is expected to be what a linear regression on the steps around it says; a symbol, to stand
between those that it stands between in training. A surprise of 0 is usual, and their standard
deviation is about 1. A sequence's own steps alone decide.
"""

from typing import Any, NamedTuple

import numpy as np

from devnet.core.model_file import field, is_count, is_finite_number
from devnet.core.parameters import number
from devnet.deep.sequences.encoding import Encoding
from devnet.deep.sequences.padding import Padded, pad
from devnet.deep.sequences.reading import Steps

REACH = 4  # steps on either side that a number is expected from
RIDGE = 1e-5  # share of the neighbours' variance, so that equal ones share their weight
SMALLEST = 1e-6  # usual distance, in standard deviations
FARTHEST = 100.0  # standard deviations that a number counts with while expectations are learned
PRIOR_PAIRS = 10  # added to those of a symbol: with each other symbol by how frequent it is
MOST_PAIRS = 100_000
MOST_VALUES = 1 << 20  # of training sequences, from which surprises are learned


class NumberSurprise(NamedTuple):
    """How far a number is from what it is expected to be: 2 log(1 + distance / usual) - 1."""

    weights: np.ndarray  # (c, 2 * REACH): of the steps before, then of those after
    usual: np.ndarray  # (c,): mean distance in training

    @property
    def least(self) -> float:
        """Of a number that is as expected."""
        return -1.0

    def of(self, steps: Padded) -> np.ndarray:
        """Surprises (b, t, c) of standardised values; 0 where one is missing."""
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused later
            expected = np.einsum("btck,ck->btc", _around(steps), self.weights)
            found = 2 * np.log1p(np.abs(steps.values - expected) / self.usual) - 1
        surprises: np.ndarray = np.where(steps.observed, found, 0.0)
        return surprises

    def to_header(self) -> dict[str, Any]:
        """As JSON values."""
        return {"weights": self.weights.tolist(), "usual": self.usual.tolist()}

    @staticmethod
    def is_header(value: Any, n_channels: int) -> bool:
        """Whether these are the JSON values of such a surprise."""

        def are_weights(one: Any) -> bool:
            return _is_list(one, 2 * REACH, is_finite_number)

        return (
            isinstance(value, dict)
            and set(value) == {"weights", "usual"}
            and _is_list(value["weights"], n_channels, are_weights)
            and _is_list(value["usual"], n_channels, number(0).accepts)
        )


class SymbolSurprise(NamedTuple):
    """-log p of a symbol: the mean of that after the one before, and that before the one after."""

    pairs: np.ndarray  # (p,) ascending: code of the first * n_codes + code of the second
    counts: np.ndarray  # (p,): how often each pair was seen
    n_codes: int
    mean: float = 0.0  # in training
    std: float = 1.0

    @property
    def least(self) -> float:
        """Of a step that has no symbol."""
        return 0.0

    def of(self, steps: Padded) -> np.ndarray:
        """Surprises (b, t, 1) of codes; 0 where one is missing, or stands alone."""
        total, count = (np.zeros(steps.values.shape[:2]) for _ in range(2))
        if len(self.pairs):
            first, second, is_pair = _pairs(steps)
            after, before = self._surprises(first, second)
            total[:, 1:] += np.where(is_pair, after, 0.0)
            total[:, :-1] += np.where(is_pair, before, 0.0)
            count[:, 1:] += is_pair
            count[:, :-1] += is_pair
        found = (total / np.maximum(count, 1) - self.mean) / self.std
        surprises: np.ndarray = np.where(count > 0, found, 0.0)[:, :, None]
        return surprises

    def _surprises(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the second symbols after the first ones, and of the first before the second ones."""
        keys = first * self.n_codes + second
        place = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
        n_both = np.where(self.pairs[place] == keys, self.counts[place], 0)
        n_first, n_second = (
            np.bincount(codes, self.counts, self.n_codes)
            for codes in np.divmod(self.pairs, self.n_codes)
        )
        return (
            _minus_log(n_both, n_first[first], n_second, second),
            _minus_log(n_both, n_second[second], n_first, first),
        )

    def to_header(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "pairs": self.pairs.tolist(),
            "counts": self.counts.tolist(),
            "mean": self.mean,
            "std": self.std,
        }

    @staticmethod
    def is_header(value: Any, n_codes: int) -> bool:
        """Whether these are the JSON values of such a surprise."""

        def is_pair(one: Any) -> bool:
            return is_count(one, 0, n_codes**2 - 1)

        return (
            isinstance(value, dict)
            and set(value) == {"pairs", "counts", "mean", "std"}
            and isinstance(value["pairs"], list)
            and _is_list(value["pairs"], min(len(value["pairs"]), MOST_PAIRS), is_pair)
            and all(a < b for a, b in zip(value["pairs"], value["pairs"][1:], strict=False))
            and _is_list(value["counts"], len(value["pairs"]), is_count)
            and is_finite_number(value["mean"])
            and number(0).accepts(value["std"])
        )


Surprise = NumberSurprise | SymbolSurprise


def learn_surprise(steps: Steps, encoding: Encoding) -> Surprise:
    """Learn what is expected from training sequences; of very many, evenly chosen ones will do."""
    n_channels = steps.values.shape[1]
    longest = min(int(steps.lengths.max()), max(1, MOST_VALUES // n_channels))
    n_kept = max(1, MOST_VALUES // (longest * n_channels))
    every = -(-len(steps.lengths) // n_kept)
    some = pad(steps, encoding, slice(None, None, every), longest)
    if encoding.symbols is None:
        within = np.clip(some.values, -FARTHEST, FARTHEST)
        return _learn_numbers(some._replace(values=within))
    return _learn_symbols(some, 1 + len(encoding.symbols))


def read_surprise(header: dict[str, Any], encoding: Encoding) -> Surprise:
    """The surprise of a model file, with everything checked."""
    if encoding.symbols is None:
        n_channels = len(encoding.mean)
        found = field(header, "surprise", lambda one: NumberSurprise.is_header(one, n_channels))
        return NumberSurprise(np.array(found["weights"], float), np.array(found["usual"], float))
    n_codes = 1 + len(encoding.symbols)
    found = field(header, "surprise", lambda one: SymbolSurprise.is_header(one, n_codes))
    pairs, counts = np.array(found["pairs"], np.int64), np.array(found["counts"], np.int64)
    return SymbolSurprise(pairs, counts, n_codes, found["mean"], found["std"])


def _learn_numbers(steps: Padded) -> NumberSurprise:
    around = _around(steps)
    weights = np.zeros((around.shape[2], 2 * REACH))
    usual = np.ones(len(weights))
    for channel in range(len(weights)):
        seen = steps.observed[:, :, channel]
        inputs, output = around[:, :, channel][seen], steps.values[:, :, channel][seen]
        squares = inputs.T @ inputs
        ridge = RIDGE * np.trace(squares) + SMALLEST
        weights[channel] = np.linalg.solve(squares + ridge * np.eye(2 * REACH), inputs.T @ output)
        usual[channel] = max(SMALLEST, np.abs(output - inputs @ weights[channel]).mean())
    return NumberSurprise(weights, usual)


def _learn_symbols(steps: Padded, n_codes: int) -> SymbolSurprise:
    first, second, is_pair = _pairs(steps)
    pairs, counts = np.unique((first * n_codes + second)[is_pair], return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_PAIRS])
    surprise = SymbolSurprise(pairs[kept], counts[kept], n_codes)
    found = surprise.of(steps)[steps.observed]
    return surprise._replace(mean=float(found.mean()), std=max(SMALLEST, float(found.std())))


def _around(steps: Padded) -> np.ndarray:
    """The steps before and after each step, (b, t, c, 2 * REACH).

    A missing value is that of the step before. Beyond an end, the last step goes on.
    """
    b, t, _ = steps.values.shape
    row, step = np.arange(b)[:, None], np.arange(t)
    filled = steps.values
    if not steps.observed.all():
        last = np.where(steps.observed, step[:, None], -1)
        last = np.maximum.accumulate(last, axis=1)
        first = steps.observed.argmax(axis=1)[:, None]
        filled = np.take_along_axis(filled, np.where(last < 0, first, last), axis=1)
    offsets = [*range(-REACH, 0), *range(1, REACH + 1)]
    end = steps.length[:, None] - 1
    return np.stack([filled[row, np.clip(step + o, 0, end)] for o in offsets], axis=3)


def _pairs(steps: Padded) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes before and after, each (b, t - 1), and whether both are there."""
    codes, is_there = steps.values[:, :, 0].astype(np.int64), steps.observed[:, :, 0]
    return codes[:, :-1], codes[:, 1:], is_there[:, :-1] & is_there[:, 1:]


def _minus_log(
    n_both: np.ndarray, n_given: np.ndarray, n_each: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """-log p of codes beside given ones, of which `n_both` of `n_given` were seen beside them."""
    share = (n_each + 1) / (n_each + 1).sum()
    found: np.ndarray = -np.log((n_both + PRIOR_PAIRS * share[codes]) / (n_given + PRIOR_PAIRS))
    return found


def _is_list(value: Any, size: int, accepts: Any) -> bool:
    return isinstance(value, list) and len(value) == size and all(map(accepts, value))
