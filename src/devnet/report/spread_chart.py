"""A small picture of a column: where anomalies and other rows are, and where one row is."""

import numpy as np

from devnet.core.wording import cut
from devnet.report.axes import line_up, svg, text
from devnet.tables.columns.spread import Place, Spread

WIDTH, HEIGHT, BASE = 160, 58, 44
MOST_CELLS = 20  # the most frequent are drawn
LONGEST = 14  # characters of a label
KINDS = ("unlabelled", "labelled")  # classes of the style sheet


def spread_chart(column: str, place: Place) -> str:
    """Shares of labelled anomalies and of other rows by value, with that of one row marked.

    Empty if the row has no value.
    """
    spread, cell = place.spread, place.spread.cell(place.at)
    if cell is None:
        return ""
    cells = _drawn_cells(spread, cell)
    shares = spread.shares_by_cell()[:, cells]
    highest = float(shares.max()) or 1.0
    width = WIDTH / len(cells)
    at = (cells.index(cell) + 0.5) * width
    parts = [_bars(kind, part / highest, width) for kind, part in zip(KINDS, shares, strict=True)]
    ends = [cut(spread.label(cells[i]), LONGEST) for i in (0, -1)]
    parts += [
        line_up("mark", at, 0, BASE),
        text(0, HEIGHT - 2, ends[0], "start"),
        text(WIDTH, HEIGHT - 2, ends[1] if len(cells) > 1 else "", "end"),
    ]
    about = f"{spread.of} {spread.label(cell)}".strip()
    return svg(f"{column}, {about}: {spread.shares(cell, cell).both()}", parts, WIDTH, HEIGHT)


def _drawn_cells(spread: Spread, cell: int) -> list[int]:
    """All cells of numbers; of many values the most frequent, and that of the row."""
    if spread.n_cells <= MOST_CELLS:
        return list(range(spread.n_cells))
    both = spread.shares_by_cell().sum(axis=0)
    often = np.argsort(-both, kind="stable")[: MOST_CELLS - 1].tolist()
    return sorted({*often, cell})


def _bars(kind: str, heights: np.ndarray, width: float) -> str:
    """Bars side by side as one outline."""
    steps = [
        f"V{BASE - (BASE - 4) * height:.1f}H{(i + 1) * width:.1f}"
        for i, height in enumerate(heights.tolist())
    ]
    return f'<path class="{kind}" d="M0,{BASE}{"".join(steps)}V{BASE}Z"/>'
