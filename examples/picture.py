"""A chart of devnet's reports as a picture of its own, which examples save.

Charts take their colours from the style sheet of a page. Here the style is in the picture, for
light and dark pages, and a line below it says what the colours mean.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from devnet.report.axes import HEIGHT, WIDTH, text

LIGHT = "--ink: #1d2433; --soft: #5c6577; --line: #d9dde5; --page: #fff"
DARK = "--ink: #e6e9ef; --soft: #a3acbd; --line: #353c4a; --page: #14181f"
LIGHT_COLOURS = {0: "#0072b2", 1: "#d55e00", 2: "#009e73", 7: "#6b7280"}  # those of the reports
DARK_COLOURS = {0: "#4ba3e3", 1: "#ff8c42", 2: "#35c79a", 7: "#9aa3b2"}
RULES = """text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.page { fill: var(--page); } .grid, .axis { stroke: var(--line); }
.threshold { stroke: var(--ink); stroke-dasharray: 3 3; }
polyline { fill: none; stroke-width: 2; } .band { opacity: .2; stroke: none; }
rect.unlabelled { fill: var(--c7); } rect.labelled { fill: var(--c1); }"""
LEGEND = 20  # height of the line below


def style() -> str:
    """The style sheet, in light and in dark."""
    light, dark = (
        "; ".join([base, *(f"--c{i}: {colour}" for i, colour in colours.items())])
        for base, colours in ((LIGHT, LIGHT_COLOURS), (DARK, DARK_COLOURS))
    )
    lines = [f".c{i} {{ stroke: var(--c{i}); }}" for i in LIGHT_COLOURS]
    filled = [f"circle.c{i}, .band.c{i}, .key.c{i} {{ fill: var(--c{i}); }}" for i in LIGHT_COLOURS]
    media = f"@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}"
    return "\n".join([f"<style>svg {{ {light} }}", media, RULES, *lines, *filled, "</style>"])


def save(chart: str, path: str, names: Sequence[str] = ()) -> None:
    """Write a chart as SVG; the nth name is that of the nth colour."""
    head, inside = re.match(r"<svg viewBox=\"[^\"]*\" ([^>]*)>(.*)</svg>", chart, re.S).groups()
    height = HEIGHT + (LEGEND if names else 0)
    parts = [style(), f'<rect class="page" width="{WIDTH}" height="{height}"/>', inside]
    for i, name in enumerate(names):
        left = 12 + i * WIDTH / len(names)
        parts.append(f'<circle class="key c{i}" cx="{left:.0f}" cy="{HEIGHT + 8}" r="4"/>')
        parts.append(text(left + 9, HEIGHT + 12, name, "start"))
    size = f'width="{1.5 * WIDTH:g}" height="{1.5 * height:g}" viewBox="0 0 {WIDTH} {height}"'
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {head}>'
    Path(path).write_text("\n".join([opened, *parts, "</svg>\n"]))
