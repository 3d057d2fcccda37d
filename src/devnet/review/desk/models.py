"""The models of a store: every one that ranked its rows, in a folder beside it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from devnet.core import model_file
from devnet.core.checksum import CHECKSUM
from devnet.core.sentence import Setting, UserError
from devnet.core.wording import path_text
from devnet.review.store import ModelRecord
from devnet.tables.sources.opening import open_table
from devnet.tables.table_model import TableModel, restore


class KeptModel(NamedTuple):
    """A model file in the folder."""

    name: str
    checksum: str


class ModelFolder:
    """The folder; a file in it is never changed.

    Parameters
    ----------
    store : Path
        The store of labels.
    """

    def __init__(self, store: Path) -> None:
        self.path = store.with_name(f"{store.name}.models")

    def keep(self, model: TableModel) -> KeptModel:
        """Write a model to the folder; it is there, and whole, when this returns."""
        self.path.mkdir(exist_ok=True)
        for left_over in self.path.glob("new-*.devnet"):  # of a process that was killed
            left_over.unlink(missing_ok=True)
        waiting = self.path / f"new-{os.getpid()}.devnet"
        model.save(waiting)
        checksum = checksum_of(waiting)
        name = f"{checksum.removeprefix('sha256:')[:16]}.devnet"
        waiting.replace(self.path / name)
        return KeptModel(name, checksum)

    def open(self, record: ModelRecord) -> TableModel:
        """The model of a record."""
        path = self.path / record.name
        if not path.is_file():
            raise UserError(
                f"model {record.number} is gone: there is no file {path_text(path)}. Put it "
                "back, or start again with a model of your own: devnet review TABLE --model MODEL"
            )
        model = open_model(path)
        if checksum_of(path) != record.checksum:
            raise UserError(f"{path_text(path)} is not model {record.number}; put that back.")
        return model


def open_model(path: Path) -> TableModel:
    """A model of tables from its file."""
    header, tensors = model_file.read(path)
    if "table" not in header:
        raise UserError(
            f"{path_text(path)} is not a model of tables, so it cannot rank one; fit one: devnet "
            "fit TABLE --label COLUMN --output MODEL"
        )
    return restore(header, tensors, path)


def check_learned_from(
    path: Path | None, model: TableModel, table: Any, id_column: str | None
) -> None:
    """Refuse a model that learned from a table with another column of ids, unless one is given."""
    name, source = model.id_column_, open_table(table)
    if path is None or id_column is not None or name is None or name in source.schema.names:
        return
    raise UserError(
        f"the model {path_text(path)} learned from a table whose column {name!r} names the rows, "
        f"and {path_text(Path(source.name).name)} has no such column; give a model of this table, "
        "or the column that names its rows with ",
        Setting("id_column"),
        ".",
    )


@contextmanager
def advising_a_model() -> Iterator[None]:
    """Where an error advises to take columns as categories: only a model that is given can."""
    try:
        yield
    except UserError as error:
        parts = error.sentence.parts
        if not any(_is_categorical(part) for part in parts):
            raise
        given = ("`devnet fit ", Setting("categorical"), "` and its model with ", Setting("model"))
        raise UserError(
            *(one for part in parts for one in (given if _is_categorical(part) else (part,)))
        ) from None


def _is_categorical(part: str | Setting) -> bool:
    return isinstance(part, Setting) and part.name == "categorical"


def checksum_of(path: Path) -> str:
    """The checksum that a model file has, empty if it is older than these."""
    return str(model_file.read_header(path).get(CHECKSUM, ""))
