"""The kinds of learners: which of them rows need, and their names in model files."""

from devnet.core.layout import MAX_COLUMNS, Layout
from devnet.core.rows import WIDE, Rows
from devnet.detectors.ensemble.learners import Learners
from devnet.detectors.ensemble.mixed_learners import MixedLearners
from devnet.detectors.ensemble.table_learners import TableLearners
from devnet.detectors.ensemble.wide_learners import WideLearners

KINDS: dict[str, type[Learners]] = {
    kind.__name__: kind for kind in (TableLearners, WideLearners, MixedLearners)
}


def choose_kind(rows: Rows, layout: Layout | None) -> type[Learners]:
    """The learners of rows, by their width and by which of their columns are text."""
    if rows.shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"X has {rows.shape[1]:,} columns; at most {MAX_COLUMNS:,} are possible. Leave out "
            "columns that no row has, or hash them to fewer."
        )
    if rows.is_sparse and layout is not None and any(layout.is_wide):
        return WideLearners if layout.narrow() is None else MixedLearners
    return WideLearners if rows.is_sparse and rows.shape[1] >= WIDE else TableLearners
