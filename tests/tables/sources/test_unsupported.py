"""Formats that are not read are refused by name."""

import pytest

from devnet.tables import TableError, open_table


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("t.xls", "an Excel workbook of the old format, .* save it as .xlsx or CSV"),
        ("t.sav", r"an SPSS file, .* pandas.read_spss\('.*t.sav'\).to_parquet\('NEW.parquet'\)"),
        ("t.dta", "a Stata file"),
        ("t.db", "a database, .* sqlite3 -header -csv .*t.db 'SELECT"),
        ("t.SQLITE", "a database"),
        ("t.duckdb", "a DuckDB database"),
        ("t.orc", "an ORC file"),
        ("t.pkl", "a pickle, which may run any code"),
        ("t.rds", "an R object"),
        ("t.zip", "an archive, .* unzip"),
    ],
)
def test_a_format_that_is_not_read_is_refused_by_name(tmp_path, name, sentence):
    (tmp_path / name).write_bytes(b"\0\1\2 something")
    with pytest.raises(TableError, match=sentence):
        open_table(tmp_path / name)


def test_feather_of_version_1_is_refused_by_name(tmp_path):
    (tmp_path / "t.feather").write_bytes(b"FEA1" + bytes(60))
    with pytest.raises(TableError, match="Feather of version 1"):
        open_table(tmp_path / "t.feather")
