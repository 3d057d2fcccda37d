"""`devnet policy`: choose which rows are alerts, without fitting again."""

from pathlib import Path
from typing import Any

import click

from devnet.cli.deep_options import open_kept, verbs_of
from devnet.cli.table_options import (
    as_json,
    chosen_policy,
    open_model,
    policy_options,
)
from devnet.cli.terminal import echo, echo_json, echo_notes


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@policy_options
@as_json
def policy(model: Path, wants_json: bool, **options: Any) -> None:
    """Choose which rows MODEL alerts on.

    The choice is stored in MODEL; nothing is fitted again.

    \b
    devnet policy fraud.devnet --budget 100
    devnet policy fraud.devnet --cost 500 5
    """
    chosen = chosen_policy(**options)
    if chosen is None:
        raise click.UsageError(
            "give one of --budget, --false-alarm-rate, --fdr, --confidence and --cost."
        )
    from devnet.tables.description import fixed_threshold, policy_notes

    kept = open_kept(model)
    if kept is not None:
        kept.policy = chosen
        facts = verbs_of(kept).facts_of(kept)  # refuses what this kind cannot have
        kept.save(model)
        echo_json({"model": str(model), **facts}) if wants_json else echo(
            f"{model} is changed.", *verbs_of(kept).facts_text(facts)
        )
        return
    opened = open_model(model)
    opened.policy = chosen
    threshold = fixed_threshold(opened)
    opened.save(model)
    notes = policy_notes(opened)
    if wants_json:
        said = {"policy": chosen.in_words(), "threshold": threshold, "notes": notes}
        echo_json({"model": str(model), **said})
        return
    echo_notes(notes)
    above = "" if threshold is None else f": scores above {threshold:.2f}"
    echo(f"{model} now alerts on {chosen.in_words()}{above}.")
