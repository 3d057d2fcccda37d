"""`devnet score`: scores, p-values and alerts of a table, from file to file."""

import time
from pathlib import Path
from typing import Any

import click

from devnet.cli.table_options import (
    as_json,
    chosen_policy,
    counting_rows,
    open_model,
    policy_options,
    spreadsheet_safe,
)
from devnet.cli.terminal import echo, echo_json, echo_notes


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write: Parquet, CSV or Arrow, by its suffix.",
)
@click.option("--only-id", is_flag=True, help="Write the id column instead of all columns.")
@spreadsheet_safe
@policy_options
@as_json
def score(
    model: Path,
    table: str,
    output: Path,
    only_id: bool,
    spreadsheet_safe: bool,
    wants_json: bool,
    **policy: Any,
) -> None:
    """Score the rows of TABLE with MODEL and write a new file.

    The file has the table's columns plus anomaly_score, p_value, nominal_p_value (if the method
    has one) and is_alert. The table is read in batches and may be larger than memory. The file
    appears only when it is complete; after an interruption just run the command again.

    \b
    devnet score fraud.devnet today.parquet --output scored.parquet
    devnet score fraud.devnet today.csv --only-id --budget 100 -o scores.csv
    """
    from devnet.tables import score_table
    from devnet.tables.overwriting import refuse_overwriting

    start = time.perf_counter()
    opened = open_model(model)
    refuse_overwriting(table, output, model=model)
    with counting_rows("Scoring", table) as on_rows:
        done = score_table(
            opened,
            table,
            output,
            only_id=only_id,
            policy=chosen_policy(**policy),
            spreadsheet_safe=spreadsheet_safe,
            on_rows=on_rows,
        )
    seconds = time.perf_counter() - start
    if wants_json:
        echo_json({"output": str(output), "seconds": seconds, **done._asdict()})
        return
    echo_notes(done.notes)
    echo(
        f"{done.n_rows:,} rows scored, {done.n_alerts:,} alerts ({done.policy}).",
        f"They are in {output}; it took {seconds:.1f} s.",
    )
