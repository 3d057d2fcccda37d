"""A table that was scored before is fitted without its scores."""

import pyarrow as pa
import pytest
from support.payment_tables import fitted, make_table

import devnet
from devnet.tables import TableModel, score_table
from devnet.tables.columns.left_out import Why
from devnet.tables.score_columns import SCORE_COLUMNS, score_columns


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_scored_file_fitted_again_is_fitted_without_its_scores(tmp_path, suffix):
    table, model, output = make_table()[0], fitted(), tmp_path / f"scored.{suffix}"
    score_table(model, table, output)
    again = TableModel(random_state=0).fit(output, "fraud")
    assert again.encoder_.read_columns() == model.encoder_.read_columns()
    for name in SCORE_COLUMNS:
        assert again.encoder_.left_out[name].reason is Why.SCORED
        assert "the table was scored before" in str(again.encoder_.left_out[name])
    again.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    assert loaded.encoder_.left_out == again.encoder_.left_out
    assert loaded.score(table).equals(again.score(table))


def test_scores_can_be_taken_or_ignored_all_the_same():
    table = make_table()[0]
    for name, values in fitted().score(table).to_pydict().items():
        table = table.append_column(name, pa.array(values))
    model = TableModel(categorical=["is_alert"], ignore=["p_value"], random_state=0)
    model.fit(table, "fraud")
    assert "is_alert" in model.encoder_.read_columns()
    assert model.encoder_.left_out["p_value"].reason is Why.IGNORED


def test_a_single_column_of_such_a_name_is_the_users_own():
    assert score_columns(pa.schema([("p_value", pa.float64()), ("x", pa.float64())])) == set()
    both = pa.schema([("p_value", pa.float64()), ("is_alert", pa.bool_())])
    assert score_columns(both) == {"p_value", "is_alert"}
    assert score_columns(both, ["is_alert"]) == {"p_value"}
