"""`devnet score`: scores, p-values and alerts of a table, from file to file."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.cluster_options import chosen_cluster, cluster_options, wants_cluster
from devnet.cli.deep_options import open_kept, verbs_of
from devnet.cli.export import is_graph, scorer_of_graph
from devnet.cli.table_options import (
    as_json,
    chosen_policy,
    counting_rows,
    open_model,
    policy_options,
    spreadsheet_safe,
)
from devnet.cli.terminal import echo, echo_json, echo_notes

if TYPE_CHECKING:
    from distributed import Client

    from devnet.deep.kept_model import KeptModel
    from devnet.serving.cluster import ScoredFolder
    from devnet.significance.policies import AlertPolicy
    from devnet.tables.scoring import ScoredFile
    from devnet.tables.table_model import TableModel


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    help="File to write: Parquet, CSV or Arrow, by its suffix. On a cluster, a folder of parts.",
)
@click.option("--only-id", is_flag=True, help="Write the id column instead of all columns.")
@spreadsheet_safe
@policy_options
@cluster_options
@as_json
def score(
    model: Path,
    table: str,
    output: str,
    only_id: bool,
    spreadsheet_safe: bool,
    cluster: str | None,
    workers: int | None,
    wants_json: bool,
    **policy: Any,
) -> None:
    """Score the rows of TABLE with MODEL and write a new file.

    The file has the table's columns plus anomaly_score, p_value, nominal_p_value (if the method
    has one) and is_alert. The table is read in batches and may be larger than memory. The file
    appears only when it is complete; after an interruption just run the command again. MODEL may
    be a graph that `devnet export` wrote, which onnxruntime runs. A model of images or of a series
    scores a folder of images, or the steps of a series.

    With --workers or --cluster, the output is a folder of parts (or an address such as
    s3://bucket/scores) that every worker can write to. Run again, the command goes on where it was.

    \b
    devnet score fraud.devnet today.parquet --output scored.parquet
    devnet score fraud.devnet today.csv --only-id --budget 100 -o scores.csv
    devnet score fraud.devnet 'year/*.parquet' --workers 8 --output scored/
    """
    start = time.perf_counter()
    is_on_cluster = wants_cluster(cluster, workers)
    kept = open_kept(model)
    if kept is not None:
        refused = {"--workers": is_on_cluster, "--only-id": only_id}
        _score_kept(kept, table, Path(output), chosen_policy(**policy), refused, wants_json)
        return
    options: dict[str, Any] = {"only_id": only_id, "policy": chosen_policy(**policy)}
    done: ScoredFile | ScoredFolder
    if is_on_cluster:
        _refuse_on_cluster(model, output, spreadsheet_safe)
        with chosen_cluster(cluster, workers) as client:
            done, place = _parts(open_model(model), table, output, client, **options)
    else:
        done, place = _file(model, table, output, spreadsheet_safe=spreadsheet_safe, **options)
    seconds = time.perf_counter() - start
    if wants_json:
        echo_json({"output": place, "seconds": seconds, **done._asdict()})
        return
    echo_notes(done.notes)
    echo(
        f"{done.n_rows:,} rows scored, {done.n_alerts:,} alerts ({done.policy}).",
        f"They are in {place}; it took {seconds:.1f} s.",
    )


def _score_kept(
    model: "KeptModel",
    table: str,
    output: Path,
    policy: "AlertPolicy | None",
    refused: dict[str, bool],
    wants_json: bool,
) -> None:
    """Score images or the steps of a series."""
    from devnet.tables.overwriting import refuse_overwriting

    for option in (name for name, given in refused.items() if given):
        raise click.UsageError(f"{option} is for tables; this is a model of {model.kind}.")
    refuse_overwriting((), output, model=model.file)
    start = time.perf_counter()
    done, what = verbs_of(model).score_all(model, table, output, policy)
    seconds = time.perf_counter() - start
    if wants_json:
        echo_json({"output": str(output), "seconds": seconds, **done})
        return
    echo(
        f"{done[f'n_{what}']:,} {what} scored, {done['n_alerts']:,} alerts ({done['policy']}).",
        f"They are in {output}; it took {seconds:.1f} s.",
    )


def _file(
    model: Path, table: str, output: str, *, policy: "AlertPolicy | None", **options: Any
) -> "tuple[ScoredFile, str]":
    """Score on this machine; returns what was written, and where."""
    from devnet.tables import score_table
    from devnet.tables.overwriting import refuse_overwriting

    score_rows = scorer_of_graph(model, policy)  # none if it is a model itself
    if score_rows is None:
        score_rows = partial(score_table, open_model(model), policy=policy)
    refuse_overwriting(table, output, model=model)
    with counting_rows("Scoring", table) as on_rows:
        return score_rows(table, output, on_rows=on_rows, **options), output


def _parts(
    model: "TableModel", table: str, output: str, client: "Client", **options: Any
) -> "tuple[ScoredFolder, str]":
    """Score on a cluster; returns what was written, and where."""
    from devnet.serving.cluster import score_on_cluster

    with counting_rows("Scoring", table) as on_rows:
        done = score_on_cluster(model, table, output, client, on_rows=on_rows, **options)
    return done, done.folder


def _refuse_on_cluster(model: Path, output: str, spreadsheet_safe: bool) -> None:
    """Refuse what a cluster does not do."""
    if is_graph(model):
        raise click.UsageError(
            f"{model} is a graph, which a cluster does not run; give the model it was exported "
            "from, or leave out --cluster and --workers."
        )
    if spreadsheet_safe:
        raise click.UsageError(
            f"--spreadsheet-safe is for CSV files, and a cluster writes Parquet parts to {output}; "
            "leave it out."
        )
