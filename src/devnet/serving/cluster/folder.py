"""The output folder of a job: whose it is, and what is in it when the job is done.

    part-00000.parquet ...   the rows, in the order of the table
    _manifest.json           what was done: model, table, policy, threshold, the parts
    _SUCCESS                 written last: all parts are there
    _devnet/                 the job, its model, sidecars of parts, and what policies and drift need

Readers of Parquet folders leave out names that begin with an underscore.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

from devnet.core.wording import path_text
from devnet.serving.cluster.stores import Store, store_of
from devnet.tables.table_error import TableError

SUCCESS, MANIFEST, WORK = "_SUCCESS", "_manifest.json", "_devnet"
JOB, MODEL, STAGED = f"{WORK}/job.json", f"{WORK}/model.devnet", f"{WORK}/staged"
FORMAT = "devnet scored parts 1"
SHORT = 10  # characters of a fingerprint in a folder's name
_OWN = re.compile(r"part-\d{5,}\.parquet|\.part-\d{5,}\.parquet\.devnet-.*")


@final
class OutputFolder:
    """The folder of a job, while nobody else may use it.

    Attributes
    ----------
    store : Store
    is_other : bool
        Whether it is not the folder that was asked for, which has the parts of another job.
    """

    def __init__(self, store: Store, fingerprint: str, *, is_other: bool) -> None:
        self.store, self.is_other = store, is_other
        self._fingerprint = fingerprint

    def manifest(self, names: list[str]) -> dict[str, Any] | None:
        """What was done, if the job was finished before and all of its parts are still there."""
        present = set(self.store.names())
        if not {SUCCESS, MANIFEST, *names} <= present:
            return None
        try:
            found = json.loads(self.store.read(MANIFEST) or b"")
        except ValueError:
            return None
        is_ours = isinstance(found, dict) and found.get("job") == self._fingerprint
        return found if is_ours else None

    def begin(self, job: dict[str, Any], model: bytes) -> None:
        """Say whose folder it is, and give workers their model."""
        self.store.remove(SUCCESS)
        self.store.write(MODEL, model)
        text = {"format": FORMAT, "job": self._fingerprint, **job}
        self.store.write(JOB, json.dumps(text, indent=1).encode())

    def finish(self, manifest: dict[str, Any]) -> None:
        """Say that all parts are there."""
        text = {"format": FORMAT, "job": self._fingerprint, **manifest}
        self.store.write(MANIFEST, json.dumps(text, indent=1, allow_nan=False).encode())
        self.store.remove(STAGED)
        self.store.write(SUCCESS, b"")


@contextmanager
def output_folder(place: str, fingerprint: str) -> Iterator[OutputFolder]:
    """The folder for a job; if another job's parts are there, a new one beside it.

    Parameters
    ----------
    place : str
        A local folder or an fsspec address.
    fingerprint : str
        Of the job: another model, table or policy is another job.
    """
    places = places_of(place, fingerprint)
    for i, one in enumerate(places):
        store = store_of(one)
        _refuse_foreign(store)
        with store.held():
            if _owner(store) in (None, fingerprint):
                yield OutputFolder(store, fingerprint, is_other=i > 0)
                return
    raise TableError(
        f"{path_text(places[0])} and {path_text(places[1])} have the parts of other jobs; give a "
        "new folder."
    )


def places_of(place: str, fingerprint: str) -> tuple[str, str]:
    """Where the parts of a job may be: the place that was given, or one beside it."""
    return place, f"{place.rstrip('/')}-{fingerprint[:SHORT]}"


def _owner(store: Store) -> str | None:
    """The fingerprint of the job whose folder it is; None if it is nobody's."""
    content = store.read(JOB)
    if content is None:
        return None
    try:
        return str(json.loads(content)["job"])
    except (ValueError, KeyError, TypeError):
        return ""  # somebody's, but not ours


def _refuse_foreign(store: Store) -> None:
    """Refuse a folder with files that no job wrote, which would be read with the parts."""
    names = store.names()
    has_owner = WORK in names and store.read(JOB) is not None
    known = {WORK, SUCCESS, MANIFEST} if has_owner else {WORK}
    foreign = [one for one in names if one not in known and not (has_owner and _OWN.fullmatch(one))]
    if foreign:
        raise TableError(
            f"{store.shown} has files that are not parts of a scored table, such as "
            f"{path_text(foreign[0])!r}; give a new or an empty folder."
        )
