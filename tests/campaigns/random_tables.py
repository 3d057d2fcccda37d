"""Arrow tables of any types, names and values through fit, score and explain."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from campaigns.campaign import Campaign
from campaigns.random_columns import array_of, plain_column, random_column, random_name
from campaigns.sentences import accepted_or_refused
from campaigns.small_models import small_parameters
from campaigns.table_answers import check_fit, check_output, check_scores
from devnet.detectors.methods import METHODS, RECOMMENDED
from devnet.tables import TableModel

LABELS = [  # type, an anomaly, another row
    (pa.int64(), 1, 0),
    (pa.float64(), 1.0, None),
    (pa.bool_(), True, False),
    (pa.string(), "fraud", "ok"),
    (pa.dictionary(pa.int8(), pa.string()), "yes", None),
    (pa.int8(), 1, None),
    (pa.string(), "Fraud ", ""),
    (pa.null(), None, None),
    (pa.timestamp("s"), 1, 0),
    (pa.list_(pa.int8()), [1], []),
]
FORMS = ["memory", "memory", "batch", "parquet", "arrow", "stream", "dict"]
OUTPUTS = [".parquet", ".csv", ".arrow", ".tsv", ".feather"]


class Tables(NamedTuple):
    """A table to learn from, and one to score."""

    train: pa.Table
    other: pa.Table
    label: str
    options: dict[str, Any]
    form: str  # in which the tables are given
    suffix: str  # of the output

    def __str__(self) -> str:
        columns = ", ".join(f"{field.name[:20]!r} {field.type}" for field in self.train.schema)
        rows = f"{self.train.num_rows} and {self.other.num_rows} rows"
        return f"{self.form}, {self.suffix}, {rows}, {self.options}, {columns}"[:600]


def make(rng: random.Random) -> Tables:
    """Random columns beside one or two that can be learned from, and nearly always a label."""
    n_plain = rng.choice([0, 1, 1, 2])
    kinds = [plain_column(rng) for _ in range(n_plain)]
    kinds += [random_column(rng) for _ in range(rng.choice([0, 1, 2, 2, 3, 4]))]
    rng.shuffle(kinds)
    names = [random_name(rng) for _ in kinds]
    if rng.random() < 0.95:
        names = [name for i, name in enumerate(names) if name not in names[:i]]
        kinds = kinds[: len(names)]
    label = rng.choice(["fraud", "fraud", "fraud", "is it?", "\x1b[31m", "y" * 300])
    marks = rng.choice(LABELS) if rng.random() < 0.2 else LABELS[rng.randrange(4)]
    missing = [rng.choice([0, 0, 0.1, 0.5, 1]) for _ in kinds]
    sizes = rng.choice([0, 1, 2, 3, 12]), rng.choice([0, 1, 5, 20])
    n_rows = sizes[0] if rng.random() < 0.1 else rng.randint(20, 60)
    columns = list(zip(names, kinds, missing, strict=True))
    train = _table(rng, columns, n_rows)
    train = _with_label(rng, train, label, marks)
    other = _table(rng, columns, sizes[1])
    if rng.random() < 0.3:
        other = _with_label(rng, other, label, marks)
    if rng.random() < 0.2:
        other = _otherwise(rng, other)
    return Tables(train, other, label, _options(rng, names), rng.choice(FORMS), rng.choice(OUTPUTS))


def _table(rng: random.Random, columns: list[Any], n_rows: int) -> pa.Table:
    arrays, names = [], [name for name, _, _ in columns]
    for _, (kind, value), share_missing in columns:
        array = array_of(rng, kind, value, n_rows, share_missing)
        half = rng.randint(0, n_rows)
        parts = [array.slice(0, half), array.slice(half)] if rng.random() < 0.3 else [array]
        arrays.append(pa.chunked_array(parts, array.type))
    return pa.Table.from_arrays(arrays, names=names)


def _with_label(rng: random.Random, table: pa.Table, label: str, marks: Any) -> pa.Table:
    kind, anomaly, other = marks
    values = [anomaly if rng.random() < 0.2 else other for _ in range(table.num_rows)]
    column = pa.array(values, kind.value_type if pa.types.is_dictionary(kind) else kind)
    column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column
    if not table.num_columns:
        return pa.Table.from_arrays([column], names=[label])
    return table.add_column(rng.randint(0, table.num_columns), label, column)


def _otherwise(rng: random.Random, table: pa.Table) -> pa.Table:
    """The table to score differs: a column is missing, new, of another type, or elsewhere."""
    what = rng.choice(["missing", "new", "type", "order"])
    if not table.num_columns:
        return table
    place = rng.randrange(table.num_columns)
    if what == "missing":
        return table.remove_column(place)
    if what == "order":
        return table.select(rng.sample(range(table.num_columns), table.num_columns))
    kind, value = random_column(rng)
    column = array_of(rng, kind, value, table.num_rows, 0.1)
    name = table.column_names[place] if what == "type" else "new"
    if what == "type":
        return table.set_column(place, name, column)
    return table.append_column(name, column)


def _options(rng: random.Random, names: list[str]) -> dict[str, Any]:
    """Settings of the fit."""
    method = rng.choice([RECOMMENDED, "DevNet", "DevNet", "iForest", *METHODS])
    found: dict[str, Any] = {"method": method}
    for name in ("ignore", "categorical", "id_column"):
        if names and rng.random() < 0.1:
            chosen = rng.choice(names)
            found[name] = chosen if name == "id_column" else [chosen]
    return found


def judge(case: Tables, folder: Path) -> None:
    """What is learned gives right answers; what cannot be learned from gets a sentence."""
    options = dict(case.options)
    parameters = small_parameters(options["method"])
    model = TableModel(**options, parameters=parameters, random_state=0)
    model.fit(_given(case.train, case.form, folder / "train"), case.label)
    check_fit(model, case.train, folder)
    with accepted_or_refused():
        check_scores(model, case.other)
    with accepted_or_refused():
        check_output(model, case.other, folder / f"out{case.suffix}")


def _given(table: pa.Table, form: str, path: Path) -> Any:
    """The table in one of the forms that a fit takes; as it is where a form cannot hold it."""
    try:
        if form == "parquet":
            pq.write_table(table, path.with_suffix(".parquet"))
            return path.with_suffix(".parquet")
        if form == "arrow":
            plain = table.combine_chunks()
            with ipc.new_file(path.with_suffix(".arrow"), plain.schema) as writer:
                writer.write_table(plain)
            return path.with_suffix(".arrow")
        if form == "batch" and table.num_rows:
            return table.combine_chunks().to_batches()[0]
        if form == "dict" and len(set(table.column_names)) == table.num_columns:
            return {name: table[name] for name in table.column_names}
    except (pa.ArrowException, OSError):
        return table
    if form == "stream":
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    return table


CAMPAIGN = Campaign("random_tables", make, judge, n_cases=5_000, n_short=60)
