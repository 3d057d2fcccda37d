"""Models of raw tables as graphs: from raw columns to the scores of Python."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.graphs import check_meaning, within
from support.payment_tables import fitted, make_table
from support.random_tables import tables

import devnet
from devnet import Budget, FalseAlarmRate, FalseDiscoveryRate, TableError, TableModel
from devnet.serving.onnx import ExportedModel, ExportError, export

GOLDEN = Path(__file__).parents[2] / "golden" / "0.1.0"
METHODS = [
    ("deviation ensemble", {"n_networks": 2, "n_trees": 4}),
    ("DevNet", {"n_epochs": 1, "n_batches": 3, "n_members": 2}),
    ("rank deviation", {}),
    ("iForest", {"n_trees": 5}),
]


def check(model, graph, table):
    """The graph says about a table what the model says, for a row alone too."""
    threshold = model.policy.threshold(model.calibration_, (), model.detector_.prior_quantile)
    expected = model.score(table)["anomaly_score"].to_numpy()
    for batch in table.combine_chunks().to_batches():
        found = graph.score(batch)
        assert within(found["anomaly_score"].to_numpy(), expected).all()
        p_values, is_alert = (found[name].to_numpy(False) for name in ("p_value", "is_alert"))
        ranks = model.calibration_.ranks()
        check_meaning(p_values, is_alert, expected, ranks, threshold.score)
        for row in range(0, len(batch), max(1, len(batch) // 5)):
            assert graph.score(batch.slice(row, 1)).equals(found.slice(row, 1))


@settings(suppress_health_check=list(HealthCheck), max_examples=50)
@given(tables(), st.sampled_from(METHODS), st.data())
def test_random_tables_score_as_in_python(tmp_path_factory, given_tables, method, data):
    (table, other), categorical = given_tables
    assume(table.num_rows)
    table = pa.concat_tables([table] * -(-40 // table.num_rows)).combine_chunks()
    is_labelled = data.draw(st.lists(st.booleans(), min_size=6, max_size=6).filter(any))
    label = [1 if i < 6 and is_labelled[i] else None for i in range(table.num_rows)]
    name, parameters = method
    model = TableModel(name, parameters=parameters, categorical=categorical, random_state=0)
    try:
        model.fit(table.append_column("the label", pa.array(label, pa.int8())), "the label")
        path = tmp_path_factory.mktemp("fuzz") / "m.onnx"
        export(model, path)
    except (TableError, ExportError):
        assume(False)
    for n_threads in (1, 2):
        graph = ExportedModel(path, n_threads=n_threads)
        check(model, graph, table)
        if other.num_rows:
            check(model, graph, other)


def test_vectors_with_huge_entries(tmp_path):
    """Squares of the network's gradient exceed single precision."""
    pair = pa.list_(pa.struct([("index", pa.int32()), ("value", pa.float32())]))
    vectors = pa.array([None, None, [{"index": 0, "value": 6e19}]] * 20, pair)
    label = pa.array([1 if i % 3 == 2 and i < 18 else None for i in range(60)], pa.int8())
    table = pa.table({"vector": vectors, "label": label})
    for name, parameters in METHODS[:2]:
        model = TableModel(name, parameters=parameters, random_state=0).fit(table, "label")
        export(model, tmp_path / "m.onnx")
        check(model, ExportedModel(tmp_path / "m.onnx"), table.drop_columns("label"))


def test_a_table_of_payments(tmp_path):
    model, (table, _) = fitted(), make_table(seed=1)
    done = export(model, tmp_path / "m.onnx")
    assert done.alerts == model.policy.in_words()
    check(model, ExportedModel(tmp_path / "m.onnx"), table)


def test_money_dates_and_markers_are_prepared(tmp_path, seed):
    generator = np.random.default_rng(seed)
    amount = generator.lognormal(5, 1, 400)
    columns = {
        "amount": [f"${value:,.2f}" if value > 20 else "n/a" for value in amount],
        "day": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.20{i % 20:02d}" for i in range(400)],
        "code": [9999 if i % 9 == 0 else i % 7 for i in range(400)],
        "shop": generator.choice([" none ", "a", "b"], 400),
        "fraud": [1 if value > 900 else None for value in amount],
    }
    model = TableModel(
        parameters={"n_networks": 2, "n_trees": 4}, missing=["9999", "none"], random_state=0
    ).fit(columns, "fraud")
    done = export(model, tmp_path / "m.onnx")
    said = {one["column"]: one["prepared"] for one in done.inputs}
    assert "text read as US dollars" in said["amount"]
    assert "read as dates" in said["day"]
    assert said["code"] == "missing if it is '9999' or 'none'"
    check(model, ExportedModel(tmp_path / "m.onnx"), pa.table(columns))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("table_*.devnet")), ids=lambda one: one.stem)
def test_models_of_0_1_0_are_exported_too(path, tmp_path):
    model, table = devnet.load(path), pq.read_table(GOLDEN / "new.parquet")
    model.policy = FalseAlarmRate(0.05)
    export(model, tmp_path / "m.onnx")
    check(model, ExportedModel(tmp_path / "m.onnx"), table)


@pytest.mark.parametrize("policy", [Budget(10), FalseDiscoveryRate(0.1)])
def test_policies_that_see_the_whole_table_need_a_threshold(policy, tmp_path):
    model = fitted()
    with pytest.raises(ExportError, match=r"depends on all rows of a table.* with threshold, or"):
        export(model, tmp_path / "m.onnx", policy=policy)
    assert not list(tmp_path.iterdir())
    assert export(model, tmp_path / "m.onnx", threshold=3.5).threshold == 3.5


def test_the_model_s_own_file_is_never_replaced(tmp_path):
    model = TableModel("rank deviation").fit(make_table(n_rows=200)[0])
    model.save(tmp_path / "m.onnx")
    before = (tmp_path / "m.onnx").read_bytes()
    with pytest.raises(TableError, match="is the model itself"):
        export(model, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == before


def test_free_text_is_refused(tmp_path):
    generator = np.random.default_rng(0)
    words = np.array(["my", "order", "the", "parcel", "lamp", "refund", "is", "lost", "again"])
    texts = [" ".join(generator.choice(words, 7)) for _ in range(300)]
    table = {"message": texts, "n": generator.random(300), "bad": [1] * 9 + [0] * 291}
    model = TableModel(parameters={"n_networks": 2, "n_trees": 4}, random_state=0)
    model.fit(table, "bad")
    with pytest.raises(ExportError, match=r"'message' is free text.*ignore=\['message'\]"):
        export(model, tmp_path / "m.onnx")


def test_fields_of_a_struct_are_columns(tmp_path, seed):
    numbers = np.random.default_rng(seed).random(200)
    places = [{"city": "a" if n > 0.5 else "b", "height": n} for n in numbers]
    table = pa.table({"place": places, "bad": [1] * 9 + [0] * 191})
    model = TableModel(parameters={"n_networks": 2, "n_trees": 4}, random_state=0)
    export(model.fit(table, "bad"), tmp_path / "m.onnx")
    graph = ExportedModel(tmp_path / "m.onnx")
    assert [one.name for one in graph.inputs] == ["place.city", "place.height"]
    check(model, graph, table)


def test_a_batch_without_a_column_is_refused(tmp_path):
    export(fitted(), tmp_path / "m.onnx")
    batch = make_table(n_rows=10)[0].drop(["amount"]).to_batches()[0]
    with pytest.raises(TableError, match="has no column 'amount'"):
        ExportedModel(tmp_path / "m.onnx").prepare(batch)


def test_no_rows_have_no_scores(tmp_path):
    export(fitted(), tmp_path / "m.onnx")
    nothing = make_table(n_rows=10)[0].to_batches()[0].slice(0, 0)
    found = ExportedModel(tmp_path / "m.onnx").score(nothing)
    assert len(found) == 0
    assert found.schema.names == ["anomaly_score", "p_value", "is_alert"]
