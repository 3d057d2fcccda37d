"""Formats that are recognised but not supported, and how to convert each."""

from pathlib import Path
from shlex import quote

from devnet.core.wording import path_text
from devnet.tables.table_error import TableError

_PANDAS = "write it as Parquet with pandas: pandas.{reader}({name!r}).to_parquet('NEW.parquet')"
_SQLITE = "write a query as CSV: sqlite3 -header -csv {quoted} 'SELECT * FROM TABLE' > NEW.csv"
_FEATHER_1 = ("Feather of version 1", "write it again with pyarrow or pandas")
_UNSUPPORTED = {  # suffix -> what it is, and what to do
    ".xls": ("an Excel workbook of the old format", "save it as .xlsx or CSV"),
    ".xlsb": ("a binary Excel workbook", "save it as .xlsx or CSV"),
    ".ods": ("an OpenDocument sheet", "save it as .xlsx or CSV"),
    ".numbers": ("a Numbers sheet", "export it as .xlsx or CSV"),
    ".sav": ("an SPSS file", _PANDAS.replace("{reader}", "read_spss")),
    ".zsav": ("an SPSS file", _PANDAS.replace("{reader}", "read_spss")),
    ".dta": ("a Stata file", _PANDAS.replace("{reader}", "read_stata")),
    ".sas7bdat": ("a SAS file", _PANDAS.replace("{reader}", "read_sas")),
    ".xpt": ("a SAS file", _PANDAS.replace("{reader}", "read_sas")),
    ".orc": ("an ORC file", _PANDAS.replace("{reader}", "read_orc")),
    ".rds": (
        "an R object",
        "write it in R: arrow::write_parquet(readRDS({name!r}), 'NEW.parquet')",
    ),
    ".rda": ("an R workspace", "write the table in R: arrow::write_parquet(TABLE, 'NEW.parquet')"),
    ".rdata": (
        "an R workspace",
        "write the table in R: arrow::write_parquet(TABLE, 'NEW.parquet')",
    ),
    ".db": ("a database", _SQLITE),
    ".sqlite": ("a database", _SQLITE),
    ".sqlite3": ("a database", _SQLITE),
    ".duckdb": (
        "a DuckDB database",
        "give a query in Python, duckdb.connect({name!r}).sql('FROM t'), or write it: "
        "COPY (FROM t) TO 'NEW.parquet'",
    ),
    ".avro": ("an Avro file", "write it as Parquet, for example with duckdb or polars.read_avro"),
    ".pkl": ("a pickle, which may run any code", "write it as Parquet where it was made"),
    ".pickle": ("a pickle, which may run any code", "write it as Parquet where it was made"),
    ".h5": ("an HDF5 file", "write its table as Parquet, for example with pandas.read_hdf"),
    ".hdf5": ("an HDF5 file", "write its table as Parquet, for example with pandas.read_hdf"),
    ".npy": ("a NumPy array", "give the array itself in Python, or write it as CSV"),
    ".npz": ("NumPy arrays", "give the array itself in Python, or write it as CSV"),
    ".mat": ("a MATLAB file", "write its table as CSV: writetable(TABLE, 'NEW.csv')"),
    ".zip": ("an archive", "unpack it: unzip {quoted}"),
    ".7z": ("an archive", "unpack it: 7z x {quoted}"),
    ".tar": ("an archive", "unpack it: tar xf {quoted}"),
    ".tgz": ("an archive", "unpack it: tar xf {quoted}"),
    ".xml": ("XML", _PANDAS.replace("{reader}", "read_xml")),
}


def refuse_unsupported(suffix: str, magic: bytes, path: Path, name: str) -> None:
    """Refuse a file of an unsupported format, by its suffix or first bytes."""
    found = _FEATHER_1 if magic.startswith(b"FEA1") else _UNSUPPORTED.get(suffix)
    if found is not None:
        what, advice = found
        todo = advice.format(name=name, quoted=quote(path_text(path)))
        raise TableError(f"{name} is {what}, which is not read; {todo}.")
