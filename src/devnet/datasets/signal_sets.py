"""Sets of sequences: real heart beats and real letters, some with faults planted into them.

Settings were chosen on the sets `TO_TUNE_ON`, and on faults and changes of letters that are not
here; no setting was chosen on those `PUT_ASIDE`.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from devnet.core.names import known
from devnet.datasets import Folder, locate

BEATS_FILE = "ecg5000.npz"
LETTERS_FILE = "20_newsgroups-19997.tar.xz"
N_WINDOWS, N_STEPS = 2500, 140
SHARE = 0.12  # of windows with a fault
N_LETTERS, STRETCH = 80, 24
N_LABELLED_FAULTS = 3  # kinds 0, 1 and 2 of those that are planted; others are never labelled
NORMAL, MOST_COMMON = 1, 2  # classes of beats: normal, and the most common of the others
TO_TUNE_ON = ("beats", "shifted beats")
PUT_ASIDE = ("unknown beats", "planted faults", "letters")


class SignalSet(NamedTuple):
    """Sequences of one length, and which of them are anomalies."""

    X: np.ndarray  # (n, t): float32, or codes of symbols as whole numbers
    is_anomaly: np.ndarray  # (n,)
    may_be_labelled: np.ndarray | None  # (n,): anomalies of kinds that are labelled; None for all
    intervals: np.ndarray | None  # (n, 2): first step of each fault and the step after its last
    description: str


class _Source(NamedTuple):
    file: str
    description: str
    read: Callable[[Path], tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]]


def load_signals(name: str, folder: Folder | None = None) -> SignalSet:
    """Read or make one of `SIGNAL_SETS`, from the folder that `devnet.datasets.load` looks into."""
    source = SIGNAL_SETS[known(name, SIGNAL_SETS, "set of sequences")]
    found = source.read(locate(source.file, folder))
    return SignalSet(*found, f"{name}: {source.description}")


def _beats(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Beats (n, 140) and their classes."""
    with np.load(path) as file:
        return file["X"].astype(np.float32), file["cls"].astype(int)


def normal_series(path: Path, generator: np.random.Generator) -> np.ndarray:
    """The normal beats, joined in random order to one series."""
    beats, kind = _beats(path)
    return generator.permutation(beats[kind == NORMAL]).ravel()


def _all_beats(path: Path) -> tuple[np.ndarray, np.ndarray, None, None]:
    beats, kind = _beats(path)
    return beats, kind != NORMAL, None, None


def _rare_beats(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, None]:
    beats, kind = _beats(path)
    return beats, kind != NORMAL, ~np.isin(kind, [NORMAL, MOST_COMMON]), None


def _shifted_beats(path: Path) -> tuple[np.ndarray, np.ndarray, None, None]:
    """Windows that begin anywhere: the second half of a beat, and the first half of the next."""
    beats, kind = _beats(path)
    generator = np.random.default_rng(0)
    order = generator.permutation(len(beats))
    before = generator.choice(np.flatnonzero(kind == NORMAL), len(beats))
    pairs = np.concatenate([beats[before], beats[order]], axis=1)
    start = generator.integers(N_STEPS // 4, N_STEPS, len(beats))  # most of the second beat
    X = np.stack([pair[first : first + N_STEPS] for pair, first in zip(pairs, start, strict=True)])
    return X, kind[order] != NORMAL, None, None


def _planted(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    series = normal_series(path, generator)
    start = generator.choice(len(series) - N_STEPS, N_WINDOWS, replace=False)
    X = np.stack([series[first : first + N_STEPS] for first in start])
    kind = np.where(generator.random(N_WINDOWS) < SHARE, generator.integers(5, size=N_WINDOWS), -1)
    intervals = np.zeros((N_WINDOWS, 2), int)
    for row in np.flatnonzero(kind >= 0):
        intervals[row] = plant(X[row], int(kind[row]), generator)
    return X, kind >= 0, (kind >= 0) & (kind < N_LABELLED_FAULTS), intervals


def plant(
    signal: np.ndarray, kind: int, generator: np.random.Generator, width: tuple[int, int] = (12, 30)
) -> tuple[int, int]:
    """Change a stretch of a signal in place; return its first step and the step after its last."""
    size = int(generator.integers(*width))
    start = int(generator.integers(len(signal) - size))
    part = signal[start : start + size]
    sign = generator.choice([-1.0, 1.0])
    if kind == 0:  # noise
        part += generator.normal(0, 0.6, size)
    elif kind == 1:  # the sensor holds its value
        part[:] = part[0]
    elif kind == 2:  # a level of its own
        part += sign * 1.2
    elif kind == 3:  # upside down around its mean
        part[:] = 2 * part.mean() - part + sign * 0.3
    else:  # a hum
        part += np.sin(np.arange(size) * 2.0)
    return start, start + size


def _letters(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Letters of real messages; in some, a stretch runs backwards, is mixed up, or is shifted."""
    generator = np.random.default_rng(0)
    X = _texts(path, generator)
    kind = np.where(generator.random(len(X)) < SHARE, generator.integers(3, size=len(X)), -1)
    intervals = np.zeros((len(X), 2), int)
    for row in np.flatnonzero(kind >= 0):
        start = int(generator.integers(N_LETTERS - STRETCH))
        part = X[row, start : start + STRETCH]
        if kind[row] == 0:
            part[:] = part[::-1].copy()
        elif kind[row] == 1:
            part[:] = generator.permutation(part)
        else:  # the next letter of the alphabet; a space stays one
            part[part > 0] = part[part > 0] % 26 + 1
        intervals[row] = start, start + STRETCH
    return X, kind >= 0, (kind >= 0) & (kind < 2), intervals


def _texts(path: Path, generator: np.random.Generator) -> np.ndarray:
    """Codes (n, 80) of stretches of messages: 0 for what is no letter, 1 to 26."""
    texts: list[np.ndarray] = []
    with tarfile.open(path) as archive:
        members = sorted((m for m in archive.getmembers() if m.isfile()), key=lambda one: one.name)
        chosen = {members[i].name for i in generator.permutation(len(members))[: 2 * N_WINDOWS]}
        for member in members:
            content = archive.extractfile(member) if member.name in chosen else None
            if content is None or len(texts) == N_WINDOWS:
                continue
            body = content.read().decode("latin-1").partition("\n\n")[2].lower()
            words = " ".join("".join(s if "a" <= s <= "z" else " " for s in body).split())
            if len(words) >= 2 * N_LETTERS:
                middle = words[len(words) // 2 - N_LETTERS // 2 :][:N_LETTERS]
                texts.append(np.array([max(0, ord(sign) - 96) for sign in middle]))
    return np.stack(texts)


SIGNAL_SETS = {
    "beats": _Source(
        BEATS_FILE, "ECG5000, 140 steps; anomalies are beats of all classes but 1", _all_beats
    ),
    "shifted beats": _Source(
        BEATS_FILE,
        "the same beats in windows that begin anywhere in the beat before",
        _shifted_beats,
    ),
    "unknown beats": _Source(
        BEATS_FILE,
        "ECG5000; the most common kind of anomaly, class 2, is never labelled",
        _rare_beats,
    ),
    "planted faults": _Source(
        BEATS_FILE,
        "windows of joined normal beats of ECG5000; anomalies have one of five faults planted, "
        "three of which may be labelled",
        _planted,
    ),
    "letters": _Source(
        LETTERS_FILE,
        "80 letters of messages of 20 Newsgroups; in anomalies 24 of them run backwards, are mixed "
        "up or, which is never labelled, are replaced by the next letters",
        _letters,
    ),
    "joined beats": _Source(
        BEATS_FILE, "normal beats of ECG5000, to join in an order of each run", _all_beats
    ),
}
