"""Which method suits a table: repeated evaluation on the caller's own rows.

Labelled anomalies and unlabelled rows are split into folds, several times over. Every method
learns from all folds but one, encoding included, and ranks the rows of that one.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold

from devnet.experiments.advice import Evaluated, Run, advise, evaluate
from devnet.methods import METHODS, find_method
from devnet.seeds import as_generator, draw_seed
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.reservoir import smallest
from devnet.tables.sources import open_table
from devnet.tables.table_error import TableError
from devnet.tables.training_rows import OnRows, TrainingRows, read_training_rows

N_FOLDS = 3
N_REPEATS = 3
FEWEST_LABELLED = 2 * N_FOLDS
COMPARED_ROWS = 100_000  # unlabelled ones; more would only take longer
RECALLS = np.linspace(0, 1, 51)  # where precision-recall curves are looked at

OnFit = Callable[[int, int, str], None]
"""Called before each fit: how many are done, how many there are, and the method."""


class Comparison(NamedTuple):
    """Methods on one table, the best first."""

    table: str
    label: str
    anomaly: str
    n_rows: int
    n_labelled: int
    n_unlabelled: int  # rows that were used
    n_splits: int
    chance: float  # AUC-PR of a random ranking
    methods: list[Evaluated]
    failed: dict[str, str]  # method -> what it raised
    recommended: str
    advice: str  # in plain words


class _Rows(NamedTuple):
    """What all splits share."""

    rows: pa.Table
    is_labelled: np.ndarray  # (n,)
    label: str
    ignore: Collection[str]
    categorical: Collection[str]


def compare_methods(
    table: Any,
    label: str,
    *,
    methods: Sequence[str] = (),
    n_repeats: int = N_REPEATS,
    anomaly: str | None = None,
    ignore: Collection[str] = (),
    categorical: Collection[str] = (),
    random_state: Any = None,
    on_rows: OnRows | None = None,
    on_fit: OnFit | None = None,
) -> Comparison:
    """Rank a table's rows by every method, and say which one to take.

    Unlabelled rows count as normal when a ranking is judged, so hidden anomalies that are found
    count as mistakes, for every method alike.

    Parameters
    ----------
    table : path, glob, frame, Arrow table or dict of columns
    label : str
        The column that marks labelled anomalies.
    methods : sequence of str, optional
        Names, or import paths of your own estimators; by default all registered methods.
    n_repeats : int, default=3
        How often the rows are split into three folds.
    anomaly, ignore, categorical, random_state
        As for `TableModel`.
    on_rows, on_fit : callables, optional
        Are told what is done.
    """
    makers = {name: find_method(name) for name in methods or METHODS}
    generator = as_generator(random_state)
    source = open_table(table, types=dict.fromkeys(categorical, pa.string()))
    training = read_training_rows(
        source,
        label,
        anomaly=anomaly,
        ignore=ignore,
        categorical=categorical,
        generator=generator,
        on_rows=on_rows,
    )
    _refuse_too_few(training)
    unlabelled = smallest([training.unlabelled], COMPARED_ROWS).rows
    rows = pa.concat_tables([unlabelled, training.labelled.rows]).combine_chunks()
    is_labelled = np.arange(len(rows)) >= len(unlabelled)
    data = _Rows(rows, is_labelled, label, ignore, categorical)
    runs, failed = _run_all(data, makers, n_repeats, generator, on_fit)
    if not runs:
        raise TableError(f"no method could learn from {source.name}: {next(iter(failed.values()))}")
    n_splits, chance = N_FOLDS * n_repeats, float(is_labelled.mean())
    evaluated = evaluate(runs, test_share=1 / N_FOLDS)
    recommended, advice = advise(evaluated, chance)
    return Comparison(
        source.name,
        label,
        training.anomaly,
        training.n_rows,
        training.n_labelled,
        len(unlabelled),
        n_splits,
        chance,
        evaluated,
        failed,
        recommended,
        advice,
    )


def _run_all(
    data: _Rows,
    makers: dict[str, Callable[..., Any]],
    n_repeats: int,
    generator: np.random.Generator,
    on_fit: OnFit | None,
) -> tuple[dict[str, list[Run]], dict[str, str]]:
    """The runs of every method, split by split, and what the methods raised that failed."""
    runs: dict[str, list[Run]] = {name: [] for name in makers}
    failed: dict[str, str] = {}
    n_fits = N_FOLDS * n_repeats * len(makers)
    for split, (train, test, y_train, y_test) in enumerate(_splits(data, n_repeats, generator)):
        seed = draw_seed(generator)
        for place, (name, make) in enumerate(makers.items()):
            if on_fit is not None:
                on_fit(split * len(makers) + place, n_fits, name)
            if name in failed:
                continue
            try:
                runs[name].append(_run(make(random_state=seed), train, y_train, test, y_test))
            except (ValueError, TypeError, MemoryError, ArithmeticError) as error:
                failed[name] = str(error)
                del runs[name]
    return runs, failed


def _splits(
    data: _Rows, n_repeats: int, generator: np.random.Generator
) -> Iterator[tuple[Any, Any, np.ndarray, np.ndarray]]:
    """Encoded training and test rows of each split, and which of them are labelled."""
    y = data.is_labelled
    folds = RepeatedStratifiedKFold(
        n_splits=N_FOLDS, n_repeats=n_repeats, random_state=draw_seed(generator)
    )
    for train, test in folds.split(y, y):
        rows = data.rows.take(train)
        summary = TableSummary(
            rows.schema, label=data.label, ignore=data.ignore, categorical=data.categorical
        )
        for batch in rows.to_batches():
            summary.add(batch)
        encoder = TableEncoder.learn(summary, rows.filter(~y[train]))
        yield encoder.encode(rows), encoder.encode(data.rows.take(test)), y[train], y[test]


def _run(detector: Any, train: Any, y_train: np.ndarray, test: Any, y_test: np.ndarray) -> Run:
    start = time.perf_counter()
    detector.fit(train, y_train.astype(int))
    seconds = time.perf_counter() - start
    scores = detector.anomaly_score(test)
    precision, recall, _ = precision_recall_curve(y_test, scores)
    return Run(
        float(average_precision_score(y_test, scores)),
        float(roc_auc_score(y_test, scores)),
        np.interp(RECALLS, recall[::-1], precision[::-1]),
        seconds,
    )


def _refuse_too_few(training: TrainingRows) -> None:
    if training.n_labelled < FEWEST_LABELLED:
        raise TableError(
            f"there are {training.n_labelled} labelled anomalies in {training.label!r}; comparing "
            f"methods takes at least {FEWEST_LABELLED}, two in each of {N_FOLDS} folds. Label "
            "more, or take the recommended one: devnet fit TABLE --label COLUMN --output MODEL"
        )
