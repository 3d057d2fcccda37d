"""`devnet fit`: learn from a raw table with few labels."""

import shlex
import time
from pathlib import Path
from typing import Any, NamedTuple

import click

from devnet.cli.cluster_options import chosen_cluster, cluster_options, wants_cluster
from devnet.cli.deep_options import (
    OF_SERIES_TABLES,
    DeepOptions,
    deep_options,
    holds_images,
    refuse_table_options,
)
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

RECOMMENDED = "deviation ensemble"


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
    default=RECOMMENDED,
    show_default=True,
    metavar="NAME",
    help="The detector; 'devnet compare' finds the one that suits the table.",
)
@training_options
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="STORE",
    help="Verdicts of a review to learn from, with those of --label if it is given. Of images: "
    "a CSV file with the name of each labelled image, and its label.",
)
@deep_options
@policy_options
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write an HTML report about the fit."
)
@cluster_options
@as_json
def fit(
    table: str,
    output: Path,
    method: str,
    training: TrainingOptions,
    labels: Path | None,
    deep: DeepOptions,
    report: Path | None,
    cluster: str | None,
    workers: int | None,
    wants_json: bool,
    **policy: Any,
) -> None:
    """Learn from TABLE, in which a few anomalies are labelled.

    TABLE is a CSV, Parquet, Arrow, JSON Lines, Excel or svmlight file, a folder of Parquet files,
    or a quoted glob. Rows with a missing label, or with the other of two labels, are unlabelled;
    they need not be normal, unless --normal says that their label marks normal rows. Amounts,
    dates, categories, text and missing values need no preparation.

    With --workers or --cluster, workers read the table, and this machine learns from what they
    keep: the model is the same, to the bit.

    TABLE may also be a folder of images, with subfolders 'anomaly' and 'unlabelled' or with a file
    of --labels, or, with --series, the steps of a series. Both need torch.

    \b
    devnet fit payments.parquet --label fraud --output fraud.devnet
    devnet fit 'logs/*.csv' --label state --anomaly intrusion -o logs.devnet
    devnet fit alerts.csv --label verdict --anomaly fraud --normal 'false alarm' -o fraud.devnet
    devnet fit cases.csv --label sick --ignore ward --report cases.html -o cases.devnet
    devnet fit payments.parquet --labels review.db -o fraud.devnet
    devnet fit 'year/*.parquet' --label fraud --workers 8 -o fraud.devnet
    devnet fit parts/ --labels parts.csv --head patches -o parts.devnet
    devnet fit pump.parquet --series --time time --label fault -o pump.devnet
    """
    if _fit_deep(table, output, training, labels, deep, report, wants_json, method, policy):
        return
    from devnet.core.whole_file import check_target
    from devnet.report.page import check_report
    from devnet.tables import TableModel
    from devnet.tables.description import describe_model, fit_notes
    from devnet.tables.overwriting import refuse_overwriting
    from devnet.tables.sources.opening import files_of
    from devnet.tables.table_model import DEFAULT_POLICY

    start = time.perf_counter()
    wants_cluster(cluster, workers)
    refuse_overwriting(table, output, report)
    check_target(output)
    check_report(report)
    files = files_of(table)
    given = _given_labels(table, training, labels)
    model = TableModel(
        method,
        ignore=training.ignore,
        categorical=training.categorical,
        anomaly=given.anomaly,
        normal=given.normal,
        id_column=given.id_column,
        decimal_comma=training.decimal_comma,
        day_first=training.day_first,
        missing=training.missing,
        policy=chosen_policy(**policy) or DEFAULT_POLICY,
        random_state=training.seed,
    )
    _learn(model, table, given.label, cluster, workers)
    for file in files:  # the labels are those of these rows
        file.check()
    model.save(output)
    facts = describe_model(model)
    seconds = time.perf_counter() - start
    if report is not None:
        _write_report(model, table, files, report)
    notes = [*given.notes, *fit_notes(model)]
    if wants_json:
        told = {**facts, "verdicts": given.counts, "notes": notes}
        echo_json({"model": str(output), "seconds": seconds, **told})
        return
    echo_notes(notes)
    echo(f"Learned from {table} in {seconds:.1f} s.", "", *model_text(facts))
    echo(f"Model          {output}, {megabytes_text(output.stat().st_size)}")
    if report is not None:
        echo(f"Report         {report}")
    next_words = ["devnet", "alerts", str(output), table, "--budget", "10"]
    echo("", f"Next: {shlex.join(next_words)}")


def _fit_deep(
    table: str,
    output: Path,
    training: TrainingOptions,
    labels: Path | None,
    deep: DeepOptions,
    report: Path | None,
    wants_json: bool,
    method: str,
    policy: dict[str, Any],
) -> bool:
    """Learn from images or a series, if the table is either."""
    is_images = not deep.series and holds_images(table)
    if not (deep.series or is_images):
        deep.refuse_for_tables()
        return False
    what = "a folder of images" if is_images else "a series"
    if method != RECOMMENDED:
        raise click.UsageError(f"--method {method!r} is for tables; {what} has its own network.")
    refuse_table_options(training, what, allowed=() if is_images else OF_SERIES_TABLES)
    options = (deep, chosen_policy(**policy), report, wants_json)
    if is_images:
        from devnet.cli.image_verbs import fit_images

        fit_images(table, output, labels, training.seed, *options)
        return True
    from devnet.cli.series_verbs import fit_series_table

    if labels is not None:
        raise click.UsageError("--labels is for tables and images; a series has --label COLUMN.")
    fit_series_table(table, output, training, *options)
    return True


class GivenLabels(NamedTuple):
    """Where labels come from, and what is told about them."""

    label: Any  # as TableModel.fit takes it
    anomaly: str | None
    normal: str | None  # None if no row is known to be normal
    id_column: str | None
    counts: dict[str, int]  # rows by verdict; none without a store
    notes: list[str]


def _given_labels(table: str, training: TrainingOptions, path: Path | None) -> GivenLabels:
    """The table's own labels, or with them those of a store."""
    if path is None:
        if not training.label:
            raise click.UsageError(
                "Missing option '--label': name the column that marks anomalies, or a store of "
                "verdicts with --labels."
            )
        own = training.label, training.anomaly, training.normal, training.id_column
        return GivenLabels(*own, counts={}, notes=[])
    from devnet.review.labelled import gone_note, labelled_rows
    from devnet.review.store import LabelStore
    from devnet.tables.given_labels import StandIn

    with LabelStore(path) as store, counting_rows("Finding labels in", table) as on_rows:
        found = labelled_rows(
            store,
            table,
            label=training.label or None,
            anomaly=training.anomaly,
            normal=training.normal,
            on_rows=on_rows,
        )
        known = store.table.id_column
    counts = {"anomaly": found.n_anomalies, "normal": found.n_normal, "gone": found.n_gone}
    notes = [gone_note(found.n_gone, path, table)] if found.n_gone else []
    normal = found.normal if found.n_normal else None
    joined = StandIn(found.name, found.column), found.anomaly, normal
    return GivenLabels(*joined, training.id_column or known, counts, notes)


def _learn(model: Any, table: str, label: Any, cluster: str | None, workers: int | None) -> None:
    """Fit the model, here or with the workers of a cluster."""
    if not wants_cluster(cluster, workers):
        with counting_rows("Reading", table, then="Learning") as on_rows:
            model.fit(table, label, on_rows=on_rows)
        return
    from devnet.serving.cluster import fit_on_cluster

    with (
        chosen_cluster(cluster, workers) as client,
        counting_rows("Reading", table, then="Learning") as on_rows,
    ):
        fit_on_cluster(model, table, label, client, on_rows=on_rows)


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
