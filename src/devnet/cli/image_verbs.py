"""Verbs on folders of images: what they print and write."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.deep_options import DeepOptions
from devnet.cli.model_text import fact_lines
from devnet.cli.terminal import echo, echo_json, echo_notes
from devnet.core.wording import count_text, megabytes_text, p_value_text, share_text

if TYPE_CHECKING:
    from devnet.deep.images.image_model import ImageAlert, ImageModel

SHADES = " .:-=+*#%@"  # of a map in a terminal, from typical to anomalous
MAP_ROWS, MAP_COLUMNS = 16, 40  # at most

Done = tuple[dict[str, Any], str]
"""What was scored, as JSON values, and what it is called."""

MANY_HELD_BACK = 200  # images; with fewer, p-values are coarse


def fit_images(
    folder: str,
    output: Path,
    labels: Path | None,
    seed: int,
    deep: DeepOptions,
    policy: Any,
    report: Path | None,
    wants_json: bool,
) -> None:
    """Learn from a folder of images and say what was learned."""
    from devnet.core.whole_file import check_target
    from devnet.deep.images.image_devnet import ImageDevNet
    from devnet.deep.images.image_model import (
        PATCH_SETTINGS,
        ImageModel,
        refuse_overwriting_images,
    )
    from devnet.deep.methods import require_torch
    from devnet.report.page import check_report

    start = time.perf_counter()
    require_torch("learning from images")
    deep.refuse_but("a folder of images", "head", "size")
    if deep.head == "steps":
        raise click.UsageError("--head steps is for series; images have 'global' and 'patches'.")
    refuse_overwriting_images(folder, labels, output, report)
    check_target(output)
    check_report(report)
    head = deep.head or "global"
    settings = PATCH_SETTINGS if head == "patches" else {}
    detector = ImageDevNet(
        head=head, size=deep.size, random_state=seed, verbose=not wants_json, **settings
    )
    model = ImageModel(detector, random_state=seed, **({"policy": policy} if policy else {}))
    model.fit(folder, labels)
    model.save(output)
    if report is not None:
        _write_report(model, folder, labels, report)
    seconds = time.perf_counter() - start
    facts = facts_of(model)
    if wants_json:
        echo_json({"model": str(output), "seconds": seconds, **facts})
        return
    echo_notes(facts["notes"])
    echo(f"Learned from {folder} in {seconds:.1f} s.", "", *facts_text(facts))
    echo(f"Model          {output}, {megabytes_text(output.stat().st_size)}")
    if report is not None:
        echo(f"Report         {report}")
    echo("", f"Next: devnet alerts {output} {folder} --budget 10 --maps maps")


def facts_of(model: "ImageModel") -> dict[str, Any]:
    """What a model of images is about, as JSON values."""
    from devnet.deep.images.reading import shape_text
    from devnet.tables.row_scores import alert_threshold

    needs_scores = model.policy.needs_scores
    n_ranked = len(model.calibration_.unlabelled)
    notes = []
    if n_ranked < MANY_HELD_BACK:
        notes.append(
            f"p-values are ranks among {n_ranked} images that were held back, so none is below "
            f"{share_text(1 / (1 + n_ranked))}; more unlabelled images make them finer."
        )
    return {
        "method": type(model.detector_).__name__,
        "head": model.detector_.head,
        "images": model.n_rows_,
        "shape": shape_text(model.detector_.image_shape_),
        "labelled_anomalies": model.n_labelled_,
        "known_normals": model.n_normal_,
        "policy": model.policy.in_words(),
        "threshold": None if needs_scores else alert_threshold(model, None).score,
        "notes": notes,
    }


def facts_text(facts: dict[str, Any]) -> list[str]:
    """The facts as lines."""
    normal = f", as normal: {facts['known_normals']:,}" if facts["known_normals"] else ""
    labelled = f"labelled as anomalies: {facts['labelled_anomalies']:,}{normal}"
    above = "" if facts["threshold"] is None else f": scores above {facts['threshold']:.2f}"
    return [
        *fact_lines("Method", f"{facts['method']}, {facts['head']} head"),
        *fact_lines("Images", f"{facts['images']:,} of {facts['shape']}; {labelled}"),
        *fact_lines("Alerts", facts["policy"].replace("rows", "images") + above),
    ]


def score_all(model: "ImageModel", folder: str, output: Path, policy: Any) -> Done:
    """Write names, scores, p-values and alerts of images."""
    from devnet.tables.output import check_output, open_output

    check_output(output, model.empty_scores().schema)
    scored = model.score(folder, policy)
    with open_output(output, scored.schema) as write:
        for batch in scored.to_batches():
            write(batch)
    n_alerts = sum(scored["is_alert"].to_pylist())
    words = (policy or model.policy).in_words().replace("rows", "images")
    return {"n_images": len(scored), "n_alerts": n_alerts, "policy": words}, "images"


def show_alerts(
    model: "ImageModel",
    folder: str,
    policy: Any,
    show: int,
    known: bool,
    maps: Path | None,
    wants_json: bool,
) -> None:
    """Rank the images that are alerts."""
    found = model.find_alerts(folder, policy=policy, n_shown=show, known=known)
    written = _write_maps(model, found.shown, maps)
    words = (policy or model.policy).in_words().replace("rows", "images")
    if wants_json:
        shown = [_json(one) for one in found.shown]
        echo_json({**found._asdict(), "policy": words, "shown": shown, "maps": written})
        return
    number = count_text(found.n_alerts, "alert", "alerts")
    echo(f"{number} in {found.n_images:,} images ({words}, threshold {found.threshold:.2f})")
    if found.n_known:
        echo(f"{found.n_known:,} images in the subfolder 'anomaly' are left out; see --known")
    for rank, one in enumerate(found.shown, start=1):
        echo(
            "",
            f"{rank:>4}  {one.name}  score {one.score:.2f}  p-value {p_value_text(one.p_value)}",
            f"      most anomalous at row {one.peak.row}, column {one.peak.column}",
        )
    if found.n_alerts > len(found.shown):
        echo("", f"... and {found.n_alerts - len(found.shown):,} more; show them with --show")
    if maps is not None:
        echo("", f"Maps of {count_text(len(written), 'image', 'images')} are in {maps}.")


def show_rows(
    model: "ImageModel",
    folder: str,
    rows: tuple[int, ...],
    maps: Path | None,
    wants_json: bool,
) -> None:
    """Show where images are anomalous."""
    explained = model.explain(folder, rows)
    written = _write_maps(model, explained, maps)
    if wants_json:
        echo_json([{**_json(one), "maps": written} for one in explained])
        return
    for i, one in enumerate(explained):
        echo(
            *[""] * (i > 0),
            f"{one.name}: score {one.score:.2f}, p-value {p_value_text(one.p_value)}",
            f"  {share_text(one.p_value)} of the unlabelled images score as high",
            f"  most anomalous at row {one.peak.row}, column {one.peak.column}:",
            "",
            *(f"  {line}" for line in drawn_map(model.detector_.anomaly_map([one.file])[0])),
        )
    if maps is not None:
        echo("", f"Maps of {count_text(len(written), 'image', 'images')} are in {maps}.")


def drawn_map(values: Any) -> list[str]:
    """A map as lines of characters, darker where it is more anomalous.

    >>> import numpy as np
    >>> drawn_map(np.eye(3))
    ['@@    ', '  @@  ', '    @@']
    """
    import numpy as np

    rows = np.array_split(np.arange(values.shape[0]), min(MAP_ROWS, values.shape[0]))
    columns = np.array_split(np.arange(values.shape[1]), min(MAP_COLUMNS, values.shape[1]))
    level = np.array([[values[np.ix_(r, c)].max() for c in columns] for r in rows])
    level = np.clip(level / max(level.max(), 1e-12), 0, 1)
    shade = (level * (len(SHADES) - 1)).round().astype(int)
    return ["".join(SHADES[one] * 2 for one in row) for row in shade]


def _write_maps(model: "ImageModel", shown: "list[ImageAlert]", maps: Path | None) -> list[str]:
    if maps is None or not shown:
        return []
    return [str(path) for path in model.detector_.save_overlays([one.file for one in shown], maps)]


def _json(one: "ImageAlert") -> dict[str, Any]:
    return {**one._asdict(), "file": str(one.file), "peak": one.peak._asdict()}


def _write_report(model: "ImageModel", folder: str, labels: Path | None, path: Path) -> None:
    from devnet.core.whole_file import write_whole
    from devnet.deep.images.image_folder import labelled_images
    from devnet.report.image_page import make_image_page

    files, y = labelled_images(folder, labels)
    known = [file for file, label in zip(files, y, strict=True) if label == 1]
    labelled = model.detector_.anomaly_score(known)
    write_whole(path, make_image_page(model, folder, labelled).encode())
