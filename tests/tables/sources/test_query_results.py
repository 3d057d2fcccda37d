"""Results of SQL queries, as DuckDB and ADBC give them through Arrow."""

import pytest
from support.payment_tables import make_table

from devnet.tables import TableError, TableModel, open_table

FAST = {"method": "PU trees", "parameters": {"n_trees": 10}, "random_state": 0}


class Relation:
    """A query as DuckDB returns it: it has a length, and runs again whenever it is read."""

    def __init__(self, table):
        self.table = table

    def __len__(self):
        return len(self.table)

    def fetchall(self):
        raise AssertionError("rows are not to be fetched one by one")

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Cursor:
    """A cursor of a database, which holds no rows by itself."""

    def fetchall(self):
        return []


@pytest.fixture(scope="module")
def table():
    return make_table()[0]


@pytest.fixture(scope="module")
def expected(table):
    return TableModel(**FAST).fit(table, "fraud").score(table)


def test_a_duckdb_relation_is_fitted_and_scored(table, expected):
    query = Relation(table)
    model = TableModel(**FAST).fit(query, "fraud")
    assert model.score(query).equals(expected)
    assert open_table(query).n_rows == len(table)


def test_record_batches_of_an_adbc_cursor_are_fitted_and_scored(table, expected):
    model = TableModel(**FAST).fit(table.to_reader(max_chunksize=500), "fraud")
    assert model.score(table.to_reader()).equals(expected)


def test_a_cursor_is_refused_by_name_with_what_to_give():
    with pytest.raises(TableError, match=r"a Cursor of a database .* cursor.fetch_arrow_table\(\)"):
        open_table(Cursor())


def test_duckdb_itself(table, expected):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    connection.register("payments", table)
    result = connection.sql("FROM payments")
    assert TableModel(**FAST).fit(result, "fraud").score(table).equals(expected)
    reader = result.to_arrow_reader()
    assert TableModel(**FAST).fit(reader, "fraud").score(table).equals(expected)
