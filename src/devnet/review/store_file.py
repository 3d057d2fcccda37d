"""The SQLite file of a store: its tables, how it is opened, and its faults in words."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from devnet.core.wording import path_text
from devnet.review.events import (
    LONGEST_NOTE,
    LONGEST_ROW,
    LONGEST_TOKEN,
    LONGEST_WHO,
    REASONS,
    VERDICTS,
    StoreError,
)

APPLICATION_ID = 0x6465766E  # "devn"
VERSION = 2  # of the tables below
BUSY_SECONDS = 10.0  # to wait for another process that writes
RETRY_SECONDS = 0.01
LONGEST_NAME, LONGEST_FIGURES, LONGEST_COLUMNS = 300, 100_000, 10_000_000


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


TABLES = {
    "reviewed_table": f"""CREATE TABLE reviewed_table (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    name TEXT NOT NULL CHECK (length(name) <= {LONGEST_NAME}),
    id_column TEXT,
    label TEXT,
    columns TEXT NOT NULL CHECK (length(columns) <= {LONGEST_COLUMNS})
)""",
    "models": f"""CREATE TABLE models (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND {LONGEST_NAME}),
    checksum TEXT NOT NULL CHECK (length(checksum) <= {LONGEST_NAME}),
    at TEXT NOT NULL CHECK (length(at) = 27),
    who TEXT NOT NULL CHECK (length(who) BETWEEN 1 AND {LONGEST_WHO}),
    n_anomalies INTEGER NOT NULL CHECK (n_anomalies >= 0),
    n_normal INTEGER NOT NULL CHECK (n_normal >= 0),
    last_event INTEGER NOT NULL CHECK (last_event >= 0),
    figures TEXT NOT NULL CHECK (length(figures) <= {LONGEST_FIGURES}),
    parent INTEGER REFERENCES models (number)
)""",
    "uses": f"""CREATE TABLE uses (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    model INTEGER NOT NULL REFERENCES models (number),
    who TEXT NOT NULL CHECK (length(who) BETWEEN 1 AND {LONGEST_WHO}),
    at TEXT NOT NULL CHECK (length(at) = 27)
)""",
    "events": f"""CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    row TEXT NOT NULL CHECK (length(row) BETWEEN 1 AND {LONGEST_ROW}),
    verdict TEXT NOT NULL CHECK (verdict IN ({_words(VERDICTS)})),
    note TEXT NOT NULL CHECK (length(note) <= {LONGEST_NOTE}),
    who TEXT NOT NULL CHECK (length(who) BETWEEN 1 AND {LONGEST_WHO}),
    at TEXT NOT NULL CHECK (length(at) = 27),
    model INTEGER REFERENCES models (number),
    score REAL,
    rank INTEGER CHECK (rank >= 1),
    reason TEXT NOT NULL CHECK (reason IN ({_words(REASONS)})),
    dealt_at TEXT CHECK (length(dealt_at) = 27),
    probability REAL CHECK (probability > 0 AND probability <= 1),
    together INTEGER NOT NULL CHECK (together >= 1),
    token TEXT NOT NULL CHECK (length(token) BETWEEN 1 AND {LONGEST_TOKEN}),
    undoes INTEGER REFERENCES events (number),
    UNIQUE (token, row)
)""",
}
KEYS = {  # what names a row of a table; INSERT OR REPLACE would put another one in its place
    "reviewed_table": "only_one = NEW.only_one",
    "models": "number = NEW.number",
    "uses": "number = NEW.number",
    "events": "number = NEW.number OR (token = NEW.token AND row = NEW.row)",
}
REFUSED = "BEGIN SELECT RAISE(ABORT, 'what was recorded is never changed'); END"
OTHERS = [
    "CREATE INDEX events_of_row ON events (row, number)",
    """CREATE VIEW labels AS SELECT * FROM events
    WHERE number IN (SELECT max(number) FROM events GROUP BY row)
    AND verdict IN ('anomaly', 'normal')""",
    *(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {REFUSED}"
        for table in TABLES
        for verb in ("UPDATE", "DELETE")
    ),
    *(
        f"""CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table}
    WHEN EXISTS (SELECT 1 FROM {table} WHERE {key}) {REFUSED}"""
        for table, key in KEYS.items()
    ),
]


def refuse_odd(path: Path, *, may_be_made: bool) -> None:
    """Refuse a path that is no place for a store."""
    name = path_text(path)
    if path.is_dir():
        raise StoreError(f"{name} is a folder; give the name of a file in it.")
    if path.exists() and not path.is_file():
        raise StoreError(f"{name} is a pipe or device; give the name of a file.")
    if not path.exists() and not may_be_made:
        raise StoreError(f"there is no store {name}; give the file that has the labels.")
    if not path.parent.is_dir():
        raise StoreError(f"the folder {path_text(path.parent)} does not exist; make it first.")


def is_made(path: Path) -> bool:
    """Whether a store is there; a file without content was killed while it was made."""
    return path.exists() and not (path.is_file() and path.stat().st_size == 0)


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection with everything that a store promises; `mode` is ro, rw or rwc.

    Transactions are begun and ended by the caller.
    """
    with in_words(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            for setting in ("foreign_keys = ON", "trusted_schema = OFF", "synchronous = FULL"):
                connection.execute(f"PRAGMA {setting}")
        except BaseException:
            connection.close()
            raise
    return connection


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether a database has nothing in it, as one has whose making was interrupted."""
    (n_things,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not n_things and not _pragma(connection, "application_id")


def keep_a_log(connection: sqlite3.Connection) -> None:
    """Write ahead to a log, so that readers never wait.

    Processes that ask for it at the same moment are refused at once, as SQLite sees a deadlock in
    their waiting; so they ask again.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return


def make_tables(connection: sqlite3.Connection) -> None:
    """All tables of an empty database, within the caller's transaction."""
    for statement in [*TABLES.values(), *OTHERS]:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is not a whole store of this version."""
    name = path_text(path)
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreError(
            f"{name} is a database, but not a store of labels; give another name, and a new store "
            "is made there."
        )
    version = _pragma(connection, "user_version")
    if version != VERSION:
        export = f"devnet labels export {quote(name)} --output labels.csv"
        if version < VERSION:
            raise StoreError(
                f"{name} is a store of version {version}, made by an earlier devnet, and this one "
                f"knows version {VERSION}; export the labels with the earlier one, and import them "
                f"into a new store: {export}"
            )
        raise StoreError(
            f"{name} is a store of version {version}, and this devnet knows version {VERSION}; use "
            f"a newer devnet, or export the labels with the one that made it: {export}"
        )
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    own = {sql for (sql,) in found if not sql.startswith("CREATE TABLE sqlite_")}
    if own != {*TABLES.values(), *OTHERS}:
        raise StoreError(
            f"the tables of the store {name} were changed by another program, so what it promises "
            "may not hold; give an earlier copy of it."
        )
    (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if answer != "ok":
        raise StoreError(_damaged(name, answer))


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses into a clear error."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_sentence(path_text(path), error)) from error


def _fault(error: sqlite3.Error) -> int | None:
    """SQLite's code of an error, without the details."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_busy(error: sqlite3.Error) -> bool:
    return _fault(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _sentence(name: str, error: sqlite3.Error) -> str:
    """What went wrong with a store, and what to do."""
    fault = _fault(error)
    if _is_busy(error):
        return (
            f"{name} is in use: another process has been writing to it for {BUSY_SECONDS:.0f} s. "
            "Nothing was recorded; try again, or end that process."
        )
    if fault in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return (
            f"{name} cannot be written: the disk is full, or does not answer ({error}). Nothing "
            "was recorded; free some space, then try again."
        )
    if fault in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN):
        return (
            f"{name} cannot be opened for reading and writing ({error}); the file and its folder "
            f"must be writable (ls -ld {quote(name)} {quote(str(Path(name).parent))})."
        )
    if fault in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return _damaged(name, str(error))
    return f"{name} does not take this ({error})."


def _damaged(name: str, reason: str) -> str:
    return (
        f"{name} is not a store of labels, or it is damaged ({reason}). Give another name; if it "
        f"was a store, take an earlier copy, or save what can be read: sqlite3 {quote(name)} "
        ".recover"
    )
