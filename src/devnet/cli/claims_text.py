"""The paper's claims as text for terminals, documents and other programs."""

import json
from collections.abc import Sequence

from devnet.cli import table_text
from devnet.core.wording import visible
from devnet.experiments.verdicts import Checked, Verdict, claim_tables, sections, tally_text

COLOURS = {
    Verdict.HOLDS: "green",
    Verdict.PARTLY: "yellow",
    Verdict.FAILS: "red",
    Verdict.UNTESTABLE: "blue",
    Verdict.NOT_MEASURED: "dim",
}
OTHERS = ("paper", "ours", "verdict")  # columns beside the claim
SHARE = 7  # of a line: the part that each of them has


def show(checked: Sequence[Checked], form: str) -> str:
    """The claims in one of the formats of tables."""
    if form == "json":
        return json.dumps([one.as_dict() for one in checked], indent=2)
    if form == "text":
        return _terminal(checked)
    tables = claim_tables(checked)
    made: str = getattr(table_text, form)(tables)
    return f"{tally_text(checked)}\n\n{made}" if form == "markdown" else made


def _terminal(checked: Sequence[Checked]) -> str:
    """One table for each section; sentences break between words."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    with console.capture() as captured:
        for section, found in sections(checked).items():
            title = Text(visible(section), "table.title")
            shown = Table(title=title, title_justify="left", expand=True)
            rows = [
                [
                    *(Text(visible(text)) for text in (one.claim.claim, one.published, one.ours)),
                    Text(one.verdict, COLOURS[one.verdict]),
                ]
                for one in found
            ]
            shown.add_column("Claim", ratio=1, overflow="fold")
            for name, *cells in zip(OTHERS, *(row[1:] for row in rows), strict=True):
                longest = max(len(word) for cell in cells for word in str(cell).split())
                shown.add_column(name, width=max(longest, console.width // SHARE), overflow="fold")
            for row in rows:
                shown.add_row(*row)
            console.print(shown)
            for remark in dict.fromkeys(_remarks(found)):
                console.print(visible(remark), markup=False, highlight=False)
            console.print()
        console.print(tally_text(checked), markup=False, highlight=False)
    return captured.get().rstrip("\n")


def _remarks(found: Sequence[Checked]) -> list[str]:
    """Reasons and missing runs, each said once for a section."""
    reasons = [
        f"{str(one.verdict).capitalize()}: {one.claim.claim}: {one.remark}."
        for one in found
        if one.verdict is Verdict.UNTESTABLE
    ]
    missing = [f"Run {one.remark}" for one in found if one.verdict is Verdict.NOT_MEASURED]
    return reasons + missing
