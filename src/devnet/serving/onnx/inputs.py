"""What a graph takes: one input for each column that the model uses, and in which form."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from devnet.core.sentence import Setting
from devnet.core.wording import cut
from devnet.serving.onnx.export_error import ExportError
from devnet.serving.onnx.graph import BOOLEAN, DOUBLE, FLOAT, INTEGER, TEXT, Graph
from devnet.tables.columns.boolean import BooleanColumn
from devnet.tables.columns.category import CategoryColumn
from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.columns.date import DateColumn
from devnet.tables.columns.number import NumberColumn
from devnet.tables.columns.sparse import SparseColumn
from devnet.tables.columns.text_values import MAX_TEXT
from devnet.tables.encoder import TableEncoder
from devnet.tables.readings.reading import Reading

MISSING = ".missing"  # ends the name of an input that marks missing values


class Form(StrEnum):
    """How the values of a column are given."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    TEXT = "text"
    POSITION = "position"
    TIME = "time"
    VECTOR = "vector"


TYPES = {
    Form.NUMBER: DOUBLE,
    Form.BOOLEAN: BOOLEAN,
    Form.TEXT: TEXT,
    Form.POSITION: INTEGER,
    Form.TIME: INTEGER,
    Form.VECTOR: FLOAT,
}
MARKED = (Form.BOOLEAN, Form.TEXT, Form.TIME)  # forms whose values cannot say that one is missing


class ColumnInput(NamedTuple):
    """An input of the graph."""

    column: ColumnEncoding
    form: Form
    name: str
    mark: str  # name of the input that marks missing values; empty if the values tell
    prepared: str  # what must be done to raw values first, in words; empty if nothing

    def add(self, graph: Graph) -> tuple[str, str]:
        """Add it to a graph: the values, and which of them are missing."""
        size = [self.column.width] if self.form is Form.VECTOR else []
        values = graph.input(self.name, TYPES[self.form], *size)
        return values, graph.mark(self.mark, values) if self.mark else ""

    def to_json(self) -> dict[str, str]:
        """The input as a caller should know it."""
        missing = {Form.NUMBER: "NaN", Form.POSITION: "a position of its own", Form.VECTOR: "zeros"}
        is_clock = isinstance(self.column, DateColumn) and self.column.source == "time"
        unit = {Form.TIME: f"microseconds since {'midnight' if is_clock else '1970'}"}
        return {
            "input": self.name,
            "column": self.column.name,
            "form": unit.get(self.form, str(self.form)),
            "missing": self.mark or missing[self.form],
            "prepared": self.prepared,
        }


def plan_inputs(encoder: TableEncoder, graph: Graph) -> list[ColumnInput]:
    """The inputs of a graph, in the order of the encoder's columns.

    Their names are those of the columns, unless the graph has such a name already.
    """
    forms = [_form_of(column) for column in encoder.columns]
    names = [graph.name(_printable(column.name)) for column in encoder.columns]
    return [
        ColumnInput(
            column,
            form,
            name,
            graph.name(name + MISSING) if form in MARKED else "",
            _prepared(column, form, encoder.reader.readings.get(column.name), encoder),
        )
        for column, form, name in zip(encoder.columns, forms, names, strict=True)
    ]


def _printable(name: str) -> str:
    return name if name.isprintable() and name.strip() else "column"


def _form_of(column: ColumnEncoding) -> Form:
    if isinstance(column, CategoryColumn):
        return Form.TEXT if column.n_buckets == 1 else Form.POSITION
    forms = {NumberColumn: Form.NUMBER, BooleanColumn: Form.BOOLEAN, DateColumn: Form.TIME}
    form = Form.VECTOR if isinstance(column, SparseColumn) else forms.get(type(column))
    if form is None or column.is_wide:
        holds = f"holds vectors of {column.width:,} numbers"
        what = "is free text" if column.is_free_text else holds
        raise ExportError(
            f"the column {cut(column.name)!r} {what}, for which ONNX has no operator; score "
            "with Python, or fit a model without it: ",
            Setting("ignore", [column.name]),
        )
    return form


def _prepared(
    column: ColumnEncoding, form: Form, reading: Reading | None, encoder: TableEncoder
) -> str:
    marks, zone = encoder.reader.missing, getattr(column, "zone", "")
    steps: Sequence[str] = [
        *([f"missing if it is {' or '.join(map(repr, marks))}"] if marks else []),
        *([reading.in_words()] if reading else []),
        *(_spelled(column) if isinstance(column, CategoryColumn) else []),
        *([f"on the clock of {zone}"] if zone else []),
        *([f"a row of {column.width} numbers"] if form is Form.VECTOR else []),
    ]
    return "; ".join(steps)


def _spelled(column: CategoryColumn) -> list[str]:
    steps = [] if column.source == "text" else [f"a {column.source} as text, such as 1 for 1.0"]
    if any(len(text) >= MAX_TEXT for text, _ in column.values[: column.n_own]):
        steps.append(f"cut to {MAX_TEXT} characters")
    if column.n_buckets > 1:
        missing = column.width - 1 if column.missing else column.n_own
        steps.append(
            f"its position among the {column.n_own} known values, or else {column.n_own} + "
            f"crc32(UTF-8) modulo {column.n_buckets}, or {missing} if it is missing"
        )
    return steps
