"""How a table differs from training as one self-contained page."""

from typing import NamedTuple

from devnet.core.model_file import package_versions
from devnet.core.sentence import Sentence, Spell
from devnet.core.wording import count_text, share_text
from devnet.report.page import render, short
from devnet.report.spread_chart import change_chart
from devnet.tables.column_drift import LEAST_INDEX, ColumnDrift
from devnet.tables.drift import Drift

N_OPEN_COLUMNS, MOST_COLUMNS = 30, 1000  # the rest is folded; or only counted


class ColumnRow(NamedTuple):
    """A column as shown."""

    name: str
    kind: str
    has_changed: bool
    missing: str
    learned_missing: str
    unseen: str
    stability_index: str
    picture: str  # SVG; may be empty


def make_drift_page(found: Drift, *, table: str, model: str, spell: Spell = str) -> str:
    """The page's HTML: one file, without scripts or network access.

    Parameters
    ----------
    found : Drift
        As returned by `devnet.find_drift`.
    table, model : str
        Their names.
    spell : callable
        How a setting that a note names is spelled; by default as in Python.
    """
    columns = sorted(found.columns, key=lambda one: (not one.changes, -(one.stability_index or 0)))
    rows = [_column_row(one) for one in columns[:MOST_COLUMNS]]
    shown = {
        **found._asdict(),
        "table": table,
        "model": model,
        "changes": found.changes,
        "rows": rows,
        "n_columns": len(columns),
        "n_changed": sum(bool(one.changes) for one in columns),
        "n_open_columns": N_OPEN_COLUMNS,
        "least_index": LEAST_INDEX,
        "notes": [n.spelled(spell) if isinstance(n, Sentence) else n for n in found.notes],
        "versions": package_versions(),
    }
    return render("drift.html", shown, {"share_text": share_text, "count": count_text})


def _column_row(one: ColumnDrift) -> ColumnRow:
    index = one.stability_index
    picture = ""
    if one.counts is not None:
        about = f"{one.name} {one.counts.spread.of}".strip()
        title = f"{short(about)}: stability index {one.counts.stability_index:.2f}"
        picture = change_chart(title, one.counts.spread, one.counts.found)
    return ColumnRow(
        short(one.name),
        one.kind,
        bool(one.changes),
        share_text(one.missing),
        share_text(one.learned_missing),
        "" if one.unseen is None else share_text(one.unseen),
        "" if index is None else f"{index:.2f}",
        picture,
    )
