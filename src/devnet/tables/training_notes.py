"""What a user should know about a training table, whatever is learned from it."""

import numpy as np

from devnet.core.sentence import Sentence
from devnet.tables.description import spelling_notes
from devnet.tables.encoder import TableEncoder
from devnet.tables.leaks import MOST_LABELLED, MOST_UNLABELLED, find_leak
from devnet.tables.reservoir import smallest
from devnet.tables.training_rows import TrainingRows


def training_notes(rows: TrainingRows) -> list[str | Sentence]:
    """Notes on spellings of a label, scores of an earlier model, columns that give labels away."""
    notes = spelling_notes(rows.label, rows.spellings)
    if rows.summary.scored:
        names = ", ".join(name for name in rows.summary.schema.names if name in rows.summary.scored)
        notes.append(f"the table was scored before; its scores are not learned from: {names}")
    others = rows.others()
    encoder = TableEncoder.learn(rows.summary, others.rows)
    unlabelled = smallest([others], MOST_UNLABELLED).rows
    labelled = smallest([rows.labelled], MOST_LABELLED).rows
    generator = np.random.default_rng(0)
    leak = find_leak(encoder, encoder.encode(unlabelled), encoder.encode(labelled), generator)
    return notes if leak is None else [*notes, leak.note()]
