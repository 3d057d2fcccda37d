"""`devnet inspect`: what is in a model file."""

from pathlib import Path

import click

from devnet.cli.deep_options import open_kept, verbs_of
from devnet.cli.model_text import columns_text, model_text
from devnet.cli.table_options import as_json, open_model
from devnet.cli.terminal import echo, echo_json


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@as_json
def inspect(model: Path, wants_json: bool) -> None:
    """Show what MODEL has learned.

    Shows the columns it uses, which matter most, and which rows are alerts.

    \b
    devnet inspect fraud.devnet
    devnet inspect fraud.devnet --json
    """
    from devnet.core.checksum import CHECKSUM
    from devnet.core.model_file import read_header
    from devnet.tables.description import describe_model

    kept = open_kept(model)
    facts = describe_model(open_model(model)) if kept is None else verbs_of(kept).facts_of(kept)
    header = read_header(model)
    versions, checksum = header.get("versions", {}), header.get(CHECKSUM)
    if wants_json:
        echo_json({"model": str(model), **facts, "versions": versions, CHECKSUM: checksum})
        return
    if kept is None:
        echo(*model_text(facts))
        echo("", "Columns, with their share in the scores of labelled anomalies:", "")
        echo(*columns_text(facts))
    else:
        echo(*verbs_of(kept).facts_text(facts))
    written_by = ", ".join(f"{name} {version}" for name, version in versions.items())
    echo("", f"Written by {written_by}")
    if checksum:
        echo(f"Checksum {checksum}")
