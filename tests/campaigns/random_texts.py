"""CSV texts of any dialect, encoding and state through fit, score and explain."""

import random
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from campaigns.campaign import Campaign
from campaigns.random_columns import TEXTS, WORDS, random_name
from campaigns.sentences import accepted, accepted_or_refused
from campaigns.small_models import small_parameters
from campaigns.table_answers import check_fit, check_scores, read_cells
from devnet.detectors.methods import RECOMMENDED
from devnet.tables import TableModel, score_table

LABEL = "fraud"
DELIMITERS = [",", ",", ",", ";", "\t", "|"]
ENDS = ["\n", "\n", "\r\n", "\r"]
ENCODINGS = [*("utf-8",) * 12, *("utf-8-sig",) * 3, "latin-1", "utf-16", "cp1252"]
QUOTES = ["where needed", "where needed", "all", "text"]
METHODS = ["DevNet", "DevNet", "iForest", "logistic regression", RECOMMENDED]
CELLS = [text for text in TEXTS if "\0" not in text]
ODD = [" 5 ", "5 ", "2020-01-01 ", " 31/12/2019", "1,5", "-", "1e400", "0x1F", "5 5", "12:30", "∞"]
NUMBERS = ["{:.2f}", "{:.0f}", "${:,.2f}", "{:,.0f}", "{:.1f}%", "€{:.2f}", "({:.0f})", "{:.3e}"]
FLAWS = [
    *("none",) * 14,
    *("short line", "long line", "stray quote", "open quote", "blank lines", "NUL", "bad bytes"),
    *("comment", "cut", "no end", "two headers", "other kind later", "spaces", "delimiter at end"),
]


class Dialect(NamedTuple):
    """How cells are written."""

    delimiter: str
    end: str  # of a line
    encoding: str
    quotes: str

    def line(self, cells: list[str]) -> str:
        return self.delimiter.join(map(self._cell, cells))

    def _cell(self, cell: str) -> str:
        is_needed = any(sign in cell for sign in (self.delimiter, '"', "\n", "\r"))
        is_text = self.quotes == "text" and not cell.replace(".", "", 1).isdigit()
        if is_needed or (cell and (is_text or self.quotes == "all")):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def content(self, lines: list[str]) -> bytes:
        return (self.end.join(lines) + self.end).encode(self.encoding, errors="replace")


class Text(NamedTuple):
    """A CSV file, and its cells if it has no flaw."""

    content: bytes
    names: list[str]
    cells: list[list[str]] | None
    method: str
    dialect: Dialect
    flaw: str

    def __str__(self) -> str:
        return f"{tuple(self.dialect)}, {self.method}, {self.flaw}: {self.content[:200]!r}"


def make(rng: random.Random) -> Text:
    """Columns of numbers, dates, categories and worse; written well, then perhaps damaged."""
    n_rows = rng.choice([0, 1, 3, 500]) if rng.random() < 0.1 else rng.randint(15, 60)
    drawn = [random_name(rng).replace("\0", "0") for _ in range(rng.randint(1, 4))]
    names = list(dict.fromkeys([*drawn, LABEL]))
    columns = [_column(rng, n_rows) for _ in names[:-1]]
    columns.append(_labels(rng, n_rows))
    cells = [list(row) for row in zip(*columns, strict=True)]
    dialect = Dialect(*map(rng.choice, (DELIMITERS, ENDS, ENCODINGS, QUOTES)))
    flaw = rng.choice(FLAWS)
    lines = _flawed(rng, [dialect.line(row) for row in [names, *cells]], dialect, flaw)
    content = dialect.content(lines)
    if flaw == "no end":
        content = content.removesuffix(dialect.end.encode())
    if flaw == "bad bytes":
        place = rng.randrange(len(content) + 1)
        content = content[:place] + rng.randbytes(3) + content[place:]
    if flaw == "cut":
        content = content[: rng.randrange(len(content) + 1)]
    is_sound = flaw in ("none", "no end") and dialect.encoding.startswith("utf-8")
    return Text(content, names, cells if is_sound else None, rng.choice(METHODS), dialect, flaw)


def _column(rng: random.Random, n_rows: int) -> list[str]:
    missing = rng.choice(["", "", "NA", "?", "-", "n/a"])
    share, kind = rng.choice([0, 0, 0.1, 0.5]), rng.randrange(6)
    if kind <= 1:
        form = rng.choice(NUMBERS)
        values = [form.format(rng.lognormvariate(4, 2)) for _ in range(n_rows)]
    elif kind == 2:
        form = rng.choice(["{d:02}/{m:02}/{y}", "{y}-{m:02}-{d:02}", "{d}.{m}.{y}", "{m}-{d}-{y}"])
        values = [
            form.format(d=rng.randint(1, 28), m=rng.randint(1, 12), y=rng.randint(1999, 2026))
            for _ in range(n_rows)
        ]
    elif kind == 3:
        chosen = rng.sample(CELLS, 4)
        values = [rng.choice(chosen) for _ in range(n_rows)]
    elif kind == 4:
        values = [" ".join(rng.choices(WORDS, k=rng.randint(2, 12))) for _ in range(n_rows)]
    else:
        values = [rng.choice(CELLS) for _ in range(n_rows)]
    values = [missing if rng.random() < share else value for value in values]
    if values and rng.random() < 0.2:
        values[rng.randrange(n_rows)] = rng.choice([*CELLS, *ODD])
    return values


def _labels(rng: random.Random, n_rows: int) -> list[str]:
    anomaly, other = rng.choice([("1", "0"), ("1", ""), ("yes", "no"), ("TRUE", "FALSE")])
    return [anomaly if rng.random() < 0.2 else other for _ in range(n_rows)]


def _flawed(rng: random.Random, lines: list[str], dialect: Dialect, flaw: str) -> list[str]:
    place, (delimiter, end, *_) = rng.randrange(len(lines)), dialect
    changes = {
        "short line": lambda line: line.rpartition(delimiter)[0],
        "long line": lambda line: line + delimiter + "more",
        "stray quote": lambda line: line[: len(line) // 2] + '"' + line[len(line) // 2 :],
        "open quote": lambda line: '"' + line,
        "blank lines": lambda line: end * 3 + line,
        "NUL": lambda line: line + "\0",
        "comment": lambda line: "# a comment" + end + line,
        "two headers": lambda line: lines[0] + end + line,
        "other kind later": lambda line: delimiter.join(["x"] * (line.count(delimiter) + 1)),
        "spaces": lambda line: line.replace(delimiter, f" {delimiter} "),
        "delimiter at end": lambda line: line + delimiter,
    }
    if flaw in changes:
        lines[place] = changes[flaw](lines[place])
    return lines


def judge(case: Text, folder: Path) -> None:
    """A table that is learned from is scored right, and every cell is passed on as written."""
    path = folder / "table.csv"
    path.write_bytes(case.content)
    parameters = small_parameters(case.method)
    model = TableModel(case.method, parameters=parameters, random_state=0).fit(path, LABEL)
    check_fit(model, path, folder)
    scored = check_scores(model, path)
    with accepted_or_refused():
        _check_cells(model, case, path, scored.num_rows)
    _check_alone(model, case, path.with_name("alone.csv"), scored)


def _check_cells(model: TableModel, case: Text, path: Path, n_rows: int) -> None:
    output = path.with_name("scored.csv")
    assert score_table(model, path, output).n_rows == n_rows, "other rows are written than scored"
    with accepted("reading the output"):
        names, rows = read_cells(output)
    assert len(rows) == n_rows, f"{len(rows)} lines are written for {n_rows} rows"
    if case.cells is None:
        return
    assert n_rows == len(case.cells), f"{len(case.cells)} rows were written, {n_rows} are scored"
    width = len(case.names)
    assert names[:width] == case.names, f"the columns are {names[:width]}, not {case.names}"
    for i, (found, given) in enumerate(zip(rows, case.cells, strict=True)):
        assert found[:width] == given, f"row {i} is passed on as {found[:width]}, not {given}"


def _check_alone(model: TableModel, case: Text, path: Path, scored: pa.Table) -> None:
    """A row in a file of its own has the same score."""
    for i in {0, len(case.cells) // 2} if case.cells else ():
        row = case.cells[i]
        lines = [case.dialect.line(cells) for cells in (case.names, row)]
        path.write_bytes(case.dialect.content(lines))
        with accepted(f"scoring row {i} alone"):
            alone = model.score(path)["anomaly_score"].to_pylist()
        score = scored["anomaly_score"][i].as_py()
        assert alone == [score], f"row {i} scores {alone} alone, {score} among others: {row}"


CAMPAIGN = Campaign("random_texts", make, judge, n_cases=5_000, n_short=60)
