"""`devnet explain`: why a row scores as it does."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from devnet.cli.deep_options import maps_option, open_kept, refuse_maps, verbs_of
from devnet.cli.table_options import as_json, open_model
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.wording import count_text, p_value_text, share_text, some_names, visible

if TYPE_CHECKING:
    from devnet.tables import Explanation, Reason

LEAST_SHOWN = 0.05  # smaller contributions are summed up
SHORT = ("row", "id", "score", "p_value")  # what JSON says about an alert folded into another
N_LIKE = 5  # rows like an alert that are named
HIGH = 0.1  # largest p-value of a row that is compared with anomalies


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@click.option(
    "--row",
    "rows",
    type=int,
    multiple=True,
    required=True,
    metavar="N",
    help="Number of the row, counted from 0; repeatable.",
)
@maps_option
@as_json
def explain(
    model: Path, table: str, rows: tuple[int, ...], maps: Path | None, wants_json: bool
) -> None:
    """Explain the score of a row of TABLE.

    Shows what each column adds to the score, and which labelled anomaly the row is most like.
    Contributions add up to the row's score minus that of a typical unlabelled row. Of a folder of
    images, in order of names, it shows where the image is anomalous; of a series, when.

    \b
    devnet explain fraud.devnet payments.parquet --row 1207
    devnet explain fraud.devnet payments.parquet --row 3 --row 8 --json
    """
    from devnet.tables.opened_table import OpenedTable
    from devnet.tables.typical_row import typical_text

    kept = open_kept(model)
    if kept is not None:
        verbs_of(kept).show_rows(kept, table, rows, maps, wants_json)
        return
    refuse_maps(maps, model)
    fitted = open_model(model)
    opened, typical = OpenedTable(fitted, table), typical_text(fitted.encoder_)
    explained = opened.explain(rows)
    if wants_json:
        echo_json([explanation_json(one) for one in explained])
        return
    echo_notes(opened.notes)
    for i, one in enumerate(explained):
        echo(*[""] * (i > 0), *explanation_text(one, typical))


def explanation_json(one: "Explanation") -> dict[str, object]:
    """An explanation as JSON values."""
    reasons = [reason_json(reason) for reason in one.reasons]
    like_it = [{name: getattr(other, name) for name in SHORT} for other in one.like_it]
    return {**one._asdict(), "reasons": reasons, "like_it": like_it}


def reason_json(reason: "Reason") -> dict[str, object]:
    """A reason as JSON values."""
    return {name: getattr(reason, name) for name in ("column", "contribution", "text")}


def alert_text(rank: int, one: "Explanation") -> list[str]:
    """An alert as a few lines."""
    name = one.id if one.id == f"row {one.row}" else f"{one.id} (row {one.row})"
    lines = [
        f"{rank:>4}  {name}  score {one.score:.2f}  p-value {p_value_text(one.p_value)}",
        *(f"      {reason.text}" for reason in one.reasons),
    ]
    if one.nearest:
        lines.append(f"      most like the labelled anomaly {one.nearest}")
    if one.like_it:
        in_order = sorted(one.like_it, key=lambda other: other.row)
        lines.append(f"      {like_text([other.id for other in in_order])}")
    return lines


def like_text(names: list[str]) -> str:
    """How many alerts are nearly the same row as one, and which.

    >>> like_text(["P07", "P09"]), like_text(["row 4"])
    ('2 more alerts are nearly the same: P07, P09', '1 more alert is nearly the same: row 4')
    """
    number = count_text(len(names), "more alert is", "more alerts are")
    return f"{number} nearly the same: {some_names(names, N_LIKE)}"


def explanation_text(one: "Explanation", typical: str = "a typical row") -> list[str]:
    """What each column adds to the score of a typical row, as the lines of a sum."""
    name = f"Row {one.row}" if one.id == f"row {one.row}" else f"Row {one.row}, {one.id}"
    large = {name: part for name, part in one.contributions.items() if abs(part) >= LEAST_SHOWN}
    rest = sum(one.contributions.values()) - sum(large.values())
    shown = [(visible(column), part) for column, part in large.items()]
    width = max([len(typical), *(len(column) for column, _ in shown)])
    lines = [
        f"{name}: score {one.score:.2f}, p-value {p_value_text(one.p_value)}",
        f"  {share_text(one.p_value)} of the unlabelled rows score as high",
        f"  {typical:<{width}}  {one.baseline_score:>7.2f}",
        *(f"  {column:<{width}}  {part:>+7.2f}" for column, part in shown),
        f"  {'all others':<{width}}  {rest:>+7.2f}",
        f"  {'score':<{width}}  {one.score:>7.2f}",
        *(f"  {reason.text}" for reason in one.reasons),
    ]
    if one.nearest and one.p_value <= HIGH:
        lines.append(f"  most like the labelled anomaly {one.nearest}")
    return lines
