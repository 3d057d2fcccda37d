"""A review: a table, its store, the model in use, and how the next one comes about."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from devnet.core.sentence import Setting, UserError
from devnet.core.wording import path_text
from devnet.review.desk.desk import Desk
from devnet.review.desk.entities import Entities
from devnet.review.desk.models import (
    ModelFolder,
    advising_a_model,
    check_learned_from,
    checksum_of,
    open_model,
)
from devnet.review.desk.ranked_table import RankedTable, rank
from devnet.review.desk.same_table import SameTable
from devnet.review.desk.training import (
    FIND_UNLIKE,
    RANK,
    TRAIN,
    Made,
    Order,
    Trainer,
    unlabelled_model,
)
from devnet.review.labelled import OwnLabels, own_states
from devnet.review.queue import Shares, check_shares
from devnet.review.reviewed_table import ReviewedTable, refuse_another
from devnet.review.row_keys import RowKeys
from devnet.review.store import LabelStore, ModelRecord
from devnet.review.store_file import is_made
from devnet.tables.opened_table import OpenedTable
from devnet.tables.sources.opening import open_table
from devnet.tables.table_model import TableModel

Say = Callable[[str], None]


class Review:
    """What the page is about.

    Parameters
    ----------
    table : path or object
        See `devnet.tables.open_table`.
    store : LabelStore
    keys : RowKeys
    same : SameTable
        The table as it was when its keys were read.
    entity : str, optional
        The column that names entities, such as customers.
    shares : Shares, optional
        How many cards are not the highest.
    anomaly, normal : str, optional
        Values of the table's own column of labels; by default those of the first model.
    """

    def __init__(
        self,
        table: Any,
        store: LabelStore,
        keys: RowKeys,
        *,
        same: SameTable,
        entity: str | None = None,
        shares: Shares | None = None,
        anomaly: str | None = None,
        normal: str | None = None,
    ) -> None:
        self.table, self.store, self._same = table, store, same
        self.models = ModelFolder(store.path)
        self.trainer, self._finder = Trainer(keys.n_rows), Trainer(keys.n_rows)
        record = self.in_use
        model = self.models.open(record)
        judged = keys.find(list(store.labels()))
        ranked = rank(model, table, record.number, judged[judged >= 0])
        entities = None if entity is None else Entities.read(table, entity)
        self._own, states = self._own_labels(anomaly, normal), None
        if self._own is not None:
            is_asked = bool(anomaly or normal)  # a model's words may be of another table
            states, (word, _) = own_states(table, keys.n_rows, self._own, needs_values=is_asked)
            self._own = self._own._replace(anomaly=word)
        self.desk = Desk(
            ranked, keys, store, same=same, own=states, entities=entities, shares=shares
        )
        same.check()

    def _own_labels(self, anomaly: str | None, normal: str | None) -> OwnLabels | None:
        """The table's column of labels, if it has one; what it means, the first model may know."""
        label = self.store.table.label
        if label is None or label not in open_table(self.table).schema.names:
            return None
        with suppress(UserError):  # its file may be gone, and another one in use
            first = self.models.open(self.store.models()[0])
            if first.label_ == label:
                anomaly, normal = anomaly or first.anomaly_, normal or first.normal_
        return OwnLabels(label, anomaly, normal)

    @property
    def in_use(self) -> ModelRecord:
        """The model that ranks the rows."""
        record = self.store.model_in_use()
        assert record is not None  # `open_review` has seen to it
        return record

    def find_unlike(self) -> Thread | None:
        """Find rows that are unlike the others, in the background; some cards are of these.

        A model without labels ranks by that already.
        """
        if not self.desk.ranked.opened.model.n_labelled_:
            return None
        order = self._order(self.in_use, FIND_UNLIKE)
        return self._finder.start(order, "", lambda _, unlike: self.desk.take_unlike(unlike))

    def train(self, who: str) -> None:
        """Learn from all verdicts, in the background; the new model ranks when it is done."""
        base = self.in_use
        order = self._order(base, TRAIN)

        def take(made: Made, scores: np.ndarray) -> None:
            record = self.store.add_model(
                made.model.name,
                made.model.checksum,
                who=who,
                n_anomalies=made.n_anomalies,
                n_normal=made.n_normal,
                last_event=made.last_event,
                figures={**made.figures, "seconds": round(made.seconds, 1)},
                parent=base.number,
            )
            self._put_to_use(record, scores, who)

        self.trainer.start(order, who, take)

    def step_back(self, who: str) -> None:
        """Use the model before the one in use again, as soon as it has ranked the rows."""
        parent = self.in_use.parent
        record = next((one for one in self.store.models() if one.number == parent), None)
        if record is None:
            raise UserError("there is no model before the one in use.")
        order = self._order(record, RANK)
        self.trainer.start(order, who, lambda _, scores: self._put_to_use(record, scores, who))

    def _order(self, base: ModelRecord, task: str) -> Order:
        self._same.check()
        return Order(self.table, self._same, self.store.path, base.name, task, self._own)

    def close(self) -> None:
        """End a training that is going on, and close the store."""
        self.trainer.stop()
        self._finder.stop()
        self.store.close()

    def _put_to_use(self, record: ModelRecord, scores: np.ndarray, who: str) -> None:
        model = self.models.open(record)
        opened = OpenedTable(model, self.table)
        ranked, before = RankedTable(opened, scores, record.number), self.desk.ranked
        self.desk.prepare(ranked)
        self._same.check()  # the training read these rows, and so will the page
        self.store.use(record.number, who=who)
        is_first = not before.opened.model.n_labelled_  # which ranked by how unlike rows are
        self.desk.switch(ranked, unlike=before.scores if is_first else None)
        self.desk.read_ahead()


def open_review(
    table: Any,
    store: Path,
    *,
    who: str,
    model: Path | None = None,
    id_column: str | None = None,
    label: str | None = None,
    anomaly: str | None = None,
    normal: str | None = None,
    entity: str | None = None,
    shares: Shares | None = None,
    say: Say = lambda text: None,
) -> Review:
    """Open a store with the table that it is about, and rank the rows.

    A model that the store does not know yet is put to use; otherwise the one that was in use last
    is. Without any, rows are ranked by how far their values deviate from the usual.

    Parameters
    ----------
    table : path or object
    store : Path
        It is made if it does not exist.
    who : str
        Who is said to have put a model to use.
    model : Path, optional
    id_column, label, anomaly, normal : str, optional
        The column that names rows, one of labels, and its values that mark known anomalies and
        known normal rows. By default those of the store or of the model.
    entity : str, optional
    shares : Shares, optional
        How many cards are not the highest.
    say : callable
        Gets what is going on, in words.
    """
    check_shares(shares or Shares())
    given, same = None if model is None else open_model(model), SameTable(table)
    if is_made(store):
        with LabelStore(store) as known:
            id_column, label = _as_known(known, table, id_column, label)
    elif given is not None:
        check_learned_from(model, given, table, id_column)
        id_column, label = id_column or given.id_column_, label or given.label_ or None
    if entity is not None:
        open_table(table).batches([entity])  # refuses a name that it does not have
    first = None
    if given is None and not _has_model(store):
        say("Looking for rows that are unlike the others")
        own = None if label is None else OwnLabels(label, anomaly, normal)
        with advising_a_model():
            first = unlabelled_model(table, None, own, entity, id_column=id_column)
        id_column = first.id_column_
    say("Reading the keys of all rows")
    keys = RowKeys.read(table, id_column=id_column, label=label)
    opened = LabelStore(store, keys.table)
    _use_given(opened, given or first, model, who)
    say("Ranking all rows")
    words = {"anomaly": anomaly, "normal": normal}
    return Review(table, opened, keys, same=same, entity=entity, shares=shares, **words)


def _as_known(
    store: LabelStore, table: Any, id_column: str | None, label: str | None
) -> tuple[str | None, str | None]:
    """The columns of ids and labels by which a store knows a table; another table is refused."""
    known = store.table
    if label not in (None, known.label):
        has = "no column of labels" if known.label is None else f"the labels in {known.label!r}"
        raise UserError(
            f"{path_text(store.path)} was made with {has}, so it cannot take those in {label!r}; "
            "leave out ",
            Setting("label"),
            ", or give the name of a new store with ",
            Setting("store"),
            ".",
        )
    source = open_table(table)
    columns = tuple(name for name in source.schema.names if name != known.label)
    given = ReviewedTable(Path(source.name).name, columns, id_column or known.id_column)
    refuse_another(store.path, known, given)
    return given.id_column, known.label


def _has_model(store: Path) -> bool:
    if not is_made(store):
        return False
    with LabelStore(store) as opened:
        return opened.model_in_use() is not None


def _use_given(store: LabelStore, model: TableModel | None, path: Path | None, who: str) -> None:
    """Record a model that the store does not know, and put it to use."""
    if model is None:
        return
    folder = ModelFolder(store.path)
    if path is None:
        name, checksum = folder.keep(model)
    else:
        checksum = checksum_of(path)
        if checksum and checksum in [one.checksum for one in store.models()]:
            return  # the one that was in use last goes on
        name, checksum = folder.keep(model)
    before = store.model_in_use()
    parent = None if before is None else before.number
    record = store.add_model(
        name,
        checksum,
        who=who,
        n_anomalies=model.n_labelled_,
        n_normal=model.n_normal_,
        parent=parent,
    )
    store.use(record.number, who=who)
