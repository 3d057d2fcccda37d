"""Results as JSON lines, one per run: written as they come, never lost, checked when read."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, get_origin, get_type_hints

from devnet import __version__
from devnet.core.model_file import is_finite_number
from devnet.core.sentence import Setting, UserError
from devnet.core.whole_file import write_whole
from devnet.experiments.plan import Run

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True)
class RunRecord:
    """One line: what ran, and its results."""

    measure: str
    dataset: str
    method: str
    parameters: dict[str, Any]
    seed: int
    settings: dict[str, Any]
    metrics: dict[str, float]
    seconds: dict[str, float]
    peak_memory_mb: float
    error: str  # empty for a finished run
    description: str  # of the data set, and how it differs from the paper's
    versions: dict[str, str]
    data: dict[str, Any] = field(default_factory=dict)  # likeness and size of the data set
    taken_from: str = ""  # the experiment that did this run, if it was not this one

    @property
    def run(self) -> Run:
        """What ran."""
        return Run(*(getattr(self, name) for name in Run._fields))


KINDS = {name: get_origin(kind) or kind for name, kind in get_type_hints(RunRecord).items()}


def read_results(path: Path) -> list[RunRecord]:
    """All finished or failed runs of a file; an incomplete last line is ignored.

    If a run was tried again, its last record counts.
    """
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (UnicodeDecodeError, IsADirectoryError) as error:
        raise ValueError(f"{path} is not a file of JSON lines: {error}") from error
    records: dict[str, RunRecord] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        record = _parse(line)
        if record is not None:
            key = record.run.key
            records.pop(key, None)
            records[key] = record
        elif number < len(lines):  # a complete line
            raise ValueError(
                f"line {number} of {path} is not a run: {line[:60]!r}. Remove that line, or move "
                "the file away; nothing was changed."
            )
    return list(records.values())


def computing_seconds(records: Iterable[RunRecord]) -> float:
    """Seconds of finished runs, one after the other; those taken from elsewhere took none."""
    return sum(
        record.seconds["total"] for record in records if not (record.error or record.taken_from)
    )


def _parse(line: str) -> RunRecord | None:
    """The record of a line, if complete and sensible."""
    try:
        record = RunRecord(**json.loads(line))
    except (ValueError, TypeError):
        return None
    if not all(isinstance(getattr(record, name), kind) for name, kind in KINDS.items()):
        return None
    is_finished = all(map(is_finite_number, record.metrics.values())) and record.metrics
    is_sensible = record.error or (is_finished and "total" in record.seconds)
    return record if is_sensible and "devnet" in record.versions else None


class ResultsFile:
    """A results file that only this process adds to.

    Parameters
    ----------
    path : Path
        Created with the first run.

    Raises
    ------
    ValueError
        If it cannot be written, belongs to another version, or is in use by another process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: dict[str, RunRecord] = {}  # by run, in the order of the file

    @property
    def records(self) -> list[RunRecord]:
        """The last record of each run."""
        return list(self._records.values())

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab+")
        except OSError as error:
            raise UserError(
                f"cannot write results to {self._path}: {error.strerror}. Put them elsewhere with ",
                Setting("results"),
                ".",
            ) from error
        try:
            self._lock()
            self._records = {record.run.key: record for record in read_results(self._path)}
            self._refuse_other_versions()
            self._drop_unfinished_line()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, record: RunRecord) -> None:
        """Append a run; when this returns, it is on disk."""
        try:
            self._file.write(_line(record))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise ValueError(
                f"cannot add a run to {self._path}: {error.strerror}. Earlier runs are safe; free "
                "some space and run the experiment again."
            ) from error
        key = record.run.key
        self._records.pop(key, None)
        self._records[key] = record

    def tidy(self, order: Iterable[Run]) -> None:
        """Rewrite the file in this order, without superseded failures; unplanned runs come last."""
        position = {run.key: i for i, run in enumerate(order)}
        keys = sorted(self._records, key=lambda key: position.get(key, len(position)))
        self._records = {key: self._records[key] for key in keys}
        write_whole(self._path, b"".join(map(_line, self.records)))

    @contextmanager
    def scratch_folder(self) -> Iterator[Path]:
        """A temporary empty folder.

        Folders that killed processes left for the same file are removed, now and at the end, as
        orphans of such a process may still be writing. For the same reason the name is new each
        time.
        """
        name = hashlib.sha256(str(self._path.resolve()).encode()).hexdigest()[:16]
        prefix = f"devnet-{name}-"
        _remove_folders(prefix)
        try:
            yield Path(tempfile.mkdtemp(prefix=prefix))
        finally:
            _remove_folders(prefix)

    def _lock(self) -> None:
        if fcntl is None:  # pragma: no cover - Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_current = os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except OSError:
            is_current = False
        if not is_current:
            raise ValueError(f"another process is adding to {self._path}; wait for it or stop it.")

    def _refuse_other_versions(self) -> None:
        others = {record.versions["devnet"] for record in self.records} - {__version__}
        if others:
            raise UserError(
                f"{self._path} holds runs of devnet {', '.join(sorted(others))}, and this is "
                f"devnet {__version__}: they do not belong in one table. Move the file away, or "
                "put new results elsewhere with ",
                Setting("results"),
                ".",
            )

    def _drop_unfinished_line(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        complete, _, rest = content.rpartition(b"\n")
        if rest and _parse(rest.decode(errors="replace")) is None:
            self._file.truncate(len(complete) + 1 if complete else 0)
        elif rest:
            self._file.write(b"\n")


def _line(record: RunRecord) -> bytes:
    content = asdict(record)
    if not record.taken_from:
        del content["taken_from"]
    return (json.dumps(content) + "\n").encode()


def _remove_folders(prefix: str) -> None:
    """Remove temporary folders whose names begin so."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        shutil.rmtree(folder, ignore_errors=True)
