"""`devnet alerts`: the rows to look at, ranked, with reasons."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.deep_options import maps_option, open_kept, refuse_maps, verbs_of
from devnet.cli.explain import alert_text, explanation_json
from devnet.cli.table_options import (
    as_json,
    chosen_policy,
    counting_rows,
    open_model,
    policy_options,
    spreadsheet_safe,
)
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.wording import count_text

if TYPE_CHECKING:
    from devnet.tables import Alerts

COUNTS = ("n_rows", "n_known", "n_alerts", "threshold")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@policy_options
@click.option(
    "--show",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Show at most this many; all are counted.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write all alerts with reasons and values: Parquet, CSV or Arrow, by its suffix.",
)
@spreadsheet_safe
@maps_option
@click.option("--known", is_flag=True, help="Include rows that TABLE already labels.")
@as_json
def alerts(
    model: Path,
    table: str,
    show: int,
    output: Path | None,
    spreadsheet_safe: bool,
    maps: Path | None,
    known: bool,
    wants_json: bool,
    **policy: Any,
) -> None:
    """Rank the rows of TABLE that are alerts, with reasons.

    You choose which rows are alerts, without fitting again. The default is the policy stored in
    MODEL (see 'devnet inspect' and 'devnet policy'). Alerts that are nearly the same row are shown
    as one. TABLE may also be a folder of images or a series, if MODEL learned from such: alerts are
    then images, with the place where each is most anomalous, or events.

    \b
    devnet alerts fraud.devnet payments.parquet --budget 10
    devnet alerts fraud.devnet payments.parquet --false-alarm-rate 0.001
    devnet alerts fraud.devnet payments.parquet --fdr 0.2 --json
    devnet alerts fraud.devnet payments.parquet --budget 500 --output to_check.csv
    devnet alerts parts.devnet new_parts/ --budget 20 --maps maps
    """
    from devnet.tables import find_alerts
    from devnet.tables.overwriting import refuse_overwriting

    kept = open_kept(model)
    if kept is not None:
        _refuse_file(output, kept.kind)
        options = (show, known, maps, wants_json)
        verbs_of(kept).show_alerts(kept, table, chosen_policy(**policy), *options)
        return
    refuse_maps(maps, model)
    opened = open_model(model)
    chosen = chosen_policy(**policy) or opened.policy
    if output is not None:
        refuse_overwriting(table, output, model=model)
        _check_output(output, spreadsheet_safe)
    elif spreadsheet_safe:
        raise click.UsageError("--spreadsheet-safe is about a CSV file; name it with --output.")
    n_shown = show if output is None else None  # a file has them all
    with counting_rows("Scoring", table) as on_rows:
        found = find_alerts(
            opened, table, policy=chosen, n_shown=n_shown, known=known, on_rows=on_rows
        )
    if output is not None:
        _write_alerts(found, output, spreadsheet_safe)
    notes = found.notes
    if not found.n_alerts and found.n_rows:
        notes = [*notes, *_when_there_are_none(chosen)]
    if wants_json:
        facts = {
            **{name: getattr(found, name) for name in COUNTS},
            "policy": chosen.in_words(),
            "notes": notes,
            "shown": [explanation_json(one) for one in found.shown[:show]],
        }
        echo_json(facts if output is None else {**facts, "output": str(output)})
        return
    echo_notes(notes)
    _echo(found, show, chosen.in_words(), table)
    if output is not None:
        echo("", f"All of them are in {output}." if found.n_alerts else f"{output} has no rows.")


def _echo(found: "Alerts", show: int, policy: str, table: str) -> None:
    rule = f", threshold {found.threshold:.2f}" if found.n_alerts else ""
    number = count_text(found.n_alerts, "alert", "alerts")
    echo(f"{number} in {found.n_rows:,} rows ({policy}{rule})")
    if found.n_known:
        echo(f"{found.n_known:,} rows already labelled in {table} are left out; see --known")
    shown = found.shown[:show]
    for rank, one in enumerate(shown, start=1):
        echo("", *alert_text(rank, one))
    n_more = found.n_alerts - sum(1 + len(one.like_it) for one in shown)
    if n_more:
        echo("", f"... and {n_more:,} more; show them with --show")


def _refuse_file(output: Path | None, kind: str) -> None:
    if output is not None:
        raise click.UsageError(
            f"--output is for alerts of tables; scores of {kind} are written by: devnet score"
        )


def _check_output(output: Path, spreadsheet_safe: bool) -> None:
    """Refuse a file that cannot be written, before any rows are scored."""
    import pyarrow as pa

    from devnet.tables.output import check_output

    check_output(output, pa.schema([]), spreadsheet_safe=spreadsheet_safe)


def _write_alerts(found: "Alerts", output: Path, spreadsheet_safe: bool) -> None:
    from devnet.tables.output import open_output

    rows = found.to_table()
    with open_output(output, rows.schema, spreadsheet_safe=spreadsheet_safe) as write:
        for batch in rows.to_batches():
            write(batch)


def _when_there_are_none(policy: Any) -> list[str]:
    """What it means to have no alerts, and what to do."""
    note = policy.if_none()
    advice = "to see the highest rows in any case, give --budget 20."
    return [advice] if note is None else [note, advice]
