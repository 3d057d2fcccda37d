"""One server per store: leases live in its memory, so a second one would deal the same cards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devnet.core.sentence import Setting, UserError
from devnet.core.wording import path_text

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt


@contextmanager
def only_server(store: Path) -> Iterator[None]:
    """Hold a store's lock; the operating system gives it back when the process ends, or dies."""
    path = store.with_name(f"{store.name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(
            f"{path_text(path)} cannot be written ({error.strerror}), so nothing can be kept "
            "there; make the folder, or give another store with ",
            Setting("store"),
            ".",
        ) from None
    try:
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise UserError(
            f"another devnet review serves {path_text(store)} already; use its page, or end it "
            "first. Two would show the same cards to two people."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:  # pragma: no cover - Windows
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
