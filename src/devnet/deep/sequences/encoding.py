"""What a step's values are for the network: standardised numbers, or codes of symbols."""

from typing import Any, NamedTuple

import numpy as np

from devnet.core.model_file import MAX_COUNT, field, is_count, is_finite_number
from devnet.core.parameters import number
from devnet.deep.sequences.reading import Steps, place, shown

MOST_SYMBOLS = 10_000
FEWEST_SEQUENCES = 2  # with a symbol, for it to have a code of its own
OTHER = 0  # code of symbols that are rare, or were not seen in training
CHUNK = 1 << 18  # steps


class Encoding(NamedTuple):
    """What is learned about the channels of training sequences.

    Numbers are measured in standard deviations from their channel's mean, so that a missing one
    may be 0. Symbols have codes: those of at least two training sequences from 1 on, and all
    others, such as those that training did not see, share the code 0.
    """

    mean: np.ndarray  # (c,)
    std: np.ndarray  # (c,)
    symbols: np.ndarray | None  # (v,) ascending, texts or whole numbers; None for numbers

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Values (s, c) in float64, NaN where missing."""
        if self.symbols is None:
            with np.errstate(invalid="ignore", over="ignore"):
                numbers: np.ndarray = (values - self.mean) / self.std
            return numbers
        return _codes(values, self.symbols)

    def to_header(self) -> dict[str, Any]:
        """As JSON values."""
        symbols = None if self.symbols is None else self.symbols.tolist()
        return {"mean": self.mean.tolist(), "std": self.std.tolist(), "symbols": symbols}

    @classmethod
    def from_header(cls, header: dict[str, Any], n_channels: int, symbols: bool) -> "Encoding":
        """The encoding of a model file, with everything checked."""

        def is_valid(value: Any) -> bool:
            return (
                isinstance(value, dict)
                and set(value) == {"mean", "std", "symbols"}
                and _is_numbers(value["mean"], n_channels, is_finite_number)
                and _is_numbers(value["std"], n_channels, number(0).accepts)
                and (_is_symbols(value["symbols"]) if symbols else value["symbols"] is None)
            )

        found = field(header, "encoding", is_valid)
        known = np.array(found["symbols"]) if symbols else None
        return cls(np.array(found["mean"], float), np.array(found["std"], float), known)


def learn_encoding(steps: Steps, *, symbols: bool) -> Encoding:
    """Learn how to encode the steps of training sequences."""
    if symbols:
        return Encoding(np.zeros(1), np.ones(1), _learn_symbols(steps))
    mean, std = _moments(steps.values)
    empty = np.flatnonzero(np.isnan(mean))
    if len(empty):
        raise ValueError(
            f"channel {empty[0]} of X has no value in any sequence; leave the channel out."
        )
    return Encoding(mean, std, None)


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (c,) of the finite values; 1 if a channel is constant."""
    total, squares, count = (np.zeros(values.shape[1]) for _ in range(3))
    center = np.array([_first_finite(column) for column in values.T])
    for start in range(0, len(values), CHUNK):
        chunk = values[start : start + CHUNK] - center
        is_there = np.isfinite(chunk)
        chunk = np.where(is_there, chunk, 0.0)
        count += is_there.sum(axis=0)
        with np.errstate(over="ignore"):
            total += chunk.sum(axis=0)
            squares += (chunk**2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = total / count
        std = np.sqrt(np.maximum(squares / count - mean**2, 0))
    return center + mean, np.where((std > 0) & np.isfinite(std), std, 1.0)


def _first_finite(column: np.ndarray) -> float:
    """Something to subtract first, so that a large mean does not swallow the deviations."""
    for start in range(0, len(column), CHUNK):
        chunk = column[start : start + CHUNK]
        is_there = np.isfinite(chunk)
        if is_there.any():
            return float(chunk[np.argmax(is_there)])
    return 0.0


def _learn_symbols(steps: Steps) -> np.ndarray:
    flat = steps.values[:, 0]
    is_there = ~is_missing(flat)
    known = _plain(flat[is_there], steps, np.flatnonzero(is_there))
    rows = np.repeat(np.arange(len(steps.lengths)), steps.lengths)[is_there]
    symbols, codes = np.unique(known, return_inverse=True)
    pairs = np.unique(np.stack([codes, rows]), axis=1)  # each symbol once per sequence
    n_sequences = np.bincount(pairs[0], minlength=len(symbols))
    order = np.argsort(-n_sequences, kind="stable")[:MOST_SYMBOLS]
    kept: np.ndarray = symbols[np.sort(order[n_sequences[order] >= FEWEST_SEQUENCES])]
    if not len(kept):
        raise ValueError(
            "no symbol of X occurs in two sequences, so nothing can be learned from symbols; give "
            "symbols=False if these are numbers."
        )
    return kept


def _codes(values: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """Codes (s, 1); NaN where a symbol is missing."""
    flat = values[:, 0]
    codes = np.full(len(flat), np.nan)
    is_there = ~is_missing(flat)
    found = flat[is_there]
    if len(found) and (_kind(found) == "U") != (symbols.dtype.kind == "U"):
        raise ValueError(
            f"X has the symbol {shown(found[0])}, but the model learned from symbols such as "
            f"{shown(symbols[0])}; give symbols of the same kind."
        )
    found = found.astype(symbols.dtype.kind if symbols.dtype.kind == "U" else np.int64)
    position = np.minimum(np.searchsorted(symbols, found), len(symbols) - 1)
    codes[is_there] = np.where(symbols[position] == found, position + 1, OTHER)
    return codes[:, None]


def is_missing(flat: np.ndarray) -> np.ndarray:
    """Which symbols are None or NaN, (s,) bool."""
    if flat.dtype.kind == "f":
        missing: np.ndarray = np.isnan(flat)
        return missing
    if flat.dtype.kind != "O":
        return np.zeros(len(flat), dtype=bool)
    return np.array([one is None or one != one for one in flat], dtype=bool)  # noqa: PLR0124


def _kind(found: np.ndarray) -> str:
    """Whether symbols are texts (U) or whole numbers (i); anything else is none (?)."""
    if found.dtype.kind != "O":
        is_whole = found.dtype.kind in "iub" or (
            found.dtype.kind == "f" and (found == np.round(found)).all()
        )
        return "U" if found.dtype.kind == "U" else "i" if is_whole else "?"
    if all(isinstance(one, str) for one in found):
        return "U"
    return "i" if all(isinstance(one, int | np.integer) for one in found) else "?"


def _plain(found: np.ndarray, steps: Steps, positions: np.ndarray) -> np.ndarray:
    """Training symbols as an array of texts or of whole numbers."""
    kind = _kind(found)
    if not len(found):
        raise ValueError("X has no symbols, only missing values.")
    if kind == "?":
        odd = next(i for i in range(len(found)) if _kind(found[i : i + 1]) != _kind(found[:1]))
        raise ValueError(
            f"X has the symbol {shown(found[odd])} at {place(int(positions[odd]), steps.offsets)}; "
            "symbols must be all texts or all whole numbers."
        )
    plain: np.ndarray = found.astype("U" if kind == "U" else np.int64)
    return plain


def _is_numbers(value: Any, size: int, accepts: Any) -> bool:
    return isinstance(value, list) and len(value) == size and all(map(accepts, value))


def _is_symbols(value: Any) -> bool:
    if not (isinstance(value, list) and 0 < len(value) <= MOST_SYMBOLS):
        return False
    is_text = all(isinstance(one, str) for one in value)
    is_whole = all(is_count(one, -MAX_COUNT) for one in value)
    return (is_text or is_whole) and all(a < b for a, b in zip(value, value[1:], strict=False))
