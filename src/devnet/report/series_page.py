"""A fit to a series as one self-contained page: its events, with scores and channels around."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from devnet.core.model_file import package_versions
from devnet.core.wording import count_text, one_in_text, score_text, share_text, some_names
from devnet.deep.sequences.opened_series import OpenedSeries, SeriesEvent
from devnet.deep.sequences.score_series import ScoredSeries
from devnet.deep.sequences.series_model import SeriesModel
from devnet.deep.sequences.series_table import SeriesTable
from devnet.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    axis_labels,
    grid,
    linear_axis,
    nice_ticks,
    polyline,
    svg,
)
from devnet.report.page import render, short
from devnet.significance.policies import Budget

MOST_SHOWN = 20  # events on a page
FEWEST_SHOWN = 5  # if none is as rare as the model's alerts are
MOST_CHANNELS = 6  # drawn of each
AROUND = 2  # windows on either side of an event
MOST_POINTS = 300  # of a line


class EventCard(NamedTuple):
    """An event as shown."""

    first: str
    last: str
    peak: str
    score: str
    rarity: str
    pictures: list[str]  # SVG: the scores, then channels


def make_series_page(model: SeriesModel, table: Any) -> str:
    """The page's HTML: one file, without scripts or network access.

    Parameters
    ----------
    model : SeriesModel
    table : path, frame or Arrow table
        The series that it learned from, or another.
    """
    opened = OpenedSeries(model, table)
    found = opened.find_events(n_shown=MOST_SHOWN)
    wanted_rate, is_none = found.rate, not found.shown
    if is_none:
        found = opened.find_events(Budget(FEWEST_SHOWN))
    shown = {
        "table": short(table),
        "summary": [
            ("steps", f"{found.n_steps:,}"),
            ("events", "0" if is_none else f"{found.n_events:,}"),
            ("labelled intervals", f"{model.n_labelled_:,}"),
            ("channels", some_names(list(model.channels_), 8)),
            ("window", count_text(model.calibration_.length, "step", "steps")),
        ],
        "wanted_rate": share_text(wanted_rate),
        "is_none": is_none,
        "rate": share_text(found.rate),
        "smallest": share_text(model.calibration_.smallest),
        "cards": [_card(opened, one) for one in found.shown],
        "n_more": found.n_events - len(found.shown),
        "versions": package_versions(),
    }
    return render("series.html", shown, {"count": count_text})


def _card(opened: OpenedSeries, one: SeriesEvent) -> EventCard:
    around = max(one.end - one.start, AROUND * opened.model.calibration_.length)
    part, scored, start = opened.profile(one.peak, around)
    first, last, peak = (short(moment) for moment in one.times)
    return EventCard(
        first,
        last,
        peak,
        score_text(one.score),
        one_in_text(one.p_value),
        _pictures(part, scored, start),
    )


def _pictures(part: SeriesTable, scored: ScoredSeries, start: int) -> list[str]:
    rows = np.arange(start, start + len(scored.score))
    drawn = [_line_chart("score", rows, scored.score, 1)]
    named = zip(part.channels[:MOST_CHANNELS], part.series.T, strict=False)
    return [*drawn, *(_line_chart(short(name), rows, values, 0) for name, values in named)]


def _line_chart(name: str, rows: np.ndarray, values: np.ndarray, colour: int) -> str:
    """Values by row; of many rows in a place, the one with the highest value is drawn."""
    known = np.isfinite(values)
    if not known.any():
        return ""
    kept = _peaks(rows[known], values[known])
    low, high = float(values[known].min()), float(values[known].max())
    high = high if high > low else low + 1
    ends = (float(rows[0]), float(rows[-1]) if len(rows) > 1 else float(rows[0]) + 1)
    x = linear_axis(ends, LEFT, WIDTH - RIGHT, nice_ticks(*ends))
    y = linear_axis((low, high), HEIGHT - BOTTOM, TOP, nice_ticks(low, high))
    line = polyline(f"c{colour}", x, y, rows[kept], values[kept])
    return svg(f"{name} by row", [grid(x, y), line, axis_labels("row", name)])


def _peaks(rows: np.ndarray, values: np.ndarray) -> Sequence[int]:
    parts = np.array_split(np.arange(len(rows)), min(MOST_POINTS, len(rows)))
    return [int(part[np.argmax(values[part])]) for part in parts]
