"""Excel workbooks as tables."""

import datetime
import sys

import pyarrow as pa
import pytest

from devnet.tables import TableError, open_table
from devnet.tables.overwriting import refuse_overwriting

openpyxl = pytest.importorskip("openpyxl")


def write(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def read(path):
    return pa.Table.from_batches(open_table(path).batches())


def test_a_workbook_is_a_table(tmp_path):
    day = datetime.datetime(2026, 1, 2, 3, 4)
    path = write(
        tmp_path / "t.xlsx",
        notes=[],
        data=[
            ["amount", "shop", "day", "code", None],
            [1, "baker", day, "x"],
            [2.5, None, day, 7],
            [None, None, None, None],
            [None, "grocer", None, None],
        ],
    )
    source = open_table(path)
    assert (source.n_rows, source.name, source.paths) == (3, str(path), (path,))
    assert read(path).to_pydict() == {
        "amount": [1.0, 2.5, None],
        "shop": ["baker", None, "grocer"],
        "day": [day, day, None],
        "code": ["x", "7", None],
    }


def test_text_dates_of_a_workbook_are_dates(tmp_path):
    path = write(tmp_path / "t.xlsx", data=[["day"], ["2026-01-02"], ["2026-01-03"]])
    assert pa.types.is_timestamp(open_table(path).schema.field("day").type)


@pytest.mark.parametrize(
    ("sheets", "sentence"),
    [
        (
            {"a": [["x"], [1]], "b": [["y"], [2]]},
            r"has 2 sheets with values \('a', 'b'\); .*t\.xlsx#a'$",
        ),
        ({"a": []}, "is empty"),
        ({"a": [["x", None], [1, 2]]}, "column 2 of .* has no name"),
        ({"a": [["x", "x"], [1, 2]]}, "more than one column named 'x'"),
    ],
)
def test_a_workbook_that_is_not_one_table_gets_a_sentence(tmp_path, sheets, sentence):
    path = write(tmp_path / "t.xlsx", **sheets)
    with pytest.raises(TableError, match=sentence):
        open_table(path)


def test_book_xlsx_sheet_2_is_the_sheet_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("book.xlsx", first=[["x"], [1]], **{"Sheet 2": [["x"], [2]]}, empty=[])
    assert read("book.xlsx#Sheet 2").to_pydict() == {"x": [2.0]}
    assert open_table("book.xlsx#first").name == "book.xlsx#first"
    with pytest.raises(TableError, match=r"say which one to read: 'book\.xlsx#first'$"):
        open_table("book.xlsx")
    with pytest.raises(TableError, match=r"sheet of book\.xlsx 'frist'; .* Did you mean 'first'"):
        open_table("book.xlsx#frist")
    with pytest.raises(TableError, match="#empty is empty"):
        open_table("book.xlsx#empty")
    with pytest.raises(FileNotFoundError, match=r"no file bok\.xlsx\. Did you mean 'book"):
        open_table("bok.xlsx#first")
    with pytest.raises(TableError, match="is the table itself"):
        refuse_overwriting("book.xlsx#first", "book.xlsx")
    write("twin.xlsx", first=[["x"], [3]], other=[["x"], [4]])
    assert read("*.xlsx#first").to_pydict() == {"x": [1.0, 3.0]}
    write("odd#name.xlsx", a=[["x"], [5]])
    assert read("odd#name.xlsx").to_pydict() == {"x": [5.0]}


def test_a_damaged_workbook_gets_a_sentence(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\x03\x04 no workbook")
    with pytest.raises(TableError, match="cannot be read as an Excel workbook"):
        open_table(path)


def test_without_openpyxl_the_workbook_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "t.xlsx", data=[["x"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError, match=r"pip install 'deviation-network\[excel\]'"):
        open_table(path)
