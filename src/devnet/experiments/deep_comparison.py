"""Which method suits images or a series: a network that reads them, or a table of their features.

Parts that show the same thing are never on both sides of a split: equal files, and windows of a
series that overlap.
"""

import hashlib
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from devnet.core.names import known
from devnet.core.seeds import as_generator
from devnet.core.sentence import UserError
from devnet.core.wording import count_text
from devnet.deep.images.features import ImageFeatures
from devnet.deep.images.image_devnet import ImageDevNet
from devnet.deep.images.image_folder import ANOMALY, NORMAL_LABEL, labelled_images
from devnet.deep.images.image_model import PATCH_SETTINGS
from devnet.deep.sequences.sequence_devnet import SequenceDevNet
from devnet.deep.sequences.series_model import USUAL_LENGTH, read_labelled_series
from devnet.deep.sequences.series_table import SeriesTable
from devnet.deep.sequences.window_features import WindowFeatures
from devnet.deep.sequences.windows import (
    checked_intervals,
    labelled_starts,
    refuse_long_windows,
    take_windows,
    usual_step,
)
from devnet.detectors.methods import find_method
from devnet.experiments.advice import SplitResult, highest_by_chance
from devnet.experiments.comparison import N_REPEATS, Comparison
from devnet.experiments.contest import OnFit, conclude, hold_contest, judge
from devnet.experiments.splits import FEWEST, N_FOLDS, RowsToSplit, Split, make_splits, ranked_share
from devnet.experiments.units import n_repeated
from devnet.tables.readings.reading import BY_VALUES, Conventions

BLOCK_LENGTHS = 8  # lengths of a window in a block, by which unlabelled windows are dealt out
MOST_WINDOWS = 20_000  # unlabelled ones; more would only take longer
ON_FEATURES = {  # methods of tables that learn from features
    "ensemble on features": "deviation ensemble",
    "PU trees on features": "PU trees",
    "iForest on features": "iForest",
}

Maker = Callable[[int], BaseEstimator]
"""An unfitted detector for a seed."""


class _Rows(NamedTuple):
    """What is learned from and ranked: files, or windows."""

    name: str  # of the folder or table
    things: str  # what they are called
    X: np.ndarray  # (n, ...)
    y: np.ndarray  # (n,): 1 for labelled anomalies, -1 for known normal ones
    unit: np.ndarray  # (n,): equal for rows that belong together
    label: tuple[str, str]  # the column of labels, and the value of anomalies
    notes: list[str]
    n_left_out: int = 0  # rows that are not compared


def compare_images(
    folder: str | PathLike[str],
    labels: str | Path | None = None,
    *,
    methods: Sequence[str] = (),
    size: tuple[int, int] | None = None,
    n_repeats: int = N_REPEATS,
    random_state: Any = None,
    on_fit: OnFit | None = None,
) -> Comparison:
    """Rank the images of a folder by networks and by tables of features, and recommend one.

    Equal files are never on both sides of a split.

    Parameters
    ----------
    folder, labels : str or path
        As for `labelled_images`.
    methods : sequence of str, optional
        Names of `IMAGE_METHODS`; by default all.
    size : (height, width), optional
        Files are resized to this.
    n_repeats, random_state, on_fit
        As for `compare_methods`.
    """
    files, y = labelled_images(Path(folder), labels)
    equal = _equal_files(files)
    notes = []
    if repeated := n_repeated(equal):
        files_text = count_text(repeated, "file equals", "files equal")
        notes.append(f"{files_text} another one; equal files are never on both sides of a split.")
    rows = _Rows(
        str(folder), "images", np.array(files, dtype=object), y, equal, ("label", ANOMALY), notes
    )
    makers = {name: partial(IMAGE_METHODS[name], size) for name in _chosen(methods, IMAGE_METHODS)}
    return _compare(rows, makers, n_repeats, random_state, on_fit)


def compare_series(
    table: Any,
    *,
    time: str,
    label: str,
    channels: Sequence[str] = (),
    length: int = USUAL_LENGTH,
    conventions: Conventions = BY_VALUES,
    methods: Sequence[str] = (),
    n_repeats: int = N_REPEATS,
    random_state: Any = None,
    on_fit: OnFit | None = None,
) -> Comparison:
    """Rank the windows of a series by networks and by tables of features, and recommend one.

    All windows of a labelled interval are on one side of a split, unlabelled windows are dealt out
    in blocks, and windows on different sides never overlap. Of a long series, unlabelled blocks are
    sampled.

    Parameters
    ----------
    table, time, label, channels, length
        As for `SeriesModel.fit`.
    conventions : Conventions
        Its decimal_comma, day_first and missing.
    methods : sequence of str, optional
        Names of `SERIES_METHODS`; by default all.
    n_repeats, random_state, on_fit
        As for `compare_methods`.
    """
    generator = as_generator(random_state)
    found, source = read_labelled_series(table, time, channels, label, conventions)
    cut = _cut(found, length, generator)
    X = take_windows(found.series, cut.start, length)
    rows = _Rows(source.name, "windows", X, cut.y, cut.unit, (label, "1"), [], cut.n_left_out)
    makers = {one: SERIES_METHODS[one] for one in _chosen(methods, SERIES_METHODS)}
    apart = partial(_apart, cut, length)
    return _compare(rows, makers, n_repeats, generator, on_fit, apart)


class _Cut(NamedTuple):
    """The windows of a series that are compared."""

    start: np.ndarray  # (n,) first steps, ascending
    y: np.ndarray  # (n,)
    unit: np.ndarray  # (n,)
    n_left_out: int


def _cut(found: SeriesTable, length: int, generator: np.random.Generator) -> _Cut:
    """Windows of a series: all labelled ones, and unlabelled ones of blocks drawn at random."""
    n_steps, step = len(found.series), usual_step(length)
    refuse_long_windows(n_steps, length, step)
    start, y = labelled_starts(n_steps, length, step, checked_intervals(found.intervals, n_steps))
    unit = _window_units(start, y, length)
    blocks, sizes = np.unique(unit[y == 0], return_counts=True)
    order = generator.permutation(len(blocks))
    taken = blocks[order[np.cumsum(sizes[order]) <= MOST_WINDOWS]]
    kept = (y == 1) | np.isin(unit, taken)
    return _Cut(start[kept], y[kept], unit[kept], int((~kept).sum()))


def _image_network(size: tuple[int, int] | None, seed: int) -> ImageDevNet:
    return ImageDevNet(size=size, random_state=seed)


def _patch_network(size: tuple[int, int] | None, seed: int) -> ImageDevNet:
    return ImageDevNet(head="patches", size=size, random_state=seed, **PATCH_SETTINGS)


def _image_table(method: str, size: tuple[int, int] | None, seed: int) -> BaseEstimator:
    features = ImageFeatures(size=size, random_state=seed)
    return make_pipeline(features, find_method(method)(random_state=seed))


def _sequence_network(head: str, seed: int) -> SequenceDevNet:
    return SequenceDevNet(head=head, random_state=seed)


def _window_table(method: str, seed: int) -> BaseEstimator:
    return make_pipeline(WindowFeatures(), find_method(method)(random_state=seed))


IMAGE_METHODS: Mapping[str, Callable[..., BaseEstimator]] = {  # of a size and a seed
    "ImageDevNet": _image_network,
    "ImageDevNet on patches": _patch_network,
    **{name: partial(_image_table, method) for name, method in ON_FEATURES.items()},
}
SERIES_METHODS: Mapping[str, Maker] = {
    "SequenceDevNet": partial(_sequence_network, "global"),
    "SequenceDevNet (steps)": partial(_sequence_network, "steps"),
    **{name: partial(_window_table, method) for name, method in ON_FEATURES.items()},
}


def _chosen(methods: Sequence[str], makers: Mapping[str, Any]) -> list[str]:
    return [known(name, makers, "method") for name in methods] or list(makers)


def _compare(
    rows: _Rows,
    makers: Mapping[str, Maker],
    n_repeats: int,
    random_state: Any,
    on_fit: OnFit | None,
    apart: Callable[[Split], Split] = lambda split: split,
) -> Comparison:
    """Let methods rank rows of splits from which `apart` takes what both sides would share."""
    generator = as_generator(random_state)
    is_labelled = rows.y == 1
    _refuse_too_few(rows, is_labelled)
    splits = [
        apart(split)
        for split in make_splits(
            RowsToSplit(is_labelled, rows.unit, rows.name), n_repeats, generator
        )
    ]

    def run(name: str, split: Split, seed: int) -> SplitResult:
        return _run(makers[name](seed), rows, split)

    runs, failed = hold_contest(splits, len(splits), list(makers), run, generator, on_fit)
    if not runs:
        reason = next(iter(failed.values()))
        raise UserError(f"no method could learn from {rows.name}: {reason}")
    share = ranked_share(splits)
    n_labelled, n_others = (len(np.unique(rows.unit[part])) for part in (is_labelled, ~is_labelled))
    by_chance = highest_by_chance(n_labelled, n_others, len(runs))
    return Comparison(
        table=rows.name,
        label=rows.label[0],
        anomaly=rows.label[1],
        n_rows=len(rows.y) + rows.n_left_out,
        n_labelled=int(is_labelled.sum()),
        n_unlabelled=int((~is_labelled).sum()),
        n_splits=len(splits),
        chance=float(is_labelled.mean()),
        failed=failed,
        test_share=share,
        notes=rows.notes,
        things=rows.things,
        **conclude(runs, by_chance, share)._asdict(),
    )


def _run(detector: Any, rows: _Rows, split: Split) -> SplitResult:
    y = rows.y[split.train]
    learner = detector[-1] if hasattr(detector, "steps") else detector
    if (y == NORMAL_LABEL).any() and learner.uses_normals:
        learner.set_params(normal_label=NORMAL_LABEL)
    else:
        y = (y == 1).astype(int)
    start = clock.perf_counter()
    detector.fit(rows.X[split.train], y)
    seconds = clock.perf_counter() - start
    is_anomaly = rows.y[split.test] == 1
    scores = detector.decision_function(rows.X[split.test])
    return judge(is_anomaly, scores, np.ones(len(scores)), seconds)


def _equal_files(files: Sequence[Path]) -> np.ndarray:
    """A number per file, (n,), the same for files with the same bytes."""
    digests = [hashlib.sha256(file.read_bytes()).digest() for file in files]
    return np.unique(digests, return_inverse=True)[1]


def _window_units(start: np.ndarray, y: np.ndarray, length: int) -> np.ndarray:
    """The unit of each window, (n,): labelled ones that overlap are one, others are in blocks."""
    labelled = start[y == 1]
    is_apart = np.diff(labelled, prepend=labelled[:1]) >= length  # from the one before
    unit: np.ndarray = start // (BLOCK_LENGTHS * length)
    unit[y == 1] = unit.max(initial=0) + 1 + np.cumsum(is_apart)
    return unit


def _apart(cut: _Cut, length: int, split: Split) -> Split:
    """A split without unlabelled windows that overlap one on the other side.

    They are left out of the rows to rank if they overlap a labelled one to learn from, as there
    are few of those, else of the rows to learn from.
    """
    train, test = split
    taught = cut.start[train[cut.y[train] == 1]]
    test = test[(cut.y[test] == 1) | ~_overlaps(cut.start[test], taught, length)]
    train = train[(cut.y[train] == 1) | ~_overlaps(cut.start[train], cut.start[test], length)]
    return Split(train, test)


def _overlaps(start: np.ndarray, others: np.ndarray, length: int) -> np.ndarray:
    """Which windows overlap one of the others, whose first steps ascend; (n,) bool."""
    later = np.append(others, np.iinfo(np.int64).max)  # there is always a next one
    following = later[np.searchsorted(others, start - length, side="right")]
    overlap: np.ndarray = following < start + length
    return overlap


def _refuse_too_few(rows: _Rows, is_labelled: np.ndarray) -> None:
    """Refuse rows that cannot be dealt out."""
    for what, chosen in (("labelled", is_labelled), ("unlabelled", ~is_labelled)):
        n_units = len(np.unique(rows.unit[chosen]))
        if n_units < FEWEST:
            raise UserError(
                f"{rows.name} has {count_text(n_units, *_UNITS[rows.things, what])}, but comparing "
                f"methods takes at least {FEWEST}, two in each of {N_FOLDS} parts. Give more, or "
                "fit without comparing."
            )


_UNITS = {  # one of them, and several
    ("images", "labelled"): ("labelled image", "different labelled images"),
    ("images", "unlabelled"): ("unlabelled image", "different unlabelled images"),
    ("windows", "labelled"): ("labelled interval", "labelled intervals that are apart"),
    ("windows", "unlabelled"): (
        "unlabelled part",
        f"unlabelled parts of {BLOCK_LENGTHS} windows' length",
    ),
}
