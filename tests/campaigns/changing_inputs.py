"""Inputs that are replaced, cut, extended or removed while they are read.

Allowed is the answer for the file as it was or as it is, as a whole, or a sentence.
"""

import gzip
import io
import json
import os
import random
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pyarrow import ipc

import devnet
from campaigns.campaign import Campaign
from campaigns.sentences import is_sentence
from campaigns.small_models import small_parameters
from devnet import DevNet
from devnet.significance.policies import Budget
from devnet.tables import TableModel, find_alerts, score_table

LABEL = "fraud"
METHOD = "DevNet"
N_ROWS = {"before": 100_000, "after": 90_000}  # more than a batch, in a CSV more than a block
FEW = {"before": 1500, "after": 1400}  # of a workbook, which is slow to write
VERSIONS = ["before", "after"]
POLICY = Budget(50)  # takes a pass of its own
LOADS = json.loads
CHANGES = ["replaced", "overwritten", "cut", "extended", "removed"]
VERBS = ["score", "score", "alerts", "fit", "explain"]


def _table(version: str, n_rows: int) -> pa.Table:
    """Rows of which none is the same in both versions."""
    generator = np.random.default_rng(VERSIONS.index(version))
    is_fraud = np.arange(n_rows) % 1000 == 7
    return pa.table(
        {
            "id": [f"{version}-{i:06}" for i in range(n_rows)],
            "amount": np.round(generator.lognormal(3, 1, n_rows) * np.where(is_fraud, 9, 1), 6),
            "shop": generator.choice(["grocer", "baker", "casino"], n_rows),
            "note": ["the same in all rows, to make them long"] * n_rows,
            LABEL: pa.array(np.where(is_fraud, "yes", "no")),
        }
    )


def _csv(table: pa.Table, delimiter: str = ",") -> bytes:
    file = io.BytesIO()
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    pyarrow.csv.write_csv(table, file, write_options=options)
    return file.getvalue()


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=20_000)
    return file.getvalue()


def _arrow(table: pa.Table, open_writer: Callable[..., Any] = ipc.new_file) -> bytes:
    file = io.BytesIO()
    with open_writer(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=20_000)
    return file.getvalue()


def _json_lines(table: pa.Table) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())


def _svmlight(table: pa.Table) -> bytes:
    rows = zip(table[LABEL].to_pylist(), table["amount"].to_pylist(), strict=True)
    return "".join(f"{int(y == 'yes')} 1:{x:.6f} 3:1\n" for y, x in rows).encode()


def _workbook(table: pa.Table) -> bytes:
    import openpyxl

    book, file = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("payments")
    sheet.append(table.column_names)
    for row in table.to_pylist():
        sheet.append(list(row.values()))
    book.save(file)
    return file.getvalue()


WRITERS: dict[str, Callable[[pa.Table], bytes]] = {
    "t.csv": _csv,
    "t.tsv": lambda table: _csv(table, "\t"),
    "t.csv.gz": lambda table: gzip.compress(_csv(table), 1),
    "t.parquet": _parquet,
    "t.arrow": _arrow,
    "t.ipc": lambda table: _arrow(table, ipc.new_stream),
    "t.jsonl": _json_lines,
    "t.svm": _svmlight,
    "t.xlsx": _workbook,
}
LINES = ("t.csv", "t.tsv", "t.jsonl", "t.svm")  # formats that grow by lines
MANY = {"parts": "t.parquet", "parts/*.csv": "t.csv"}  # tables of several files


@cache
def _content(file: str, version: str) -> bytes:
    n_rows = (FEW if file == "t.xlsx" else N_ROWS)[version]
    return WRITERS[file](_table(version, n_rows))


class Change(NamedTuple):
    """What is read, how it changes, and when."""

    table: str  # a file, a folder or a pattern
    verb: str
    change: str
    call: int | None  # the batch, or the header, after which it changes; None for any moment
    share: float  # of the time that reading takes, if at a moment; of the file, if it is cut

    def __str__(self) -> str:
        when = f"after batch {self.call}" if self.call else f"after {self.share:.3f} of the time"
        return f"{self.verb} {self.table}, {self.change} {when}, share {self.share:.3f}"


def make(rng: random.Random) -> Change:
    """Half of the changes come after a batch, so that they can be repeated exactly."""
    table = rng.choice([*WRITERS, *MANY, "m.devnet"])
    verb = "load" if table == "m.devnet" else rng.choice(VERBS)
    has_calls = verb != "explain" and rng.random() < 0.6
    call = rng.randint(1, 4) if has_calls else None
    return Change(table, verb, rng.choice(CHANGES), call, rng.random())


def judge(case: Change, folder: Path) -> None:
    """Compare the answer with those for both versions of the file."""
    path = _place(case.table, folder)
    known = _known(case.table, case.verb)
    change = _Change(case, path)
    try:
        answer = change.during(lambda on_rows: _answer(case, folder, on_rows), known.seconds)
    except Exception:
        left = sorted(one.name for one in folder.iterdir() if one.name.startswith((".", "scored")))
        assert not left, f"a refusal leaves {', '.join(left)}"
        raise
    finally:
        change.now()
    if answer == known.answer:
        return
    try:
        after = _answer(case, folder)
    except Exception as error:
        if not is_sentence(error):
            raise
        raise AssertionError(f"an answer for a file that now gets: {error}") from error
    assert answer == after, f"neither the answer for the old nor for the new file: {case.change}"


class _Change:
    """Changes a file once, after a batch or after a time."""

    def __init__(self, case: Change, path: Path) -> None:
        self._case, self._path = case, path
        self._kind = path.name if path.name == "m.devnet" else f"t{''.join(path.suffixes)}"
        self._new = _version(self._kind, "after")
        self._calls, self._done, self._lock = 0, False, threading.Lock()

    def during(self, read: Callable[[Any], Any], seconds: float) -> Any:
        """Read while the change comes."""
        if self._case.call is not None and self._case.verb == "load":
            with mock.patch.object(json, "loads", side_effect=self._on_header):
                return read(None)
        if self._case.call is not None:
            return read(self._on_rows)
        timer = threading.Timer(self._case.share * seconds, self.now)
        timer.start()
        try:
            return read(None)
        finally:
            timer.cancel()

    def _on_header(self, text: str) -> Any:
        """Between a model file's header and its tensors."""
        self.now()
        return LOADS(text)

    def _on_rows(self, done: int) -> None:
        self._calls += 1
        if self._calls == self._case.call:
            self.now()

    def now(self) -> None:
        """Change the file, unless that is done."""
        with self._lock:
            if not self._done:
                self._done = True
                self._change()

    def _change(self) -> None:
        path, what = self._path, self._case.change
        if what == "removed":
            path.unlink()
        elif what == "cut":
            os.truncate(path, int(self._case.share * path.stat().st_size))
        elif what == "extended" and self._kind in LINES:
            lines = self._new.splitlines(keepends=True)[1:5000]
            with path.open("ab") as file:
                file.write(b"".join(lines))
        elif what == "replaced":
            path.with_suffix(".new").write_bytes(self._new)
            path.with_suffix(".new").replace(path)
        else:
            path.write_bytes(self._new)


def _version(file: str, version: str) -> bytes:
    """The content of a model or table, before or after the change."""
    return _model(version) if file == "m.devnet" else _content(file, version)


def _place(table: str, folder: Path) -> Path:
    """Write the first version; return the file that will change."""
    if table not in MANY:
        path = folder / table
        path.write_bytes(_version(table, "before"))
        return path
    (folder / "parts").mkdir()
    file = MANY[table]
    for name in ("a", "b"):
        path = folder / "parts" / file.replace("t.", f"{name}.")
        path.write_bytes(_content(file, "before"))
    return path


class Known(NamedTuple):
    """The answer for a file at rest, and how long it takes."""

    answer: Any
    seconds: float


@cache
def _known(table: str, verb: str) -> Known:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _place(table, folder)
        case = Change(table, verb, "", None, 0.0)
        _answer(case, folder)  # imports and caches
        start = time.perf_counter()
        return Known(_answer(case, folder), time.perf_counter() - start)


def _answer(case: Change, folder: Path, on_rows: Any = None) -> Any:
    """What a verb says about a table, in a form that can be compared."""
    table = str(folder / case.table)
    if case.verb == "load":
        rows = np.eye(MODEL_COLUMNS, dtype=np.float32)[:5]
        return devnet.load(table).anomaly_score(rows).tolist()
    if case.verb == "fit":
        label = "label" if case.table == "t.svm" else LABEL
        model = _unfitted().fit(table, label, on_rows=on_rows)
        return model.n_rows_, model.n_labelled_, model.calibration_.unlabelled.tolist()
    model = _fitted(case.table)
    if case.verb == "explain":
        numbers = [5, FEW["after"] - 1] if case.table == "t.xlsx" else [5, 70_000]
        return [repr(one) for one in model.explain(table, numbers)]
    if case.verb == "alerts":
        found = find_alerts(model, table, policy=POLICY, n_shown=None, on_rows=on_rows)
        return found.n_rows, found.threshold, repr(found.to_table().to_pylist())
    output = folder / "scored.parquet"
    score_table(model, table, output, policy=POLICY, on_rows=on_rows)
    return pq.read_table(output)


def _unfitted() -> TableModel:
    return TableModel(METHOD, parameters=small_parameters(METHOD), random_state=0)


@cache
def _fitted(table: str) -> TableModel:
    """A model of the first version, as svmlight has other columns than the rest."""
    with TemporaryDirectory() as name:
        _place(table, Path(name))
        label = "label" if table == "t.svm" else LABEL
        return _unfitted().fit(str(Path(name) / table), label)


MODEL_COLUMNS = 400


@cache
def _model(version: str) -> bytes:
    """A model file of some megabytes, which takes a while to read."""
    generator = np.random.default_rng(VERSIONS.index(version))
    rows = generator.normal(size=(100, MODEL_COLUMNS))
    model = DevNet((2000,), n_epochs=1, n_batches=1, batch_size=8, random_state=0)
    with TemporaryDirectory() as folder:
        model.fit(rows, np.arange(100) < 5).save(Path(folder) / "m.devnet")
        return (Path(folder) / "m.devnet").read_bytes()


CAMPAIGN = Campaign(
    "changing_inputs", make, judge, n_cases=600, n_short=8, seconds=30, megabytes=1500
)
