"""`devnet drift`: whether a table is still like the one that a model learned from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.spelling import spell
from devnet.cli.table_options import as_json, counting_rows, open_model
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.wording import count_text, share_text

if TYPE_CHECKING:
    import numpy as np

    from devnet.tables import Drift

CHANGED = 3  # exit code; 1 and 2 are for errors
FIGURES = ("name", "kind", "missing", "learned_missing", "unseen", "stability_index")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="STORE",
    help="Leave out rows with a verdict in STORE, from which MODEL learned.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Write an HTML report.")
@as_json
@click.pass_context
def drift(
    context: click.Context,
    model: Path,
    table: str,
    labels: Path | None,
    report: Path | None,
    wants_json: bool,
) -> None:
    """Compare TABLE with what MODEL learned.

    Looks at missing values, values that are new or outside the learned range, how values are
    spread, the share of alerts, and scores. Reports a change only if it matters and is unlikely to
    be chance: of 100 tables like that of training, at most about one is a false alarm.

    For schedulers: the exit code is 0 if nothing has changed, 3 if something has, 2 on bad input.

    \b
    devnet drift fraud.devnet today.parquet
    devnet drift fraud.devnet today.parquet --report drift.html
    devnet drift fraud.devnet today.parquet; [ $? -eq 3 ] && devnet fit ...
    """
    from devnet.report.page import check_report
    from devnet.tables import find_drift
    from devnet.tables.overwriting import refuse_overwriting

    opened = open_model(model)
    refuse_overwriting(table, report, model=model)
    check_report(report)
    labelled = None if labels is None else _labelled(labels, table)
    with counting_rows("Comparing", table) as on_rows:
        found = find_drift(opened, table, labelled=labelled, on_rows=on_rows)
    if report is not None:
        _write_report(found, model, table, report)
    if wants_json:
        echo_json(_as_json(found))
    else:
        echo_notes(found.notes)
        echo(*_lines(found, table))
        if report is not None:
            echo("", f"Report: {report}")
    if found.changes:
        context.exit(CHANGED)


def _labelled(labels: Path, table: str) -> "np.ndarray":
    """The rows of a table that a store of verdicts knows."""
    from devnet.review.labelled import labelled_numbers
    from devnet.review.store import LabelStore

    with LabelStore(labels) as store, counting_rows("Finding labels in", table) as on_rows:
        return labelled_numbers(store, table, on_rows=on_rows)


def _lines(found: "Drift", table: str) -> list[str]:
    """What has changed, or that nothing has."""
    compared = f"{table}: {count_text(found.n_rows, 'row', 'rows')}"
    if found.n_compared < found.n_rows:
        compared += f", {found.n_compared:,} of them compared by column"
    if not found.n_rows:
        return [f"{compared}, so there is nothing to compare."]
    if not found.changes:
        return [f"{compared}; nothing has changed since training.{_alerts(found)}"]
    changes = count_text(len(found.changes), "change", "changes")
    return [f"{compared}; {changes} since training:", *(f"  {one.text}" for one in found.changes)]


def _alerts(found: "Drift") -> str:
    scores = found.scores
    if scores is None or scores.alerts is None or scores.learned_alerts is None:
        return ""
    expected = share_text(scores.learned_alerts)
    return f" {share_text(scores.alerts)} of rows are alerts, {expected} are expected."


def _as_json(found: "Drift") -> dict[str, Any]:
    scores = None
    if found.scores is not None:
        scores = {k: v for k, v in found.scores._asdict().items() if k != "changes"}
    return {
        "has_changed": bool(found.changes),
        "n_rows": found.n_rows,
        "n_compared": found.n_compared,
        "changes": [one._asdict() for one in found.changes],
        "columns": [{name: getattr(one, name) for name in FIGURES} for one in found.columns],
        "scores": scores,
        "notes": found.notes,
    }


def _write_report(found: "Drift", model: Path, table: str, path: Path) -> None:
    from devnet.core.whole_file import write_whole
    from devnet.report.drift_page import make_drift_page

    page = make_drift_page(found, table=table, model=str(model), spell=spell)
    write_whole(path, page.encode())
