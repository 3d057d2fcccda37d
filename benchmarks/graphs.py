"""Exported graphs in onnxruntime against our own scorer: `make bench`.

`python benchmarks/graphs.py` measures everything; a section's name measures that one only.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import sections
from sections import Effort
from tables import ID, METHODS, fitted, write_payments

from devnet import DeviationEnsemble, DevNet
from devnet.serving.onnx import ExportedModel, export
from devnet.serving.onnx.scoring import score_with_graph
from devnet.tables import score_table

REPEATS = 5
N_LABELLED = 30
ALONE = 200  # rows that are scored one by one


def best_seconds(effort: Effort, *calls: Callable[[], object]) -> list[float]:
    """Shortest processor seconds, which other work hardly changes; calls take turns."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(effort.repeats(REPEATS)):
        for call, times in zip(calls, seconds, strict=True):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    return [min(times) for times in seconds]


def matrices(effort: Effort) -> None:
    n = effort.rows(100_000)
    print(
        f"Scoring {n:,} rows with Python and with a graph on one thread, rows per processor second"
    )
    for d in (10,) if effort.is_quick else (10, 60, 200):
        rows = np.random.default_rng(0).random((n, d), dtype=np.float32)
        rows[:, d // 2 :] = rows[:, d // 2 :] > 0.9  # indicators
        rows[:N_LABELLED, : d // 2] += 0.3
        y = np.arange(n) < N_LABELLED
        for detector in (DevNet(random_state=0), DeviationEnsemble(random_state=0)):
            detector.fit(rows[:20_000], y[:20_000])
            with tempfile.TemporaryDirectory() as folder:
                done = export(detector, Path(folder) / "m.onnx")
                graph = ExportedModel(done.path, n_threads=1)
            ours, theirs, alone = best_seconds(
                effort,
                partial(detector.anomaly_score, rows),
                partial(graph.score, rows),
                lambda graph=graph, rows=rows: [graph.score(rows[i : i + 1]) for i in range(ALONE)],
            )
            print(
                f"  {d:>4} columns {type(detector).__name__:<18} Python {n / ours:>9,.0f}, graph "
                f"{n / theirs:>9,.0f} ({ours / theirs:.2f} x), {done.n_bytes / 1e6:.1f} MB; a row "
                f"alone {1e3 * alone / ALONE:.2f} ms",
                flush=True,
            )


def files(effort: Effort) -> None:
    n = effort.longest(1_000_000)
    print(f"\nScoring {n:,} payments, Parquet to Parquet, with Python and with a graph")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, output = folder / "payments.parquet", folder / "scored.parquet"
        write_payments(table, n)
        for method in METHODS:
            model = fitted(effort, method)
            graph = ExportedModel(export(model, folder / "m.onnx").path, n_threads=1)
            ours, theirs = best_seconds(
                effort,
                partial(score_table, model, table, output, only_id=True),
                partial(score_with_graph, graph, table, output, only_id=True),
            )
            print(
                f"  {method:<18} with the {ID}: Python {n / ours:,.0f}, graph {n / theirs:,.0f} "
                f"rows per processor second ({ours / theirs:.2f} x)",
                flush=True,
            )


SECTIONS = (matrices, files)

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
