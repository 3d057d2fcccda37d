"""The calendar in integer arithmetic: parts of instants as nodes.

Days become months by counting from the first of March of the year 0 in cycles of 400 years, in
which leap days come last (H. Hinnant, chrono-compatible low-level date algorithms).
"""

import numpy as np

from devnet.serving.onnx.graph import DOUBLE, Graph
from devnet.tables.columns.arrow_values import DAY, LIMIT
from devnet.tables.columns.date import THURSDAY, YEAR, DateColumn

MARCH_OF_0 = 719_468  # days from the first of March of the year 0 to 1970
CYCLE = 146_097  # days of 400 years


def add_parts(graph: Graph, instants: str, column: DateColumn) -> list[str]:
    """Each part of instants that the column uses, on its scale, (b,) int64 -> (b,) double."""
    ends = _whole(graph, -LIMIT), _whole(graph, LIMIT)
    instants = graph.add("Clip", instants, *ends)
    since_midnight = graph.add("Mod", instants, _whole(graph, DAY))
    days = graph.add("Div", graph.add("Sub", instants, since_midnight), _whole(graph, DAY))
    found: dict[str, str] = {}
    if "hour" in column.parts:
        found["hour"] = _ratio(graph, since_midnight, DAY)
    if "weekday" in column.parts:
        shifted = graph.add("Add", days, _whole(graph, THURSDAY))
        found["weekday"] = _ratio(graph, graph.add("Mod", shifted, _whole(graph, 7)), 6)
    if {"day", "month"} & {*column.parts}:
        day, month = _add_day_and_month(graph, days)
        found["day"], found["month"] = _ratio(graph, day, 30), _ratio(graph, month, 11)
    if "years" in column.parts:
        found["years"] = _add_years(graph, instants, column)
    return [found[part] for part in column.parts]


def _add_years(graph: Graph, instants: str, column: DateColumn) -> str:
    """Years from 0 at the first to 1 at the last of training."""
    years = _ratio(graph, instants, YEAR)
    if column.low == column.high:
        return graph.add("Sub", years, years)
    above = graph.add("Sub", years, graph.constant(column.low, np.float64))
    return graph.add("Div", above, graph.constant(column.high - column.low, np.float64))


def _add_day_and_month(graph: Graph, days: str) -> tuple[str, str]:
    """Day of the month and month of the year, both counted from 0."""
    shifted = graph.add("Add", days, _whole(graph, MARCH_OF_0))
    in_cycle = graph.add("Mod", shifted, _whole(graph, CYCLE))
    leap = [graph.add("Div", in_cycle, _whole(graph, n)) for n in (1460, 36_524, CYCLE - 1)]
    even = graph.add("Sub", in_cycle, leap[0])
    even = graph.add("Sub", graph.add("Add", even, leap[1]), leap[2])
    year = graph.add("Div", even, _whole(graph, 365))  # of the cycle
    before = _add_days_of_years(graph, year)
    in_year = graph.add("Sub", in_cycle, before)
    fifths = graph.add("Mul", in_year, _whole(graph, 5))
    since_march = graph.add("Add", fifths, _whole(graph, 2))
    month = graph.add("Div", since_march, _whole(graph, 153))  # counted from March
    first = graph.add("Add", graph.add("Mul", month, _whole(graph, 153)), _whole(graph, 2))
    day = graph.add("Sub", in_year, graph.add("Div", first, _whole(graph, 5)))
    of_year = graph.add("Mod", graph.add("Add", month, _whole(graph, 2)), _whole(graph, 12))
    return day, of_year


def _add_days_of_years(graph: Graph, year: str) -> str:
    """Days of all years of a cycle before this one."""
    common = graph.add("Mul", year, _whole(graph, 365))
    leap = graph.add("Div", year, _whole(graph, 4))
    skipped = graph.add("Div", year, _whole(graph, 100))
    return graph.add("Sub", graph.add("Add", common, leap), skipped)


def _whole(graph: Graph, value: int) -> str:
    return graph.constant(value, np.int64)


def _ratio(graph: Graph, whole: str, unit: float) -> str:
    return graph.add("Div", graph.cast(whole, DOUBLE), graph.constant(unit, np.float64))
