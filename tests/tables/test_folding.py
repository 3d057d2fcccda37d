"""Alerts that are nearly the same row are shown as one, and none is lost."""

import json
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from devnet.cli.main import main
from devnet.significance import Budget
from devnet.tables import TableModel, find_alerts, folding
from devnet.tables.columns.column import Leeway
from devnet.tables.folding import fold

N, N_ROBOT = 1200, 13


def make_table():
    """Payments; from row 1,000 on, a robot makes thirteen that differ in little but their hour."""
    generator = np.random.default_rng(0)
    amount = generator.lognormal(3, 1, N)
    is_fraud = np.arange(N) % 40 == 7
    amount[is_fraud] *= 20
    shop = np.where(is_fraud, "casino", generator.choice(["baker", "grocer"], N))
    columns = {
        "payment": [f"{i:06}" for i in range(N)],
        "amount": amount,
        "shop": shop,
        "limit": generator.choice([1000, 5000], N),
        "age": generator.integers(18, 80, N),
        "hour": generator.integers(0, 24, N),
        "fraud": [1 if fraud and i < 600 else None for i, fraud in enumerate(is_fraud)],
    }
    robot = slice(1000, 1000 + N_ROBOT)
    columns["amount"][robot] = 700 + 0.01 * np.arange(N_ROBOT)
    columns["shop"][robot] = "casino"
    columns["limit"][robot], columns["age"][robot] = 5000, 33
    columns["hour"][robot] = 12 + np.arange(N_ROBOT) % 3
    columns["fraud"][1007] = None
    return columns


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def model(table):
    return TableModel("logistic regression", random_state=0).fit(table, "fraud")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model, table):
    folder = tmp_path_factory.mktemp("alerts")
    model.save(folder / "m.devnet")
    csv.write_csv(pa.table(table), folder / "t.csv", csv.WriteOptions(quoting_style="none"))
    pq.write_table(pa.table(table), folder / "t.parquet")
    return folder


@pytest.fixture
def alerts(folder):
    def run(*words):
        words = ["alerts", folder / "m.devnet", folder / "t.csv", "--budget", 30, *words]
        done = CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def test_thirteen_payments_of_a_robot_are_one_alert_and_twelve_like_it(model, table):
    found = find_alerts(model, table, policy=Budget(30), n_shown=30)
    (robot,) = (one for one in found.shown if one.like_it)
    rows = [robot.row, *(one.row for one in robot.like_it)]
    assert sorted(rows) == list(range(1000, 1000 + N_ROBOT))
    assert len(found.shown) == 30 - 12
    assert len(found.unfolded()) == found.n_alerts == 30
    assert all(one.reasons for one in robot.like_it)
    few = find_alerts(model, table, policy=Budget(30), n_shown=3)
    assert [one.row for one in few.shown] == [one.row for one in found.shown[:3]]
    everything = find_alerts(model, table, policy=Budget(30), n_shown=None)
    assert everything.shown == found.shown


def test_what_is_like_an_alert_is_said_in_terminal_and_json(alerts):
    shown = alerts()
    assert "12 more alerts are nearly the same: 00100" in shown  # in the order of their rows
    named = shown.partition("nearly the same: ")[2].partition(" and 7 others\n")[0].split(", ")
    assert len(named) == 5
    assert named == sorted(named)
    assert "more; show them" not in shown
    facts = json.loads(alerts("--json"))
    (robot,) = (one for one in facts["shown"] if one["like_it"])
    assert len(robot["like_it"]) == 12
    n_first = 1 + len(facts["shown"][0]["like_it"])
    assert f"... and {30 - n_first} more; show them with --show" in alerts("--show", 1)
    assert set(robot["like_it"][0]) == {"row", "id", "score", "p_value"}
    assert robot["values"]["shop"] == "casino"
    assert sum(1 + len(one["like_it"]) for one in facts["shown"]) == 30


def test_the_leading_zeros_of_ids_are_kept(alerts, folder):
    facts = json.loads(alerts("--json"))
    for one in facts["shown"]:
        assert one["id"] == f"{one['row']:06}"
    words = ["explain", folder / "m.devnet", folder / "t.csv", "--row", 42]
    shown = CliRunner().invoke(main, [*map(str, words)]).stdout
    assert "Row 42, 000042: score" in shown


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_alerts_output_writes_ranked_alerts_with_reasons(alerts, folder, suffix):
    path = folder / f"to_check.{suffix}"
    shown = alerts("--output", path, "--show", 2)
    assert f"All of them are in {path}." in shown
    as_text = csv.ConvertOptions(column_types={"id": pa.string(), "payment": pa.string()})
    rows = (
        csv.read_csv(path, convert_options=as_text) if suffix == "csv" else pq.read_table(path)
    ).to_pylist()
    assert len(rows) == 30
    first = rows[0]
    assert list(first)[:6] == ["rank", "id", "row", "like_row", "score", "p_value"]
    assert first["reason_1"].startswith(first["column_1"])
    assert first["contribution_1"] > 0
    assert first["payment"] == first["id"] == f"{first['row']:06}"
    assert {"amount", "shop", "limit", "age", "hour", "fraud"} < set(first)
    assert [row["rank"] for row in rows] == sorted(row["rank"] for row in rows)
    robot = [row for row in rows if row["like_row"] is not None]
    assert len(robot) == 12
    assert len({row["like_row"] for row in robot}) == 1


def test_alerts_output_without_alerts_has_column_names_only(folder):
    path = folder / "none.csv"
    words = ["alerts", folder / "m.devnet", folder / "t.csv", "--false-alarm-rate", 1e-9]
    done = CliRunner().invoke(main, [*map(str, words), "--output", str(path)])
    assert done.exit_code == 0
    assert f"{path} has no rows." in done.stdout
    assert csv.read_csv(path).num_rows == 0


def test_alerts_output_is_refused_before_any_work(folder):
    for name, said in (("t.csv", "is the table itself"), ("x.docx", "names no format to write")):
        words = ["alerts", folder / "m.devnet", folder / "t.csv", "--output", folder / name]
        done = CliRunner().invoke(main, [*map(str, words)])
        assert done.exit_code == 2
        assert said in done.stderr


def test_a_table_of_alerts_in_python_keeps_both_of_two_columns_of_one_name(model, table):
    renamed = {("score" if name == "fraud" else name): v for name, v in table.items()}
    found = find_alerts(model, renamed, policy=Budget(4)).to_table()
    assert "table_score" in found.column_names
    none = find_alerts(model, table, policy=Budget(30))._replace(shown=[], values=None)
    assert none.to_table().num_rows == 0


def test_rows_that_differ_in_what_matters_are_not_folded(model, table):
    encoder = model.encoder_
    rows = pa.table(table).slice(1000, 4)
    matrix = encoder.encode_checked(rows.select(encoder.read_columns()))
    scores = np.array([4.0, 3.99, 3.98, 1.0])
    assert fold(encoder, matrix, scores) == [[0, 1, 2], [3]]
    other = matrix.copy()
    other[1] = matrix[1, ::-1]
    assert fold(encoder, other, scores) == [[0, 2], [1], [3]]


def folded(model, rows):
    """Groups of rows that are given as differences from one payment of the robot."""
    payment = {"payment": "1", "amount": 700.0, "shop": "casino", "limit": 5000, "age": 33}
    rows = pa.Table.from_pylist([{**payment, "hour": 12, **row} for row in rows])
    matrix = model.encoder_.encode_checked(rows.select(model.encoder_.read_columns()))
    return fold(model.encoder_, matrix, np.linspace(4, 3.9, len(rows)))


@pytest.mark.parametrize(
    "other",
    [{"amount": 900.0}, {"amount": 40.0}, {"amount": 50_000.0}, {"age": 60}, {"age": None}],
    ids=str,
)
def test_a_payment_of_another_amount_is_an_alert_of_its_own(model, other):
    assert folded(model, [{}, other]) == [[0], [1]]


@pytest.mark.parametrize(
    "other", [{"amount": 705.0}, {"hour": 14}, {"shop": "baker"}, {"limit": 5000.01}], ids=str
)
def test_a_payment_that_differs_in_its_shop_or_hour_is_folded(model, other):
    assert folded(model, [{}, other]) == [[0, 1]]
    assert folded(model, [{}, {"shop": "baker", "hour": 14}]) == [[0], [1]]


def test_another_message_is_an_alert_of_its_own_and_one_of_another_number_is_not():
    generator = np.random.default_rng(0)
    words = ["invoice", "meeting", "lunch", "report", "parcel", "holiday", "budget", "garden"]
    texts = [" ".join(generator.choice(words, 9)) + f" {i}" for i in range(400)]
    numbers = {f"n{i}": generator.normal(size=400) for i in range(5)}
    for i in range(4):  # but for their texts, these are the same
        for values in numbers.values():
            values[i] = 0.5
    texts[:3] = [f"your parcel waits, pay the fee at once with the code {n}" for n in (17, 18, 19)]
    texts[3] = "meeting about the garden budget after lunch and the holiday report"
    table = pa.table({"text": texts, **numbers, "bad": [None] * 380 + [1] * 20})
    model = TableModel(random_state=0).fit(table, "bad")
    assert {one.kind for one in model.encoder_.columns} == {"text", "number"}
    rows = table.slice(0, 4).select(model.encoder_.read_columns())
    matrix = model.encoder_.encode_checked(rows)
    assert fold(model.encoder_, matrix, np.linspace(4, 3.9, 4)) == [[0, 1, 2], [3]]


def test_in_a_table_of_few_columns_only_equal_rows_are_folded():
    amount = np.r_[np.linspace(10, 20, 300), np.full(4, 1000.0), 1001.0]
    columns = {"amount": amount, "shop": np.where(amount > 999, "casino", "baker")}
    labels = [1 if i in (300, 10) else None for i in range(len(amount))]
    model = TableModel("logistic regression", random_state=0).fit(columns | {"bad": labels}, "bad")
    found = find_alerts(model, columns, policy=Budget(5))
    assert sorted(1 + len(one.like_it) for one in found.shown) == [1, 4]


@pytest.mark.parametrize("most_dense", [0, folding.DENSE_VALUES])
def test_sparse_rows_fold_as_dense_ones_do(model, table, most_dense, monkeypatch):
    monkeypatch.setattr(folding, "DENSE_VALUES", most_dense)
    encoder = model.encoder_
    rows = pa.table(table).select(encoder.read_columns())
    matrix = encoder.encode_checked(rows)[950:1050]
    scores = np.sort(np.random.default_rng(0).random(100))[::-1]
    assert fold(encoder, sp.csr_array(matrix), scores) == fold(encoder, matrix, scores)


def test_folding_alerts_with_free_text_does_not_touch_its_millions_of_columns():
    wide = 1 << 22
    blocks = [*(slice(i, i + 1) for i in range(5)), slice(5, 5 + wide), slice(5 + wide, 6 + wide)]
    columns = [SimpleNamespace(leeway=Leeway(np.inf))] * len(blocks)
    encoder = SimpleNamespace(blocks=lambda: blocks, columns=columns)
    values = sp.csr_array(np.random.default_rng(0).random((60, 5)))
    texts = sp.csr_array((np.ones(60), np.arange(60) % 30 * 9999, np.arange(61)), (60, wide))
    matrix = sp.hstack([values, texts, sp.csr_array((60, 1))], format="csr")
    twice = sp.vstack([matrix, matrix[:10]], format="csr")
    tracemalloc.start()
    groups = fold(encoder, twice, np.full(70, 3.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert groups == [[i, 60 + i] if i < 10 else [i] for i in range(60)]
    assert peak < 1e6
