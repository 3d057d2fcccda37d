"""Scoring from file to file: what is passed through, and what is checked before the work."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.significance import Budget
from devnet.tables import TableError, TableModel, find_alerts, score_table
from devnet.tables.sources.opening import open_table

N = 300
HEADER = ["account", "code", "day", "when", "amount", "shop", "extra", "fraud"]


def lines(n_rows=N):
    """Rows of texts, as a file has them."""
    generator = np.random.default_rng(0)
    amount = generator.lognormal(3, 1, n_rows)
    is_fraud = amount > np.quantile(amount, 0.9)
    return [
        [
            str(4915112340001000 + i) if i < 200 else f"{10**19 + i}",
            f"{i:05}",
            f"2024-03-{i % 28 + 1:02}",
            f"2024-03-{i % 28 + 1:02} {i % 24:02}:00",
            "NA" if i == 5 else f"{amount[i]:.3f}0",
            "casino" if is_fraud[i] else [" baker", "gro,cer", 'the "best"', "?"][i % 4],
            ["1", "two", "", "3.50", "null"][i % 5],
            "1" if is_fraud[i] and i % 2 else "",
        ]
        for i in range(n_rows)
    ]


def write_lines(path, rows, header=HEADER):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def read_lines(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("training") / "t.csv"
    without = [[*row[:6], row[7]] for row in lines()]
    write_lines(path, without, [*HEADER[:6], "fraud"])
    fitted = TableModel(method="PU trees", ignore=["account", "code"], random_state=0)
    return fitted.fit(path, "fraud")


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 10, 1 << 20))


def test_values_of_a_text_file_are_written_as_they_are(model, tmp_path, small_blocks):
    write_lines(tmp_path / "in.csv", lines())
    done = score_table(model, tmp_path / "in.csv", tmp_path / "out.csv")
    unknown, learned = done.notes
    assert unknown == "1 column is not known to the model and is ignored: extra"
    assert learned.startswith("rows with fraud = 1 that were learned from score higher")
    assert learned.endswith("the report of the fit shows how many are found unseen.")
    header, *found = read_lines(tmp_path / "out.csv")
    assert header[:8] == HEADER
    assert [row[:8] for row in found] == lines()
    scores = model.score(tmp_path / "in.csv")["anomaly_score"].to_pylist()
    assert [float(row[8]) for row in found] == scores


def test_files_of_a_pattern_are_passed_through_too(model, tmp_path, small_blocks):
    (tmp_path / "in").mkdir()
    write_lines(tmp_path / "in" / "a.csv", lines()[:170])
    write_lines(tmp_path / "in" / "b.csv", lines()[170:])
    score_table(model, f"{tmp_path}/in/*.csv", tmp_path / "out.csv")
    assert [row[:8] for row in read_lines(tmp_path / "out.csv")[1:]] == lines()


def test_a_typed_output_has_text_but_for_columns_that_are_used(model, tmp_path, small_blocks):
    write_lines(tmp_path / "in.csv", lines())
    score_table(model, tmp_path / "in.csv", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["account"].to_pylist() == [row[0] for row in lines()]
    assert found["code"].to_pylist()[:2] == ["00000", "00001"]
    assert found["extra"].to_pylist()[:5] == ["1", "two", None, "3.50", "null"]
    assert found.schema.field("amount").type == pa.float64()
    assert found["amount"].to_pylist()[5] is None


def test_ids_alone_are_as_they_are_written(model, tmp_path):
    write_lines(tmp_path / "in.csv", lines())
    named = TableModel(method="PU trees", id_column="code", random_state=0)
    named.fit(tmp_path / "in.csv", "fraud")
    score_table(named, tmp_path / "in.csv", tmp_path / "out.csv", only_id=True)
    assert [row[0] for row in read_lines(tmp_path / "out.csv")[1:]] == [row[1] for row in lines()]
    assert all(len(one.id) == 5 for one in find_alerts(named, tmp_path / "in.csv").shown)


def test_labels_of_a_text_file_still_leave_out_known_anomalies(model, tmp_path):
    write_lines(tmp_path / "in.csv", lines())
    n_known = sum(row[7] == "1" for row in lines())
    assert find_alerts(model, tmp_path / "in.csv").n_rows == N - n_known


def test_a_value_that_does_not_fit_is_to_be_corrected(model, tmp_path, small_blocks):
    rows = lines()
    rows[250][4] = "much"
    write_lines(tmp_path / "in.csv", rows)
    with pytest.raises(TableError) as error:
        score_table(model, tmp_path / "in.csv", tmp_path / "out.csv")
    assert "holds 'much' in" in str(error.value)
    assert "the column 'amount', where the model learned numbers. Correct the value" in str(
        error.value
    )
    assert "--" not in str(error.value)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("out.xyz", "names no format to write"),
        ("no/out.csv", "mkdir -p"),
        ("in.csv", "is the table itself"),
    ],
)
def test_outputs_are_checked_before_the_work(model, tmp_path, output, sentence):
    write_lines(tmp_path / "in.csv", lines())
    counted = []
    with pytest.raises((TableError, OSError), match=sentence):
        score_table(
            model, tmp_path / "in.csv", tmp_path / output, policy=Budget(3), on_rows=counted.append
        )
    assert counted == []


def test_double_names_are_found_before_the_work(model, tmp_path):
    rows = [[*row[:6], "0.5", row[7]] for row in lines()]
    write_lines(tmp_path / "in.csv", rows, [*HEADER[:6], "anomaly_score", "fraud"])
    counted = []
    with pytest.raises(TableError, match="'anomaly_score' already"):
        score_table(
            model,
            tmp_path / "in.csv",
            tmp_path / "out.csv",
            policy=Budget(3),
            on_rows=counted.append,
        )
    assert counted == []


def coded(texts):
    """Texts as codes of a dictionary that has the missing text itself."""
    values = sorted({text for text in texts if text is not None})
    code = {text: i for i, text in enumerate([values[0], None, *values[1:]])}
    values = pa.array(list(code), pa.string())
    return pa.DictionaryArray.from_arrays(pa.array([code[text] for text in texts]), values)


@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_a_dictionary_with_a_missing_value_is_learned_scored_and_written(suffix, is_file, tmp_path):
    generator = np.random.default_rng(0)
    is_fraud = np.arange(N) % 10 == 3
    shop = [None if i % 7 == 0 else ["casino", "baker"][i % 3 % 2] for i in range(N)]
    plain = {
        "amount": generator.lognormal(size=N) + 5 * is_fraud,
        "shop": pa.array(shop),
        "note": pa.array(["x" if i % 2 else None for i in range(N)]),
        "fraud": pa.array([1 if fraud else None for fraud in is_fraud]),
    }
    codes = {name: coded(plain[name].to_pylist()) for name in ("shop", "note")}
    table = pa.table({**plain, **codes})
    if is_file:
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as file:
            file.write_table(table)
        table = tmp_path / "in.arrow"
    options = {"method": "PU trees", "ignore": ["note"], "random_state": 0}
    fitted = TableModel(**options).fit(table, "fraud")
    expected = TableModel(**options).fit(pa.table(plain), "fraud").score(pa.table(plain))
    score_table(fitted, table, tmp_path / f"out{suffix}")
    found = pa.Table.from_batches(open_table(tmp_path / f"out{suffix}").batches())
    assert found["shop"].to_pylist() == shop
    assert found["note"].to_pylist() == plain["note"].to_pylist()
    np.testing.assert_array_equal(found["anomaly_score"], expected["anomaly_score"])
    shown = find_alerts(fitted, table, policy=Budget(5)).to_table()
    assert shown.num_rows == 5
