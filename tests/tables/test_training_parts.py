"""A table read in parts, by anybody and in any order, gives the model of one machine."""

import datetime
import random
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaigns.random_columns import WORDS
from campaigns.random_tables import make
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.damaged_files import damage_a_page
from support.payment_tables import make_table
from support.spread_rows import cut_anywhere, sent

from devnet.tables import TableError, TableModel, open_table
from devnet.tables.columns.kinds import KINDS
from devnet.tables.encoder import TableEncoder
from devnet.tables.sources.parts import first_numbers
from devnet.tables.training_rows import read_training_rows

QUICK = {"n_epochs": 1, "n_batches": 2}
N = 300


def in_order(read, merge, parts):
    return reduce(merge, map(read, parts))


def as_sent(read, merge, parts):
    """All parts in the other order, each sent to a process and back."""
    return reduce(merge, [sent(sent(read)(sent(part))) for part in reversed(parts)])


def outcome(folder, table, label, spread, method="DevNet", parameters=QUICK, **options):
    """The bytes of the model file, or the sentence about the table."""
    model = TableModel(method, parameters=parameters, random_state=3, **options)
    try:
        model.fit(table, label, spread=spread).save(folder / "model.devnet")
    except (ValueError, OSError) as error:
        return type(error), str(error)
    return (folder / "model.devnet").read_bytes()


def assert_same(folder, table, label="fraud", **options):
    """Returns what all ways to read a table lead to."""
    spreads = [None, as_sent, cut_anywhere(random.Random(0))]
    plain, *others = (outcome(folder, table, label, spread, **options) for spread in spreads)
    for other in others:
        assert other == plain
    return plain


def read(table, spread, **options):
    generator = np.random.default_rng(0)
    source = open_table(table)
    return read_training_rows(source, "fraud", generator=generator, spread=spread, **options)


def all_reads(table, **options):
    """The rows to learn from, read at once, and twice in parts."""
    spreads = [None, *(cut_anywhere(random.Random(seed)) for seed in range(4))]
    return [read(table, spread, **options) for spread in spreads]


def payments(**more):
    table, _ = make_table(N)
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    return table


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), n_kept=st.sampled_from([3, 16, 1000]))
def test_any_cuts_and_any_order_give_the_same_model(seed, n_kept, tmp_path_factory):
    rng = random.Random(seed)
    case, folder = make(rng), tmp_path_factory.mktemp("model")
    options = {name: one for name, one in case.options.items() if name != "method"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("devnet.tables.training_rows.KEPT_ROWS", n_kept)
        patch.setattr("devnet.tables.training_rows.KEPT_BYTES", rng.choice([100, 1000, 1 << 29]))
        plain, in_parts = (
            outcome(folder, case.train, case.label, spread, **options)
            for spread in (None, cut_anywhere(rng))
        )
    assert in_parts == plain


def test_the_ensemble_learns_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("devnet.tables.training_rows.KEPT_ROWS", 200)
    parameters = {"n_networks": 2, "n_trees": 4}
    plain, in_parts = (
        outcome(tmp_path, payments(), "fraud", spread, "deviation ensemble", parameters)
        for spread in (None, cut_anywhere(random.Random(0)))
    )
    assert isinstance(plain, bytes)
    assert in_parts == plain


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.parquet.PART_ROWS", 40)


@pytest.mark.usefixtures("small_parts")
def test_row_groups_of_a_folder_are_parts(tmp_path):
    """Also if files have no rows, a column that is all missing, or columns in another order."""
    table, folder = payments(), tmp_path / "table"
    folder.mkdir()
    ends = [0, 100, 100, 250, N]
    pieces = [table.slice(*range_of(ends, i)) for i in range(4)]
    pieces[2] = pieces[2].set_column(4, "limit", pa.nulls(len(pieces[2])))
    pieces[3] = pieces[3].select(table.column_names[::-1])
    for i, piece in enumerate(pieces):
        pq.write_table(piece, folder / f"{i}.parquet", row_group_size=15)
    source = open_table(folder)
    assert [part.n_rows for part in source.parts()] == [45, 45, 10, 0, 45, 45, 45, 15, 45, 5]
    assert first_numbers(source, in_order) == [0, 45, 90, 100, 100, 145, 190, 235, 250, 295]
    found = [batch for part in source.parts() for batch in part.batches()]
    assert pa.Table.from_batches(found).equals(pa.Table.from_batches(source.batches()))
    assert isinstance(assert_same(tmp_path, folder), bytes)


def range_of(ends, i):
    return ends[i], ends[i + 1] - ends[i]


@pytest.mark.usefixtures("small_parts")
def test_a_table_gives_the_same_model_in_one_file_as_in_many(tmp_path):
    table = payments().select(["amount", "shop", "fraud"])
    whole = outcome(tmp_path, table, "fraud", None)
    for i in range(3):
        pq.write_table(table.slice(100 * i, 100), tmp_path / f"{i}.parquet")
    assert outcome(tmp_path, tmp_path / "*.parquet", "fraud", as_sent) == whole


def test_an_empty_file_is_a_part(tmp_path):
    pq.write_table(payments().slice(0, 0), tmp_path / "t.parquet")
    (part,) = open_table(tmp_path / "t.parquet").parts()
    assert part.n_rows == 0
    kind, sentence = assert_same(tmp_path, tmp_path / "t.parquet")
    assert "has no rows, only the columns" in sentence


@pytest.mark.usefixtures("small_parts")
def test_labels_beside_the_table_go_with_its_parts(tmp_path):
    table = payments()
    labels = pa.array([1.0 if one.as_py() else None for one in table["fraud"]])
    pq.write_table(table.drop_columns("fraud"), tmp_path / "t.parquet", row_group_size=50)
    model = assert_same(tmp_path, tmp_path / "t.parquet", labels)
    assert isinstance(model, bytes)
    _, sentence = assert_same(tmp_path, tmp_path / "t.parquet", labels[:-1])
    assert "inconsistent numbers of samples" in sentence


@pytest.mark.usefixtures("small_parts")
def test_fields_of_structs_are_columns_of_parts(tmp_path):
    table = payments(place=[{"city": f"c{i % 4}", "at": float(i % 7)} for i in range(N)])
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50)
    assert isinstance(assert_same(tmp_path, tmp_path / "t.parquet"), bytes)


def write_csv(path, table):
    names = table.column_names
    rows = [
        ",".join("" if one is None else str(one) for one in row.values())
        for row in table.to_pylist()
    ]
    path.write_text("\n".join([",".join(names), *rows, ""]))


def test_text_files_are_counted_before_they_are_read(tmp_path):
    table = payments()
    for i in range(3):
        write_csv(tmp_path / f"{i}.csv", table.slice(100 * i, 100))
    assert first_numbers(open_table(tmp_path / "*.csv"), as_sent) == [0, 100, 200]
    assert isinstance(assert_same(tmp_path, str(tmp_path / "*.csv")), bytes)


@pytest.mark.parametrize("changed", [(1,), (2,), (1, 2)])
def test_a_value_of_a_later_file_decides_how_all_are_read(tmp_path, changed):
    """Amounts look like numbers until some have a currency; dates leave day and month open."""
    table = payments().select(["amount", "shop", "fraud"])
    days = [datetime.date(2026, 1 + i % 12, 1 + i % 12).strftime("%d/%m/%Y") for i in range(N)]
    days[170] = "25/03/2026"
    price = [f"{i % 40}.5" for i in range(N)]
    for i in changed:
        price[100 * i + 50] = "$9.50"
    table = table.append_column("price", pa.array(price)).append_column("day", pa.array(days))
    for i in range(3):
        write_csv(tmp_path / f"{i}.csv", table.slice(100 * i, 100))
    model = assert_same(tmp_path, str(tmp_path / "*.csv"))
    assert isinstance(model, bytes)
    rows = read(tmp_path / "*.csv", as_sent)
    assert rows.summary.reader.readings["day"].order == "day first"
    assert rows.summary.reader.readings["price"].in_words() == "text read as numbers"


def test_the_first_value_that_cannot_be_read_is_the_example():
    amount = [f"${i}.00" for i in range(N)]
    amount[250], amount[130] = "later", "sooner"
    weight = [f"{i} kg" for i in range(N)]
    weight[5] = "heavy"
    table = payments(price=amount, weight=weight)
    for rows in all_reads(table):
        assert list(rows.summary.reader.unread.items()) == [
            ("price", (2, "sooner")),
            ("weight", (1, "heavy")),
        ]


def test_zero_is_zero_whichever_sign_comes_first():
    for signs in ([0.0, -0.0], [-0.0, 0.0]):
        for rows in all_reads(payments(balance=[*signs, *np.arange(2.0, N)])):
            encoder = TableEncoder.learn(rows.summary, rows.others().rows)
            low = next(one.low for one in encoder.columns if one.name == "balance")
            assert str(low) == "0.0"


@pytest.mark.parametrize("n_values", [5, 6])
def test_values_are_counted_up_to_a_limit_that_parts_share(monkeypatch, n_values):
    monkeypatch.setattr("devnet.tables.columns.category.MAX_VALUES", 5)
    codes = [f"code {i % n_values}" for i in range(N)]
    same = ["x" * 100 + str(i) for i in range(N)]  # alike in the characters that are looked at
    for rows in all_reads(payments(code=codes, text=same)):
        counts = rows.summary.columns["code"].counts
        assert counts == ({f"code {i}": N // 5 for i in range(5)} if n_values == 5 else None)
        assert rows.summary.columns["text"].counts == {"x" * 100: N}


def test_spellings_are_in_the_order_of_rows_if_they_are_equally_common():
    labels = [None] * N
    labels[10] = labels[290] = "fraud "
    labels[120] = labels[130] = "Fraud"
    labels[200] = labels[210] = "FRAUD"
    table = payments().drop_columns("fraud").append_column("fraud", pa.array(labels))
    for rows in all_reads(table):
        assert (rows.anomaly, rows.spellings) == ("fraud", ["fraud ", "Fraud", "FRAUD"])
        assert rows.labelled.number.tolist() == [10, 120, 130, 200, 210, 290]


@pytest.mark.parametrize("n_labels", [3, 30])
def test_too_many_labels_are_refused_in_the_same_words(tmp_path, n_labels):
    """Which labels are named depends on how far one machine would have read."""
    labels = [f"kind {i * n_labels // N}" for i in range(N)]
    table = payments().drop_columns("fraud").append_column("fraud", pa.array(labels))
    kind, sentence = assert_same(tmp_path, table)
    assert f"has {n_labels} or more different values" in sentence
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50)
    assert assert_same(tmp_path, tmp_path / "t.parquet")[1] == sentence


def test_an_unknown_label_is_refused_with_the_first_labels_of_the_table(monkeypatch):
    monkeypatch.setattr("devnet.tables.label_strata.MAX_LABEL_VALUES", 7)
    kinds = [f"{'Kind' if i >= 150 else 'kind'} {i % 5}" for i in range(200)]
    labels = [*kinds, *(f"also {i}" for i in range(200, N))]
    table = payments().drop_columns("fraud").append_column("fraud", pa.array(labels))
    for spread in [None, *(cut_anywhere(random.Random(seed)) for seed in range(8))]:
        with pytest.raises(TableError, match="'also 200', 'also 201', 'kind 0', 'kind 1', ..."):
            read(table, spread, anomaly="fraud")


def test_other_faults_have_the_same_words(tmp_path):
    table = payments()
    empty = table.drop_columns("fraud").append_column("fraud", pa.nulls(N, pa.int8()))
    assert "is empty in all 300 rows" in assert_same(tmp_path, empty)[1]
    _, sentence = assert_same(tmp_path, table, "fraude")
    assert "Did you mean 'fraud'?" in sentence
    vector = pa.array([[{"index": -5 if i == 70 else i, "value": 1.0}] for i in range(N)])
    assert "negative index -5" in assert_same(tmp_path, table.append_column("v", vector))[1]


@pytest.mark.usefixtures("small_parts")
def test_the_first_file_that_cannot_be_read_is_named(tmp_path):
    paths = [tmp_path / f"{i}.parquet" for i in range(4)]
    for path in paths:
        pq.write_table(payments(), path, row_group_size=50)
    for path in paths[1:]:
        damage_a_page(path)
    kind, sentence = assert_same(tmp_path, tmp_path / "*.parquet")
    assert kind is TableError
    assert f"{paths[1]} cannot be read: it is damaged" in sentence


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("what", ["changed", "deleted"])
def test_a_file_that_changes_between_two_parts_is_refused(tmp_path, what):
    path = tmp_path / "t.parquet"

    def meddling(read, merge, parts):
        first = read(parts[0])
        if what == "changed":
            pq.write_table(payments().slice(1), path, row_group_size=50)
        else:
            path.unlink()
        return reduce(merge, map(read, parts[1:]), first)

    pq.write_table(payments(), path, row_group_size=50)
    words = "was changed while it was read" if what == "changed" else "was moved or deleted"
    with pytest.raises(TableError, match=words):
        TableModel().fit(path, "fraud", spread=meddling)


def test_a_text_file_that_changes_before_it_is_read_is_refused(tmp_path):
    """Its bytes are known here, but do not travel."""
    paths = [tmp_path / f"{i}.csv" for i in range(2)]
    for path in paths:
        path.write_text("amount,fraud\n" + "".join(f"{i}.5,{i % 99 // 98}\n" for i in range(9000)))

    def meddling(read, merge, parts):
        paths[1].write_text(paths[1].read_text() + "1.5,0\n")
        return reduce(merge, map(read, parts))

    with pytest.raises(TableError, match=r"1\.csv was changed while it was read"):
        read(str(tmp_path / "*.csv"), meddling)


def test_what_reads_and_merges_leaves_its_arguments_alone(tmp_path):
    """A worker may do a task twice."""

    def twice(read, merge, parts):
        (part,) = parts
        one, other = read(part), read(part)
        before = [sent(one).summary.n_rows, sent(other).summary.n_rows]
        first, second = merge(one, other), merge(one, other)
        assert [one.summary.n_rows, other.summary.n_rows] == before
        assert first.summary.n_rows == second.summary.n_rows == 2 * N
        assert one.strata.counts() == other.strata.counts()
        return one

    assert outcome(tmp_path, payments(), "fraud", twice) == outcome(
        tmp_path, payments(), "fraud", None
    )


def test_rows_are_told_when_all_parts_are_read():
    told = []
    read(payments(), cut_anywhere(random.Random(0)), on_rows=told.append)
    assert told == [N]


def test_columns_of_all_kinds_are_encoded_as_one_machine_does():
    vectors = [[{"index": i, "value": 1.0}] if i % 3 else None for i in range(N)]
    words = [f"{WORDS[i % 9]} {WORDS[i % 7]} with {WORDS[i * 5 % 8]} at {i}" for i in range(N)]
    online = [None if i % 50 == 0 else i > 280 for i in range(N)]
    numbers = [None if i % 40 == 5 else [i * 0.1, i * 7 % 11] for i in range(N)]
    table = payments(vector=vectors, note=words, online=online, embedding=numbers)
    plain, *others = all_reads(table)
    encoder = TableEncoder.learn(plain.summary, plain.others().rows)
    kinds = {column.kind for column in encoder.columns}
    assert kinds == {column.kind for column in KINDS}
    for rows in others:
        again = TableEncoder.learn(rows.summary, rows.others().rows)
        assert again.to_header() == encoder.to_header()
        assert rows.unlabelled.number.tolist() == plain.unlabelled.number.tolist()
