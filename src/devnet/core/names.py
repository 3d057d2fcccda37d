"""A known name, or a sentence with the nearest one."""

import difflib
from collections.abc import Iterable

MOST = 20  # names that a sentence lists


def known(name: str, names: Iterable[str], what: str) -> str:
    """The name, if it is one of the names of `what` there is.

    >>> known("thyriod", ["fraud", "thyroid"], "data set")
    Traceback (most recent call last):
    ValueError: unknown data set 'thyriod'; known are fraud, thyroid. Did you mean 'thyroid'?
    """
    names = list(names)
    if name in names:
        return name
    spelled = {one.lower(): one for one in names}
    near = difflib.get_close_matches(str(name).lower(), spelled, n=1, cutoff=0.4)
    hint = f" Did you mean {spelled[near[0]]!r}?" if near else ""
    shown = ", ".join(names[:MOST]) + (", ..." if len(names) > MOST else "")
    raise ValueError(f"unknown {what} {name!r}; known are {shown}.{hint}")
