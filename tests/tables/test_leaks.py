"""Columns that tell the label: one, two or three together; and none by chance."""

import numpy as np
import pyarrow as pa
import pytest

import devnet
from devnet.tables import TableModel
from devnet.tables.description import fit_notes
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.leaks import Leak, find_leak

N, N_LABELLED = 1200, 40


def clean(seed, n=N, n_labelled=N_LABELLED, n_columns=8):
    """Numbers, categories and flags, of which some differ a little among anomalies."""
    generator = np.random.default_rng(seed)
    is_labelled = generator.permutation(n) < n_labelled
    is_anomaly = is_labelled | (generator.random(n) < 0.02)
    columns = {}
    for i in range(n_columns):
        shift = is_anomaly * generator.random() * 2
        columns[f"number {i}"] = generator.normal(size=n) + shift
        columns[f"flag {i}"] = generator.random(n) + shift / 4 > 0.7
        columns[f"shop {i}"] = generator.choice(list("abcde"), n, p=generator.dirichlet(np.ones(5)))
    return columns, is_labelled, generator


def leak(columns, is_labelled, seed=0):
    table = pa.table(columns)
    summary = TableSummary(table.schema)
    summary.add(table)
    parts = [table.filter(is_labelled == kind) for kind in (False, True)]
    encoder = TableEncoder.learn(summary, parts[0])
    return find_leak(encoder, *map(encoder.encode, parts), np.random.default_rng(seed))


def one(generator, is_labelled):
    return {"closed": np.where(is_labelled, "yes", "no")}


def two_flags_that_differ(generator, is_labelled):
    first = generator.random(len(is_labelled)) < 0.5
    return {"sent": first, "received": first ^ is_labelled}


def two_amounts_with_a_difference(generator, is_labelled):
    paid = generator.lognormal(3, 1, len(is_labelled))
    return {"paid": paid, "booked": paid - 5 * is_labelled}


def two_states_that_meet(generator, is_labelled):
    kind = np.where(is_labelled, 0, generator.integers(1, 4, len(is_labelled)))
    return {"state": np.where(kind < 2, "done", "open"), "team": np.where(kind % 2, "A", "B")}


def three_flags_that_meet(generator, is_labelled):
    missing = np.where(is_labelled, 3, generator.integers(0, 3, len(is_labelled)))
    return {name: missing != i for i, name in enumerate(("seen", "called", "refunded"))}


LEAKS = [
    one,
    two_flags_that_differ,
    two_amounts_with_a_difference,
    two_states_that_meet,
    three_flags_that_meet,
]


@pytest.mark.parametrize("made", LEAKS)
@pytest.mark.parametrize("n_labelled", [10, 40])
def test_columns_that_tell_the_label_together_are_found(made, n_labelled):
    columns, is_labelled, generator = clean(1, n_labelled=n_labelled)
    telling = made(generator, is_labelled)
    found = leak({**columns, **telling}, is_labelled)
    assert found is not None
    assert set(found.columns) == set(telling)
    assert found.n_found == found.n_labelled == n_labelled
    assert found.n_others == 0


@pytest.mark.parametrize("number", range(20))
def test_clean_tables_have_no_leak(number):
    generator = np.random.default_rng(number)
    n_labelled, n_columns = int(generator.integers(3, 50)), int(generator.integers(1, 12))
    columns, is_labelled, _ = clean(
        number, int(generator.integers(100, 1500)), n_labelled, n_columns
    )
    assert leak(columns, is_labelled) is None


def test_the_fit_notes_a_leak_of_two_columns_and_the_file_keeps_it(tmp_path):
    columns, is_labelled, generator = clean(0, n_columns=2)
    telling = two_flags_that_differ(generator, is_labelled)
    label = [1 if labelled else None for labelled in is_labelled]
    model = TableModel("PU trees", random_state=0)
    model.fit({**columns, **telling, "fraud": label}, "fraud")
    (note,) = [str(note) for note in fit_notes(model) if "separate" in str(note)]
    assert note == (
        "the columns 'sent' and 'received' separate labelled anomalies almost completely, "
        "together: on unseen rows, 40 of 40 from all but 0 of 1,160 others. If they are filled in "
        "only after an anomaly is confirmed, leave them out: ignore=['sent', 'received']"
    )
    model.save(tmp_path / "m.devnet")
    assert devnet.load(tmp_path / "m.devnet").leak_ == model.leak_


def test_a_leak_of_one_column_is_said_of_one():
    note = str(Leak(("closed",), 9, 10, 0, 500).note())
    assert note.startswith("the column 'closed' separates labelled anomalies almost by itself")
    assert note.endswith("If it is filled in only after an anomaly is confirmed, leave it out: "
                         "ignore=['closed']")  # fmt: skip
