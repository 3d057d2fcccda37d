"""Nested columns as plain ones."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.tables import TableModel, open_table
from devnet.tables.table_error import TableError

TABLE = pa.table(
    {
        "address": [{"city": "Rome", "geo": {"lat": 1.5}}, None, {"city": None, "geo": None}],
        "tags": [["a", "b"], None, ["c", None]],
        "x": [1, 2, 3],
    }
)
FLAT = {
    "address.city": ["Rome", None, None],
    "address.geo.lat": [1.5, None, None],
    "tags": ["a b", None, "c "],
    "x": [1, 2, 3],
}


@pytest.fixture(params=["memory", "parquet", "stream"])
def nested(request, tmp_path):
    if request.param == "memory":
        return TABLE
    pq.write_table(TABLE, tmp_path / "t.parquet")
    return tmp_path / "t.parquet" if request.param == "parquet" else TABLE.to_reader()


def test_a_struct_becomes_its_fields_and_a_list_of_strings_a_text(nested):
    source = open_table(nested)
    assert source.schema.names == list(FLAT)
    assert source.first_rows(["address.city"]).to_pydict() == {"address.city": FLAT["address.city"]}
    assert pa.Table.from_batches(source.batches()).to_pydict() == FLAT


def test_single_fields_are_read():
    source = open_table(TABLE)
    assert [b.to_pydict() for b in source.batches(["address.geo.lat"])] == [
        {"address.geo.lat": FLAT["address.geo.lat"]}
    ]
    assert [len(batch) for batch in source.batches([])] == [3]


def test_a_field_named_like_a_column_is_refused():
    with pytest.raises(TableError, match=r"more than one column named 'a\.b'"):
        open_table(pa.table({"a": [{"b": 1}], "a.b": [2]}))


def test_a_model_learns_from_fields_of_a_struct():
    n = 300
    table = pa.table(
        {
            "order": [{"total": f"${i % 50}.50", "tags": ["new", "web"]} for i in range(n)],
            "fraud": [i % 50 == 49 for i in range(n)],
        }
    )
    model = TableModel("PU trees", random_state=0).fit(table, "fraud")
    assert [fact.name for fact in model.encoder_.describe()] == ["order.total"]
    assert len(model.score(table)) == n
