"""Accounts and web sessions: a file of their own, which only its owner may read."""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from shlex import quote
from threading import BoundedSemaphore
from typing import final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from devnet.core.sentence import UserError
from devnet.core.wording import path_text, visible
from devnet.review.server.visitors import Role, Visitor

APPLICATION = 0x64764E41  # "dvNA": marks our file of accounts
VERSION = 1
SESSION_SECONDS = 12 * 3600.0  # a working day; nothing is written to keep a session alive
LEAST_PASSWORD, MOST_PASSWORD = 10, 1000  # characters
LONGEST_NAME = 64
AT_ONCE = 2  # passwords that are checked at once: each takes 64 MB
BUSY_MILLISECONDS = 10_000

_TABLES = """
CREATE TABLE account (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'lead')),
    password TEXT NOT NULL
) STRICT;
CREATE TABLE session (
    ticket TEXT PRIMARY KEY,
    name TEXT NOT NULL COLLATE NOCASE REFERENCES account ON DELETE CASCADE,
    ends REAL NOT NULL
) STRICT;
"""


@final
class Accounts:
    """The accounts of a store of labels, and who is signed in.

    Passwords are kept as argon2id hashes, tickets of sessions as SHA-256 hashes: whoever reads
    the file can use neither.

    Parameters
    ----------
    path : Path
        The file; it is created for its owner alone if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hasher = PasswordHasher()
        self._nobody = self._hasher.hash(secrets.token_hex())
        self._checking = BoundedSemaphore(AT_ONCE)
        self._create()

    def add(self, name: str, role: Role, password: str) -> None:
        """Add an account."""
        _check_name(name)
        hashed = self._hashed(name, password)
        with self._connected() as db:
            try:
                db.execute("INSERT INTO account VALUES (?, ?, ?)", (name, role, hashed))
            except sqlite3.IntegrityError:
                raise UserError(
                    f"{visible(name)} has an account already; give another name, or a new "
                    f"password: devnet review users password {quote(name)}"
                ) from None

    def remove(self, name: str) -> None:
        """Remove an account; whoever used it is signed out."""
        with self._connected() as db:
            self._refuse_unknown(db.execute("DELETE FROM account WHERE name = ?", (name,)), name)

    def change_password(self, name: str, password: str) -> None:
        """Give an account another password; whoever used it is signed out."""
        hashed = self._hashed(name, password)
        with self._connected() as db:
            changed = db.execute("UPDATE account SET password = ? WHERE name = ?", (hashed, name))
            self._refuse_unknown(changed, name)
            db.execute("DELETE FROM session WHERE name = ?", (name,))

    def everybody(self) -> list[Visitor]:
        """Who has an account, by name."""
        with self._connected() as db:
            found = db.execute("SELECT name, role FROM account ORDER BY name").fetchall()
        return [Visitor(name, Role(role)) for name, role in found]

    def with_password(self, name: str, password: str) -> Visitor | None:
        """The account with this name and password; an unknown name takes as long as a known one."""
        with self._connected() as db:
            found = db.execute("SELECT * FROM account WHERE name = ?", (name,)).fetchone()
        known, role, hashed = found or (name, Role.ANALYST, self._nobody)
        try:
            with self._checking:
                self._hasher.verify(hashed, password[:MOST_PASSWORD])
        except (VerificationError, InvalidHashError):
            return None
        return None if found is None else Visitor(known, Role(role))

    def sign_in(self, visitor: Visitor, now: float) -> str:
        """The ticket of a new session."""
        ticket = secrets.token_urlsafe(32)
        with self._connected() as db:
            db.execute("DELETE FROM session WHERE ends <= ?", (now,))
            ends = now + SESSION_SECONDS
            db.execute("INSERT INTO session VALUES (?, ?, ?)", (_hash(ticket), visitor.name, ends))
        return ticket

    def signed_in(self, ticket: str, now: float) -> Visitor | None:
        """Whose session a ticket is of, if it has not ended."""
        with self._connected() as db:
            found = db.execute(
                "SELECT account.name, role FROM session JOIN account USING (name) "
                "WHERE ticket = ? AND ends > ?",
                (_hash(ticket), now),
            ).fetchone()
        return None if found is None else Visitor(found[0], Role(found[1]))

    def sign_out(self, ticket: str) -> None:
        """End a session."""
        with self._connected() as db:
            db.execute("DELETE FROM session WHERE ticket = ?", (_hash(ticket),))

    def _hashed(self, name: str, password: str) -> str:
        if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD or name.lower() in password.lower():
            raise UserError(
                f"a password has at least {LEAST_PASSWORD} characters and does not contain the "
                "name; give another one."
            )
        return self._hasher.hash(password)

    def _refuse_unknown(self, done: sqlite3.Cursor, name: str) -> None:
        if not done.rowcount:
            names = ", ".join(visible(one.name) for one in self.everybody()) or "none"
            raise UserError(f"{visible(name)} has no account; accounts: {names}.")

    def _create(self) -> None:
        """Make the file if there is none, and see that it is ours and private."""
        self.path.touch(mode=0o600)
        self.path.chmod(0o600)
        with self._connected() as db:
            (kind,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (n_tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if not (kind or n_tables):
                for statement in _TABLES.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {VERSION}")
            elif (kind, version) != (APPLICATION, VERSION):
                raise UserError(
                    f"{path_text(self.path)} is not a file of accounts of this version of devnet; "
                    "move it away, and add the accounts again."
                )

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_MILLISECONDS / 1000)) as db, db:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("BEGIN")
                yield db
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.IntegrityError):
                raise
            raise OSError(
                f"the accounts in {path_text(self.path)} cannot be read or written: {error}. Check "
                f"the disk and the file (ls -l {quote(path_text(self.path))})."
            ) from error


def accounts_beside(store: Path) -> Path:
    """The file of accounts that belongs to a store of labels."""
    return store.with_name(f"{store.name}.users")


def _check_name(name: str) -> None:
    is_plain = name == name.strip() and name.isprintable()
    if not (is_plain and 0 < len(name) <= LONGEST_NAME):
        raise UserError(
            f"{visible(name)!r} cannot be the name of an account: give 1 to {LONGEST_NAME} "
            "printable characters, with no space at the ends."
        )


def _hash(ticket: str) -> str:
    return sha256(ticket.encode()).hexdigest()
