"""Draw the figures of docs/explanation/paper.md by the code that they are about.

Pictures have the colours of our reports, and dark ones on a dark page.
"""

from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from devnet import DevNet
from devnet.engine.deviation_loss import deviation_loss
from devnet.engine.reference_scores import Reference
from devnet.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    axis_labels,
    grid,
    line_up,
    linear_axis,
    nice_ticks,
    polyline,
    svg,
    text,
)

PICTURES = Path(__file__).parents[1] / "pictures"
MARGIN = 5.0
EPOCHS = (1, 2, 3, 5, 8, 13, 21, 34, 50)
STYLE = """<style>
svg { --soft: #5c6577; --line: #d9dde5; --c0: #0072b2; --c1: #d55e00; --c7: #6b7280; }
@media (prefers-color-scheme: dark) {
  svg { --soft: #a3acbd; --line: #353c4a; --c0: #4ba3e3; --c1: #ff8c42; --c7: #9aa3b2; }
}
text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.grid { stroke: var(--line); } .dashed { stroke: var(--soft); stroke-dasharray: 4 4; }
polyline { fill: none; stroke-width: 2; } .c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); }
.c7 { stroke: var(--c7); }
</style>"""


def write(name: str, title: str, parts: list[str]) -> None:
    """A picture as a file of its own, which brings its style along."""
    picture = svg(title, [STYLE, *parts])
    whole = picture.replace(
        "<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="480" height="330" ', 1
    )
    (PICTURES / f"{name}.svg").write_text(whole + "\n")


def axes(across: tuple[float, float], up: tuple[float, float]) -> tuple[Axis, Axis]:
    """Linear axes over these ranges."""
    x = linear_axis(across, LEFT, WIDTH - RIGHT, nice_ticks(*across))
    return x, linear_axis(up, HEIGHT - BOTTOM, TOP, nice_ticks(*up))


def loss_figure() -> None:
    """The loss of an unlabelled row and of a labelled anomaly, by their deviation."""
    deviation = np.linspace(-4, 8, 241)
    x, y = axes((-4, 8), (0, 9))
    reference = Reference(np.zeros(1), np.ones(1))
    parts = [grid(x, y), line_up("dashed", x.position(MARGIN), TOP, HEIGHT - BOTTOM)]
    for is_anomaly, colour in ((False, 0), (True, 1)):
        loss = deviation_loss(
            deviation,
            is_anomaly=np.full(deviation.shape, is_anomaly),
            reference=reference,
            margin=MARGIN,
        )
        parts.append(polyline(f"c{colour}", x, y, deviation, loss))
    parts += [
        text(x.position(7.9), y.position(8.4), "unlabelled", "end"),
        text(x.position(-2.8), y.position(8.4), "labelled anomaly", "start"),
        text(x.position(MARGIN) - 4, y.position(6.4), "margin", "end"),
        axis_labels("deviation from the reference", "loss"),
    ]
    write("deviation_loss", "The deviation loss of unlabelled rows and labelled anomalies", parts)


def task() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Biopsies, which of them are malignant, and the thirty of these that are labelled."""
    biopsies = load_breast_cancer()
    kept = (biopsies.target == 1) | (np.arange(569) % 4 == 0)
    rows = MinMaxScaler().fit_transform(biopsies.data[kept])
    malignant = biopsies.target[kept] == 0
    return rows, malignant, malignant & (malignant.cumsum() <= 30)


def training_figure() -> None:
    """Mean deviation of each kind of row, by epochs of training."""
    rows, malignant, labelled = task()
    kinds = {1: labelled, 0: malignant & ~labelled, 7: ~malignant}
    means: dict[int, list[float]] = {colour: [] for colour in kinds}
    for n_epochs in EPOCHS:
        scores = DevNet(n_epochs=n_epochs, random_state=0).fit(rows, labelled).anomaly_score(rows)
        for colour, kind in kinds.items():
            means[colour].append(float(scores[kind].mean()))
    x, y = axes((0, 50), (-1, 7))
    parts = [grid(x, y), *(polyline(f"c{c}", x, y, EPOCHS, one) for c, one in means.items())]
    words = {1: "labelled anomalies", 0: "hidden anomalies", 7: "normal rows"}
    offsets = {1: -7, 0: 16, 7: -7}
    for colour, said in words.items():
        at = y.position(means[colour][-1]) + offsets[colour]
        parts.append(text(WIDTH - RIGHT, at, said, "end"))
    parts.append(axis_labels("epochs of training", "mean deviation"))
    write("training", "Deviations of labelled, hidden and normal rows during training", parts)


def prior_figure() -> None:
    """Scores of normal rows after training beside the prior that they were drawn to."""
    rows, malignant, labelled = task()
    scores = DevNet(random_state=0).fit(rows, labelled).anomaly_score(rows[~malignant])
    ticks = np.linspace(-3, 3, 121)
    heights, edges = np.histogram(scores, bins=np.linspace(-3, 3, 25), density=True)
    x, y = axes((-3, 3), (0, float(np.ceil(max(heights.max(), 0.4) * 10) / 10)))
    outline = np.repeat(heights, 2)
    parts = [
        grid(x, y),
        polyline("c0", x, y, ticks, norm.pdf(ticks)),
        polyline("c7", x, y, np.repeat(edges, 2)[1:-1], outline),
        text(x.position(-1.2), y.position(0.3), "prior", "end"),
        text(x.position(2.9), y.position(heights.max() * 0.85), "normal rows", "end"),
        axis_labels("deviation", "density"),
    ]
    write("prior", "The prior, and what scores of normal rows become", parts)


if __name__ == "__main__":
    loss_figure()
    training_figure()
    prior_figure()
