"""Draw the picture of docs/tutorials/signals.md from its first program."""

import re
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parents[1]
WIDTH, HEIGHT, LEFT, GAP = 900, 110, 90, 26  # of a panel
SHOWN = 7_500  # steps
COLOURS = {"line": "#3b6ea5", "fault": "#f2c14e", "event": "#b3261e", "text": "#333333"}


def draw() -> None:
    """Write the picture."""
    text = (DOCS / "tutorials" / "signals.md").read_text()
    found: dict[str, Any] = {}
    exec(re.search(r"```python\n(.*?)```", text, re.S).group(1), found)
    signals = {
        "vibration": found["now"][:SHOWN, 0],
        "current": found["now"][:SHOWN, 1],
        "score": found["scored"].score[:SHOWN],
    }
    height = len(signals) * (HEIGHT + GAP) + 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + 20} {height}">']
    parts.append(f"<style>text{{font:14px sans-serif;fill:{COLOURS['text']}}}</style>")
    parts.append('<rect width="100%" height="100%" fill="white"/>')
    bottom = len(signals) * (HEIGHT + GAP) - GAP
    parts += [band(start, end, 0, bottom, "fault") for start, end in found["true"] if end < SHOWN]
    for number, (name, values) in enumerate(signals.items()):
        parts.append(panel(name, values, number * (HEIGHT + GAP)))
    parts += [
        band(event.start, event.end, bottom + 8, 10, "event")
        for event in found["events"]
        if event.end < SHOWN
    ]
    parts.append(f'<text x="{LEFT - 8}" y="{bottom + 18}" text-anchor="end">events</text>')
    legend = f"{SHOWN:,} steps; yellow: planted faults; red: events that were found"
    parts.append(f'<text x="{LEFT}" y="{bottom + 42}">{legend}</text></svg>')
    (DOCS / "pictures" / "signals.svg").write_text("\n".join(parts) + "\n")


def across(step: float) -> float:
    """Where a step is, from the left."""
    return LEFT + WIDTH * step / SHOWN


def band(start: int, end: int, top: float, height: float, kind: str) -> str:
    """A rectangle over steps."""
    width = max(2.0, across(end) - across(start))
    place = f'x="{across(start):.1f}" y="{top:.0f}" width="{width:.1f}" height="{height:.0f}"'
    return f'<rect {place} fill="{COLOURS[kind]}"/>'


def panel(name: str, values: np.ndarray, top: float) -> str:
    """A line that keeps the lowest and highest value of each of many short stretches."""
    low, high = np.nanmin(values), np.nanmax(values)
    points = []
    for start in range(0, len(values), 10):
        part = values[start : start + 10]
        for value in (np.nanmin(part), np.nanmax(part)):
            down = top + 4 + (HEIGHT - 8) * (high - value) / (high - low)
            points.append(f"{across(start):.1f},{down:.1f}")
    line = f'<polyline points="{" ".join(points)}" fill="none" stroke="{COLOURS["line"]}"/>'
    label = f'<text x="{LEFT - 8}" y="{top + HEIGHT / 2:.0f}" text-anchor="end">{name}</text>'
    return line + label


if __name__ == "__main__":
    draw()
