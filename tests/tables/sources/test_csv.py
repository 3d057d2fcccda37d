"""Text tables: what is inferred, what is missing, and where a line is wrong."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.tables.sources.csv import CsvSource
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes t.csv in the folder that relative names start from, with tiny blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 9, 1 << 12, 1 << 25))

    def write_text(text, encoding="utf8"):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))

    return write_text


def read(columns=None, **options):
    source = open_table("t.csv", **options)
    assert source.n_rows is None
    return pa.Table.from_batches(source.batches(columns)).to_pydict()


def sentence(**options):
    with pytest.raises(TableError) as error:
        read(**options)
    return str(error.value)


def lines(line, n=400):
    return f"{line}\n" * n


def test_types_leave_room_for_what_comes_later(write):
    write(
        "number,big,never,time\n"
        + lines(f"1,{2**60},,2026-01-02 03:04:05")
        + "0.5,7,x,2026-01-02 03:04:05.25\n"
    )
    assert [str(kind) for kind in open_table("t.csv").schema.types] == [
        "double",
        "int64",
        "string",
        "timestamp[us]",
    ]
    found = read()
    assert [column[-1] for column in found.values()] == [
        0.5,
        7,
        "x",
        dt.datetime(2026, 1, 2, 3, 4, 5, 250_000),
    ]
    assert found["big"][0] == 2**60


def test_iso_dates_are_dates_and_others_are_left_to_readings(write):
    write("a,b,c,d\n2026-02-01,01.02.2026,2026-02-01 03:04,2026-02-01T03:04:00Z\n")
    moment = dt.datetime(2026, 2, 1, 3, 4)
    found = {name: values[0] for name, values in read().items()}
    assert found["a"] == moment.date()
    assert found["b"] == "01.02.2026"
    assert found["c"] == moment
    assert found["d"] == moment.replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "word", ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "#N/A"]
)
def test_words_for_missing_are_missing_in_numbers_and_text(word, write):
    write(f"a,b,c\n1,x,0\n{word},{word},0\n")
    assert read(["a", "b"]) == {"a": [1.0, None], "b": ["x", None]}


def test_forced_types_are_kept_and_others_are_inferred(write):
    write("zip,n\n" + lines("01234,1"))
    found = read(types={"zip": pa.string(), "n": pa.int64(), "other": pa.string()})
    assert (found["zip"][0], found["n"][0]) == ("01234", 1)
    assert isinstance(found["n"][0], int)


def test_a_value_that_does_not_fit_is_told_with_line_and_command(write):
    write("a,b c,d\n" + lines("1,2,3") + "\n1,many,3\n" + lines("1,2,3"))
    text = sentence()
    assert "t.csv holds 'many' in line 403 of the column 'b c', which is read as numbers" in text
    assert "categorical=['b c']" in text
    assert "ignore=['b c']" in text
    assert read(types={"b c": pa.string()})["b c"][400] == "many"
    assert len(read(["a", "d"])["a"]) == 801


def test_ragged_lines_are_told_with_their_number(write):
    write("a,b\n1,2\n\n3\n")
    assert "t.csv has 1 values for 2 columns in line 4: '3'" in sentence()
    write("a,b\n" + lines("1,2") + "1,2,3\n")
    assert "t.csv has 3 values for 2 columns in line 402: '1,2,3'" in sentence()
    write('a,b\n"x\ny",2\n' + lines("z,2") + "3\n")
    assert "in row 403 (the header is row 1): '3'" in sentence()


def test_text_in_quotes_may_have_delimiters_quotes_and_lines(write):
    write('"a;b","c"\n' + lines('"x;1,2\n\ny","he said ""no"""') + '"1","5"\n')
    found = read()
    assert found["a;b"] == ["x;1,2\n\ny"] * 400 + ["1"]
    assert found["c"][0] == 'he said "no"'


def test_a_quote_that_never_closes_does_not_swallow_the_rest(write):
    write("a,b\n1,x\n" + '2,"y\n' + lines("3,z"))
    for columns in (None, ["a"], []):
        assert 'quote (") that never closes, so its last 401 lines' in sentence(columns=columns)
    write("a,b\n1,x\n" + '2,5" disk\n')
    assert read()["b"] == ["x", '5" disk']
    write('a,b\n1,x\n2,"y\nz"\n')
    assert read()["b"] == ["x", "y\nz"]


@pytest.mark.parametrize("position", ["first", "last"])
def test_a_cell_of_ten_million_characters_is_read(position, write):
    short, long = lines("1,x"), f"2,{'y' * 10_000_000}\n"
    write("a,b\n" + (long + short if position == "first" else short + long))
    found = read()
    assert sorted(map(len, found["b"])) == [1] * 400 + [10_000_000]
    assert found["a"].count(2.0) == 1
    assert found["a"][0 if position == "first" else -1] == 2.0


def test_a_row_longer_than_the_largest_block_gets_a_sentence(write, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 9, 1 << 10))
    write("a,b\n" + lines("1,x") + f"2,{'y' * 5000}\n")
    assert "t.csv has a row of more than 1,024 bytes" in sentence()


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_header_alone_is_a_table_without_rows(end, write):
    write(f"a,b{end}")
    source = open_table("t.csv")
    assert source.schema.names == ["a", "b"]
    assert list(source.batches()) == []


def test_files_of_windows_and_with_a_mark_at_the_start_are_read(write):
    write("a,b\r\n1,x\r\n", encoding="utf-8-sig")
    assert read() == {"a": [1.0], "b": ["x"]}


@pytest.mark.parametrize("mark", [":", " ", "~", "^"])
def test_a_separator_that_we_do_not_read_is_named(mark, write):
    write(f"a{mark}b\n1{mark}2\n")
    assert f"single column 'a{mark}b', as if {mark!r} separated" in sentence()
    write(f'"a{mark}b"\n1{mark}2\n')
    assert len(read()) == 1


def test_names_must_be_there_and_differ(write):
    write("a,b,a\n1,2,3\n")
    assert "more than one column named 'a'" in sentence()
    write(",b\n1,2\n")
    assert "column 1 of t.csv has no name" in sentence()
    write("\n\n")
    assert "t.csv is empty" in sentence()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a,b\n1,é\n", "in the column 'b', line 2"),
        ("a,b\n" + lines("1,e") + "1,é\n", "in the column 'b', line 402"),
        ("é,b\n1,2\n", "in its column names"),
    ],
)
def test_text_that_is_not_utf8_is_told_with_the_command(text, where, write):
    write(text, encoding="latin1")
    found = sentence()
    assert where in found
    assert "iconv -f WINDOWS-1252 -t UTF-8 t.csv > NEW" in found


def test_what_is_no_text_gets_a_sentence(write):
    write("a,b\n1,x\0y\n")
    assert "line 2 has a NUL byte" in sentence()
    write("a,b\n1,2\n", encoding="utf-16")
    assert "iconv -f UTF-16" in sentence()
    write("PK\x03\x04")
    assert "Excel workbook; save it as CSV" in sentence()


@given(text=st.text(alphabet='ab,;\t"\n\r 1.é\0?', max_size=60))
def test_any_text_is_read_or_refused_with_a_sentence(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(text, newline="")
    try:
        list(open_table(path).batches())
    except TableError as error:
        assert str(path) in str(error)


@given(content=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_a_sentence(tmp_path_factory, content):
    for suffix in ("csv", "parquet", "arrow", "svm", "csv.gz", "anything"):
        path = tmp_path_factory.getbasetemp() / f"bytes.{suffix}"
        path.write_bytes(content)
        try:
            list(open_table(path).batches())
        except TableError as error:
            assert str(path) in str(error)


@given(
    values=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 99)),
        min_size=1,
    )
)
def test_numbers_are_read_exactly(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    path.write_text("a,b\n" + "".join(f"{a!r},{b}\n" for a, b in values))
    (found,) = open_table(path).batches()
    np.testing.assert_array_equal(found["a"], [a for a, _ in values])
    np.testing.assert_array_equal(found["b"], [b for _, b in values])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("99999999999999", "double"),
        ("100000000000000", "int64"),
        (str(2**63 - 1), "int64"),
        (str(10**19), "string"),
        ("-" + "9" * 30, "string"),
        ("1e30", "double"),
        ("1" + "0" * 30 + ".5", "double"),
    ],
)
def test_whole_numbers_of_many_digits_are_not_rounded(value, kind, write):
    write("a,b\n" + lines(f"{value},1"))
    source = open_table("t.csv")
    assert str(source.schema.field("a").type) == kind
    if kind != "double":
        assert str(read()["a"][-1]) == value


def test_only_columns_that_are_named_are_inferred_where_a_model_says_types(write):
    write("a,b,c\n" + lines("1,2,3") + "x,2,3\n")
    source = open_table("t.csv", types={"b": pa.float64()}, inferred=["c"])
    assert [str(kind) for kind in source.schema.types] == ["string", "double", "double"]
    assert read(["a"], types={}, inferred=[])["a"][-1] == "x"


def test_values_as_written_come_in_the_batches_of_the_table(write):
    write("a,b\n" + lines("01,2024-03-03\nNA,\n 1.50,?") + f'"","{"y" * 3000}"\n')
    source = open_table("t.csv", types={"a": pa.float64(), "b": pa.string()})
    typed, written = list(source.batches()), list(source.as_written().batches())
    assert [len(batch) for batch in typed] == [len(batch) for batch in written]
    found = pa.Table.from_batches(written).to_pydict()
    assert found["a"] == ["01", "NA", " 1.50"] * 400 + [""]
    assert found["b"] == ["2024-03-03", None, "?"] * 400 + ["y" * 3000]


def test_a_file_of_many_columns_is_opened_by_a_few_reads(write, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 20, 1 << 21))
    names = [f"c{i}" for i in range(300)]
    rows = "".join(",".join(f"{i}{j:03}" for j in range(300)) + "\n" for i in range(20))
    write(",".join(names) + "\n" + rows + ",".join(["007"] * 300) + "\n")
    opened, original = [], CsvSource._open

    def counted(source, *arguments, **options):
        opened.append(arguments)
        return original(source, *arguments, **options)

    monkeypatch.setattr(CsvSource, "_open", counted)
    source = open_table("t.csv")
    assert len(opened) <= 3
    assert {str(kind) for kind in source.schema.types} == {"string"}  # 007 is a name


@pytest.mark.parametrize("types", [{}, {"day": pa.timestamp("us")}], ids=["a fit", "a model"])
def test_dates_with_blanks_around_them_are_left_to_a_reading(types, write):
    """Arrow reads them as days, but not as the times that a model asks for."""
    write("day,n\n2020-01-01,1\n 2020-01-02 ,2\n")
    assert read(types=types)["day"] == ["2020-01-01", " 2020-01-02 "]
    write("day,n\n2020-01-01,1\n2020-01-02,2\n")
    assert isinstance(read(types=types)["day"][0], dt.date)
