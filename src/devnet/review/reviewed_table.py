"""The table that a store is about; the store of another table is refused."""

from pathlib import Path
from typing import NamedTuple

from devnet.core.sentence import Setting
from devnet.core.wording import cut, path_text, some_names
from devnet.review.events import StoreError

SHOWN = 3  # columns that a message names


class ReviewedTable(NamedTuple):
    """The table that a store is about."""

    name: str  # as people call it; a store follows a table that is renamed
    columns: tuple[str, ...]  # without the label
    id_column: str | None = None  # None: rows are known by their values
    label: str | None = None


def refuse_another(path: Path, known: ReviewedTable, given: ReviewedTable) -> None:
    """Refuse the store of another table: its rows are known in another way."""
    name, columns = path_text(path), {*known.columns}
    if known.id_column != given.id_column:
        ways = [
            "by their values" if one is None else f"by {one!r}"
            for one in (known.id_column, given.id_column)
        ]
        raise StoreError(
            f"{name} knows the rows of {known.name} {ways[0]}, not {ways[1]}; give the same id "
            "column, or the name of a new store."
        )
    if given.label in columns:
        raise StoreError(
            f"{name} was made when {given.label!r} was a column of {known.name} like the others, "
            "not its labels; leave out ",
            Setting("label"),
            ", or give the name of a new store.",
        )
    if columns != {*given.columns}:
        gone, new = sorted(columns - {*given.columns}), sorted({*given.columns} - columns)
        differs = "; ".join(
            f"{what} {some_names([repr(cut(one)) for one in names], SHOWN)}"
            for what, names in (("it lacks", gone), ("new is", new))
            if names
        )
        raise StoreError(
            f"{name} is the store of {known.name}, and {given.name} has other columns ({differs}). "
            "Give the name of a new store; labels come along by id: devnet labels export, then "
            "devnet labels import."
        )
