"""A comparison of methods on a caller's table as one self-contained page."""

from typing import NamedTuple

import numpy as np

from devnet.core.model_file import package_versions
from devnet.core.sentence import Sentence, Spell
from devnet.core.wording import if_known, range_text
from devnet.detectors.methods import RECOMMENDED
from devnet.experiments.advice import Evaluated, Interval, half_width
from devnet.experiments.comparison import Comparison
from devnet.experiments.contest import RECALLS
from devnet.experiments.splits import N_FOLDS
from devnet.report.axes import (
    Axis,
    circle,
    line_across,
    line_up,
    linear_axis,
    share_end,
    svg,
)
from devnet.report.page import render, short
from devnet.report.ranking_chart import precision_recall_chart
from devnet.report.ranking_curves import Area, Curve

MOST_CURVES = 5  # more are hard to tell apart
ALWAYS_DRAWN = ("DevNet", RECOMMENDED)
LINE_WIDTH, LINE_HEIGHT, LINE_MARGIN = 160, 16, 6  # of the picture of an interval


class MethodRow(NamedTuple):
    """A method as shown in the table."""

    name: str
    is_taken: bool
    is_undecided: bool  # cannot be told apart from the one that is taken
    auc_pr: str
    auc_pr_range: str
    picture: str  # SVG
    auc_roc: str
    lead: str  # a dash for the method to beat
    lead_range: str
    seconds: str


def make_comparison_page(found: Comparison, *, spell: Spell = str) -> str:
    """The page's HTML: one file, without scripts or network access.

    Parameters
    ----------
    found : Comparison
        As returned by `devnet.experiments.comparison.compare_methods`.
    spell : callable
        How a setting that a note names is spelled; by default as in Python.
    """
    drawn = _drawn(found)
    end = share_end([found.chance, *(v for one in found.methods for v in one.auc_pr)])
    axis = linear_axis((0, end), LINE_MARGIN, LINE_WIDTH - LINE_MARGIN, (0, end))
    shown = {
        **found._asdict(),
        "advice": found.advice.replace("(-", "(−"),
        "rows": [_method_row(one, found, axis) for one in found.methods],
        "scale_end": f"{end:g}",
        "curves": precision_recall_chart([_curve(one, found.test_share) for one in drawn]),
        "drawn": [one.method for one in drawn],
        "n_folds": N_FOLDS,
        "n_repeats": found.n_splits // N_FOLDS,
        "notes": [n.spelled(spell) if isinstance(n, Sentence) else n for n in found.notes],
        "is_sampled": found.n_unlabelled < found.n_rows - found.n_labelled,
        "versions": package_versions(),
    }
    return render("comparison.html", shown, {"if_known": if_known})


def _drawn(found: Comparison) -> list[Evaluated]:
    """The methods to draw curves of: the best, and those that a reader will look for."""
    wanted = {*ALWAYS_DRAWN, found.recommended}
    by_need = sorted(found.methods, key=lambda one: one.method not in wanted)  # stable
    kept = {one.method for one in by_need[:MOST_CURVES]}
    return [one for one in found.methods if one.method in kept]


def _curve(one: Evaluated, test_share: float) -> Curve:
    """The mean curve of all splits, with the interval of that mean."""
    mean = one.precision.mean(axis=0)
    half = half_width(one.precision, test_share)
    low, high = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
    return Curve(one.method, RECALLS, mean, low, high, Area(*one.auc_pr))


def _method_row(one: Evaluated, found: Comparison, axis: Axis) -> MethodRow:
    is_base = one.method == found.to_beat
    return MethodRow(
        short(one.method),
        one.method == found.recommended,
        one.method in found.undecided,
        f"{one.auc_pr.mean:.3f}",
        _interval(one.auc_pr, ".3f"),
        _interval_picture(one.auc_pr, found.chance, axis),
        f"{one.auc_roc.mean:.3f}",
        "–" if is_base else _signed(f"{one.lead.mean:+.3f}"),
        "" if is_base else _interval(one.lead, "+.3f"),
        f"{one.seconds:.1f}" if one.seconds >= 0.1 else "under 0.1",
    )


def _interval(value: Interval, form: str) -> str:
    return _signed(range_text(value.low, value.high, form)) if np.isfinite(value.low) else ""


def _signed(text: str) -> str:
    return text.replace("-", "−")


def _interval_picture(value: Interval, chance: float, axis: Axis) -> str:
    """A dot at the mean, a line over the interval, a dashed line at chance."""
    middle = LINE_HEIGHT / 2
    parts = [line_up("chance", axis.position(chance), 0, LINE_HEIGHT)]
    if np.isfinite(value.low):
        low, high = (f"{axis.position(end):.1f}" for end in (value.low, value.high))
        parts.append(line_across("c0", middle, low, high))
    title = f"AUC-PR {value.mean:.3f} {_interval(value, '.3f')}".strip()
    parts.append(circle("c0", axis.position(value.mean), middle, 4, title))
    return svg(title, parts, LINE_WIDTH, LINE_HEIGHT)
