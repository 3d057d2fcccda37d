"""`devnet compare`: which method suits a table, measured on its own rows."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.spelling import spell
from devnet.cli.table_options import (
    TrainingOptions,
    as_json,
    training_options,
)
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.sentence import Setting
from devnet.core.wording import range_text, visible

if TYPE_CHECKING:
    from devnet.experiments.comparison import Comparison, OnFit
    from devnet.tables.training_rows import OnRows


PACE_SECONDS = 600  # window for the time left, as quick and slow methods take turns


@click.command()
@click.argument("table")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Compare only this method; repeatable. Your own: package.module:Estimator.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often to split the rows into three parts; after one repeat intervals are wide.",
)
@click.option(
    "--time",
    metavar="COLUMN",
    help="Learn from the past and rank the future, by this column of dates or numbers.",
)
@click.option(
    "--group",
    metavar="COLUMN",
    help="Keep rows with the same value, such as a customer's, on one side of each split.",
)
@training_options
@click.option("--report", type=click.Path(path_type=Path), help="Write an HTML report.")
@as_json
def compare(
    table: str,
    methods: tuple[str, ...],
    repeats: int,
    time: str | None,
    group: str | None,
    training: TrainingOptions,
    report: Path | None,
    wants_json: bool,
) -> None:
    """Measure on TABLE which method suits it.

    Every method learns from two thirds of the rows and ranks the other third; this is repeated
    with other splits. With --time, it learns from earlier rows and ranks later ones. Equal rows are
    never on both sides of a split. The result is a recommendation in plain words; it says so if
    methods cannot be told apart.

    \b
    devnet compare payments.parquet --label fraud
    devnet compare payments.parquet --label fraud --time booked --group customer
    devnet compare payments.parquet --label fraud --method DevNet --method 'PU trees'
    """
    from devnet.core.whole_file import check_target
    from devnet.experiments.comparison import compare_methods
    from devnet.tables.overwriting import refuse_overwriting
    from devnet.tables.readings.reading import Conventions

    refuse_overwriting(table, report)
    if report is not None:
        check_target(report)
    names = [training.id_column] if training.id_column else []
    with _showing_progress(table) as (on_rows, on_fit):
        found = compare_methods(
            table,
            training.label,
            methods=methods,
            n_repeats=repeats,
            time=time,
            group=group,
            anomaly=training.anomaly,
            normal=training.normal,
            ignore=[*training.ignore, *names],
            categorical=training.categorical,
            conventions=Conventions(training.decimal_comma, training.day_first, training.missing),
            random_state=training.seed,
            on_rows=on_rows,
            on_fit=on_fit,
        )
    if wants_json:
        echo_json(_as_json(found))
    else:
        echo_notes(found.notes)
        echo_notes(f"{method} was left out: {error}" for method, error in found.failed.items())
        _echo(found, training)
    if report is not None:
        _write_report(found, report, is_announced=not wants_json)


def _echo(found: "Comparison", training: TrainingOptions) -> None:
    from devnet.detectors.methods import METHODS

    width = max(len(visible(one.method)) for one in found.methods)
    echo(
        f"{found.table}: {found.n_labelled:,} labelled anomalies, {found.n_unlabelled:,} "
        f"unlabelled rows, {found.n_splits} splits{_split_by(found)}",
        *(f"  {name}: {words}" for name, words in found.readings.items()),
        "",
        f"{'':<{width}}  AUC-PR  95% interval    AUC-ROC  seconds per fit",
    )
    for one in found.methods:
        pr = one.auc_pr
        echo(
            f"{visible(one.method):<{width}}   {pr.mean:.3f}  {range_text(pr.low, pr.high)}    "
            f"{one.auc_roc.mean:.3f}  {one.seconds:>15.1f}"
        )
    echo(f"{'chance':<{width}}  {found.chance:>6.2g}                    0.500")
    echo(
        "",
        "Unlabelled rows count as normal here, so finding hidden anomalies lowers a method's "
        "figures.",
        found.advice,
    )
    if found.recommended in METHODS:
        method = spell(Setting("method", found.recommended))
        fit = f"devnet fit {shlex.quote(found.table)} {training.typed()} {method} --output MODEL"
        echo("", f"Next: {fit}")


def _split_by(found: "Comparison") -> str:
    """How rows were split, if not at random.

    >>> from types import SimpleNamespace
    >>> _split_by(SimpleNamespace(time="booked", group="customer"))
    ' by booked, each learning from the past, each customer on one side'
    """
    time = f" by {found.time}, each learning from the past" if found.time else ""
    group = f", each {found.group} on one side" if found.group else ""
    return time + group


def _write_report(found: "Comparison", report: Path, *, is_announced: bool) -> None:
    from devnet.core.whole_file import write_whole
    from devnet.report.comparison_page import make_comparison_page

    write_whole(report, make_comparison_page(found, spell=spell).encode())
    if is_announced:
        echo(f"Report: {report}")


def _as_json(found: "Comparison") -> dict[str, Any]:
    methods = []
    for one in found.methods:
        facts = one._asdict()
        del facts["precision"], facts["is_rival"]
        intervals = {name: facts[name]._asdict() for name in ("auc_pr", "auc_roc", "lead")}
        methods.append({**facts, **intervals})
    return {**found._asdict(), "methods": methods, "readings": dict(found.readings)}


@contextmanager
def _showing_progress(table: str) -> Iterator[tuple["OnRows", "OnFit"]]:
    """One bar for reading, then fitting, on standard error if it is a terminal."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield (lambda done: None), (lambda done, total, method: None)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=PACE_SECONDS
    ) as bars:
        task = bars.add_task(f"Reading {visible(table)}", total=None, count="")

        def on_rows(done: int) -> None:
            bars.update(task, count=f"{done:,} rows")

        def on_fit(done: int, total: int, method: str) -> None:
            what = f"Fitting {visible(method)}"
            bars.update(
                task, completed=done, total=total, description=what, count=f"{done} of {total}"
            )

        yield on_rows, on_fit
