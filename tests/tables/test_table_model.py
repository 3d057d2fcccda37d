"""From a raw table with few labels to scores, alerts and reasons."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.payment_tables import N, fitted, make_table

import devnet
from devnet.detectors.methods import METHODS
from devnet.significance import Budget, Confidence, ExpectedCost, FalseAlarmRate, FalseDiscoveryRate
from devnet.tables import TableError, TableModel, score_table
from devnet.tables.opened_table import OpenedTable


@pytest.fixture(scope="module")
def table():
    return make_table()[0]


@pytest.fixture(scope="module")
def is_fraud():
    return make_table()[1]


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_hidden_fraud_is_ranked_first(model, table, is_fraud):
    scores = model.score(table)["anomaly_score"].to_numpy()
    hidden = is_fraud & table["fraud"].is_null().to_numpy(zero_copy_only=False)
    normal = ~is_fraud
    assert np.mean(scores[hidden][:, None] > scores[normal]) > 0.97


def test_columns_are_used_or_left_out_with_a_reason(model):
    assert [column.name for column in model.encoder_.columns] == ["time", "amount", "shop", "limit"]
    assert {name: str(one) for name, one in model.encoder_.left_out.items()} == {
        "payment": "identifier: every value occurs once",
        "currency": "constant: always 'EUR'",
    }
    assert (model.id_column, model.id_column_) == (None, "payment")
    assert (model.n_rows_, model.n_labelled_, model.anomaly_) == (N, 30, "1")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow stream", "dict"])
def test_the_kind_of_table_does_not_matter(model, table, kind):
    forms = {
        "pandas": lambda: table.to_pandas(),
        "polars": lambda: pl.from_arrow(table),
        "arrow stream": lambda: pa.RecordBatchReader.from_batches(
            table.schema, table.to_batches(100)
        ),
        "dict": lambda: {name: table[name].to_pylist() for name in table.column_names},
    }
    again = TableModel(random_state=0).fit(forms[kind](), "fraud")
    expected = model.score(table)["anomaly_score"].to_numpy()
    assert again.score(forms[kind]())["anomaly_score"].to_numpy().tolist() == expected.tolist()


def test_a_file_of_many_row_groups_is_learned_as_the_table_in_memory(model, table, tmp_path):
    path = tmp_path / "payments.parquet"
    pq.write_table(table, path, row_group_size=137)
    again = TableModel(random_state=0).fit(path, "fraud")
    assert again.score(path).equals(model.score(table))


def test_score_has_p_values_and_alerts(model, table):
    scored = model.score(table)
    assert scored.column_names == ["anomaly_score", "p_value", "nominal_p_value", "is_alert"]
    p_value = scored["p_value"].to_numpy()
    assert scored["is_alert"].to_numpy().tolist() == (p_value <= 0.01).tolist()
    assert model.predict(table).tolist() == scored["is_alert"].to_numpy().astype(int).tolist()


@pytest.mark.parametrize(
    "policy",
    [
        FalseAlarmRate(0.05),
        Confidence(0.9),
        Budget(17),
        FalseDiscoveryRate(0.5),
        ExpectedCost(100, 1),
    ],
)
def test_policies_are_exchanged_without_a_fit_and_kept_in_the_file(model, table, tmp_path, policy):
    before = model.policy
    try:
        model.policy = policy
        alerts = model.predict(table)
        model.save(tmp_path / "m.devnet")
    finally:
        model.policy = before
    again = devnet.load(tmp_path / "m.devnet")
    assert again.policy == policy
    assert again.predict(table).tolist() == alerts.tolist()
    if isinstance(policy, Budget):
        assert alerts.sum() == 17


@pytest.mark.parametrize("method", [name for name in METHODS if name != "deviation ensemble"])
def test_every_method_learns_from_a_table_and_survives_a_file(table, is_fraud, tmp_path, method):
    fewer = {"n_epochs": 5} if hasattr(METHODS[method](), "n_epochs") else {}
    model = TableModel(method, parameters=fewer, random_state=0).fit(table, "fraud")
    model.save(tmp_path / "m.devnet")
    again = devnet.load(tmp_path / "m.devnet")
    assert again.score(table).equals(model.score(table))
    (one,), (same,) = model.explain(table, [7]), again.explain(table, [7])
    assert one == same
    assert one.score - one.baseline_score == pytest.approx(
        sum(one.contributions.values()), abs=1e-3
    )
    assert 0.002 < (model.score(table)["p_value"].to_numpy()[~is_fraud] <= 0.05).mean() < 0.12


def test_the_file_gives_back_everything(model, table, tmp_path):
    model.save(tmp_path / "m.devnet")
    again = devnet.load(tmp_path / "m.devnet")
    assert again.score(table).equals(model.score(table))
    assert again.explain(table, [7, 8]) == model.explain(table, [7, 8])
    again.save(tmp_path / "again.devnet")
    assert (tmp_path / "again.devnet").read_bytes() == (tmp_path / "m.devnet").read_bytes()


def test_an_unfitted_model_says_so_and_a_fitted_one_what_it_is(model, table):
    with pytest.raises(ValueError, match=r"not fitted; call fit\(table, label\) first"):
        TableModel().score(table)
    assert repr(TableModel("DevNet")) == "TableModel('DevNet')"
    assert repr(model) == "TableModel('deviation ensemble', fitted to fraud = 1)"


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_scoring_from_file_to_file_is_scoring_in_memory(model, table, tmp_path, suffix):
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=500)
    output = tmp_path / f"out.{suffix}"
    done = score_table(model, tmp_path / "in.parquet", output, policy=Budget(30))
    assert (done.n_rows, done.n_alerts) == (N, 30)
    from devnet.tables import open_table

    written = pa.Table.from_batches(open_table(output).batches())
    assert written.column_names[: len(table.column_names)] == table.column_names
    expected = model.score(table)
    for name in ("anomaly_score", "p_value"):
        assert written[name].to_pylist() == expected[name].to_pylist()
    assert sum(written["is_alert"].to_pylist()) == 30


def test_scores_alone_have_ids_or_numbers(model, table, tmp_path):
    output = tmp_path / "out.parquet"
    score_table(model, table, output, only_id=True)
    assert pq.read_table(output).column_names[:2] == ["payment", "anomaly_score"]
    score_table(model, table.drop_columns(["payment"]), output, only_id=True)
    assert pq.read_table(output)["row"].to_pylist() == list(range(N))


def test_scored_tables_and_the_table_itself_are_not_written_over(model, table, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    with pytest.raises(TableError, match="is the table itself"):
        score_table(model, path, path)
    score_table(model, path, tmp_path / "scored.parquet")
    with pytest.raises(TableError, match="'anomaly_score' already; was it scored before"):
        score_table(model, tmp_path / "scored.parquet", tmp_path / "twice.parquet")


def test_text_labels_three_values_and_other_rows(table):
    states = pa.array(["confirmed" if v == 1 else "open" for v in table["fraud"].to_pylist()])
    named = table.drop_columns(["fraud"]).append_column("state", states)
    assert TableModel(random_state=0).fit(named, "state").anomaly_ == "confirmed"
    three = named.set_column(
        named.schema.get_field_index("state"),
        "state",
        pa.array(["cleared" if i % 9 == 0 else s for i, s in enumerate(states.to_pylist())]),
    )
    with pytest.raises(TableError, match="'cleared', 'confirmed', 'open'.*anomaly='confirmed'"):
        TableModel().fit(three, "state")
    model = TableModel(anomaly="confirmed", random_state=0).fit(three, "state")
    assert 0 < model.n_labelled_ < 30


def test_ignored_columns_are_not_even_read(table, tmp_path):
    path = tmp_path / "t.csv"
    table.to_pandas().to_csv(path, index=False)
    text = path.read_text().split("\n")
    text[2000] = text[2000].replace("EUR", "EUR").replace(text[2000].split(",")[2], "much")
    path.write_text("\n".join(text))
    notes = TableModel(random_state=0).fit(path, "fraud").encoder_.reader.notes()
    assert [str(note) for note in notes] == [
        "amount: 1 value, such as 'much', cannot be read (text read as numbers) "
        "and counts as missing"
    ]
    model = TableModel(ignore=["amount"], random_state=0).fit(path, "fraud")
    assert str(model.encoder_.left_out["amount"]) == "ignored"


def test_numbers_can_be_categories(table):
    model = TableModel(categorical=["limit"], random_state=0).fit(table, "fraud")
    kinds = {column.name: column.kind for column in model.encoder_.columns}
    assert kinds["limit"] == "category"


def test_a_loaded_model_can_be_fitted_again_alike(table, tmp_path):
    model = TableModel(
        "PU trees",
        parameters={"n_trees": 7},
        ignore=["limit"],
        categorical=["shop"],
        anomaly="1",
        random_state=3,
    ).fit(table, "fraud")
    model.save(tmp_path / "m.devnet")
    again = devnet.load(tmp_path / "m.devnet").fit(table, "fraud")
    assert again.score(table).equals(model.score(table))
    assert again.encoder_.left_out == model.encoder_.left_out
    assert again.fit(table, "fraud").encoder_.left_out == model.encoder_.left_out


def test_the_label_can_neither_be_ignored_nor_name_rows(table):
    for options in ({"ignore": ["fraud"]}, {"id_column": "fraud"}):
        with pytest.raises(TableError, match="'fraud' is the label column"):
            TableModel(**options).fit(table, "fraud")


def test_sparse_rows_of_svmlight_files_go_the_whole_way(tmp_path):
    generator = np.random.default_rng(0)
    lines = []
    for i in range(400):
        is_anomaly = i % 10 == 0
        words = np.unique(generator.integers(20 if is_anomaly else 0, 6000, 30))
        if is_anomaly:
            words = np.unique(np.append(words, [3, 5, 8]))
        values = " ".join(f"{word}:{generator.random():.3f}" for word in words)
        lines.append(f"{int(is_anomaly and i < 300)} {values}")
    path = tmp_path / "t.svm"
    path.write_text("\n".join(lines) + "\n")
    model = TableModel(random_state=0).fit(path, "label")
    scores = model.score(path)["anomaly_score"].to_numpy()
    hidden = np.arange(400) % 10 == 0
    assert np.mean(scores[300:][hidden[300:]][:, None] > scores[300:][~hidden[300:]]) > 0.95
    (one,) = model.explain(path, [390])
    assert one.reasons[0].text.startswith("features[")
    assert one.score - one.baseline_score == pytest.approx(
        sum(one.contributions.values()), abs=1e-3
    )
    model.save(tmp_path / "m.devnet")
    assert devnet.load(tmp_path / "m.devnet").score(path).equals(model.score(path))


def test_a_model_does_not_remember_rows_in_global_state_or_its_argument(table):
    before = np.random.get_state()[1].tolist()
    frame = table.to_pandas()
    copy = frame.copy()
    TableModel(random_state=0).fit(frame, "fraud")
    pd.testing.assert_frame_equal(frame, copy)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.drop_columns(["amount"]), "has no column 'amount', which the model needs"),
        (lambda t: t.drop_columns(["shop"]), "has no column 'shop'"),
        (
            lambda t: t.set_column(2, "amount", pa.array(["much"] * N)),
            "'amount' of the table has text, where the model learned numbers",
        ),
        (
            lambda t: t.set_column(3, "shop", pa.array(np.arange(N))),
            "'shop' of the table has numbers, where the model learned text",
        ),
    ],
)
def test_tables_of_another_schema_are_refused(model, table, change, sentence):
    with pytest.raises(TableError, match=sentence):
        model.score(change(table))


def test_numbers_in_a_csv_where_text_was_learned_are_refused(model, table, tmp_path):
    path = tmp_path / "t.csv"
    swapped = table.set_column(3, "shop", pa.array(np.arange(N) * 1.5))
    swapped.to_pandas().to_csv(path, index=False)
    with pytest.raises(TableError, match="'shop' of .*t.csv has numbers, where .* learned text"):
        model.score(path)


def test_unknown_columns_are_ignored_with_a_note(model, table):
    more = table.append_column("more", pa.array(np.arange(N)))
    assert OpenedTable(model, more).notes == [
        "1 column is not known to the model and is ignored: more"
    ]
    assert model.score(more).equals(model.score(table))


def test_a_table_without_rows_has_no_scores(model, table):
    assert model.score(table.slice(0, 0)).num_rows == 0
    assert model.predict(table.slice(0, 0)).tolist() == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda t: t.pop("label"),
        lambda t: t.update(n_rows=-1),
        lambda t: t.update(policy={"policy": "guess"}),
        lambda t: t["encoder"]["columns"].pop(),
        lambda t: t.update(labelled_ids=["one"]),
        lambda t: t.update(id_column=3),
    ],
)
def test_edited_files_get_a_sentence(model, tmp_path, edit):
    from devnet.core import model_file

    path = tmp_path / "m.devnet"
    model.save(path)
    header, tensors = model_file.read(path)
    edit(header["table"])
    model_file.write(path, header, tensors)
    with pytest.raises(devnet.ModelFileError, match="file"):
        devnet.load(path)


@pytest.mark.parametrize("rows", [np.arange(N) < 3, [1.5], ["a"]])
def test_rows_to_explain_are_numbers(model, table, rows):
    with pytest.raises(TypeError, match="by their numbers, counted from 0.*flatnonzero"):
        model.explain(table, rows)


def test_a_name_is_no_policy(table):
    model = TableModel("DevNet", random_state=0).fit(table, "fraud")
    model.policy = "budget"
    with pytest.raises(TypeError, match="policy='budget' is no alert policy"):
        model.predict(table)
    with pytest.raises(TypeError, match="policy='budget' is no alert policy"):
        model.save("never")


def test_a_column_of_numbers_and_texts_is_read_as_text(table):
    """As a worksheet has it, and as a CSV file is read."""
    frame = table.to_pandas()
    frame["size"] = pd.Series([10, "small", None, 2.5] * (N // 4), dtype=object)
    model = TableModel("DevNet", random_state=0).fit(frame, "fraud")
    assert model.encoder_.left_out.keys().isdisjoint({"size"})
    texts = frame.assign(size=frame["size"].where(frame["size"].isna(), frame["size"].map(str)))
    assert model.score(frame).equals(model.score(texts))
