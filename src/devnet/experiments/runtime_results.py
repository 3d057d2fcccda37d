"""How time and memory of methods grow with the size of the data.

The exponent of growth is measured over the larger half of the sizes: below, what a fit costs
however small the data is, such as its number of steps, hides how it grows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from devnet.core.wording import decimals_text, interval_text
from devnet.experiments.cells import Cells, in_words
from devnet.experiments.plan import SYNTHETIC
from devnet.experiments.statistics import Growth, growth
from devnet.experiments.table import Cell, ResultTable

Values = Callable[[str, dict[str, Any]], list[float]]  # of a method at settings, one per run

WORDS = {"fit": "to fit", "score": "to score", "both": "to fit and score"}
SLOPE_NOTE = (
    "The slope is that of a straight line on log axes through all runs of the larger half of the "
    "sizes, with its 95% interval; 1 is linear growth. Smaller sizes are left out, where fixed "
    "costs hide growth."
)
MEMORY_NOTE = (
    "Peak of a process of its own, with its libraries, the training rows and as many test rows."
)


def runtime_tables(cells: Cells) -> list[ResultTable]:
    """For each growth: seconds of both steps and together, as multiples, and memory."""
    made = []
    for growing, settings in cells.experiment.growths():
        by = f"by {in_words(growing)}"
        for what, words in WORDS.items():
            found = _seconds(cells, what)
            title = f"Median seconds {words}, {by}"
            made.append(_seconds_table(cells, title, growing, settings, found))
        made[-1].notes.append(SLOPE_NOTE)
        if len(cells.methods) > 1:
            made.append(_ratio_table(cells, by, growing, settings))
        made.append(_memory_table(cells, by, growing, settings))
    return made


def growth_of(cells: Cells, method: str, what: str, growing: str) -> Growth:
    """Exponent of growth of a method's "fit", "score" or "both" with "n_rows" or "n_columns"."""
    settings = next(found for name, found in cells.experiment.growths() if name == growing)
    return _growth(method, growing, settings, _seconds(cells, what))


def larger_half(settings: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The larger half of ascending sizes, the middle one included; at least two."""
    return settings[min(len(settings) // 2, len(settings) - 2) :]


def _growth(
    method: str, growing: str, settings: Sequence[dict[str, Any]], values: Values
) -> Growth:
    pairs = [(s[growing], value) for s in larger_half(settings) for value in values(method, s)]
    return growth([x for x, _ in pairs], [y for _, y in pairs])


def _seconds(cells: Cells, what: str) -> Values:
    names = ("fit", "score") if what == "both" else (what,)

    def values(method: str, settings: dict[str, Any]) -> list[float]:
        parts = [cells.values(SYNTHETIC, method, settings, name) for name in names]
        return [sum(run) for run in zip(*parts, strict=True)]

    return values


def _medians(
    cells: Cells, settings: Sequence[dict[str, Any]], values: Values
) -> dict[str, list[float]]:
    return {
        method: [float(np.median(values(method, s) or np.nan)) for s in settings]
        for method in cells.methods
    }


def _seconds_table(
    cells: Cells, title: str, growing: str, settings: Sequence[dict[str, Any]], values: Values
) -> ResultTable:
    rows = []
    for method, medians in _medians(cells, settings, values).items():
        slope = _growth(method, growing, settings, values)
        known = "-" if np.isnan(slope.slope) else interval_text(*slope, ".2f")
        texts = [*(decimals_text(median, 3) for median in medians), known]
        rows.append([Cell(method), *map(Cell, texts)])
    return ResultTable(title, [*_header(growing, settings), "slope"], rows, [])


def _ratio_table(
    cells: Cells, by: str, growing: str, settings: Sequence[dict[str, Any]]
) -> ResultTable:
    first, *others = cells.methods
    medians = _medians(cells, settings, _seconds(cells, "both"))
    rows = []
    for method in others:
        ratios = np.divide(medians[method], medians[first])
        rows.append([Cell(method), *(Cell(decimals_text(ratio, 1)) for ratio in ratios)])
    title = f"Seconds to fit and score as a multiple of {first}'s, {by}"
    return ResultTable(title, _header(growing, settings), rows, [])


def _memory_table(
    cells: Cells, by: str, growing: str, settings: Sequence[dict[str, Any]]
) -> ResultTable:
    found: dict[tuple[str, str], list[float]] = {}
    for record in cells.records:
        key = (record.method, repr(record.settings))
        found.setdefault(key, []).append(record.peak_memory_mb)

    def values(method: str, settings: dict[str, Any]) -> list[float]:
        return found.get((method, repr(settings)), [])

    rows = [
        [Cell(method), *(Cell(f"{median:,.0f}" if median > 0 else "-") for median in medians)]
        for method, medians in _medians(cells, settings, values).items()
    ]
    title = f"Median peak memory in MB, {by}"
    return ResultTable(title, _header(growing, settings), rows, [MEMORY_NOTE])


def _header(growing: str, settings: Sequence[dict[str, Any]]) -> list[str]:
    return ["Method", *(f"{s[growing]:,}" for s in settings)]
