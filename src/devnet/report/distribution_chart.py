"""Scores of unlabelled rows (upwards) and of labelled anomalies (downwards)."""

import numpy as np

from devnet.core.wording import score_text, tick_text
from devnet.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    axis_labels,
    line_across,
    line_up,
    linear_axis,
    nice_ticks,
    side_label,
    svg,
    text,
)

N_BINS = 44
MIDDLE = 128  # where the halves meet
HEADROOM = 14  # for the label of the threshold


def score_chart(unlabelled: np.ndarray, labelled: np.ndarray, threshold: float) -> str:
    """A mirrored histogram: unlabelled rows on a log scale, labelled ones on a linear scale.

    The few highest and lowest scores are drawn at the edges, so that one outlier does not flatten
    the rest.

    Parameters
    ----------
    unlabelled, labelled : arrays
        Together at least one score.
    threshold : float
        Alerts score higher; drawn only if finite.
    """
    low, high = _limits(unlabelled, labelled, threshold)
    x = linear_axis([low, high], LEFT, WIDTH - RIGHT, nice_ticks(low, high))
    edges = np.linspace(low, high, N_BINS + 1)
    parts = [_x_axis(x), *_upper(unlabelled, edges, x), *_lower(labelled, edges, x)]
    parts.append(line_across("axis", MIDDLE, LEFT, WIDTH - RIGHT))
    if np.isfinite(threshold):
        parts.append(_threshold(x.position(threshold), threshold))
    return svg("Scores of unlabelled rows and labelled anomalies", parts)


def _limits(unlabelled: np.ndarray, labelled: np.ndarray, threshold: float) -> tuple[float, float]:
    ends = [np.quantile(part, (0.0005, 0.9995)) for part in (unlabelled, labelled) if len(part)]
    shown = [*np.ravel(ends), *([threshold] if np.isfinite(threshold) else [])]
    low, high = float(min(shown)), float(max(shown))
    least = 1e-6 * max(1.0, abs(low), abs(high))
    margin = 0.02 * (high - low) if high - low > least else 0.5 * max(1.0, abs(low))
    return low - margin, high + margin


def _upper(scores: np.ndarray, edges: np.ndarray, x: Axis) -> list[str]:
    """Bars on a log scale, so that single rows show next to thousands."""
    counts = np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0]
    most = max(1.0, float(np.ceil(np.log10(max(counts.max(), 1)) + 0.05)))
    top = TOP + HEADROOM
    unit = (MIDDLE - top) / (most + 0.3)  # a single row has a bar of 0.3
    parts = []
    for power in range(int(most) + 1):
        at = MIDDLE - unit * (power + 0.3)
        parts.append(_grid_line(at))
        if power % (1 + int(most) // 5) == 0:
            parts.append(text(LEFT - 6, at + 4, tick_text(10.0**power), "end"))
    heights = np.where(counts > 0, unit * (np.log10(np.maximum(counts, 1)) + 0.3), 0)
    bars = _bars("unlabelled", counts, edges, x, MIDDLE - heights, heights)
    return [*parts, *bars, side_label("unlabelled", (top + MIDDLE) / 2)]


def _lower(scores: np.ndarray, edges: np.ndarray, x: Axis) -> list[str]:
    counts = np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0]
    most = max(1, int(counts.max()))
    bottom = HEIGHT - BOTTOM
    unit = (bottom - MIDDLE - 4) / most
    parts = [_grid_line(MIDDLE + unit * most), text(LEFT - 6, bottom, tick_text(most), "end")]
    bars = _bars("labelled", counts, edges, x, np.full(N_BINS, MIDDLE), unit * counts)
    return [*parts, *bars, side_label("labelled", (MIDDLE + bottom) / 2)]


def _bars(
    kind: str, counts: np.ndarray, edges: np.ndarray, x: Axis, top: np.ndarray, height: np.ndarray
) -> list[str]:
    width = x.position(edges[1]) - x.position(edges[0]) - 0.8
    return [
        f'<rect class="{kind}" x="{x.position(edges[i]) + 0.4:.1f}" y="{top[i]:.1f}" '
        f'width="{width:.1f}" height="{height[i]:.1f}"><title>{counts[i]:,} {kind}, score '
        f"{score_text(edges[i])} to {score_text(edges[i + 1])}</title></rect>"
        for i in np.flatnonzero(counts)
    ]


def _x_axis(x: Axis) -> str:
    bottom = HEIGHT - BOTTOM
    numbers = [text(x.position(tick), bottom + 16, f"{tick:,.6g}", "middle") for tick in x.ticks]
    return axis_labels("score", "") + "".join(numbers)


def _threshold(at: float, threshold: float) -> str:
    is_right = at > (LEFT + WIDTH - RIGHT) / 2
    words = text(
        at - 5 if is_right else at + 5, TOP + 8, "alerts →", "end" if is_right else "start"
    )
    title = f"<title>threshold {score_text(threshold)}</title>"
    return line_up("threshold", at, TOP, HEIGHT - BOTTOM, title) + words


def _grid_line(at: float) -> str:
    return line_across("grid", at, LEFT, WIDTH - RIGHT)
