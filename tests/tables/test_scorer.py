"""Record batches in, scored record batches out: the same rows as `score_table`, in any process."""

import multiprocessing
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import devnet
from devnet import Budget, FalseAlarmRate, FalseDiscoveryRate, Scorer, TableError, TableModel
from devnet.datasets.payments import make_payments
from devnet.tables import score_table, scorer
from devnet.tables.columns.category import FEW_ROWS, CategoryColumn

SMALL = {"n_networks": 2, "n_trees": 8}
QUICK = {"n_epochs": 2, "n_batches": 5}


@pytest.fixture(scope="module")
def payments():
    return make_payments(3000, seed=3).table


@pytest.fixture(scope="module")
def model(payments):
    return TableModel("DevNet", parameters=QUICK, random_state=0).fit(payments, "fraud")


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "fraud.devnet"
    model.save(file)
    return file


def joined(batches):
    return pa.Table.from_batches(list(batches))


@pytest.mark.parametrize("step", [1, 97, 3000])
def test_batches_of_any_length_are_scored_as_from_file_to_file(
    path, model, payments, step, tmp_path
):
    rows = payments.slice(0, 300)
    score_table(model, rows, tmp_path / "scored.parquet", only_id=True)
    scored = joined(map(Scorer(path), rows.to_batches(max_chunksize=step)))
    assert scored.equals(pq.read_table(tmp_path / "scored.parquet"))


def test_paths_contents_and_models_are_the_same_scorer(path, model, payments):
    batch = payments.to_batches()[0]
    given = [path, str(path), path.read_bytes(), model]
    first, *others = [Scorer(one)(batch) for one in given]
    assert all(first.equals(one) for one in others)


def test_the_schema_is_known_beforehand(path, payments):
    for options in ({}, {"columns": []}, {"columns": ["amount", "country"], "reasons": "alerts"}):
        found = Scorer(path, **options)
        expected = found.schema(payments.schema)
        assert found(payments.slice(0, 5).to_batches()[0]).schema.equals(expected)
    assert expected.names[:2] == ["amount", "country"]
    assert expected.names[-1] == "reasons"
    assert expected.field("country").type == payments.schema.field("country").type


def test_a_batch_without_rows_is_scored(path, payments):
    nothing = pa.RecordBatch.from_pylist([], payments.schema)
    assert len(Scorer(path, reasons="all")(nothing)) == 0


def test_a_pickle_holds_the_path_and_no_object_of_ours(path, model):
    small, whole = pickle.dumps(Scorer(path)), pickle.dumps(Scorer(path.read_bytes()))
    assert len(small) < 500
    assert len(whole) < path.stat().st_size + 500
    assert path.read_bytes() in whole
    assert b"TableModel" not in small


def test_another_process_gives_the_same(path, payments):
    batch = payments.slice(0, 50).to_batches()[0]
    found = Scorer(path, reasons="all")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(found, (batch,))
    assert there.equals(found(batch))


def test_a_process_loads_a_model_once(path, monkeypatch):
    scorer._loaded.cache_clear()
    reads = []
    original = scorer.restore
    monkeypatch.setattr(scorer, "restore", lambda *args: reads.append(1) or original(*args))
    packed = pickle.dumps(Scorer(path))
    models = {id(pickle.loads(packed).model) for _ in range(5)}
    assert len(models) == len(reads) == 1


def test_a_model_file_that_was_replaced_is_refused(path, model, payments, tmp_path):
    other = tmp_path / "other.devnet"
    other.write_bytes(path.read_bytes())
    packed = pickle.dumps(Scorer(other))
    TableModel("DevNet", parameters=QUICK, random_state=1).fit(payments, "fraud").save(other)
    scorer._loaded.cache_clear()
    with pytest.raises(devnet.ModelFileError, match="has changed since the scorer was made"):
        pickle.loads(packed)(payments.to_batches()[0])


def test_reasons_are_those_of_an_explanation(path, model, payments):
    batch = payments.slice(0, 400).to_batches()[0]
    told = Scorer(path, reasons="all")(batch)["reasons"].to_pylist()
    explained = model.explain(payments.slice(0, 400), [0, 7, 399])
    assert [told[one.row] for one in explained] == [[r.text for r in e.reasons] for e in explained]
    scored = Scorer(path, reasons="alerts", policy=FalseAlarmRate(0.1))(batch)
    is_alert = scored["is_alert"].to_numpy(zero_copy_only=False)
    assert 0 < is_alert.sum() < 400
    assert [one is not None for one in scored["reasons"].to_pylist()] == is_alert.tolist()


def test_a_threshold_decides_alone(path, payments):
    batch = payments.to_batches()[0]
    scores = Scorer(path)(batch)["anomaly_score"].to_numpy()
    alerts = Scorer(path, threshold=float(np.median(scores)))(batch)["is_alert"]
    np.testing.assert_array_equal(alerts, scores > np.median(scores))


@pytest.mark.parametrize("policy", [Budget(10), FalseDiscoveryRate(0.1)])
def test_a_policy_of_the_whole_table_is_refused_without_a_threshold(path, policy):
    with pytest.raises(TableError, match=r"depends on all rows of a table.*threshold"):
        Scorer(path, policy=policy)


def test_views_and_texts_of_dates_are_read(path, payments):
    batch = payments.slice(0, 40).combine_chunks().to_batches()[0]
    odd = batch.set_column(
        batch.schema.get_field_index("time"), "time", batch["time"].cast(pa.string())
    )
    position = batch.schema.get_field_index("country")
    odd = odd.set_column(position, "country", batch["country"].cast(pa.string_view()))
    expected = Scorer(path)(batch)["anomaly_score"]
    np.testing.assert_array_equal(Scorer(path)(odd)["anomaly_score"], expected)


def test_a_text_that_is_no_date_is_refused(path, payments):
    batch = payments.slice(0, 3).combine_chunks().to_batches()[0]
    at = batch.schema.get_field_index("time")
    odd = batch.set_column(at, "time", pa.array(["2025-03-08T04:29:00", "soon", None]))
    with pytest.raises(TableError, match="'time' of the batch has text, where the model learned d"):
        Scorer(path)(odd)


def test_fields_of_structs_are_columns():
    rng = np.random.default_rng(0)
    struct = pa.StructArray.from_arrays(
        [pa.array(rng.normal(size=200)), pa.array(rng.normal(size=200))], ["a", "b"]
    )
    table = pa.table({"pair": struct, "y": [1] * 5 + [0] * 195})
    found = Scorer(TableModel("DevNet", parameters=QUICK, random_state=0).fit(table, "y"))
    scored = joined(map(found, table.to_batches(max_chunksize=30)))
    assert scored["anomaly_score"].equals(found.model.score(table)["anomaly_score"])


def test_what_cannot_be_scored_is_a_sentence(path, payments, tmp_path):
    found, batch = Scorer(path), payments.to_batches()[0]
    with pytest.raises(TableError, match="the batch has no column 'amount', which the model needs"):
        found(batch.drop_columns(["amount"]))
    with pytest.raises(TableError, match="where the model learned numbers"):
        found(
            batch.set_column(
                batch.schema.get_field_index("amount"), "amount", pa.array(["x"] * len(batch))
            )
        )
    with pytest.raises(TypeError, match=r"map\(scorer, table.to_batches\(\)\)"):
        found(payments)
    with pytest.raises(TableError, match="amont"):
        Scorer(path, columns=["amont"])(batch)
    with pytest.raises(TypeError, match=r"give \['amount'\]"):
        Scorer(path, columns="amount")
    with pytest.raises(ValueError, match="kind of reasons"):
        Scorer(path, reasons="some")
    with pytest.raises(ValueError, match="give one"):
        Scorer(path, policy=FalseAlarmRate(0.1), threshold=1.0)
    with pytest.raises(TableError, match="was it scored before"):
        Scorer(path, columns=["p_value"])(batch.append_column("p_value", pa.nulls(len(batch))))
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        Scorer(tmp_path / "none.devnet")
    with pytest.raises(TypeError, match="not a model of tables"):
        Scorer(12)
    with pytest.raises(devnet.ModelFileError, match="not a complete model file"):
        Scorer(b"nonsense")
    with pytest.raises(ValueError, match="not fitted"):
        Scorer(TableModel())


def test_a_detector_of_matrices_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    detector = devnet.DevNet(**QUICK, random_state=0).fit(
        rng.normal(size=(50, 2)), [1] * 5 + [0] * 45
    )
    detector.save(tmp_path / "matrix.devnet")
    with pytest.raises(devnet.ModelFileError, match="is a detector of matrices"):
        Scorer(tmp_path / "matrix.devnet")


def test_a_name_with_a_nul_is_the_same_in_a_table_and_in_a_batch():
    rng = np.random.default_rng(0)
    table = pa.table({"a\0": rng.normal(size=100), "y": [1] * 5 + [0] * 95})
    found = Scorer(TableModel("DevNet", parameters=QUICK, random_state=0).fit(table, "y"))
    assert len(found(table.to_batches()[0])) == 100


def test_unknown_columns_are_noted(path, payments):
    batch = payments.append_column("mood", pa.nulls(len(payments))).to_batches()[0]
    assert any("mood" in note for note in Scorer(path).check(batch.schema))


@given(
    st.lists(st.none() | st.sampled_from(["", "DE", "NG", "x" * 100, "x" * 101, "é" * 120])),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_few_texts_are_looked_up_as_many_are(texts, kind):
    """One by one in Python, and all at once in Arrow."""
    values = (("DE", 50), ("x" * 100, 30), ("é" * 100, 20))
    column = CategoryColumn(
        "c",
        0.1,
        values=values,
        n_own=3,
        n_buckets=1,
        n_values=3,
        n_rows=100,
        source="text",
        zone="",
    )
    few = pa.array(texts, kind)
    many = pa.concat_arrays([few, pa.array(["DE"] * FEW_ROWS, kind)])
    (one,), (other,) = column.entries(few), column.entries(many)
    if texts and any(text is not None for text in texts):
        np.testing.assert_array_equal(one.column, other.column[: len(texts)])


def test_a_row_alone_scores_as_among_many(payments):
    """Few rows take a path of their own through trees and categories."""
    found = Scorer(TableModel(parameters=SMALL, random_state=0).fit(payments, "fraud"))
    batch = payments.slice(0, 200).to_batches()[0]
    together = found(batch)["anomaly_score"]
    for step in (1, 3, 16, 17, 32, 33, 64, 65):
        parts = [found(batch.slice(start, step)) for start in range(0, 130, step)]
        alone = joined(parts)["anomaly_score"].combine_chunks()
        assert alone.equals(together.slice(0, len(alone)))


def test_few_rows_are_encoded_as_many_are(payments):
    """Numbers side by side, at once; missing, infinite and constant ones as well."""
    n = payments.num_rows
    odd = {
        "huge": np.resize([-1.7e308, 1.7e308, 0.0], n),
        "holes": pa.array([None if i % 3 else float(i) for i in range(n)]),
        "endless": np.resize([np.inf, 1.0, 2.0, np.nan], n),
        "whole": np.arange(n) % 7,
    }
    for name, values in odd.items():
        payments = payments.append_column(name, pa.array(values))
    encoder = TableModel("DevNet", random_state=0).fit(payments, "fraud").encoder_
    rows = payments.select(encoder.read_columns()).combine_chunks().to_batches()[0]
    many = encoder.encode_read(rows.slice(0, 500), dense=True)
    for size in (1, 2, 63, 64):
        parts = [encoder.encode_read(rows.slice(i, size), dense=True) for i in range(0, 130, size)]
        few = np.concatenate(parts)
        np.testing.assert_array_equal(few, many[: len(few)])
    assert isinstance(many, np.ndarray)
