"""`devnet demo`: the whole journey on made-up card payments, from raw table to report."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.explain import alert_text
from devnet.cli.model_text import model_text
from devnet.cli.table_options import as_json, echo_json

if TYPE_CHECKING:
    import numpy as np

    from devnet.tables import TableModel

N_ALERTS = 100
N_SHOWN = 3
SEED = 0
Say = Callable[[str], None]


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("devnet-demo"),
    show_default=True,
    help="Where to put table, model, scores and report.",
)
@click.option(
    "--rows", type=click.IntRange(min=10_000), default=200_000, show_default=True, help="Payments."
)
@as_json
def demo(folder: Path, rows: int, wants_json: bool) -> None:
    """Go the whole way on made-up payments.

    Makes up card payments, learns from the few that are labelled as fraud, raises alerts, scores
    all of them and writes a report.

    \b
    devnet demo
    devnet demo --folder elsewhere --rows 20000
    """
    start = time.perf_counter()
    say: Say = (lambda line: None) if wants_json else click.echo
    folder.mkdir(parents=True, exist_ok=True)
    kind = _make_up(folder / "payments.parquet", rows, say)
    model = _fit(folder, say)
    found = _raise_alerts(model, folder, kind, say)
    _score(model, folder, say)
    report = _report(model, folder, say)
    seconds = time.perf_counter() - start
    say(f"\nAll of it took {seconds:.0f} s. Now open {report} in a browser.")
    if wants_json:
        echo_json({"folder": str(folder), "report": str(report), "seconds": seconds, **found})


def _make_up(path: Path, n_rows: int, say: Say) -> "np.ndarray":
    """Write the table; returns the truth, which a bank would not have."""
    import pyarrow.parquet as pq

    from devnet.datasets.payments import make_payments
    from devnet.whole_file import whole_file

    table, kind = make_payments(n_rows, seed=SEED)
    with whole_file(path) as temporary:
        pq.write_table(table, temporary)
    n_labelled = table.num_rows - table["fraud"].null_count
    n_fraud = int((kind != "normal").sum())
    say(f"""\
{path}: {n_rows:,} made-up card payments, {table.num_columns} raw columns.
{n_fraud:,} of them are fraud of four kinds. The bank knows {n_labelled}, which have fraud = 1; all
other rows have nothing there. One of the kinds, collusion, nobody has ever labelled.
""")
    return kind


def _fit(folder: Path, say: Say) -> "TableModel":
    from devnet.tables import TableModel
    from devnet.tables.description import describe_model

    table, path = folder / "payments.parquet", folder / "fraud.devnet"
    say(f"$ devnet fit {table} --label fraud --output {path}\n")
    model = TableModel(random_state=SEED).fit(table, "fraud")
    model.save(path)
    say(model_text(describe_model(model)))
    return model


def _raise_alerts(
    model: "TableModel", folder: Path, kind: "np.ndarray", say: Say
) -> dict[str, Any]:
    """Show the highest rows, and what all alerts are in truth."""
    from devnet.alert_policies import Budget
    from devnet.tables import find_alerts

    table, path = folder / "payments.parquet", folder / "fraud.devnet"
    say(f"\n$ devnet alerts {path} {table} --budget {N_ALERTS} --show {N_SHOWN}\n")
    found = find_alerts(model, table, policy=Budget(N_ALERTS), n_shown=N_ALERTS)
    for place, one in enumerate(found.shown[:N_SHOWN], start=1):
        say(alert_text(place, one) + "\n")
    truth = Counter(kind[[one.row for one in found.shown]].tolist())
    n_fraud = found.n_alerts - truth.pop("normal", 0)
    kinds = ", ".join(f"{count} {name}" for name, count in truth.most_common())
    say(f"""\
The payments are made up, so we can look: of the {found.n_alerts} highest that nobody had labelled
{n_fraud} are fraud ({kinds}). By chance it would be {(kind != "normal").mean():.1%} of them.""")
    return {"alerts": found.n_alerts, "fraud_among_alerts": n_fraud, "kinds": dict(truth)}


def _score(model: "TableModel", folder: Path, say: Say) -> None:
    from devnet.tables import score_table

    table, path, output = (
        folder / n for n in ("payments.parquet", "fraud.devnet", "scored.parquet")
    )
    say(f"\n$ devnet score {path} {table} --output {output}\n")
    done = score_table(model, table, output)
    say(f"{output}: {done.n_rows:,} rows, {done.n_alerts:,} alerts ({model.policy.in_words()}).")


def _report(model: "TableModel", folder: Path, say: Say) -> Path:
    from devnet.report.fit_facts import fit_facts
    from devnet.report.fit_page import make_fit_page
    from devnet.whole_file import write_whole

    path = folder / "report.html"
    write_whole(path, make_fit_page(fit_facts(model, folder / "payments.parquet")).encode())
    return path
