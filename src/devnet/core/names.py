"""Known names, and for an unknown one the name that was probably meant."""

import difflib
from collections.abc import Collection, Iterable

from devnet.core.sentence import UserError

MAX_LISTED = 20  # names that an error lists
LEAST_LIKENESS = 0.4  # of a name worth suggesting, by difflib's ratio


def known(name: str, names: Iterable[str], what: str) -> str:
    """Return the name if it is one of the names; otherwise raise an error that suggests one.

    >>> known("fruad", ["fraud"], "data set")
    Traceback (most recent call last):
    devnet.core.sentence.UserError: unknown data set 'fruad'; known are fraud. Did you mean 'fraud'?
    """
    names = list(names)
    if name in names:
        return name
    near = nearest(name, names)
    hint = "" if near is None else f" Did you mean {near!r}?"
    listed = ", ".join(names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")
    raise UserError(f"unknown {what} {name!r}; known are {listed}.{hint}")


def nearest(name: str, names: Collection[str]) -> str | None:
    """The name that looks most like the given one, whatever its case; None if none does.

    >>> nearest("Amuont", ["amount", "date"])
    'amount'
    """
    if name in names:
        return name
    by_lower = {one.lower(): one for one in names}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1, cutoff=LEAST_LIKENESS)
    return by_lower[near[0]] if near else None
