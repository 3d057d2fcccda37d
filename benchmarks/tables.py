"""Tables from file to file, against merely reading them with pyarrow: `make bench`.

`python benchmarks/tables.py` measures everything; a section's name measures that one only. `--rows`
sets the rows of the longest tables of `scoring` and of the sections on memory.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sections
from sections import Effort, Section

from devnet.datasets.payments import make_payments, payment_batches
from devnet.significance.policies import Alarm, Threshold
from devnet.tables import TableModel, score_table
from devnet.tables.output import open_output
from devnet.tables.row_scores import scored_columns
from devnet.tables.sources.opening import open_table

REPEATS = 3
METHODS = ("DevNet", "deviation ensemble")
ID = "payment_id"
N_FITTED = 200_000


def best(
    effort: Effort, *calls: Callable[[], object], repeats: int = REPEATS
) -> list[tuple[float, float]]:
    """Shortest wall-clock and processor seconds; calls take turns."""
    times: list[list[tuple[float, float]]] = [[] for _ in calls]
    for _ in range(effort.repeats(repeats)):
        for call, found in zip(calls, times, strict=True):
            clock, processor = time.perf_counter(), time.process_time()
            call()
            found.append((time.perf_counter() - clock, time.process_time() - processor))
    return [(min(t for t, _ in found), min(t for _, t in found)) for found in times]


def write_payments(path: Path, n_rows: int) -> None:
    writer = None
    for batch in payment_batches(n_rows, batch_rows=min(n_rows, 1_000_000)):
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    writer.close()


def fitted(effort: Effort, method: str) -> TableModel:
    payments = make_payments(effort.rows(N_FITTED)).table
    return TableModel(method, id_column=ID, random_state=0).fit(payments, "fraud")


def scoring(effort: Effort, folder: Path) -> None:
    n_rows = effort.longest(2_000_000)
    table, output = folder / "payments.parquet", folder / "scored.parquet"
    write_payments(table, n_rows)
    print(f"\nScoring {n_rows:,} payments, Parquet to Parquet, against pyarrow.parquet.read_table")
    print("of the same columns: seconds by the clock (of the processor), and ratios of both")
    for method in METHODS:
        model = fitted(effort, method)
        read = [*model.encoder_.read_columns(), ID]
        for name, only_id, columns in (
            ("with the id", True, read),
            ("with all columns", False, None),
        ):
            call = partial(score_table, model, table, output, only_id=only_id)
            ours, theirs = best(effort, call, partial(pq.read_table, table, columns=columns))
            print(
                f"  {method:<18} {name:<16} {ours[0]:6.2f} ({ours[1]:.2f}) s, reading "
                f"{theirs[0]:.2f} ({theirs[1]:.2f}) s: {ours[0] / theirs[0]:.1f} x "
                f"({ours[1] / theirs[1]:.1f} x)",
                flush=True,
            )
        print(f"    of the processor's time: {shares(effort, model, table, output)}", flush=True)


def shares(effort: Effort, model: TableModel, table: Path, output: Path) -> str:
    """Where scoring spends its time: one step after the other, on the first rows."""
    source = open_table(table).with_codes(model.encoder_.read_columns())
    columns = [*model.encoder_.read_columns(), ID]
    batches = [batch for batch, _ in zip(source.batches(columns), range(8), strict=False)]
    n_read = sum(map(len, batches))
    matrices = [model.encoder_.encode_checked(batch) for batch in batches]
    scores = [model.detector_.anomaly_score(matrix) for matrix in matrices]
    alarm = Alarm(Threshold(1.0))
    added = [
        pa.RecordBatch.from_pydict({ID: batch[ID], **scored_columns(model, score, alarm)})
        for batch, score in zip(batches, scores, strict=True)
    ]

    def write() -> None:
        distinct = [ID, "anomaly_score", "nominal_p_value"]
        with open_output(output, added[0].schema, distinct) as write_batch:
            for batch in added:
                write_batch(batch)

    def each(do: Callable[[object], object], items: list) -> Callable[[], None]:
        return lambda: [do(item) for item in items] and None

    steps = {
        "read": lambda: [None for _ in zip(source.batches(columns), range(8), strict=False)],
        "encode": each(model.encoder_.encode_checked, batches),
        "score": each(model.detector_.anomaly_score, matrices),
        "p-values": each(lambda score: scored_columns(model, score, alarm), scores),
        "write": write,
    }
    seconds = dict(zip(steps, (t for _, t in best(effort, *steps.values())), strict=True))
    total = sum(seconds.values())
    each_row = ", ".join(f"{name} {100 * s / total:.0f}%" for name, s in seconds.items())
    return f"{each_row}; {1e6 * total / n_read:.2f} us a row"


def in_own_process(program: str, *arguments: object) -> str:
    """What a program prints, followed by its peak memory."""
    program = f"import sys\n{program}\nfrom devnet.experiments.memory import peak_memory\n"
    program += "print(f'{peak_memory() / 1e6:.0f} MB')"
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def memory_of_scoring(effort: Effort, folder: Path) -> None:
    model = folder / "model"
    fitted(effort, "DevNet").save(model)
    print("\nPeak memory of scoring with DevNet, a process each")
    program = (
        "import time; from devnet import load; from devnet.tables import score_table\n"
        "start = time.perf_counter()\n"
        "score_table(load(sys.argv[1]), sys.argv[2], sys.argv[3])\n"
        "print(f'{time.perf_counter() - start:.1f} s,', end=' ')"
    )
    for n in sorted({effort.rows(1_000_000), effort.longest(50_000_000)}):
        table, output = folder / "payments.parquet", folder / "scored.parquet"
        write_payments(table, n)
        print(f"  {n:>11,} rows: {in_own_process(program, model, table, output)}", flush=True)
        output.unlink()
        table.unlink()


def memory_of_fit(effort: Effort, folder: Path) -> None:
    print("\nPeak memory of a fit, a process each")
    program = (
        "import time; from devnet.tables import TableModel\n"
        "start = time.perf_counter()\n"
        "TableModel(random_state=0).fit(sys.argv[1], 'fraud')\n"
        "print(f'{time.perf_counter() - start:.1f} s,', end=' ')"
    )
    for n in sorted({effort.rows(1_000_000), effort.longest(20_000_000)}):
        table = folder / "payments.parquet"
        write_payments(table, n)
        print(f"  {n:>11,} rows: {in_own_process(program, table)}", flush=True)
        table.unlink()


def write_numbers(path: Path, n_rows: int, n_columns: int) -> None:
    """A table of plain numbers, in which 30 anomalies are labelled."""
    generator = np.random.default_rng(0)
    writer = None
    for start in range(0, n_rows, 10_000):
        rows = generator.normal(size=(min(10_000, n_rows - start), n_columns))
        is_anomaly = (np.arange(len(rows)) < 30) & (start == 0)
        rows[is_anomaly] += 1
        columns = {f"column {i}": rows[:, i] for i in range(n_columns)}
        batch = pa.table({**columns, "label": is_anomaly.astype(int)})
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    writer.close()


def memory_by_columns(effort: Effort, folder: Path) -> None:
    n_rows = effort.longest(300_000)
    print(f"\nPeak memory by the number of columns, {n_rows:,} rows of numbers, a process each")
    fit = (
        "from devnet.tables import TableModel\n"
        "TableModel(sys.argv[3], random_state=0).fit(sys.argv[1], 'label').save(sys.argv[2])"
    )
    score = (
        "from devnet import load; from devnet.tables import score_table\n"
        "score_table(load(sys.argv[2]), sys.argv[1], sys.argv[3])"
    )
    table, model, output = (folder / name for name in ("rows.parquet", "model", "scored.parquet"))
    for n_columns in (10,) if effort.is_quick else (10, 100, 300, 1000):
        write_numbers(table, n_rows, n_columns)
        for method in METHODS:
            fitting = in_own_process(fit, table, model, method)
            scoring = in_own_process(score, table, model, output)
            name = f"{n_columns:>5,} columns, {method}"
            print(f"  {name:<33} fit {fitting:>8}, scoring {scoring:>8}", flush=True)


def commands(effort: Effort, folder: Path) -> None:
    table = folder / "payments.parquet"
    n_rows = effort.rows(N_FITTED)
    pq.write_table(make_payments(n_rows).table, table)
    devnet = [sys.executable, "-m", "devnet.cli"]
    fit = [*devnet, "fit", table, "--label", "fraud", "--output", folder / "model"]

    def run(command: list[object]) -> Callable[[], object]:
        return lambda: subprocess.run(
            [str(part) for part in command], check=True, capture_output=True
        )

    (seconds,) = best(effort, run(fit))
    start_up = run([*devnet, "--help"]), run([sys.executable, "-c", "pass"])
    helped, nothing = best(effort, *start_up, repeats=5)
    print("\nCommands, with start-up")
    print(f"  devnet fit, {n_rows:,} payments: {seconds[0]:.1f} s")
    print(f"  devnet --help {helped[0]:.2f} s, python -c pass {nothing[0]:.2f} s")


def explanations(effort: Effort) -> None:
    n_explained = 20 if effort.is_quick else 1000
    print(f"\nContributions of {n_explained:,} rows x 60 columns")
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(effort.rows(20_000), 60)).astype(np.float32)
    is_anomaly = np.arange(len(rows)) < 30
    rows[is_anomaly] += 1
    columns = {f"column {i}": rows[:, i] for i in range(60)}
    table = pa.table({**columns, "label": is_anomaly.astype(int)})
    for method in METHODS:
        model = TableModel(method, random_state=0).fit(table, "label")
        explain = partial(model.explain, table.slice(0, n_explained), range(n_explained))
        ((seconds, _),) = best(effort, explain)
        error = max(
            abs(sum(one.contributions.values()) - (one.score - one.baseline_score))
            for one in explain()
        )
        print(f"  {method:<18} {seconds:.2f} s, largest error of a sum {error:.1e}")


def encoding(effort: Effort) -> None:
    model = fitted(effort, "DevNet")
    batches = make_payments(effort.rows(N_FITTED)).table.to_batches(65_536)
    n = sum(map(len, batches))
    ((seconds, processor),) = best(
        effort, lambda: [model.encoder_.encode_checked(batch) for batch in batches]
    )
    print(
        f"\nEncoding payments to {model.encoder_.n_columns} columns: {n / seconds:,.0f} rows/s by "
        f"the clock, {n / processor:,.0f} by the processor's time of one core"
    )


def in_a_folder(section: Callable[[Effort, Path], None]) -> Section:
    """Give a section a folder for as long as it runs."""

    @wraps(section)
    def run(effort: Effort) -> None:
        with tempfile.TemporaryDirectory() as folder:
            section(effort, Path(folder))

    return run


SECTIONS = (
    in_a_folder(scoring),
    encoding,
    in_a_folder(commands),
    explanations,
    in_a_folder(memory_of_scoring),
    in_a_folder(memory_of_fit),
    in_a_folder(memory_by_columns),
)

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
