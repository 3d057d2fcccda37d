"""A caller's sequences, in whatever form they come, as one table of steps."""

from typing import Any, NamedTuple

import numpy as np


class Steps(NamedTuple):
    """Sequences one after the other."""

    values: np.ndarray  # (s, c): all steps of the first sequence, then those of the second, ...
    offsets: np.ndarray  # (n + 1,): where each begins, and where the last one ends
    is_array: bool  # whether they came as one array, so that answers are one array too

    @property
    def lengths(self) -> np.ndarray:
        """Steps of each sequence, (n,)."""
        return np.diff(self.offsets)


def read_steps(X: Any, *, symbols: bool) -> Steps:
    """Read an array (n, t) or (n, t, c), or a list of sequences (t,) or (t, c) of any lengths."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    is_list = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object)
    if is_list and (not len(X) or _is_sequence(X[0])):
        return _read_list(X, symbols)
    array = np.asarray(X)
    if array.ndim not in (2, 3):
        raise ValueError(
            f"X has shape {array.shape}, but sequences are (n, t), (n, t, c) or a list of arrays; "
            "wrap a single sequence as [X], and cut a long series with windows()."
        )
    array = array[:, :, None] if array.ndim == 2 else array
    n, t, c = array.shape
    _refuse_empty(np.full(n, t), n)
    _refuse_no_channel(c)
    _refuse_symbol_channels(c, symbols)
    return Steps(_checked(array.reshape(n * t, c), symbols, t), np.arange(n + 1) * t, True)


def place(steps: int, offsets: np.ndarray) -> str:
    """Where a step of the table is, in the caller's words."""
    row = int(np.searchsorted(offsets, steps, side="right")) - 1
    return f"row {row}, step {steps - int(offsets[row])}"


def shown(value: Any) -> str:
    """A value of X as its caller would write it."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, str | list | tuple) or getattr(value, "ndim", 0) > 0


def _read_list(X: Any, symbols: bool) -> Steps:
    parts = [_as_sequence(one, row, symbols) for row, one in enumerate(X)]
    lengths = np.array([len(part) for part in parts], dtype=int)
    _refuse_empty(lengths, len(parts))
    channels = [part.shape[1] for part in parts]
    for row, found in enumerate(channels):
        if found != channels[0]:
            raise ValueError(
                f"row {row} of X has {found} channels, but row 0 has {channels[0]}; all sequences "
                "must have the same channels."
            )
    _refuse_no_channel(channels[0])
    _refuse_symbol_channels(channels[0], symbols)
    return Steps(_joined(parts), np.append(0, np.cumsum(lengths)), False)


def _as_sequence(one: Any, row: int, symbols: bool) -> np.ndarray:
    """One sequence (t, c); the characters of a text are symbols."""
    one = one.to_numpy() if hasattr(one, "to_numpy") else one
    if isinstance(one, str):
        one = list(one)
    try:
        array = np.asarray(one, dtype=object if symbols and _is_mixed(one) else None)
    except ValueError as error:
        raise ValueError(f"row {row} of X is no sequence (t,) or (t, c): {error}.") from error
    if array.ndim not in (1, 2):
        raise ValueError(
            f"row {row} of X has shape {array.shape}, but a sequence is (t,) or (t, c)."
        )
    array = array[:, None] if array.ndim == 1 else array
    return _checked(array, symbols, len(array), row) if len(array) else array


def _is_mixed(one: Any) -> bool:
    """Whether a list may hold missing symbols, which NumPy would write out as text."""
    return isinstance(one, list | tuple)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    kinds = {part.dtype.kind for part in parts}
    if len(kinds) > 1 and kinds & {"U", "O"}:
        parts = [part.astype(object) for part in parts]
    joined: np.ndarray = np.concatenate(parts)
    return joined


def _checked(values: np.ndarray, symbols: bool, length: int, row: int | None = None) -> np.ndarray:
    """Values as numbers, or as they are if they are symbols."""
    if symbols:
        return values
    if values.dtype.kind in "fiub":
        return values
    try:
        numbers: np.ndarray = values.astype(np.float64)
    except (TypeError, ValueError):
        step, channel = next(
            position for position in np.ndindex(values.shape) if not _is_number(values[position])
        )
        where = f"row {step // length if row is None else row}, step {step % length}"
        raise ValueError(
            f"X has the value {shown(values[step, channel])} at {where}, which is no number; "
            "give symbols=True for events and other symbols."
        ) from None
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(np.nan if value is None else value)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_empty(lengths: np.ndarray, n: int) -> None:
    if not n:
        raise ValueError("X has no sequences; give at least one.")
    if not lengths.all():
        row = int(np.flatnonzero(lengths == 0)[0])
        raise ValueError(f"row {row} of X is an empty sequence; leave it out.")


def _refuse_no_channel(n_channels: int) -> None:
    if not n_channels:
        raise ValueError("the sequences of X have no channels; give at least one value per step.")


def _refuse_symbol_channels(n_channels: int, symbols: bool) -> None:
    if symbols and n_channels != 1:
        raise ValueError(
            f"the sequences of X have {n_channels} symbols at each step, but symbols=True takes "
            "one; join them to one symbol per step."
        )
