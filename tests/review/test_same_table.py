"""A reviewed table is the same as long as nobody writes to it, however it is named."""

from pathlib import Path

import pytest

from devnet.core.sentence import UserError
from devnet.review.desk.same_table import SameTable


@pytest.fixture(params=["relative", "absolute", "pattern"])
def table(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n1,2\n")
    return {"relative": "t.csv", "absolute": str(tmp_path / "t.csv"), "pattern": "*.csv"}[
        request.param
    ]


def test_a_table_that_nobody_touched_is_the_same(table):
    SameTable(table).check()


def test_a_table_with_other_rows_is_refused(table):
    same = SameTable(table)
    Path("t.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(UserError, match="was changed since this page was started"):
        same.check()


def test_a_file_more_is_another_table(table):
    same = SameTable(table)
    Path("u.csv").write_text("a,b\n1,2\n")
    if table == "*.csv":
        with pytest.raises(UserError, match="was changed"):
            same.check()
    else:
        same.check()


def test_a_table_in_memory_cannot_change():
    SameTable({"a": [1]}).check()
