"""`devnet fit`: learn from a raw table with few labels."""

import shlex
import time
from pathlib import Path
from typing import Any

import click

from devnet.cli.model_text import model_text
from devnet.cli.spelling import spell
from devnet.cli.table_options import (
    TrainingOptions,
    as_json,
    chosen_policy,
    counting_rows,
    policy_options,
    training_options,
)
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.wording import megabytes_text


@click.command()
@click.argument("table")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="File to write the model to.",
)
@click.option(
    "--method",
    default="deviation ensemble",
    show_default=True,
    metavar="NAME",
    help="The detector; 'devnet compare' finds the one that suits the table.",
)
@training_options
@policy_options
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write an HTML report about the fit."
)
@as_json
def fit(
    table: str,
    output: Path,
    method: str,
    training: TrainingOptions,
    report: Path | None,
    wants_json: bool,
    **policy: Any,
) -> None:
    """Learn from TABLE, in which a few anomalies are labelled.

    TABLE is a CSV, Parquet, Arrow, JSON Lines, Excel or svmlight file, a folder of Parquet files,
    or a quoted glob. Rows with a missing label, or with the other of two labels, are unlabelled;
    they need not be normal. Amounts, dates, categories, text and missing values need no
    preparation.

    \b
    devnet fit payments.parquet --label fraud --output fraud.devnet
    devnet fit 'logs/*.csv' --label state --anomaly intrusion -o logs.devnet
    devnet fit cases.csv --label sick --ignore ward --report cases.html -o cases.devnet
    """
    from devnet.core.whole_file import check_target
    from devnet.tables import TableModel
    from devnet.tables.description import describe_model, fit_notes
    from devnet.tables.overwriting import refuse_overwriting
    from devnet.tables.sources.opening import files_of
    from devnet.tables.table_model import DEFAULT_POLICY

    start = time.perf_counter()
    refuse_overwriting(table, output, report)
    for path in filter(None, (output, report)):
        check_target(path)
    model = TableModel(
        method,
        ignore=training.ignore,
        categorical=training.categorical,
        anomaly=training.anomaly,
        id_column=training.id_column,
        decimal_comma=training.decimal_comma,
        day_first=training.day_first,
        missing=training.missing,
        policy=chosen_policy(**policy) or DEFAULT_POLICY,
        random_state=training.seed,
    )
    files = files_of(table)
    with counting_rows("Reading", table, then="Learning") as on_rows:
        model.fit(table, training.label, on_rows=on_rows)
    model.save(output)
    facts = describe_model(model)
    seconds = time.perf_counter() - start
    if report is not None:
        _write_report(model, table, files, report)
    notes = fit_notes(model)
    if wants_json:
        echo_json({"model": str(output), "seconds": seconds, **facts, "notes": notes})
        return
    echo_notes(notes)
    echo(f"Learned from {table} in {seconds:.1f} s.", "", *model_text(facts))
    echo(f"Model          {output}, {megabytes_text(output.stat().st_size)}")
    if report is not None:
        echo(f"Report         {report}")
    next_words = ["devnet", "alerts", str(output), table, "--budget", "10"]
    echo("", f"Next: {shlex.join(next_words)}")


def _write_report(model: Any, table: str, files: list[Any], path: Path) -> None:
    """Write the page about a fit, if the table still has the rows that were learned from."""
    from devnet.core.whole_file import write_whole
    from devnet.report.fit_facts import fit_facts
    from devnet.report.fit_page import make_fit_page

    with counting_rows("Scoring", table) as on_rows:
        facts = fit_facts(model, table, on_rows=on_rows, spell=spell)
    for file in files:
        file.check()
    write_whole(path, make_fit_page(facts).encode())
