"""Training and ranking in a process of their own, so that the page stays usable.

The process reads a snapshot of the store and writes only files: if it is killed, nothing has
changed. What it sends back are numbers of rows done, then what it made, or why it could not.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any, NamedTuple

import numpy as np

from devnet.core.sentence import UserError
from devnet.detectors.methods import STARTING, method_for
from devnet.review.desk.models import KeptModel, ModelFolder, open_model
from devnet.review.desk.ranked_table import score_rows
from devnet.review.desk.same_table import SameTable
from devnet.review.labelled import OwnLabels, labelled_rows
from devnet.review.store import LabelStore
from devnet.tables.expectations import expectations
from devnet.tables.given_labels import StandIn
from devnet.tables.table_model import TableModel

FINDING, READING, RANKING = "finding the verdicts' rows", "reading and learning", "ranking all rows"
TAKEN_OVER = ("ignore", "categorical", "decimal_comma", "day_first", "missing", "policy")
SCORES = "scores.npy"
TRAIN, RANK, FIND_UNLIKE = "train", "rank", "find unlike"  # RANK: by the base as it is


class Order(NamedTuple):
    """What the process shall do."""

    table: Any
    same: SameTable  # what it was when the page was started
    store: Path
    base: str  # file of the model in use, whose options are taken over
    task: str
    own: OwnLabels | None  # the table's own labels
    seed: int = 0


class Made(NamedTuple):
    """What the process made."""

    model: KeptModel
    n_anomalies: int
    n_normal: int
    last_event: int
    figures: dict[str, Any]
    seconds: float


class Progress(NamedTuple):
    """How far a process is."""

    what: str
    n_rows: int
    n_total: int
    seconds: float
    who: str


OnMade = Callable[[Made, np.ndarray], None]


class Trainer:
    """Carries out one order at a time.

    Attributes
    ----------
    problem : str
        Why the last order failed; empty if it did not.
    """

    def __init__(self, n_rows: int) -> None:
        self.problem = ""
        self._n_rows = n_rows
        self._lock = Lock()
        self._process: Any = None
        self._progress: Progress | None = None
        self._started = 0.0

    @property
    def progress(self) -> Progress | None:
        """How far the order is that is being carried out, if there is one."""
        with self._lock:
            found = self._progress
            seconds = time.monotonic() - self._started
            return None if found is None else found._replace(seconds=seconds)

    def start(self, order: Order, who: str, on_made: OnMade) -> Thread:
        """Begin an order; `on_made` gets what was made, in a thread of its own."""
        with self._lock:
            if self._progress is not None:
                raise UserError(
                    f"{self._progress.who} started this already; it will be done in a while."
                )
            self._started, self.problem = time.monotonic(), ""
            first = FINDING if order.task == TRAIN else RANKING
            self._progress = Progress(first, 0, self._n_rows, 0.0, who)
        thread = Thread(target=self._carry_out, args=(order, on_made), daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """End the process, if there is one; the model in use stays."""
        with self._lock:
            if self._process is not None:
                self._process.terminate()

    def _carry_out(self, order: Order, on_made: OnMade) -> None:
        with TemporaryDirectory() as folder:
            try:
                made = self._answer(order, Path(folder))
                if isinstance(made, Made):
                    on_made(made, np.load(Path(folder) / SCORES))
                else:
                    self.problem = made
            except (ValueError, OSError, MemoryError) as error:  # of the store, for example
                self.problem = str(error) or type(error).__name__
            finally:
                with self._lock:
                    self._progress = self._process = None

    def _answer(self, order: Order, folder: Path) -> "Made | str":
        context = multiprocessing.get_context("spawn")
        own, other = context.Pipe(duplex=False)
        process = context.Process(target=carry_out, args=(other, order, folder), daemon=True)
        process.start()
        other.close()  # so that the connection breaks when the process dies
        with self._lock:
            self._process = process
        with suppress(EOFError):
            while True:
                said = own.recv()
                if not isinstance(said, tuple) or isinstance(said, Made):
                    process.join()
                    return said
                with self._lock:
                    if self._progress is not None:
                        self._progress = self._progress._replace(what=said[0], n_rows=said[1])
        process.join()
        return (
            f"the training process ended before it was done (exit code {process.exitcode}); the "
            "model in use is the one before. Perhaps memory ran out; try again."
        )


def carry_out(connection: Connection, order: Order, folder: Path) -> None:
    """Carry out an order in this process, and say so on the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C
    with suppress(BrokenPipeError):  # the server is gone
        try:
            connection.send(_make(order, folder, lambda *said: connection.send(said)))
        except (ValueError, OSError, MemoryError) as error:
            connection.send(f"{error or type(error).__name__}")


def _make(order: Order, folder: Path, say: Callable[[str, int], None]) -> Made:
    start = time.monotonic()
    models = ModelFolder(order.store)
    model, counts, last_event = open_model(models.path / order.base), (0, 0), 0
    if order.task == TRAIN:
        model, counts, last_event = learn(order, model, say)
    elif order.task == FIND_UNLIKE:
        model = unlabelled_model(order.table, model, order.own)
    kept = models.keep(model) if order.task == TRAIN else KeptModel("", "")
    np.save(folder / SCORES, score_rows(model, order.table, lambda n: say(RANKING, n)))
    order.same.check()
    figures = {name: value for name, value in expectations(model).known.items() if value}
    return Made(kept, *counts, last_event, figures, time.monotonic() - start)


def unlabelled_model(
    table: Any,
    base: TableModel | None,
    own: OwnLabels | None,
    entity: str | None = None,
    **more: Any,
) -> TableModel:
    """A model of how unlike the others rows are, with the options of another one.

    Columns with so many values that even the frequent ones are rare, and the one that names
    entities, are left out: none of their values is unlike the others.
    """
    options = {} if base is None else _options(base)
    ignored = {*options.pop("ignore", ()), *filter(None, [entity])}
    label, anomaly, normal = (None, None, None) if own is None else own
    while True:
        model = TableModel(
            STARTING,
            anomaly=anomaly,
            normal=normal,
            random_state=0,
            ignore=sorted(ignored),
            **options,
            **more,
        ).fit(table, label)
        crowded = {one.name for one in model.encoder_.columns if one.is_crowded}
        if not crowded or len(crowded) == len(model.encoder_.columns):
            return model
        ignored |= crowded


def _options(base: TableModel) -> dict[str, Any]:
    """The options of a model for the next one; what a first model leaves out is its own matter."""
    options = {name: getattr(base, name) for name in TAKEN_OVER}
    return options if base.detector_.needs_labels else options | {"ignore": ()}


def learn(
    order: Order, base: TableModel, say: Callable[[str, int], None]
) -> tuple[TableModel, tuple[int, int], int]:
    """A model that learned from all verdicts, with the options of an earlier one.

    Returns it with the numbers of anomalies and normal rows, and that of the last event.
    """
    with LabelStore(order.store) as store, store.snapshot():
        last_event = max((event.number for event in store.events()), default=0)
        id_column = store.table.id_column
        label, anomaly, normal = (None, None, None) if order.own is None else order.own
        found = labelled_rows(
            store,
            order.table,
            label=label,
            anomaly=anomaly,
            normal=normal,
            needs_values=False,  # as was seen when the page was started
            needs_anomalies=base.detector_.needs_labels,
            on_rows=lambda n: say(FINDING, n),
        )
    model = TableModel(
        base.method if base.detector_.needs_labels else method_for(found.n_anomalies),
        anomaly=found.anomaly,
        normal=found.normal if found.n_normal else None,
        id_column=id_column,
        random_state=order.seed,
        **_options(base),
    )
    model.fit(order.table, StandIn(found.name, found.column), on_rows=lambda n: say(READING, n))
    return model, (found.n_anomalies, found.n_normal), last_event
