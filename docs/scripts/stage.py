"""Lay out the pages of the site: those of docs/, the examples, and the documents at the root.

Zensical knows only pages inside one folder. Links are written for the repository, so they become
links between the pages as they are laid out here, in `build/docs`.
"""

import os
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STAGE = ROOT / "build" / "docs"
PROJECT = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
COPIED = {".png", ".svg", ".css", ".html"}  # besides pages
LINK = re.compile(r"(\]\()([^)\s#]+)([^)\s]*\))|((?:src|srcset)=\")([^\"]+)(\")")


def pages() -> dict[Path, Path]:
    """Where each file of the repository is on the site."""
    found = {path: path.relative_to(DOCS) for path in sorted(DOCS.rglob("*.md"))}
    found |= {path: path.relative_to(DOCS) for path in DOCS.rglob("*") if path.suffix in COPIED}
    found |= {ROOT / name: Path("project", name.lower()) for name in PROJECT}
    found |= {path: path.relative_to(ROOT) for path in (ROOT / "examples").glob("*.py")}
    found[ROOT / "README.md"] = Path("project", "readme.md")
    found[ROOT / "experiments" / "LOG.md"] = Path("project", "log.md")
    found[ROOT / "experiments" / "report.html"] = Path("project", "report.html")
    return found


def relink(text: str, source: Path, placed: dict[Path, Path]) -> str:
    """A page's text with every link to a file that is on the site led to its place there."""

    def place(match: re.Match[str]) -> str:
        before, link, after = (part for part in match.groups() if part is not None)
        target = Path(os.path.normpath(source.parent / link))
        if link.startswith("https:") or target not in placed:
            return match[0]
        return f"{before}{os.path.relpath(placed[target], placed[source].parent)}{after}"

    code = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.S | re.M)  # left as it is
    return "".join(LINK.sub(place, part) if i % 2 == 0 else part for i, part in enumerate(code))


def stage() -> None:
    """Write all pages anew."""
    shutil.rmtree(STAGE, ignore_errors=True)
    placed = pages()
    for source, place in placed.items():
        target = STAGE / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(relink(source.read_text(), source, placed))
        else:
            shutil.copyfile(source, target)


if __name__ == "__main__":
    stage()
