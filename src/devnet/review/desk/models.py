"""The models of a store: every one that ranked its rows, in a folder beside it."""

import os
from pathlib import Path
from typing import NamedTuple

from devnet.core import model_file
from devnet.core.checksum import CHECKSUM
from devnet.core.sentence import UserError
from devnet.core.wording import path_text
from devnet.review.store import ModelRecord
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
                f"the model {record.number} is gone: there is no file {path_text(path)}. Put it "
                "back, or start again with a model of your own: devnet review TABLE --model MODEL"
            )
        model = open_model(path)
        if checksum_of(path) != record.checksum:
            raise UserError(f"{path_text(path)} is not the model {record.number}; put that back.")
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


def checksum_of(path: Path) -> str:
    """The checksum that a model file has, empty if it is older than these."""
    return str(model_file.read_header(path).get(CHECKSUM, ""))
