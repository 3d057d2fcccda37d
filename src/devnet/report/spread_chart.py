"""Small pictures of a column: two kinds of rows by value, and perhaps where one row is."""

from collections.abc import Sequence

import numpy as np

from devnet.core.wording import cut
from devnet.report.axes import line_up, svg, text
from devnet.tables.columns.spread import Place, Spread

WIDTH, HEIGHT, BASE = 160, 58, 44
MOST_CELLS = 21  # the most frequent are drawn
LONGEST = 14  # characters of a label
KINDS = ("unlabelled", "labelled")  # classes of the style sheet


def spread_chart(column: str, place: Place) -> str:
    """Shares of labelled anomalies and of other rows by value, with that of one row marked.

    Empty if the row has no value.
    """
    spread, cell = place.spread, place.spread.cell(place.at)
    if cell is None:
        return ""
    shares = spread.shares_by_cell()
    cells = _drawn_cells(shares, spread.n_cells, [cell])
    at = (cells.index(cell) + 0.5) * WIDTH / len(cells)
    parts = [*_both(spread, shares, cells), line_up("mark", at, 0, BASE)]
    about = f"{spread.of} {spread.label(cell)}".strip()
    return svg(f"{column}, {about}: {spread.shares(cell, cell).both()}", parts, WIDTH, HEIGHT)


def change_chart(title: str, spread: Spread, found: np.ndarray) -> str:
    """Shares of training rows and of another table's rows by value, (n_cells + 1,) counts."""
    shares = np.array([rows / rows.sum() for rows in (spread.learned_counts(), found)])
    n_cells = spread.n_cells + bool(found[-1])  # the last is of values that training did not have
    cells = _drawn_cells(shares[:, :n_cells], n_cells)
    return svg(title, _both(spread, shares, cells), WIDTH, HEIGHT)


def _both(spread: Spread, shares: np.ndarray, cells: list[int]) -> list[str]:
    """Bars of both kinds of rows, and the first and the last value."""
    drawn, width = shares[:, cells], WIDTH / len(cells)
    highest = float(drawn.max()) or 1.0
    ends = [cut(spread.label(cells[i]), LONGEST) for i in (0, -1)]
    return [
        *(_bars(kind, part / highest, width) for kind, part in zip(KINDS, drawn, strict=True)),
        text(0, HEIGHT - 2, ends[0], "start"),
        text(WIDTH, HEIGHT - 2, ends[1] if len(cells) > 1 else "", "end"),
    ]


def _drawn_cells(shares: np.ndarray, n_cells: int, wanted: Sequence[int] = ()) -> list[int]:
    """All cells of numbers; of many values the most frequent, and those that are wanted."""
    if n_cells <= MOST_CELLS:
        return list(range(n_cells))
    often = np.argsort(-shares.sum(axis=0), kind="stable")[: MOST_CELLS - 1].tolist()
    return sorted({*often, *wanted})


def _bars(kind: str, heights: np.ndarray, width: float) -> str:
    """Bars side by side as one outline."""
    steps = [
        f"V{BASE - (BASE - 4) * height:.1f}H{(i + 1) * width:.1f}"
        for i, height in enumerate(heights.tolist())
    ]
    return f'<path class="{kind}" d="M0,{BASE}{"".join(steps)}V{BASE}Z"/>'
