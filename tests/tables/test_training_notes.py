"""Notes about a table that any method learns from."""

import numpy as np

from devnet.tables.sources.opening import open_table
from devnet.tables.training_notes import training_notes
from devnet.tables.training_rows import read_training_rows

N = 600


def notes(**columns):
    generator = np.random.default_rng(0)
    label = ["Fraud" if i % 40 == 3 else "fraud" if i % 20 == 3 else None for i in range(N)]
    table = {"value": generator.normal(size=N), "other": generator.normal(size=N), "label": label}
    source = open_table({**table, **columns})
    found = read_training_rows(source, "label", generator=generator)
    return [str(note) for note in training_notes(found)]


def test_spellings_earlier_scores_and_columns_that_tell_the_label_are_noted():
    assert notes() == ["'Fraud', 'fraud' in the column 'label' are one label."]
    is_first = np.random.default_rng(1).random(N) < 0.5
    is_labelled = np.arange(N) % 20 == 3
    found = notes(
        sent=is_first,
        received=is_first ^ is_labelled,
        anomaly_score=is_labelled * 9.0,
        is_alert=is_labelled,
    )
    assert len(found) == 3
    assert found[1].endswith("not learned from: anomaly_score, is_alert")
    assert "the columns 'sent' and 'received' separate" in found[2]
