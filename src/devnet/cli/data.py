"""`devnet data`: list, explain and fetch the paper's data sets."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from devnet.cli.table_options import as_json
from devnet.cli.terminal import echo, echo_json
from devnet.core.wording import megabytes_text

Report = Callable[[str, int, int | None], None]


@click.group()
def data() -> None:
    """List, explain and fetch the paper's nine data sets."""


@data.command("list")
@as_json
def list_sets(wants_json: bool) -> None:
    """Show the nine sets with their figures from the paper's Table 1."""
    from rich.console import Console
    from rich.table import Table

    from devnet.datasets import DATASETS

    sets = [_facts(name) for name in DATASETS]
    if wants_json:
        echo_json(sets)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("name", "domain", "anomaly"):
        table.add_column(heading, no_wrap=heading != "anomaly")
    for heading in ("rows", "columns", "f1 %", "f2 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("copy", no_wrap=True)
    for facts in sets:
        table.add_row(
            *(facts[key] for key in ("name", "domain", "anomaly")),
            *(f"{facts[key]:,}" for key in ("rows", "columns")),
            *(f"{facts[key]:.2f}" for key in ("f1_percent", "f2_percent")),
            _state(facts["copy"]),
        )
    Console(highlight=False).print(table)
    echo(
        "",
        "f1, f2  the paper's 30 labelled anomalies as a percentage of the training rows,",
        "        and of all anomalies",
        """copy    whether this machine has one; "differs": not exactly the paper's set""",
        "",
        "devnet data show NAME   shows more about one set",
        "devnet data get NAME    fetches it",
    )


@data.command()
@click.argument("name")
@as_json
def show(name: str, wants_json: bool) -> None:
    """Show everything known about one set."""
    facts = _facts(name)
    if wants_json:
        echo_json(facts)
        return
    echo(
        f"{facts['name']}: {facts['domain']}; the anomaly is: {facts['anomaly']}",
        "",
        f"Rows      {facts['rows']:,}",
        f"Columns   {facts['columns']:,}",
        f"f1        {facts['f1_percent']:.2f}% of the training rows are labelled anomalies",
        f"f2        {facts['f2_percent']:.2f}% of all anomalies are labelled",
        f"Page      {facts['page']}",
        f"Licence   {facts['licence']}",
        f"Cite      {facts['citation']}",
        "",
    )
    for number, source in enumerate(facts["sources"], start=1):
        _echo_source(number, source)
    _echo_copy(facts)


@data.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Folder for the files.  [default: devnet in your cache folder]",
)
@as_json
def get(names: tuple[str, ...], folder: Path | None, wants_json: bool) -> None:
    """Fetch sets; interrupted downloads resume."""
    from devnet.datasets import fetch, find

    for name in names:
        find(name, folder)  # reports an unknown name before anything is fetched
    fetched = {}
    for name in names:
        with _progress() as report:
            fetched[name] = fetch(name, folder, report)
        if not wants_json:
            _echo_fetched(name, fetched[name], folder)
    if wants_json:
        echo_json({name: [str(path) for path in paths] for name, paths in fetched.items()})


def _facts(name: str) -> dict[str, Any]:
    """Everything known about a set, as JSON values."""
    from devnet.datasets import DATASETS, find

    found = find(name)
    record = DATASETS[name]
    return {
        "name": name,
        "domain": record.domain,
        "anomaly": record.anomaly,
        "rows": record.n_rows,
        "columns": record.n_columns,
        "f1_percent": record.labelled_share_of_training,
        "f2_percent": record.labelled_share_of_anomalies,
        "page": record.address,
        "licence": record.licence,
        "citation": record.citation,
        "sources": [
            {
                "format": source.format,
                "differs": source.note,
                "files": [file._asdict() for file in source.files],
            }
            for source in record.sources
        ],
        "copy": found and {"files": [str(path) for path in found[1]], "differs": found[0].note},
    }


def _state(copy: dict[str, Any] | None) -> str:
    if copy is None:
        return "no"
    return "differs" if copy["differs"] else "yes"


def _echo_source(number: int, source: dict[str, Any]) -> None:
    echo(f"Form {number}: {source['format']}")
    for file in source["files"]:
        echo(f"  {file['name']}")
        if file["address"]:
            echo(f"    from    {file['address']}")
            echo(f"    SHA-256 {file['sha256'] or 'none is published'}")
    if source["differs"]:
        echo(f"  Differs from the paper's: {source['differs']}.")


def _echo_copy(facts: dict[str, Any]) -> None:
    copy = facts["copy"]
    if copy is None:
        echo("", f"No copy here. Fetch one: devnet data get {facts['name']}")
        return
    echo("", "Your copy:")
    for path in copy["files"]:
        echo(f"  {path}")
    if copy["differs"]:
        echo(f"It differs from the paper's set: {copy['differs']}.")


def _echo_fetched(name: str, paths: list[Path], folder: Path | None) -> None:
    from devnet.datasets import DATASETS
    from devnet.datasets.download import checksum

    record = DATASETS[name]
    source = record.public_source()
    assert source is not None  # it was fetched
    echo(f"{name} is here:")
    for file, path in zip(source.files, paths, strict=True):
        echo(f"  {path}")
        if file.sha256:
            echo("    SHA-256 matches the published checksum")
        else:
            echo(f"    no checksum is published; SHA-256 is {checksum(path)}")
    arguments = repr(name) if folder is None else f"{name!r}, {str(folder)!r}"
    echo(f"Licence: {record.licence}")
    echo(f"Read it in Python: devnet.datasets.load({arguments})")


@contextmanager
def _progress() -> Iterator[Report]:
    """Bars on a terminal, one line per file elsewhere."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _one_line_per_file()
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, Any] = {}

        def report(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=total)
            bars.update(tasks[file], completed=done)

        yield report


def _one_line_per_file() -> Report:
    seen = set()

    def report(file: str, done: int, total: int | None) -> None:
        if file not in seen:
            seen.add(file)
            size = "" if total is None else f", {megabytes_text(total)}"
            start = f", resuming at {megabytes_text(done)}" if done else ""
            echo(f"Fetching {file}{size}{start}", err=True)

    return report
