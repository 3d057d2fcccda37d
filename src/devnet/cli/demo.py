"""`devnet demo`: the whole journey on made-up card payments, from raw table to report."""

import shlex
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.explain import alert_text, explanation_text
from devnet.cli.model_text import model_text
from devnet.cli.spelling import spell
from devnet.cli.table_options import as_json
from devnet.cli.terminal import echo, echo_json

if TYPE_CHECKING:
    import numpy as np

    from devnet.tables import Explanation, TableModel

N_ALERTS = 100
N_SHOWN = 2
SEED = 0
TABLE, MODEL, SCORED, REPORT = "payments.parquet", "fraud.devnet", "scored.parquet", "report.html"
MARK = {"devnet": "payments that devnet demo made up"}  # in the table, which is written first
STORE, ENTITY = "review.db", "customer_id"
Say = Callable[..., None]  # of lines


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("devnet-demo"),
    show_default=True,
    help="Folder for table, model, scores and report.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=10_000),
    default=200_000,
    show_default=True,
    help="Number of payments.",
)
@click.option("--review", "opens_review", is_flag=True, help="Then open the analysts' page on it.")
@as_json
@click.pass_context
def demo(
    context: click.Context, folder: Path, rows: int, opens_review: bool, wants_json: bool
) -> None:
    """Run the whole journey on made-up payments.

    Makes up card payments, learns from the few labelled as fraud, raises alerts, scores all
    payments and writes a report. A folder with files of these names that are not of an earlier
    demo is left as it is.

    \b
    devnet demo
    devnet demo --folder elsewhere --rows 20000
    devnet demo --review
    """
    start = time.perf_counter()
    say: Say = (lambda *lines: None) if wants_json else echo
    _refuse_files_of_others(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kind = _make_up(folder / TABLE, rows, say)
    model = _fit(folder, say)
    highest, found = _raise_alerts(model, folder, kind, say)
    _explain(highest, folder, say)
    _score(model, folder, say)
    report = _report(model, folder)
    seconds = time.perf_counter() - start
    say("", f"All of it took {seconds:.0f} s. Now open {report} in a browser.")
    if wants_json:
        echo_json({"folder": str(folder), "report": str(report), "seconds": seconds, **found})
    if opens_review:
        _review(context, folder, say)


def _review(context: click.Context, folder: Path, say: Say) -> None:
    """Open the page on the payments; it is served until it is stopped."""
    from devnet.cli.review import review

    options = ("--model", folder / MODEL, "--store", folder / STORE, "--entity", ENTITY)
    say("", _typed("review", folder / TABLE, *options))
    words = [str(word) for word in (folder / TABLE, *options)]
    with review.make_context("review", words, context) as opened:
        review.invoke(opened)


def _refuse_files_of_others(folder: Path) -> None:
    """Refuse a folder in which the demo would replace files that it has not written."""
    there = [folder / name for name in (TABLE, MODEL, SCORED, REPORT)]
    there = [path for path in there if path.exists() or path.is_symlink()]
    if there and not _is_made_up(folder / TABLE):
        raise FileExistsError(
            f"the demo would replace {there[0]}, which is not of an earlier demo; give it another "
            "folder: devnet demo --folder NEW"
        )


def _is_made_up(table: Path) -> bool:
    """Whether the table is that of a demo."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        notes = pq.read_metadata(table).metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return all(notes.get(key.encode()) == value.encode() for key, value in MARK.items())


def _typed(*words: object) -> str:
    """A step as it could be typed."""
    return f"$ {shlex.join(['devnet', *map(str, words)])}"


def _make_up(path: Path, n_rows: int, say: Say) -> "np.ndarray":
    """Write the table; return the truth, which a bank would not know."""
    import pyarrow.parquet as pq

    from devnet.core.whole_file import whole_file, writing
    from devnet.datasets.payments import make_payments

    table, kind = make_payments(n_rows, seed=SEED)
    with whole_file(path) as temporary, writing(path), temporary.open("wb") as file:
        pq.write_table(table.replace_schema_metadata(MARK), file)
    n_fraud, n_labelled = int((kind != "normal").sum()), n_rows - table["fraud"].null_count
    say(
        f"{path} has {n_rows:,} made-up card payments in {table.num_columns} raw columns.",
        f"{n_fraud:,} of them are fraud of four kinds, but the bank knows only {n_labelled}: they "
        "have",
        "fraud = 1, all other rows have nothing there. One kind, collusion, was never labelled.",
        "",
    )
    return kind


def _fit(folder: Path, say: Say) -> "TableModel":
    from devnet.tables import TableModel
    from devnet.tables.description import describe_model

    say(_typed("fit", folder / TABLE, "--label", "fraud", "--output", folder / MODEL))
    model = TableModel(random_state=SEED).fit(folder / TABLE, "fraud")
    model.save(folder / MODEL)
    say(*model_text(describe_model(model)))
    return model


def _raise_alerts(
    model: "TableModel", folder: Path, kind: "np.ndarray", say: Say
) -> tuple["Explanation", dict[str, Any]]:
    """Show the highest rows and what all alerts really are; return the highest, and facts."""
    from devnet.significance.policies import Budget
    from devnet.tables import find_alerts

    options = ("--budget", N_ALERTS, "--show", N_SHOWN)
    say("", _typed("alerts", folder / MODEL, folder / TABLE, *options))
    found = find_alerts(model, folder / TABLE, policy=Budget(N_ALERTS), n_shown=N_ALERTS)
    for rank, one in enumerate(found.shown[:N_SHOWN], start=1):
        say(*alert_text(rank, one))
    truth = Counter(kind[[one.row for one in found.unfolded()]].tolist())
    n_fraud = found.n_alerts - truth.pop("normal", 0)
    kinds = ", ".join(f"{count} {name}" for name, count in truth.most_common())
    say(
        "",
        f"As the payments are made up, we can look: of the {found.n_alerts} highest that nobody "
        "had labelled,",
        f"{n_fraud} are fraud ({kinds}).",
        f"By chance it would be {(kind != 'normal').mean():.1%}.",
    )
    facts = {"alerts": found.n_alerts, "fraud_among_alerts": n_fraud, "kinds": dict(truth)}
    return found.shown[0], facts


def _explain(highest: "Explanation", folder: Path, say: Say) -> None:
    say("", _typed("explain", folder / MODEL, folder / TABLE, "--row", highest.row))
    say(*explanation_text(highest))


def _score(model: "TableModel", folder: Path, say: Say) -> None:
    from devnet.tables import score_table

    say("", _typed("score", folder / MODEL, folder / TABLE, "--output", folder / SCORED))
    done = score_table(model, folder / TABLE, folder / SCORED)
    say(f"{done.n_rows:,} rows scored, {done.n_alerts:,} alerts ({done.policy}).")


def _report(model: "TableModel", folder: Path) -> Path:
    from devnet.core.whole_file import write_whole
    from devnet.report.fit_facts import fit_facts
    from devnet.report.fit_page import make_fit_page

    path = folder / REPORT
    write_whole(path, make_fit_page(fit_facts(model, folder / TABLE, spell=spell)).encode())
    return path
