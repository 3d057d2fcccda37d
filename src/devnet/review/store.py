"""The store of labels: one SQLite file to which verdicts are only ever added.

An event counts as recorded when `add` returns: it is on disk then, and a crash or a kill at any
moment leaves either all of its rows or none. One connection writes, behind a lock; readers have
others, see the store as it was at one moment, and never keep a writer waiting.
"""

import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from devnet.core.wording import cut, path_text
from devnet.review.connections import Connections
from devnet.review.events import (
    IMPORTED,
    LONGEST_NOTE,
    LONGEST_TOKEN,
    LONGEST_WHO,
    REOPENED,
    VERDICTS,
    Dealt,
    Event,
    GivenLabel,
    Judged,
    JudgedMeanwhile,
    StoreError,
    TakenOver,
    check_choice,
    check_dealt,
    check_judged,
    check_judged_once,
    check_text,
    read_time,
    standing,
    time_text,
)
from devnet.review.reviewed_table import ReviewedTable, refuse_another
from devnet.review.store_file import (
    LONGEST_FIGURES,
    LONGEST_NAME,
    check_tables,
    in_words,
    is_new,
    keep_a_log,
    make_tables,
    refuse_odd,
)

CHOSEN_BY_HAND = Dealt()
LATEST = "number IN (SELECT max(number) FROM events GROUP BY row)"


class ModelRecord(NamedTuple):
    """A model that was trained from the store's labels, or given at the start."""

    number: int
    name: str  # of its file
    checksum: str
    at: datetime  # UTC
    who: str
    n_anomalies: int  # that it learned from
    n_normal: int
    last_event: int  # that it knew; 0 is none
    figures: dict[str, Any]  # as measured at training
    parent: int | None  # the model before it


class _Request(NamedTuple):
    """A verdict that is to be recorded, whatever rows it is about."""

    verdict: str
    note: str
    who: str
    at: datetime
    dealt: Dealt
    model: int | None
    together: int
    token: str

    def about(self, judged: Judged) -> Event:
        """The event of a row; it has no number yet."""
        return Event(
            *(0, judged.row, self.verdict, self.note, self.who, self.at),
            *(self.model, judged.score, judged.rank),
            *(self.dealt.reason, self.dealt.at, self.dealt.probability),
            *(self.together, self.token, None),
        )


class LabelStore:
    """The verdicts on the rows of one table.

    Parameters
    ----------
    path : str or path
        The file. It is made if it does not exist and `table` is given.
    table : ReviewedTable, optional
        The table at hand. A store of another table is refused.
    now : callable, optional
        The clock: returns a time with a zone.

    Attributes
    ----------
    path : Path
    table : ReviewedTable
        As it was when the store was made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from devnet.review.store import LabelStore, ReviewedTable
    >>> from devnet.review.events import Judged
    >>> folder = TemporaryDirectory()
    >>> payments = ReviewedTable("payments.csv", ("id", "amount"), id_column="id")
    >>> with LabelStore(f"{folder.name}/review.db", payments) as store:
    ...     event, = store.add("normal", [Judged("P-17", score=6.3, rank=1)], who="ana")
    ...     store.labels()
    {'P-17': 'normal'}
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | PathLike[str],
        table: ReviewedTable | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path, self._now = Path(path), now
        refuse_odd(self.path, may_be_made=table is not None)
        self._connections = Connections(self.path, may_make=table is not None)
        try:
            with in_words(self.path):
                self._open(table)
        except BaseException:
            self.close()  # a blank file stays: another process may be making its tables
            raise

    def _open(self, table: ReviewedTable | None) -> None:
        writer = self._connections.writer
        if is_new(writer):
            self._make(table)
        check_tables(writer, self.path)
        name, columns, id_column, label = writer.execute(
            "SELECT name, columns, id_column, label FROM reviewed_table"
        ).fetchone()
        self.table = ReviewedTable(name, tuple(json.loads(columns)), id_column, label)
        if table is not None:
            refuse_another(self.path, self.table, table)

    def _make(self, table: ReviewedTable | None) -> None:
        if table is None:
            raise StoreError(f"{path_text(self.path)} is empty; it has no labels.")
        keep_a_log(self._connections.writer)
        with self._connections.transaction() as write:
            if is_new(write):  # not made by another process meanwhile
                make_tables(write)
                write.execute(
                    "INSERT INTO reviewed_table VALUES (1, ?, ?, ?, ?)",
                    (
                        table.name[-LONGEST_NAME:],
                        table.id_column,
                        table.label,
                        _json(table.columns),
                    ),
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; what was recorded is on disk already."""
        self._connections.close()

    def add(
        self,
        verdict: str,
        rows: Sequence[Judged],
        *,
        who: str,
        note: str = "",
        dealt: Dealt = CHOSEN_BY_HAND,
        model: int | None = None,
        token: str | None = None,
        seen: Mapping[str, int] | None = None,
    ) -> list[Event]:
        """Record a verdict on one row, or on rows that were folded into one card.

        Parameters
        ----------
        verdict : {"anomaly", "normal", "unsure", "reopened"}
        rows : sequence of Judged
            By key, see `devnet.review.row_keys`, with score and rank as they were shown.
        who : str
        note : str, default=""
        dealt : Dealt
            Why, when and with what probability the card was dealt.
        model : int, optional
            Number of the model that ranked the rows.
        token : str, optional
            Names the request. A request that is sent again with its token is recorded once.
        seen : mapping of str to int, optional
            The number of each row's latest event that whoever judges knew, 0 for none. If there
            is a later one, JudgedMeanwhile is raised and nothing is recorded.

        Returns
        -------
        events : list of Event
            On disk.
        """
        rows = check_judged(rows)
        _check_words(verdict, note, who)
        check_dealt(dealt)
        token = _checked_token(token)
        at = self._now()
        with self._connections.transaction() as write:
            known = _with_token(write, token)
            if known:
                return _same_request(known, verdict, [one.row for one in rows])
            _refuse_unseen(write, seen or {})
            request = _Request(verdict, note, who, at, dealt, model, len(rows), token)
            _insert(write, [request.about(one) for one in rows])
            return _with_token(write, token)

    def undo(self, undone: str, *, who: str, token: str | None = None) -> list[Event]:
        """Take back what a request recorded: its rows are again what they were before.

        Parameters
        ----------
        undone : str
            The token of the request. An undo can be undone.
        who, token
            As for `add`.
        """
        check_text("name of who judges", who, LONGEST_WHO)
        token = _checked_token(token)
        at = self._now()
        with self._connections.transaction() as write:
            if known := _with_token(write, token):
                return known
            events = _with_token(write, undone)
            if not events:
                raise StoreError(f"there is no verdict {cut(str(undone))!r} to undo.")
            restored = []
            for event in events:
                before = _before(write, event)
                state = before or event._replace(
                    verdict=REOPENED, note="", model=None, score=None, rank=None,
                    reason=CHOSEN_BY_HAND.reason, dealt_at=None, probability=None, together=1,
                )  # fmt: skip
                restored.append(state._replace(who=who, at=at, token=token, undoes=event.number))
            _insert(write, restored)
            return _with_token(write, token)

    def take_over(self, labels: Sequence[GivenLabel], *, replace: bool = False) -> TakenOver:
        """Record verdicts from elsewhere, all or none; what is known already is not added again.

        Parameters
        ----------
        labels : sequence of GivenLabel
            One per row.
        replace : bool, default=False
            Whether they also count where the store has another verdict on the row.
        """
        check_judged_once([one.row for one in labels])
        for one in labels:
            _check_words(one.verdict, one.note, one.who)
        at, token = self._now(), uuid.uuid4().hex
        with self._connections.transaction() as write:
            latest = dict(write.execute(f"SELECT row, verdict FROM events WHERE {LATEST}"))
            before = [latest.get(one.row, REOPENED) for one in labels]
            pairs = list(zip(labels, before, strict=True))
            others = [one for one, known in pairs if known not in (one.verdict, REOPENED)]
            added = [one for one, known in pairs if known == REOPENED]
            added += others if replace else []
            how = Dealt(IMPORTED), None, 1, token
            requests = [_Request(one.verdict, one.note, one.who, at, *how) for one in added]
            rows = [Judged(one.row) for one in added]
            _insert(write, [one.about(row) for one, row in zip(requests, rows, strict=True)])
        n_known = sum(one.verdict == known for one, known in pairs)
        return TakenOver(len(added), n_known, len(others))

    def labels(self) -> dict[str, str]:
        """Anomaly or normal, by row; rows whose latest event is neither are unlabelled."""
        with self.snapshot() as read:
            return dict(read.execute("SELECT row, verdict FROM labels ORDER BY number"))

    def latest(self) -> dict[str, Event]:
        """The latest event of each row that has one."""
        with self.snapshot() as read:
            found = _events(read, f"WHERE {LATEST} ORDER BY number")
            return {event.row: event for event in found}

    def events(self, after: int = 0) -> list[Event]:
        """All events, or those after a number, in their order."""
        with self.snapshot() as read:
            return list(_events(read, "WHERE number > ? ORDER BY number", after))

    def history(self, row: str) -> list[Event]:
        """The events of a row, in their order."""
        with self.snapshot() as read:
            return list(_events(read, "WHERE row = ? ORDER BY number", row))

    def snapshot(self) -> AbstractContextManager[sqlite3.Connection]:
        """Until the block ends, this thread reads the store as it is now."""
        return self._connections.snapshot()

    def add_model(
        self,
        name: str,
        checksum: str,
        *,
        who: str,
        n_anomalies: int,
        n_normal: int = 0,
        last_event: int = 0,
        figures: Mapping[str, Any] | None = None,
        parent: int | None = None,
    ) -> ModelRecord:
        """Record a model; `use` puts it to use."""
        check_text("name of the model", name, LONGEST_NAME)
        check_text("checksum", checksum, LONGEST_NAME, may_be_empty=True)
        check_text("name of who trained", who, LONGEST_WHO)
        values = check_text("record of figures", _json(figures or {}), LONGEST_FIGURES)
        with self._connections.transaction() as write:
            cursor = write.execute(
                "INSERT INTO models (name, checksum, at, who, n_anomalies, n_normal, last_event, "
                "figures, parent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(name, checksum, time_text(self._now()), who, n_anomalies, n_normal),
                    *(last_event, values, parent),
                ),
            )
            number = cursor.lastrowid
            return next(_models(write, "WHERE number = ?", number))

    def models(self) -> list[ModelRecord]:
        """All models, the oldest first."""
        with self.snapshot() as read:
            return list(_models(read, "ORDER BY number"))

    def use(self, model: int, *, who: str) -> None:
        """Put a model to use, a new one or an earlier one."""
        check_text("name of who decides", who, LONGEST_WHO)
        with self._connections.transaction() as write:
            if not list(_models(write, "WHERE number = ?", model)):
                raise StoreError(f"{path_text(self.path)} has no model {model}.")
            write.execute(
                "INSERT INTO uses (model, who, at) VALUES (?, ?, ?)",
                (model, who, time_text(self._now())),
            )

    def model_in_use(self) -> ModelRecord | None:
        """The model that was put to use last."""
        with self.snapshot() as read:
            latest = "(SELECT model FROM uses ORDER BY number DESC LIMIT 1)"
            return next(_models(read, f"WHERE number = {latest}"), None)


def _check_words(verdict: str, note: str, who: str) -> None:
    check_choice("verdict", verdict, VERDICTS)
    check_text("note", note, LONGEST_NOTE, may_be_empty=True)
    check_text("name of who judges", who, LONGEST_WHO)


def _checked_token(token: str | None) -> str:
    if token is None:
        return uuid.uuid4().hex
    return check_text("token of the request", token, LONGEST_TOKEN)


def _same_request(known: list[Event], verdict: str, rows: list[str]) -> list[Event]:
    """The events of a request that came twice; another request with its token is refused."""
    if [(one.verdict, one.row) for one in known] != [(verdict, row) for row in rows]:
        raise StoreError(
            f"the token {known[0].token!r} names another verdict, that {cut(known[0].row)!r} is "
            f"{known[0].verdict}; give each verdict its own."
        )
    return known


def _refuse_unseen(read: sqlite3.Connection, seen: Mapping[str, int]) -> None:
    for row, number in seen.items():
        later = list(_events(read, "WHERE row = ? AND number > ? ORDER BY number", row, number))
        if later:
            raise JudgedMeanwhile(later[-1])


def _insert(write: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Add events; they get the next numbers."""
    write.executemany(
        f"INSERT INTO events ({', '.join(Event._fields[1:])}) "
        f"VALUES ({', '.join('?' for _ in Event._fields[1:])})",
        ([time_text(one) if isinstance(one, datetime) else one for one in e[1:]] for e in events),
    )


def _events(read: sqlite3.Connection, which: str, *values: Any) -> Iterator[Event]:
    query = f"SELECT {', '.join(Event._fields)} FROM events {which}"
    for found in read.execute(query, values):
        event = Event(*found)
        dealt_at = event.dealt_at and read_time(str(event.dealt_at))
        yield event._replace(at=read_time(str(event.at)), dealt_at=dealt_at)


def _with_token(read: sqlite3.Connection, token: str) -> list[Event]:
    return list(_events(read, "WHERE token = ? ORDER BY number", token))


def _before(read: sqlite3.Connection, event: Event) -> Event | None:
    """The verdict that stands for a row once an event is taken back, which must be its latest."""
    history = list(_events(read, "WHERE row = ? ORDER BY number", event.row))
    latest = standing(history)[-1:] or history[-1:]
    if event.number not in (latest[0].number, history[-1].number):
        raise StoreError(
            f"the row {cut(event.row)!r} has a later verdict, {latest[0].verdict} by "
            f"{latest[0].who}; nothing was undone. Judge the row again instead."
        )
    undo = event._replace(number=history[-1].number + 1, undoes=event.number)
    return next(reversed(standing([*history, undo])), None)


def _models(read: sqlite3.Connection, which: str, *values: Any) -> Iterator[ModelRecord]:
    query = f"SELECT {', '.join(ModelRecord._fields)} FROM models {which}"
    for found in read.execute(query, values):
        record = ModelRecord(*found)
        figures = json.loads(str(record.figures))
        yield record._replace(at=read_time(str(record.at)), figures=figures)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
