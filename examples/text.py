"""What a column of raw text is worth: the same table with and without it.

Shows free text in `TableModel`: complaints about machines, of which some are about a defect that
is new. Twelve were recognised as such; how many of the others come first in the list?
"""

import numpy as np
import pyarrow as pa
from picture import save

from devnet import TableModel
from devnet.experiments.figure import Panel, Point, Series
from devnet.report.charts import chart

N_ROWS, N_DEFECTS, N_KNOWN = 3_000, 60, 12
USUAL = ("filter is clogged", "door does not close", "display stays dark", "too loud at night")
NEW = ("smells of burnt plastic", "burning smell at the plug", "smell like melted cable, hot plug")
WORDS = ("since monday", "again", "please call", "after the move", "bought last year", "urgent")
READ = (20, 40, 80, 120, 200)  # complaints


def complaints(draw: np.random.Generator) -> tuple[pa.Table, np.ndarray]:
    """A table, and which complaints are about the defect."""
    is_defect = draw.permutation(N_ROWS) < N_DEFECTS
    known = draw.choice(np.flatnonzero(is_defect), N_KNOWN, replace=False)
    text = [
        f"{draw.choice(NEW if defect else USUAL)}, {' '.join(draw.choice(WORDS, 3))} "
        f"{draw.integers(10, 99)}"
        for defect in is_defect
    ]
    months = draw.integers(0, 60, N_ROWS) + 6 * is_defect  # the defect shows in older machines
    label = pa.array([1 if row in set(known) else None for row in range(N_ROWS)])
    return pa.table({"text": text, "months": months, "defect": label}), is_defect


def main() -> None:
    """Rank complaints with and without their text."""
    table, is_defect = complaints(np.random.default_rng(0))
    open_rows = np.flatnonzero([label is None for label in table["defect"].to_pylist()])
    series = []
    for name, ignore in (("with the text", []), ("without it", ["text"])):
        model = TableModel(random_state=0, ignore=ignore).fit(table, "defect")
        scores = model.score(table)["anomaly_score"].to_numpy()[open_rows]
        found = is_defect[open_rows][np.argsort(-scores)].cumsum() / (N_DEFECTS - N_KNOWN)
        series.append(Series(name, [Point(n, found[n - 1], np.nan, np.nan) for n in READ]))
        n_found = round(found[READ[1] - 1] * (N_DEFECTS - N_KNOWN))
        print(f"{name}: of the first {READ[1]} complaints, {n_found} are about the defect")
    panel = Panel("Defects found", series, "complaints read", "share of the defects found")
    save(chart(panel), "text.svg", [one.name for one in series])


if __name__ == "__main__":
    main()
