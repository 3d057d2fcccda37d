"""`devnet labels`: verdicts from tables into a store, and from a store into tables."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devnet.cli.table_options import as_json, counting_rows, spreadsheet_safe
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.wording import count_text

if TYPE_CHECKING:
    from devnet.review.exchange import Imported
    from devnet.review.row_keys import RowKeys

store_argument = click.argument("store", type=click.Path(path_type=Path))


@click.group()
def labels() -> None:
    """Bring labels into a store of verdicts, or get them out."""


@labels.command("import")
@store_argument
@click.argument("file")
@click.option(
    "--table",
    metavar="TABLE",
    help="The reviewed table. A new store needs it; later it tells which labelled rows are gone.",
)
@click.option(
    "--id",
    "id_column",
    metavar="COLUMN",
    help="The table's column that names rows.  [default: rows are known by all values]",
)
@click.option("--label", metavar="COLUMN", help="The table's own column of labels, if it has one.")
@click.option(
    "--verdict",
    default="verdict",
    show_default=True,
    metavar="COLUMN",
    help="The column of FILE with verdicts.",
)
@click.option(
    "--anomaly", default="anomaly", show_default=True, metavar="VALUE", help="Means an anomaly."
)
@click.option(
    "--normal", default="normal", show_default=True, metavar="VALUE", help="Means a normal row."
)
@click.option("--who", metavar="NAME", help="Who judged, where FILE has no column 'who'.")
@click.option("--replace", is_flag=True, help="Replace other verdicts that the store has.")
@as_json
def import_(
    store: Path,
    file: str,
    table: str | None,
    id_column: str | None,
    label: str | None,
    verdict: str,
    anomaly: str,
    normal: str,
    who: str | None,
    replace: bool,
    wants_json: bool,
) -> None:
    """Record the labels of FILE in STORE, which is made if it does not exist.

    FILE is a table with a column of ids, named as in the reviewed table or "id", and one of
    verdicts; a note and who judged may stand in columns "note" and "who". Rows without a verdict
    are passed over. Importing a file again adds nothing. Where the store has another verdict on
    a row, it stays, unless --replace is given.

    \b
    devnet labels import review.db known.csv --table payments.parquet --id payment --who ana
    devnet labels import review.db more.xlsx --verdict state --anomaly fraud --normal cleared
    """
    from devnet.review.exchange import LabelFile, import_labels, read_labels
    from devnet.review.store import LabelStore
    from devnet.review.store_file import is_made

    words = LabelFile(verdict, anomaly, normal, who)
    keys = None if table is None else _row_keys(store, table, id_column, label)
    if keys is not None and not is_made(store):
        read_labels(file, words, keys.table.id_column)  # else its store is not made
    with LabelStore(store, None if keys is None else keys.table) as opened:
        done = import_labels(opened, file, words, keys=keys, replace=replace)
    if wants_json:
        echo_json({"store": str(store), **done._asdict()})
        return
    _echo_imported(done, store, file, table, replace=replace)


def _row_keys(store: Path, table: str, id_column: str | None, label: str | None) -> "RowKeys":
    """The keys of the reviewed table; a store that exists knows how its rows are known."""
    from devnet.review.row_keys import RowKeys
    from devnet.review.store import LabelStore
    from devnet.review.store_file import is_made

    if is_made(store):
        with LabelStore(store) as opened:
            known = opened.table
        id_column, label = id_column or known.id_column, label or known.label
    with counting_rows("Reading", table) as on_rows:
        return RowKeys.read(table, id_column=id_column, label=label, on_rows=on_rows)


def _echo_imported(
    done: "Imported", store: Path, file: str, table: str | None, *, replace: bool
) -> None:
    from devnet.review.labelled import gone_note

    if done.n_other:
        rows = count_text(done.n_other, "row has", "rows have")
        fate = "was replaced" if replace else "stays; --replace replaces it"
        echo_notes([f"{rows} another verdict in {store}, which {fate}."])
    if done.n_gone and table is not None:
        echo_notes([gone_note(done.n_gone, store, table)])
    echo(
        f"{count_text(done.n_added, 'label', 'labels')} of {file} recorded in {store}.",
        f"{count_text(done.n_known, 'was', 'were')} known already, "
        f"{count_text(done.n_without, 'row', 'rows')} of the file without a verdict.",
    )


@labels.command()
@store_argument
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write: Parquet, CSV or Arrow, by its suffix.",
)
@click.option("--events", is_flag=True, help="Write all that was ever recorded.")
@spreadsheet_safe
@as_json
def export(
    store: Path, output: Path, events: bool, spreadsheet_safe: bool, wants_json: bool
) -> None:
    """Write the latest verdict on each row in STORE to a file, or all events.

    A file without --events can be imported again, here or into another store.

    \b
    devnet labels export review.db --output labels.csv
    devnet labels export review.db --events --output everything.parquet
    """
    from devnet.review.exchange import write_labels
    from devnet.review.store import LabelStore

    with LabelStore(store) as opened:
        n_written = write_labels(
            opened, output, all_events=events, spreadsheet_safe=spreadsheet_safe
        )
    if wants_json:
        echo_json({"output": str(output), "n_written": n_written})
        return
    what = ("event", "events") if events else ("label", "labels")
    echo(f"{count_text(n_written, *what)} of {store} written to {output}.")
