"""Tables with free text: what becomes of messages, addresses and descriptions."""

import json
import uuid
from base64 import b64encode

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import average_precision_score

import devnet
from devnet import TableModel
from devnet.core.model_file import ModelFileError
from devnet.experiments.comparison import compare_methods
from devnet.tables.columns.kinds import encoding_from_header
from devnet.tables.columns.left_out import Why
from devnet.tables.description import column_importance
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.table_error import TableError

N = 1500
USUAL = [
    "invoice",
    "office",
    "lunch",
    "travel",
    "hotel",
    "train",
    "ticket",
    "desk",
    "paper",
    "coffee",
]
ODD = ["voucher", "urgent", "crypto", "wallet"]
CODES = [np.random.default_rng(i).bytes(16) for i in range(300)]
SMALL = {"n_networks": 2, "n_trees": 8}


def bookings(seed=0):
    """Amounts say nothing; descriptions of anomalies have two odd words."""
    generator = np.random.default_rng(seed)
    is_anomaly = np.arange(N) % 25 == 0
    description = [
        " ".join([*generator.choice(USUAL, generator.integers(4, 8)), *odd])
        for odd in (generator.choice(ODD, 2) if one else () for one in is_anomaly)
    ]
    table = {
        "booking": [f"P{i:06}" for i in range(N)],
        "amount": generator.lognormal(3, 1, N),
        "shop": generator.choice(["north", "south", "west"], N),
        "description": [None if i % 100 == 7 else text for i, text in enumerate(description)],
        "fraud": [1 if i % 75 == 0 else None for i in range(N)],
    }
    return pa.table(table), is_anomaly


@pytest.fixture(scope="module")
def table():
    return bookings()[0]


@pytest.fixture(scope="module")
def model(table):
    return TableModel(random_state=0, parameters=SMALL).fit(table, "fraud")


def encoder_of(values):
    table = pa.table({"column": values, "used": np.arange(len(values)) % 3 / 2})
    summary = TableSummary(table.schema)
    summary.add(table)
    return TableEncoder.learn(summary, table)


def kind_of(values):
    encoder = encoder_of(values)
    found = {column.name: column.kind for column in encoder.columns}
    return found.get("column") or encoder.left_out["column"].text


def some(words, i, size=5):
    return [words[(i * 7 + j * (i % 5 + 1)) % len(words)] for j in range(size)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([" ".join(some(USUAL, i)) + f" {i}" for i in range(300)], "text"),
        (
            [f"https://{some(USUAL, i)[0]}.com/{some(USUAL, i)[1]}?q={i}" for i in range(300)],
            "text",
        ),
        ([f"{some(USUAL, i)[0]}.{i}@{some(ODD, i)[0]}.org" for i in range(300)], "text"),
        ([f"{' '.join(some(USUAL, i % 90))} {i % 90}" for i in range(300)], "text"),
        ([f"P{i:09}" for i in range(300)], "identifier: every value occurs once"),
        ([str(uuid.UUID(bytes=code)) for code in CODES], "identifier: every value occurs once"),
        ([code.hex() for code in CODES], "identifier: every value occurs once"),
        ([b64encode(code).decode() for code in CODES], "identifier: every value occurs once"),
        ([f"ORD-2026-{i:05}" for i in range(300)], "identifier: every value occurs once"),
        ([f"10.0.{i // 250}.{i % 250}" for i in range(300)], "identifier: every value occurs once"),
        ([" ".join(some(USUAL, i % 40)) for i in range(300)], "category"),
        ([f"town {i % 60}" for i in range(300)], "category"),
    ],
)
def test_free_text_is_told_from_identifiers_and_categories(values, kind):
    assert kind_of(values) == kind


def test_only_the_description_tells_anomalies_and_is_found(model, table):
    later, is_anomaly = bookings(seed=1)
    scores = model.score(later)["anomaly_score"].to_numpy()
    assert average_precision_score(is_anomaly, scores) > 0.9
    without = TableModel(random_state=0, parameters=SMALL, ignore=["description"])
    scores = without.fit(table, "fraud").score(later)["anomaly_score"].to_numpy()
    assert average_precision_score(is_anomaly, scores) < 0.3


def test_description_contains_voucher_is_a_reason(model):
    description = "train ticket urgent voucher hotel"
    row = {"amount": [20.0], "shop": ["north"], "description": [description]}
    (found,) = model.explain(row, 0)
    assert found.reasons[0].column == "description"
    assert found.reasons[0].text.startswith("description contains 'urgent voucher': +")
    assert sum(found.contributions.values()) == pytest.approx(
        found.score - found.baseline_score, abs=1e-3
    )


def test_a_missing_description_says_so(model):
    row = {"amount": [20.0], "shop": ["north"], "description": pa.array([None], pa.string())}
    (found,) = model.explain(row, 0)
    assert set(found.contributions) <= {"amount", "shop", "description"}
    phrase = model.encoder_.phrase({"description": None}, "description")
    assert phrase == "description is missing (as in 1% of rows)"


def test_a_row_with_text_scores_the_same_alone_saved_and_loaded(model, table, tmp_path):
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    scores = model.score(table)["anomaly_score"].to_numpy()
    assert np.array_equal(loaded.score(table)["anomaly_score"].to_numpy(), scores)
    for row in (0, 7, 75, N - 1):
        assert loaded.score(table.slice(row, 1))["anomaly_score"][0].as_py() == scores[row]
    assert loaded.explain(table, 75) == model.explain(table, 75)


def test_csv_and_parquet_with_text_score_alike(model, table, tmp_path):
    pcsv.write_csv(table, tmp_path / "t.csv")
    pq.write_table(table, tmp_path / "t.parquet")
    by_file = [
        model.score(tmp_path / name)["anomaly_score"].to_numpy() for name in ("t.csv", "t.parquet")
    ]
    assert np.array_equal(*by_file)


def test_long_batches_with_text_are_scored_part_by_part(model, table, monkeypatch):
    whole = model.score(table)["anomaly_score"].to_numpy()
    monkeypatch.setattr("devnet.tables.row_scores.TEXT_ROWS", 100)
    assert np.array_equal(model.score(table)["anomaly_score"].to_numpy(), whole)


def test_methods_that_cannot_use_text_leave_it_out_and_say_so(table):
    found = TableModel("PU trees", random_state=0, parameters={"n_trees": 4}).fit(table, "fraud")
    left_out = found.encoder_.left_out["description"]
    assert left_out.reason is Why.TEXT
    assert left_out.text == "text: PU trees does not learn from text"
    assert [column.name for column in found.encoder_.columns] == ["amount", "shop"]


def test_pu_trees_on_nothing_but_text_is_refused(table):
    with pytest.raises(TableError, match="PU trees does not learn from text, and the table has"):
        TableModel("PU trees").fit(table.select(["description", "fraud"]), "fraud")


def test_compare_says_which_methods_leave_text_out(table):
    methods = ["deviation ensemble", "iForest"]
    found = compare_methods(table, "fraud", methods=methods, n_repeats=1, random_state=0)
    (note,) = [str(note) for note in found.notes if "text" in str(note)]
    assert note == (
        "description: text, from which only deviation ensemble learned; iForest left it out."
    )
    assert found.recommended == "deviation ensemble"
    alone = table.select(["description", "fraud"])
    found = compare_methods(alone, "fraud", methods=methods, n_repeats=1, random_state=0)
    assert found.failed["iForest"].startswith("iForest does not learn from text, and the table")


def test_a_table_of_nothing_but_text_is_learned_from(table):
    found = TableModel(random_state=0).fit(table.select(["description", "fraud"]), "fraud")
    later, is_anomaly = bookings(seed=1)
    scores = found.score(later)["anomaly_score"].to_numpy()
    assert average_precision_score(is_anomaly, scores) > 0.9
    (reason, *_) = found.explain(table, 75)[0].reasons
    assert reason.text.startswith("description contains ")


def test_two_texts_have_a_vote_each(table):
    both = table.append_column("note", pa.chunked_array([table["description"].to_pylist()[::-1]]))
    found = TableModel(random_state=0, parameters=SMALL).fit(both, "fraud")
    importance = column_importance(found)
    assert found.detector_.learners_.n_scorers == len(found.detector_.combination_.scale) >= 4
    assert importance["description"] > 5 * importance["note"]  # which is that of another row


def test_long_messages_become_words_and_short_addresses_runs_of_characters_too():
    generator = np.random.default_rng(0)
    words = [one + other for one in USUAL for other in USUAL]
    long = ["Dear team, " * 20 + " ".join(generator.choice(words, 40)) for _ in range(300)]
    short = [f"https://{some(USUAL, i)[0]}.com/{some(USUAL, i)[1]}?q={i}" for i in range(300)]
    for values, detail in ((long, "words; 6"), (short, "words and runs of characters; 3")):
        assert encoder_of(values).columns[0].detail().startswith(detail)


def test_a_text_column_of_a_model_file_is_checked(model):
    header = next(c for c in model.encoder_.columns if c.kind == "text").to_header()
    assert encoding_from_header(json.loads(json.dumps(header))).to_header() == header
    for wrong in (
        {"size": 1000},
        {"size": 1 << 30},
        {"length": -1.0},
        {"size": "wide"},
        {"has_runs": 1},
    ):
        with pytest.raises(ModelFileError):
            encoding_from_header({**header, **wrong})
