"""`devnet compare`: which method suits a table, measured on its own rows."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.deep_options import (
    NEEDS_COLUMNS,
    OF_SERIES_TABLES,
    DeepOptions,
    deep_options,
    holds_images,
    refuse_table_options,
)
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
    from devnet.experiments.comparison import Comparison
    from devnet.experiments.contest import OnFit
    from devnet.tables.training_rows import OnRows


HEADS = {  # networks of images and series, and how `fit` is told to take them
    "ImageDevNet": "",
    "ImageDevNet on patches": "--head patches",
    "SequenceDevNet": "",
    "SequenceDevNet (steps)": "--head steps",
}
IN_PYTHON = {  # detectors that learn from features
    "ensemble on features": "DeviationEnsemble",
    "PU trees on features": "PUBaggedTrees",
    "iForest on features": "IForest",
}
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
    help="Learn from the past and rank the future, by this column of dates or numbers. Of a "
    "series: the column of times.",
)
@click.option(
    "--group",
    metavar="COLUMN",
    help="Keep rows with the same value, such as a customer's, on one side of each split.",
)
@training_options
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of images: a CSV file with the name of each labelled image, and its label.",
)
@partial(deep_options, without=("time", "head"))
@click.option("--report", type=click.Path(path_type=Path), help="Write an HTML report.")
@as_json
def compare(
    table: str,
    methods: tuple[str, ...],
    repeats: int,
    time: str | None,
    group: str | None,
    training: TrainingOptions,
    labels: Path | None,
    deep: DeepOptions,
    report: Path | None,
    wants_json: bool,
) -> None:
    """Measure on TABLE which method suits it.

    Every method learns from two thirds of the rows and ranks the other third; this is repeated
    with other splits. With --time, it learns from earlier rows and ranks later ones. Equal rows are
    never on both sides of a split. The result is a recommendation in plain words; it says so if
    methods cannot be told apart.

    TABLE may also be a folder of images or, with --series, the steps of a series: networks that
    read them are compared with methods that learn from a table of their features. Both need torch.

    \b
    devnet compare payments.parquet --label fraud
    devnet compare payments.parquet --label fraud --time booked --group customer
    devnet compare payments.parquet --label fraud --method DevNet --method 'PU trees'
    devnet compare parts/ --labels parts.csv
    devnet compare pump.parquet --series --time time --label fault --length 128
    """
    from devnet.report.page import check_report

    is_images = not deep.series and holds_images(table)
    _refuse_overwriting(table, labels, report, is_images=is_images)
    check_report(report)
    with _showing_progress(table) as (on_rows, on_fit):
        options = {"methods": methods, "n_repeats": repeats, "random_state": training.seed}
        if is_images:
            _refuse_given("images", time=time, group=group)
            found = _compare_images(table, training, labels, deep, on_fit=on_fit, **options)
        elif deep.series:
            _refuse_given("a series", group=group, labels=labels)
            deep = deep._replace(time=time)
            found = _compare_series(table, training, deep, on_fit=on_fit, **options)
        else:
            deep.refuse_for_tables()
            _refuse_given("tables", labels=labels)
            splitting = {"time": time, "group": group, "on_rows": on_rows, "on_fit": on_fit}
            found = _compare_rows(table, training, **splitting, **options)
    if wants_json:
        echo_json(_as_json(found))
    else:
        echo_notes(found.notes)
        echo_notes(f"{method} was left out: {error}" for method, error in found.failed.items())
        _echo(found)
        _echo_next(found, training, labels, deep)
    if report is not None:
        _write_report(found, report, is_announced=not wants_json)


def _refuse_overwriting(
    table: str, labels: Path | None, report: Path | None, *, is_images: bool
) -> None:
    """Refuse a report that would replace what is compared."""
    if is_images:
        from devnet.deep.methods import require_torch

        require_torch("comparing methods on images")
        from devnet.deep.images.image_model import refuse_overwriting_images

        refuse_overwriting_images(table, labels, report)
    else:
        from devnet.tables.overwriting import refuse_overwriting

        refuse_overwriting(table, report)


def _refuse_given(what: str, **given: Any) -> None:
    """Refuse options that say nothing about this kind of input."""
    for name, value in given.items():
        if value is not None:
            raise click.UsageError(f"--{name} does not apply to {what}; leave it out.")


def _compare_images(
    folder: str, training: TrainingOptions, labels: Path | None, deep: DeepOptions, **options: Any
) -> "Comparison":
    refuse_table_options(training, "a folder of images")
    deep.refuse_but("a folder of images", "size")
    from devnet.experiments.deep_comparison import compare_images

    return compare_images(folder, labels, size=deep.size, **options)


def _compare_series(
    table: str, training: TrainingOptions, deep: DeepOptions, **options: Any
) -> "Comparison":
    from devnet.deep.methods import require_torch

    refuse_table_options(training, "a series", allowed=OF_SERIES_TABLES)
    deep.refuse_but("a series", "series", "time", "channels", "length")
    if not deep.time or not training.label:
        raise click.UsageError(NEEDS_COLUMNS)
    require_torch("comparing methods on a series")
    from devnet.deep.sequences.series_model import USUAL_LENGTH
    from devnet.experiments.deep_comparison import compare_series

    return compare_series(
        table,
        time=deep.time,
        label=training.label,
        channels=deep.channels,
        length=deep.length or USUAL_LENGTH,
        conventions=training.conventions(),
        **options,
    )


def _compare_rows(table: str, training: TrainingOptions, **options: Any) -> "Comparison":
    from devnet.experiments.comparison import compare_methods

    if not training.label:
        raise click.UsageError("Missing option '--label': name the column that marks anomalies.")
    names = [training.id_column] if training.id_column else []
    return compare_methods(
        table,
        training.label,
        anomaly=training.anomaly,
        normal=training.normal,
        ignore=[*training.ignore, *names],
        categorical=training.categorical,
        conventions=training.conventions(),
        **options,
    )


def _echo(found: "Comparison") -> None:
    width = max(len(visible(one.method)) for one in found.methods)
    labelled = "windows" if found.things == "windows" else "anomalies"
    echo(
        f"{found.table}: {found.n_labelled:,} labelled {labelled}, {found.n_unlabelled:,} "
        f"unlabelled {found.things}, {found.n_splits} splits{_split_by(found)}",
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
        f"Unlabelled {found.things} count as normal here, so finding hidden anomalies lowers a "
        "method's figures.",
        found.advice,
    )


def _echo_next(
    found: "Comparison", training: TrainingOptions, labels: Path | None, deep: DeepOptions
) -> None:
    """What to type next, if the method to take can be typed."""
    from devnet.detectors.methods import METHODS

    fit = f"devnet fit {shlex.quote(found.table)}"
    if found.recommended in METHODS:
        method = spell(Setting("method", found.recommended))
        echo("", f"Next: {fit} {training.typed()} {method} --output MODEL")
    elif found.recommended in HEADS:
        given = [*_typed(labels, deep), training.typed(), HEADS[found.recommended]]
        echo("", f"Next: {' '.join([fit, *filter(None, given), '--output MODEL'])}")
    elif found.recommended in IN_PYTHON:
        features = "ImageFeatures" if found.things == "images" else "WindowFeatures"
        detector = IN_PYTHON[found.recommended]
        echo("", f"Next, in Python: make_pipeline({features}(), {detector}()).fit(X, y)")


def _typed(labels: Path | None, deep: DeepOptions) -> Iterator[str]:
    """Options of images and series as they are typed."""
    if labels is not None:
        yield f"--labels {shlex.quote(str(labels))}"
    if deep.size is not None:
        yield f"--size {deep.size[0]} {deep.size[1]}"
    if deep.series:
        yield f"--series --time {shlex.quote(deep.time or '')}"
    yield from (f"--channel {shlex.quote(name)}" for name in deep.channels)
    if deep.length is not None:
        yield f"--length {deep.length}"


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
