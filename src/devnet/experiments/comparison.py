"""Which method suits a table: measured on the caller's own rows, which methods have not seen.

Labelled anomalies and unlabelled rows are split, several times over: into folds at random, or by
time into past and future. Every method, encoding included, learns from one part and ranks the rows
of the other. A long table is sampled, and the sampled rows are weighted to stand for the others.
"""

import time as clock
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.layout import Layout
from devnet.core.seeds import as_generator
from devnet.core.sentence import Sentence, Setting
from devnet.core.wording import join_words, shown
from devnet.detectors.methods import METHODS, RECOMMENDED, find_method
from devnet.experiments.advice import Evaluated, SplitResult, highest_by_chance
from devnet.experiments.compared_rows import ComparedRows, choose_rows
from devnet.experiments.contest import OnFit, conclude, hold_contest, judge
from devnet.experiments.splits import (
    FEWEST,
    FEWEST_BY_TIME,
    N_FOLDS,
    Split,
    make_splits,
    ranked_share,
)
from devnet.tables.encoded_rows import ANOMALY, NORMAL
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.given_labels import given_labels
from devnet.tables.label_column import as_label
from devnet.tables.readings.reading import BY_VALUES, Conventions
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError
from devnet.tables.table_summary import known_column, names_of
from devnet.tables.training_notes import training_notes
from devnet.tables.training_rows import OnRows, TrainingRows, read_training_rows

N_REPEATS = 3
COMPARED_ROWS = 100_000  # of each kind; more would only take longer


class Comparison(NamedTuple):
    """Methods on one table, the best first."""

    table: str
    label: str
    anomaly: str
    n_rows: int
    n_labelled: int
    n_unlabelled: int  # rows used in the comparison
    n_splits: int
    chance: float  # AUC-PR of a random ranking
    to_beat: str  # leads are measured against this method
    methods: list[Evaluated]
    failed: dict[str, str]  # method -> what it raised
    recommended: str
    advice: str  # in plain words
    undecided: Sequence[str] = ()  # methods that cannot be told apart from the recommended one
    time: str | None = None  # column by which the past is learned from
    group: str | None = None  # column of entities that are never on both sides
    n_equal: int = 0  # rows that equal another one in all columns that are used
    test_share: float = 1 / N_FOLDS  # of the rows of a split
    readings: Mapping[str, str] = MappingProxyType({})  # how columns were read, if not as they are
    notes: Sequence[str | Sentence] = ()
    things: str = "rows"  # what rows are called


class _EncodedSplit(NamedTuple):
    """Encoded rows to learn from and to rank, and which are labelled."""

    train: Any
    y_train: np.ndarray  # 0, 1 for labelled anomalies, 2 for known normal rows
    test: Any
    y_test: np.ndarray
    weight: np.ndarray  # of test rows
    layout: Layout  # which columns of the matrices belong together


def compare_methods(
    table: Any,
    label: Any,
    *,
    methods: Sequence[str] = (),
    n_repeats: int = N_REPEATS,
    time: str | None = None,
    group: str | None = None,
    anomaly: str | float | None = None,
    normal: str | float | None = None,
    ignore: str | Collection[str] = (),
    categorical: str | Collection[str] = (),
    conventions: Conventions = BY_VALUES,
    random_state: Any = None,
    on_rows: OnRows | None = None,
    on_fit: OnFit | None = None,
) -> Comparison:
    """Rank a table's rows by every method, and recommend one.

    Unlabelled rows count as normal, so finding a hidden anomaly counts as a mistake, for every
    method alike. Rows that are equal in all columns that are used are never on both sides of a
    split.

    Parameters
    ----------
    table : path, glob, frame, Arrow table or dict of columns
    label : str, or array of shape (n_rows,)
        The column that marks labelled anomalies, or a label for each row.
    methods : sequence of str, optional
        Names, or import paths of your own estimators; by default all registered methods.
    n_repeats : int, default=3
        How often to split the rows into three folds; with `time`, there are at most three windows
        for each repeat.
    time : str, optional
        A column of dates, or of numbers that grow with time: methods learn from the past and rank
        the future, in several windows. It is learned from too, unless ignored.
    group : str, optional
        A column of entities, such as customers: one is never on both sides of a split.
    anomaly, normal, ignore, categorical, random_state
        As for `TableModel`. Methods that can learn from known normal rows do; to all others, and
        in the rows to rank, they are unlabelled.
    conventions : Conventions
        Its decimal_comma, day_first and missing.
    on_rows, on_fit : callables, optional
        Called as work proceeds.
    """
    if n_repeats < 1:
        raise ValueError(
            f"n_repeats={n_repeats} is not possible: rows must be split at least once."
        )
    makers = {name: find_method(name) for name in methods or METHODS}
    generator = as_generator(random_state)
    labels, ignore, categorical = (
        given_labels(table, label),
        names_of(ignore),
        names_of(categorical),
    )
    opened = open_table(
        table,
        types=dict.fromkeys(categorical, pa.string()),
        missing=conventions.missing,
        decimal_comma=conventions.decimal_comma,
    )
    source = labels.beside(opened)
    split_by = [known_column(name, source.schema) for name in (time, group) if name is not None]
    training = read_training_rows(
        source,
        labels.name,
        anomaly=as_label(anomaly),
        normal=as_label(normal),
        ignore=ignore,
        categorical=categorical,
        conventions=conventions,
        also_read=split_by,
        generator=generator,
        on_rows=on_rows,
    )
    _refuse_too_few(training, source.name, by_time=time is not None)
    rows = choose_rows(
        training,
        source.name,
        size=COMPARED_ROWS,
        time=time,
        group=group,
        categorical=[name for name in categorical if name not in ignore],
    )
    splits = make_splits(rows.to_split, n_repeats, generator)
    texts: dict[str, list[str]] = {}

    def run(name: str, split: _LearnedSplit, seed: int) -> SplitResult:
        detector = makers[name](random_state=seed)
        if not detector.uses_text and split.encoder.text_columns:
            texts[name] = split.encoder.text_columns
        return _run(detector, split.encoded(name, detector))

    learned = _learned(rows, splits)
    runs, failed = hold_contest(learned, len(splits), list(makers), run, generator, on_fit)
    if not runs:
        raise TableError(f"no method could learn from {source.name}: {next(iter(failed.values()))}")
    share = ranked_share(splits)
    by_chance = highest_by_chance(*_ranked_rows(rows, splits), len(runs))
    return Comparison(
        table=source.name,
        label=training.label,
        anomaly=training.anomaly,
        n_rows=training.n_rows,
        n_labelled=training.n_labelled,
        n_unlabelled=int((~rows.is_labelled).sum()),
        n_splits=len(splits),
        chance=_chance(training, rows, splits),
        failed=failed,
        time=time,
        group=group,
        n_equal=rows.n_equal,
        test_share=share,
        readings=rows.readings,
        notes=[*training_notes(training), *rows.notes, *text_notes(texts, list(runs))],
        **conclude(runs, by_chance, share)._asdict(),
    )


def _ranked_rows(rows: ComparedRows, splits: list[Split]) -> tuple[Any, Any]:
    """Labelled and unlabelled rows that are ranked: all at once, or by window of time."""
    if rows.to_split.time is None:
        return int(rows.is_labelled.sum()), int((~rows.is_labelled).sum())
    labelled = [rows.is_labelled[split.test] for split in splits]
    return np.array([part.sum() for part in labelled]), np.array([(~p).sum() for p in labelled])


def _chance(training: TrainingRows, rows: ComparedRows, splits: list[Split]) -> float:
    if rows.to_split.time is None:
        return training.n_labelled / training.n_rows
    shares = [
        np.average(rows.is_labelled[split.test], weights=rows.weight[split.test])
        for split in splits
    ]
    return float(np.mean(shares))


def text_notes(texts: dict[str, list[str]], methods: Sequence[str]) -> list[str]:
    """A note about methods that ranked rows without their texts, given the texts by method."""
    without = [name for name in methods if name in texts]
    if not without:
        return []
    columns = dict.fromkeys(column for name in without for column in texts[name])
    able = [name for name in methods if name not in texts]
    only = f"only {join_words(able)} learned" if able else "no method learned"
    named = join_words([shown(column) for column in columns])
    return [f"{named}: text, from which {only}; {join_words(without)} left it out."]


class _LearnedSplit:
    """The encoder of a split, and its rows, encoded for methods with and without text."""

    def __init__(
        self, rows: ComparedRows, split: Split, encoder: TableEncoder, learned: pa.Table
    ) -> None:
        self.encoder = encoder
        self._rows, self._split, self._learned = rows, split, learned
        self._encoded: dict[bool, _EncodedSplit] = {}

    def encoded(self, method: str, detector: Any) -> _EncodedSplit:
        """The rows as a method takes them."""
        has_text = bool(detector.uses_text and self.encoder.text_columns)
        if has_text not in self._encoded:
            encoder = self.encoder if has_text else self.encoder.without_text(method)
            self._encoded[has_text] = self._encode(encoder)
        return self._encoded[has_text]

    def _encode(self, encoder: TableEncoder) -> _EncodedSplit:
        rows, (train, test) = self._rows, self._split
        return _EncodedSplit(
            encoder.encode(self._learned),
            np.where(rows.is_normal[train], NORMAL, rows.is_labelled[train]),
            encoder.encode(rows.rows.take(test)),
            rows.is_labelled[test],
            rows.weight[test],
            encoder.layout,
        )


def _learned(rows: ComparedRows, splits: list[Split]) -> Iterator[_LearnedSplit]:
    """All splits in turn; encodings never see test rows."""
    y = rows.is_labelled
    for split in splits:
        train = split.train
        learned = rows.rows.take(train)
        summary = TableSummary(learned.schema, label=rows.label, categorical=rows.categorical)
        for batch in learned.to_batches():
            summary.add(batch)
        encoder = TableEncoder.learn(summary, learned.filter(~y[train]))
        yield _LearnedSplit(rows, split, encoder, learned)


def _run(detector: Any, split: _EncodedSplit) -> SplitResult:
    detector.take_layout(split.layout)
    y = split.y_train
    if detector.uses_normals and (y == NORMAL).any():
        detector.set_params(normal_label=NORMAL)
    else:
        y = (y == ANOMALY).astype(int)
    start = clock.perf_counter()
    detector.fit(split.train, y)
    seconds = clock.perf_counter() - start
    scores = detector.anomaly_score(split.test)
    return judge(split.y_test, scores, split.weight, seconds)


def _refuse_too_few(training: TrainingRows, table: str, *, by_time: bool) -> None:
    n_unlabelled = training.n_rows - training.n_labelled
    counts = {
        "labelled anomalies": (training.n_labelled, FEWEST_BY_TIME if by_time else FEWEST),
        "unlabelled rows": (n_unlabelled, FEWEST),
    }
    for what, (count, fewest) in counts.items():
        if count < fewest:
            raise TableError(
                f"{table} has {count} {what} by its column {training.label!r}, but comparing "
                f"methods takes at least {fewest}",
                *(_BY_TIME[what] if by_time else _IN_FOLDS),
            )


_WITHOUT = ("fit the recommended method without comparing it: ", Setting("method", RECOMMENDED))
_IN_FOLDS = (f", two in each of {N_FOLDS} folds. Give more, or ", *_WITHOUT)
_BY_TIME: dict[str, tuple[str | Setting, ...]] = {
    "labelled anomalies": (
        ", four in the past to begin with, and two in each of two later windows. Give more, or "
        "compare without ",
        Setting("time"),
        ".",
    ),
    "unlabelled rows": (". Give more, or ", *_WITHOUT),
}
