"""What a finished job wrote: for its caller, and as a file for those who come later."""

from collections.abc import Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

from devnet.core.sentence import Sentence, Setting
from devnet.serving.cluster.part_files import PartRecord
from devnet.serving.cluster.plan import Plan


class ScoredFolder(NamedTuple):
    """What was written."""

    folder: str  # where: beside the given folder, if that has the parts of another job
    n_parts: int
    n_taken_over: int  # parts that an earlier run of the same job had finished
    n_rows: int
    n_alerts: int
    threshold: float
    policy: str  # which rows are alerts, in words
    notes: list[str | Sentence]  # what is odd about the table, and what has changed


def manifest_of(done: ScoredFolder, plan: Plan, records: Sequence[PartRecord]) -> dict[str, Any]:
    """A finished job as JSON values, with each of its parts in the order of rows."""
    parts = [
        {
            "name": name,
            "table": part.shown,
            "n_rows": record.n_rows,
            "n_alerts": record.n_alerts,
            "checksum": record.checksums[name],
        }
        for name, part, record in zip(plan.part_names(), plan.parts, records, strict=True)
    ]
    return {
        **plan.header(),
        "n_rows": done.n_rows,
        "n_alerts": done.n_alerts,
        "threshold": done.threshold if isfinite(done.threshold) else None,
        "notes": [_note_to_json(note) for note in done.notes],
        "parts": parts,
    }


def recorded(folder: str, plan: Plan, manifest: dict[str, Any]) -> ScoredFolder:
    """What was written by a job that is finished already."""
    threshold, n_parts = manifest["threshold"], len(plan.parts)
    return ScoredFolder(
        folder,
        n_parts,
        n_parts,
        manifest["n_rows"],
        manifest["n_alerts"],
        inf if threshold is None else threshold,
        plan.policy.in_words(),
        [_note_from_json(note) for note in manifest["notes"]],
    )


def _note_to_json(note: str | Sentence) -> Any:
    if isinstance(note, str):
        return note
    return [one if isinstance(one, str) else one._asdict() for one in note.parts]


def _note_from_json(note: Any) -> str | Sentence:
    if isinstance(note, str):
        return note
    return Sentence(*(one if isinstance(one, str) else Setting(**one) for one in note))
