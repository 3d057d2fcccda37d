"""Verbs on series: what they print and write."""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.deep_options import NEEDS_COLUMNS, DeepOptions
from devnet.cli.model_text import fact_lines
from devnet.cli.table_options import TrainingOptions
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.wording import count_text, megabytes_text, p_value_text, share_text, some_names

if TYPE_CHECKING:
    from devnet.deep.sequences.opened_series import SeriesEvent
    from devnet.deep.sequences.series_model import SeriesModel

LEVELS = " ▁▂▃▄▅▆▇█"  # of a profile in a terminal
Done = tuple[dict[str, Any], str]
"""What was scored, as JSON values, and what it is called."""

COARSE = (
    "the series is short, so p-values are coarse; more normal steps or a shorter --length make "
    "them finer. 'devnet alerts --budget N' shows the N highest events in any case."
)
PROFILE_WIDTH = 64  # characters
AROUND = 2  # windows on either side of an event that is drawn


def fit_series_table(
    table: str,
    output: Path,
    training: TrainingOptions,
    deep: DeepOptions,
    policy: Any,
    report: Path | None,
    wants_json: bool,
) -> None:
    """Learn from a series and say what was learned."""
    from devnet.core.whole_file import check_target
    from devnet.deep.methods import require_torch
    from devnet.deep.sequences.sequence_devnet import SequenceDevNet
    from devnet.deep.sequences.series_model import USUAL_LENGTH, USUAL_RATE, SeriesModel
    from devnet.report.page import check_report
    from devnet.tables.overwriting import refuse_overwriting

    start = time.perf_counter()
    require_torch("learning from a series")
    deep.refuse_but("a series", "series", "time", "channels", "length", "head")
    if not deep.time or not training.label:
        raise click.UsageError(NEEDS_COLUMNS)
    if deep.head == "patches":
        raise click.UsageError("--head patches is for images; series have 'global' and 'steps'.")
    refuse_overwriting(table, output, report)
    check_target(output)
    check_report(report)
    head, seed = deep.head or "global", training.seed
    model = SeriesModel(
        SequenceDevNet(head=head, random_state=seed, verbose=not wants_json),
        random_state=seed,
        **training.conventions()._asdict(),
        **({"policy": policy} if policy else {}),
    )
    model.rate_or_refuse()
    length = deep.length or USUAL_LENGTH
    model.fit(table, time=deep.time, label=training.label, channels=deep.channels, length=length)
    model.save(output)
    if report is not None:
        _write_report(model, table, report)
    seconds = time.perf_counter() - start
    facts = facts_of(model)
    notes = [*model.notes, *([COARSE] if facts["smallest_p_value"] > USUAL_RATE else [])]
    if wants_json:
        echo_json({"model": str(output), "seconds": seconds, **facts, "notes": notes})
        return
    echo_notes(notes)
    echo(f"Learned from {table} in {seconds:.1f} s.", "", *facts_text(facts))
    echo(f"Model          {output}, {megabytes_text(output.stat().st_size)}")
    if report is not None:
        echo(f"Report         {report}")
    echo("", f"Next: {shlex.join(['devnet', 'alerts', str(output), table])}")


def facts_of(model: "SeriesModel") -> dict[str, Any]:
    """What a model of series is about, as JSON values."""
    ranks = model.calibration_
    return {
        "method": type(model.detector_).__name__,
        "head": model.detector_.head,
        "steps": model.n_rows_,
        "labelled_intervals": model.n_labelled_,
        "time": model.time_,
        "channels": list(model.channels_),
        "label": model.label_,
        "window": ranks.length,
        "rate": model.rate(),
        "smallest_p_value": ranks.smallest,
    }


def facts_text(facts: dict[str, Any]) -> list[str]:
    """The facts as lines."""
    intervals = count_text(facts["labelled_intervals"], "interval", "intervals")
    channels = f"{len(facts['channels'])}: {some_names(facts['channels'], 8)}"
    return [
        *fact_lines("Method", f"{facts['method']}, {facts['head']} head"),
        *fact_lines("Steps", f"{facts['steps']:,}; labelled as anomalies: {intervals}"),
        *fact_lines("Channels", channels),
        *fact_lines("Windows", f"of {facts['window']} steps"),
        *fact_lines(
            "Alarms",
            f"steps that score as high as the top {share_text(facts['rate'])} of normal steps; "
            f"no p-value is below {share_text(facts['smallest_p_value'])}",
        ),
    ]


def score_all(model: "SeriesModel", table: str, output: Path, policy: Any) -> Done:
    """Write time, score, p-value and alarm of each step."""
    from devnet.deep.sequences.opened_series import OpenedSeries
    from devnet.tables.output import open_output

    opened = OpenedSeries(model, table)
    echo_notes(opened.notes)
    scored = opened.score(policy)
    with open_output(output, scored.schema) as write:
        for batch in scored.to_batches():
            write(batch)
    n_alerts = sum(scored["is_alert"].to_pylist())
    rate = share_text(model.rate(policy))
    words = f"steps that score as high as the top {rate} of normal steps"
    return {"n_steps": len(scored), "n_alerts": n_alerts, "policy": words}, "steps"


def show_alerts(
    model: "SeriesModel",
    table: str,
    policy: Any,
    show: int,
    known: bool,
    maps: Path | None,
    wants_json: bool,
) -> None:
    """Rank the events of a series."""
    from devnet.deep.sequences.opened_series import OpenedSeries

    _refuse_maps(maps)
    if known:
        raise click.UsageError("--known is for tables and images; events are shown, known or not.")
    opened = OpenedSeries(model, table)
    found = opened.find_events(policy, n_shown=show)
    if wants_json:
        shown = [one._asdict() for one in found.shown]
        echo_json({**found._asdict(), "shown": shown, "notes": opened.notes})
        return
    echo_notes(opened.notes)
    number = count_text(found.n_events, "event", "events")
    rate = share_text(found.rate)
    echo(f"{number} in {found.n_steps:,} steps (as high as the top {rate} of normal steps)")
    for rank, one in enumerate(found.shown, start=1):
        echo("", *event_text(rank, one))
    if found.n_events > len(found.shown):
        echo("", f"... and {found.n_events - len(found.shown):,} more; show them with --show")


def event_text(rank: int, one: "SeriesEvent") -> list[str]:
    """An event as two lines."""
    first, last, peak = one.times
    steps = count_text(one.end - one.start, "step", "steps")
    return [
        f"{rank:>4}  {first} to {last}  score {one.score:.2f}  p-value {p_value_text(one.p_value)}",
        f"      {steps}, rows {one.start} to {one.end - 1}; highest at {peak} (row {one.peak})",
    ]


def show_rows(
    model: "SeriesModel",
    table: str,
    rows: tuple[int, ...],
    maps: Path | None,
    wants_json: bool,
) -> None:
    """Show how scores and channels run around rows of a series."""
    from devnet.deep.sequences.opened_series import OpenedSeries, time_text

    _refuse_maps(maps)
    opened = OpenedSeries(model, table)
    around = AROUND * model.calibration_.length
    told = []
    for i, row in enumerate(rows):
        part, scored, start = opened.profile(row, around)
        at = row - start
        facts = {
            "row": row,
            "time": time_text(part.times[at]),
            "score": float(scored.score[at]),
            "p_value": float(scored.p_value[at]),
            "first_row": start,
            "profile": scored.score.tolist(),
        }
        told.append(facts)
        if wants_json:
            continue
        width = max(len("score"), *(len(name) for name in part.channels))
        lines = {"score": scored.score, **dict(zip(part.channels, part.series.T, strict=True))}
        echo(
            *[""] * (i > 0),
            f"Row {row}, {facts['time']}: score {facts['score']:.2f}, "
            f"p-value {p_value_text(facts['p_value'])}",
            f"  from row {start}, {time_text(part.times[0])}, to row "
            f"{start + len(part.times) - 1}, {time_text(part.times[-1])}:",
            *(f"  {name:<{width}}  {sparkline(values)}" for name, values in lines.items()),
            f"  {'':<{width}}  {_mark(at, len(part.times))}",
        )
    if wants_json:
        echo_json(told)


def sparkline(values: Any) -> str:
    """A line of characters as high as values; blank where they are missing.

    >>> sparkline([0, 1, 2, float("nan"), 4])
    '▁▃▄ █'
    """
    import numpy as np

    values = np.asarray(values, dtype=float)
    parts = np.array_split(values, min(PROFILE_WIDTH, len(values)))
    highest = np.array([np.nanmax(p) if np.isfinite(p).any() else np.nan for p in parts])
    known = highest[np.isfinite(highest)]
    if not len(known):
        return ""
    low, high = known.min(), known.max()
    level = 1 + (len(LEVELS) - 2) * (highest - low) / ((high - low) or 1)
    return "".join(LEVELS[0 if np.isnan(one) else round(one)] for one in level)


def _refuse_maps(maps: Path | None) -> None:
    if maps is not None:
        raise click.UsageError("--maps is for images; a series is drawn in the report of its fit.")


def _mark(at: int, n_steps: int) -> str:
    """A sign below the place of a step."""
    width = min(PROFILE_WIDTH, n_steps)
    return " " * int(at * width / n_steps) + "^"


def _write_report(model: "SeriesModel", table: str, path: Path) -> None:
    from devnet.core.whole_file import write_whole
    from devnet.report.series_page import make_series_page

    write_whole(path, make_series_page(model, table).encode())
