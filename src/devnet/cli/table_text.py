"""Tables as text for terminals, documents and other programs."""

import csv as csv_module
import io
import json as json_module
from typing import Any

from devnet.core.wording import visible
from devnet.experiments.table import Cell, ResultTable


def text(tables: list[ResultTable]) -> str:
    """For a terminal; if it is too narrow, standard deviations are left out."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    tables = _all_visible(tables)
    terminal = Console().width
    # The terminal breaks lines that are still too long: a cut number misleads.
    console = Console(width=max(terminal, *(_width(table, narrow=True) for table in tables)))
    with console.capture() as captured:
        for table in tables:
            narrow = _width(table, narrow=False) > terminal
            shown = RichTable(title=Text(table.title, "table.title"), title_justify="left")
            for i, name in enumerate(table.header):
                shown.add_column(Text(name), justify="right" if i else "left", no_wrap=not i)
            for row in table.rows:
                shown.add_row(*(_styled(cell, narrow) for cell in row))
            console.print(shown)
            for note in table.notes:
                console.print(note, markup=False, highlight=False)
            if narrow:
                console.print("Wider terminals and other formats also show standard deviations.")
            console.print()
    return captured.get().rstrip("\n")


def _width(table: ResultTable, *, narrow: bool) -> int:
    """Characters of the widest line, borders included; headers may break between words."""
    words = [max(map(len, name.split()), default=0) for name in table.header]
    columns = zip(*table.rows, strict=True)
    widths = [max(len(_text(cell, narrow)) for cell in cells) for cells in columns]
    return 1 + sum(3 + max(pair) for pair in zip(words, widths, strict=True))


def _text(cell: Cell, narrow: bool) -> str:
    return cell.text.split(" ± ")[0] if narrow else cell.text


def _styled(cell: Cell, narrow: bool) -> Any:
    from rich.text import Text

    return Text(_text(cell, narrow), "bold" if cell.is_best else "")


def markdown(tables: list[ResultTable]) -> str:
    """For a document."""
    return "\n\n".join(map(_markdown_table, _all_visible(tables)))


def _markdown_table(table: ResultTable) -> str:
    lines = [f"**{table.title}**", "", _markdown_row(table.header)]
    lines.append(_markdown_row(["---"] * len(table.header)))
    lines += [_markdown_row([_bold(cell) for cell in row]) for row in table.rows]
    if table.notes:
        lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines)


def _markdown_row(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _bold(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.is_best else cell.text


def csv(tables: list[ResultTable]) -> str:
    """For a spreadsheet: tables below each other, each line starting with its table's title."""
    file = io.StringIO()
    writer = csv_module.writer(file, lineterminator="\n")
    for table in _all_visible(tables):
        writer.writerow(["table", *table.header])
        writer.writerows([table.title, *(cell.text for cell in row)] for row in table.rows)
    return file.getvalue().rstrip("\n")


def json(tables: list[ResultTable]) -> str:
    """For a program: lists of records."""
    made = [
        {
            "title": table.title,
            "rows": [
                dict(zip(_distinct(table.header), (cell.text for cell in row), strict=True))
                for row in table.rows
            ],
            "notes": table.notes,
        }
        for table in tables
    ]
    return json_module.dumps(made, indent=2)


def _all_visible(tables: list[ResultTable]) -> list[ResultTable]:
    """The tables, with nothing in the names of plans and results that acts on a terminal."""
    return [
        ResultTable(
            visible(table.title),
            [*map(visible, table.header)],
            [[cell._replace(text=visible(cell.text)) for cell in row] for row in table.rows],
            [*map(visible, table.notes)],
        )
        for table in tables
    ]


def _distinct(header: list[str]) -> list[str]:
    """`paper` after `DevNet` becomes `DevNet, paper`."""
    return [f"{header[i - 1]}, paper" if name == "paper" else name for i, name in enumerate(header)]
