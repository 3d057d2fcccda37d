"""Methods compared on a caller's table as one self-contained page."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from devnet.core.model_file import package_versions
from devnet.detectors.methods import RECOMMENDED
from devnet.experiments.advice import Evaluated, Interval, half_width
from devnet.experiments.comparison import N_FOLDS, RECALLS, Comparison
from devnet.report.axes import Axis, linear_axis, share_end
from devnet.report.number_text import in_digits, short
from devnet.report.page import render
from devnet.report.ranking_chart import precision_recall_chart
from devnet.report.ranking_curves import Area, Curve

MOST_CURVES = 5  # more cannot be told apart
ALWAYS_DRAWN = ("DevNet", RECOMMENDED)
LINE_WIDTH, LINE_HEIGHT, LINE_MARGIN = 160, 16, 6  # of the picture of an interval


class MethodRow(NamedTuple):
    """A method as the table shows it."""

    name: str
    is_taken: bool
    auc_pr: str
    auc_pr_range: str
    picture: str  # SVG
    auc_roc: str
    lead: str  # a dash for the method that leads are measured against
    lead_range: str
    seconds: str


def make_comparison_page(found: Comparison) -> str:
    """The page's HTML: one file without scripts that needs no network.

    Parameters
    ----------
    found : Comparison
        What `devnet.experiments.comparison.compare_methods` gives.
    """
    drawn = _drawn(found)
    end = share_end([found.chance, *(v for one in found.methods for v in one.auc_pr)])
    axis = linear_axis((0, end), LINE_MARGIN, LINE_WIDTH - LINE_MARGIN, (0, end))
    shown = {
        **found._asdict(),
        "advice": found.advice.replace("(-", "(−"),
        "rows": [_method_row(one, found, axis) for one in found.methods],
        "scale_end": f"{end:g}",
        "curves": precision_recall_chart([_curve(one) for one in drawn]),
        "drawn": [one.method for one in drawn],
        "n_folds": N_FOLDS,
        "n_repeats": found.n_splits // N_FOLDS,
        "is_sampled": found.n_unlabelled < found.n_rows - found.n_labelled,
        "versions": package_versions(),
    }
    functions: dict[str, Callable[..., Any]] = {
        "in_digits": in_digits,
        "short": short,
    }
    return render("comparison.html", shown, functions)


def _drawn(found: Comparison) -> list[Evaluated]:
    """The methods whose curves are drawn: the best, and those that one looks for."""
    wanted = {*ALWAYS_DRAWN, found.recommended}
    by_need = sorted(found.methods, key=lambda one: one.method not in wanted)  # stable
    kept = {one.method for one in by_need[:MOST_CURVES]}
    return [one for one in found.methods if one.method in kept]


def _curve(one: Evaluated) -> Curve:
    """The mean curve of all splits, with the interval of that mean."""
    mean = one.precision.mean(axis=0)
    half = half_width(one.precision, 1 / N_FOLDS)
    low, high = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
    return Curve(one.method, RECALLS, mean, low, high, Area(*one.auc_pr))


def _method_row(one: Evaluated, found: Comparison, axis: Axis) -> MethodRow:
    is_base = one.method == found.to_beat
    return MethodRow(
        short(one.method),
        one.method == found.recommended,
        f"{one.auc_pr.mean:.3f}",
        _range_text(one.auc_pr, ".3f"),
        _interval_picture(one.auc_pr, found.chance, axis),
        f"{one.auc_roc.mean:.3f}",
        "–" if is_base else _signed(f"{one.lead.mean:+.3f}"),
        "" if is_base else _range_text(one.lead, "+.3f"),
        f"{one.seconds:.1f}" if one.seconds >= 0.1 else "under 0.1",
    )


def _range_text(value: Interval, digits: str) -> str:
    if not np.isfinite(value.low):
        return ""
    return _signed(f"{value.low:{digits}} to {value.high:{digits}}")


def _signed(text: str) -> str:
    return text.replace("-", "−")


def _interval_picture(value: Interval, chance: float, axis: Axis) -> str:
    """A dot at the mean, a line over the interval, and where chance is."""
    middle = LINE_HEIGHT / 2
    at = axis.place(chance)
    parts = [f'<line class="chance" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{LINE_HEIGHT}"/>']
    if np.isfinite(value.low):
        ends = f'x1="{axis.place(value.low):.1f}" x2="{axis.place(value.high):.1f}"'
        parts.append(f'<line class="c0" {ends} y1="{middle}" y2="{middle}"/>')
    parts.append(f'<circle class="c0" cx="{axis.place(value.mean):.1f}" cy="{middle}" r="4"/>')
    title = f"AUC-PR {value.mean:.3f} {_range_text(value, '.3f')}".strip()
    return _small_svg(title, parts)


def _small_svg(title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {LINE_WIDTH} {LINE_HEIGHT}" role="img" aria-label="{title}">'
        f"{''.join(parts)}</svg>"
    )
