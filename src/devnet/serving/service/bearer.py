"""The token that requests must bear: one line of a file that only its owner may read."""

import hmac
import os
import stat
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import final

from devnet.core.sentence import UserError
from devnet.core.wording import path_text

LEAST, MOST = 16, 1000  # characters
SCHEME = "bearer "


@final
class Bearer:
    """Knows the token, as a hash, and whether a request bears it.

    Parameters
    ----------
    token : str
    """

    def __init__(self, token: str) -> None:
        self._hash = _hash(token.encode())

    def admits(self, authorization: str | None) -> bool:
        """Whether an Authorization header has the token; the time does not tell how far it fits."""
        text = authorization or ""
        given = text[len(SCHEME) :] if text[: len(SCHEME)].lower() == SCHEME else ""
        is_it = hmac.compare_digest(_hash(given.strip().encode("latin-1", "replace")), self._hash)
        return is_it and bool(given)


def read_token(path: Path) -> Bearer:
    """The token of a file, which nobody else may read."""
    name = path_text(path)
    make = f"make one: (umask 077; openssl rand -hex 32 > {quote(name)})"
    if not path.exists():
        raise UserError(f"there is no token file {name}; {make}")
    if not path.is_file():
        raise UserError(f"{name} is no file; give a file with a token, or {make}")
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        content = file.read(MOST + 3)
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UserError(
            f"others may read the token file {name} (its mode is {stat.filemode(mode)}); make it "
            f"yours alone: chmod 600 {quote(name)}"
        )
    text = content.decode("latin-1").removesuffix("\n").removesuffix("\r")
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if not (is_plain and LEAST <= len(text) <= MOST):
        raise UserError(
            f"the token file {name} must have one line of {LEAST} to {MOST:,} letters, digits or "
            f"signs without blanks; {make}"
        )
    return Bearer(text)


def _hash(token: bytes) -> bytes:
    return sha256(token).digest()
