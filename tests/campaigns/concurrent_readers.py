"""Several threads and processes that use one model and one table at once: equal to the bit."""

import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

import devnet
from campaigns.campaign import Campaign
from campaigns.small_models import KINDS, probe, saved
from devnet.significance.policies import Budget
from devnet.tables import find_alerts, score_table

N_COPIES = 20  # of the rows of a probe, so that threads meet
PROGRAM = """
import sys
import devnet
from devnet.tables import score_table
sys.stdin.readline()
score_table(devnet.load(sys.argv[1]), sys.argv[2], sys.argv[3])
"""


class Readers(NamedTuple):
    """A kind of model, what is asked of it, and by how many at once."""

    kind: str
    question: str
    n_readers: int
    is_shared: bool  # one model for all, or one each

    def __str__(self) -> str:
        model = "one model" if self.is_shared else "a model each"
        return f"{self.n_readers} times {self.question}, {self.kind}, {model}"


def make(rng: random.Random) -> Readers:
    """Mostly threads; processes take seconds to start."""
    kind = rng.choice(KINDS)
    is_table = not kind.endswith(("dense", "wide"))
    questions = [*OF_TABLES, "the same output"] if is_table else list(OF_MATRICES)
    question = rng.choice(questions)
    if is_table and rng.random() < 0.05:
        question = "processes"
    return Readers(kind, question, rng.choice([2, 3, 8]), rng.random() < 0.7)


def judge(case: Readers, folder: Path) -> None:
    """Ask once alone, then all at once, and compare."""
    path = folder / "m.devnet"
    path.write_bytes(saved(case.kind))
    rows = probe(case.kind)
    if isinstance(rows, pa.Table):
        table = folder / "table.parquet"
        pq.write_table(pa.concat_tables([rows] * N_COPIES), table, row_group_size=500)
        _of_table(case, path, table)
        return
    many = (sp.vstack if sp.issparse(rows) else np.concatenate)([rows] * N_COPIES)
    _at_once(case, path, lambda model, _: OF_MATRICES[case.question](model, many))


def _of_table(case: Readers, path: Path, table: Path) -> None:
    output = table.with_name("scored.parquet")
    score_table(devnet.load(path), table, output)
    whole = output.read_bytes()
    if case.question == "processes":
        outputs = [table.with_name(f"{i}.parquet") for i in range(2)]
        _in_processes([[str(path), str(table), str(one)] for one in outputs])
        found = {one.read_bytes() == whole for one in outputs}
        assert found == {True}, "processes write different files"
    elif case.question == "the same output":
        _at_once(case, path, lambda model, _: score_table(model, table, output).n_rows)
        assert output.read_bytes() == whole, "the output of several writers is none of theirs"
    else:
        _at_once(case, path, lambda model, i: OF_TABLES[case.question](model, table, i))


def _at_once(case: Readers, path: Path, ask: Callable[[Any, int], Any]) -> None:
    """A model that was just loaded has nothing cached, so that readers also make caches at once."""
    alone = ask(devnet.load(path), 0)
    shared, gate = devnet.load(path), threading.Barrier(case.n_readers)

    def read(i: int) -> Any:
        model = shared if case.is_shared else devnet.load(path)
        gate.wait(30)
        return ask(model, i)

    with ThreadPoolExecutor(case.n_readers) as pool:
        answers = list(pool.map(read, range(case.n_readers)))
    for i, answer in enumerate(answers):
        assert answer == alone, f"reader {i} gets another answer"


def _in_processes(arguments: list[list[str]]) -> None:
    """Start all, then let them go at once."""
    started = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, *one], stdin=subprocess.PIPE)
        for one in arguments
    ]
    for process in started:
        process.communicate(b"go\n")
    assert {process.returncode for process in started} == {0}, "a process fails"


def _bits(values: Any) -> bytes:
    return (values.toarray() if sp.issparse(values) else np.asarray(values)).tobytes()


def _explained(model: Any, table: Path, i: int) -> str:
    return repr(model.explain(table, [0, 41, 700]))


def _scored(model: Any, table: Path, i: int) -> pa.Table:
    return model.score(table)


def _written(model: Any, table: Path, i: int) -> bytes:
    output = table.with_name(f"scored {i} {threading.get_ident()}.csv")
    score_table(model, table, output, policy=Budget(20))
    return output.read_bytes()


def _alerts(model: Any, table: Path, i: int) -> str:
    found = find_alerts(model, table, policy=Budget(20), known=True)
    return repr(found.to_table().to_pylist())


OF_TABLES: dict[str, Callable[[Any, Path, int], Any]] = {
    "score": _scored,
    "score_table": _written,
    "explain": _explained,
    "find_alerts": _alerts,
}
OF_MATRICES: dict[str, Callable[[Any, Any], bytes]] = {
    "anomaly_score": lambda model, rows: _bits(model.anomaly_score(rows)),
    "predict": lambda model, rows: _bits(model.predict(rows)),
    "contributions": lambda model, rows: _bits(
        devnet.explanation.contributions(
            model, rows[:40], devnet.explanation.typical_row(model, rows)
        )
    ),
}

CAMPAIGN = Campaign(
    "concurrent_readers", make, judge, n_cases=500, n_short=15, seconds=60, megabytes=2000
)
