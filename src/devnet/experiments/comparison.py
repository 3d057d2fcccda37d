"""Which method suits a table: repeated cross-validation on the caller's own rows.

Labelled anomalies and unlabelled rows are split into folds, several times over. Every method,
encoding included, learns from all folds but one and ranks the rows of that one. A long table is
sampled, and the sampled rows are weighted to stand for the others.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold

from devnet.core.seeds import as_generator, draw_seed
from devnet.core.sentence import Setting
from devnet.core.wording import cut
from devnet.detectors.methods import METHODS, RECOMMENDED, find_method
from devnet.experiments.advice import (
    Evaluated,
    SplitResult,
    advise,
    evaluate,
    highest_by_chance,
    method_to_beat,
)
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.readings.reading import BY_VALUES, Conventions
from devnet.tables.reservoir import smallest
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError
from devnet.tables.training_rows import OnRows, TrainingRows, read_training_rows

N_FOLDS = 3
N_REPEATS = 3
FEWEST = 2 * N_FOLDS  # labelled anomalies, and unlabelled rows
COMPARED_ROWS = 100_000  # of each kind; more would only take longer
LONGEST_REASON = 300  # characters
RECALLS = np.linspace(0, 1, 51)  # at which precision is read off

OnFit = Callable[[int, int, str], None]
"""Called before each fit with the number of fits done, their total, and the method."""


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


class _Rows(NamedTuple):
    """What all splits share."""

    rows: pa.Table  # without ignored columns
    is_labelled: np.ndarray  # (n,)
    weight: np.ndarray  # (n,) rows of the table that each row stands for
    label: str
    categorical: Collection[str]


class _Split(NamedTuple):
    """Encoded rows to learn from and to rank, and which are labelled."""

    train: Any
    y_train: np.ndarray
    test: Any
    y_test: np.ndarray
    weight: np.ndarray  # of test rows


def compare_methods(
    table: Any,
    label: str,
    *,
    methods: Sequence[str] = (),
    n_repeats: int = N_REPEATS,
    anomaly: str | None = None,
    ignore: Collection[str] = (),
    categorical: Collection[str] = (),
    conventions: Conventions = BY_VALUES,
    random_state: Any = None,
    on_rows: OnRows | None = None,
    on_fit: OnFit | None = None,
) -> Comparison:
    """Rank a table's rows by every method, and recommend one.

    Unlabelled rows count as normal, so finding a hidden anomaly counts as a mistake, for every
    method alike.

    Parameters
    ----------
    table : path, glob, frame, Arrow table or dict of columns
    label : str
        The column that marks labelled anomalies.
    methods : sequence of str, optional
        Names, or import paths of your own estimators; by default all registered methods.
    n_repeats : int, default=3
        How often to split the rows into three folds.
    anomaly, ignore, categorical, random_state
        As for `TableModel`.
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
    source = open_table(
        table,
        types=dict.fromkeys(categorical, pa.string()),
        missing=conventions.missing,
        decimal_comma=conventions.decimal_comma,
    )
    training = read_training_rows(
        source,
        label,
        anomaly=anomaly,
        ignore=ignore,
        categorical=categorical,
        conventions=conventions,
        generator=generator,
        on_rows=on_rows,
    )
    _refuse_too_few(training, source.name)
    data = _sampled(training, [name for name in categorical if name not in ignore])
    runs, failed = _run_all(data, makers, n_repeats, generator, on_fit)
    if not runs:
        raise TableError(f"no method could learn from {source.name}: {next(iter(failed.values()))}")
    to_beat = method_to_beat(runs)
    evaluated = evaluate(runs, to_beat, test_share=1 / N_FOLDS)
    n_labelled, n_unlabelled = (int((data.is_labelled == kind).sum()) for kind in (True, False))
    by_chance = highest_by_chance(n_labelled, n_unlabelled, len(evaluated))
    recommended, advice = advise(evaluated, to_beat, by_chance)
    return Comparison(
        table=source.name,
        label=label,
        anomaly=training.anomaly,
        n_rows=training.n_rows,
        n_labelled=training.n_labelled,
        n_unlabelled=n_unlabelled,
        n_splits=N_FOLDS * n_repeats,
        chance=training.n_labelled / training.n_rows,
        to_beat=to_beat,
        methods=evaluated,
        failed=failed,
        recommended=recommended,
        advice=advice,
    )


def _sampled(training: TrainingRows, categorical: Collection[str]) -> _Rows:
    """The rows to compare on: unlabelled ones, then labelled ones."""
    samples = (training.unlabelled, training.labelled)
    parts = [smallest([sample], COMPARED_ROWS).rows for sample in samples]
    totals = (training.n_rows - training.n_labelled, training.n_labelled)
    sizes = [len(part) for part in parts]
    return _Rows(
        pa.concat_tables(parts).combine_chunks(),
        np.repeat([False, True], sizes),
        np.repeat(np.divide(totals, sizes), sizes),
        training.label,
        categorical,
    )


def _run_all(
    data: _Rows,
    makers: dict[str, Callable[..., Any]],
    n_repeats: int,
    generator: np.random.Generator,
    on_fit: OnFit | None,
) -> tuple[dict[str, list[SplitResult]], dict[str, str]]:
    """The runs of every method, split by split, and the errors of methods that failed."""
    runs: dict[str, list[SplitResult]] = {name: [] for name in makers}
    failed: dict[str, str] = {}
    n_fits = N_FOLDS * n_repeats * len(makers)
    for number, split in enumerate(_splits(data, n_repeats, generator)):
        seed = draw_seed(generator)
        for i, (name, make) in enumerate(makers.items()):
            if on_fit is not None:
                on_fit(number * len(makers) + i, n_fits, name)
            if name in failed:
                continue
            try:
                runs[name].append(_run(make(random_state=seed), split))
            except Exception as error:  # a method that fails must not stop the others
                failed[name] = _reason(error)
                del runs[name]
    return runs, failed


def _splits(data: _Rows, n_repeats: int, generator: np.random.Generator) -> Iterator[_Split]:
    """All splits in turn; encodings never see test rows."""
    y = data.is_labelled
    folds = RepeatedStratifiedKFold(
        n_splits=N_FOLDS, n_repeats=n_repeats, random_state=draw_seed(generator)
    )
    for train, test in folds.split(y, y):
        rows = data.rows.take(train)
        summary = TableSummary(rows.schema, label=data.label, categorical=data.categorical)
        for batch in rows.to_batches():
            summary.add(batch)
        encoder = TableEncoder.learn(summary, rows.filter(~y[train]))
        encoded = (encoder.encode(part) for part in (rows, data.rows.take(test)))
        yield _Split(next(encoded), y[train], next(encoded), y[test], data.weight[test])


def _run(detector: Any, split: _Split) -> SplitResult:
    start = time.perf_counter()
    detector.fit(split.train, split.y_train.astype(int))
    seconds = time.perf_counter() - start
    scores = detector.anomaly_score(split.test)
    y, weight = split.y_test, split.weight
    return SplitResult(
        float(average_precision_score(y, scores, sample_weight=weight)),
        float(roc_auc_score(y, scores)),
        precision_at(RECALLS, y, scores, weight),
        seconds,
    )


def precision_at(
    recalls: np.ndarray, y: np.ndarray, scores: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Precision at the highest threshold that reaches each recall; at recall 0, the first find."""
    found = precision_recall_curve(y, scores, sample_weight=weight)
    precision, recall = (part[-2::-1] for part in found[:2])  # without the made-up last point
    index = np.searchsorted(recall, np.maximum(recalls - 1e-9, 1e-9))
    reached: np.ndarray = precision[np.minimum(index, len(precision) - 1)]
    return reached


def _reason(error: Exception) -> str:
    """What was raised, on one line."""
    text = " ".join(str(error).split())
    return cut(text, LONGEST_REASON) or f"it raised {type(error).__name__}"


def _refuse_too_few(training: TrainingRows, table: str) -> None:
    n_unlabelled = training.n_rows - training.n_labelled
    counts = {"labelled anomalies": training.n_labelled, "unlabelled rows": n_unlabelled}
    for what, count in counts.items():
        if count < FEWEST:
            raise TableError(
                f"{table} has {count} {what} by its column {training.label!r}, but comparing "
                f"methods takes at least {FEWEST}, two in each of {N_FOLDS} folds. Give more, or "
                "fit the recommended method without comparing it: ",
                Setting("method", RECOMMENDED),
            )
