"""`devnet alerts`: the rows to look at, ranked, with reasons."""

from pathlib import Path
from typing import Any

import click

from devnet.cli.explain import alert_text, explanation_json
from devnet.cli.table_options import (
    as_json,
    chosen_policy,
    counting_rows,
    echo_json,
    echo_notes,
    open_model,
    policy_options,
)
from devnet.core.wording import count_text


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
@click.option("--known", is_flag=True, help="Include rows that TABLE already labels as anomalies.")
@as_json
def alerts(
    model: Path, table: str, show: int, known: bool, wants_json: bool, **policy: Any
) -> None:
    """Rank the rows of TABLE that are alerts, with reasons.

    You choose which rows are alerts, without fitting again. The default is the policy stored in
    MODEL (see 'devnet inspect' and 'devnet policy').

    \b
    devnet alerts fraud.devnet payments.parquet --budget 10
    devnet alerts fraud.devnet payments.parquet --false-alarm-rate 0.001
    devnet alerts fraud.devnet payments.parquet --fdr 0.2 --json
    """
    from devnet.tables import find_alerts

    opened = open_model(model)
    chosen = chosen_policy(**policy) or opened.policy
    with counting_rows("Scoring", table) as on_rows:
        found = find_alerts(
            opened, table, policy=chosen, n_shown=show, known=known, on_rows=on_rows
        )
    notes = found.notes
    if not found.n_alerts and found.n_rows:
        notes = [*notes, *_when_there_are_none(chosen)]
    if wants_json:
        shown = [explanation_json(one) for one in found.shown]
        policy_words = {"policy": chosen.in_words()}
        echo_json({**found._asdict(), **policy_words, "notes": notes, "shown": shown})
        return
    echo_notes(notes)
    rule = f", threshold {found.threshold:.2f}" if found.n_alerts else ""
    number = count_text(found.n_alerts, "alert", "alerts")
    click.echo(f"{number} in {found.n_rows:,} rows ({chosen.in_words()}{rule})")
    if found.n_known:
        click.echo(f"{found.n_known:,} rows already labelled in {table} are left out; see --known")
    for rank, one in enumerate(found.shown, start=1):
        click.echo(f"\n{alert_text(rank, one)}")
    if found.n_alerts > len(found.shown):
        click.echo(f"\n... and {found.n_alerts - len(found.shown):,} more; show them with --show")


def _when_there_are_none(policy: Any) -> list[str]:
    """What it means to have no alerts, and what to do."""
    note = policy.if_none()
    advice = "to see the highest rows in any case, give --budget 20."
    return [advice] if note is None else [note, advice]
