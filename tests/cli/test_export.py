"""`devnet export`, and `devnet score` with a graph, as a user types them."""

import json

import numpy as np
import onnxruntime
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.ensemble_checks import quick
from support.payment_tables import fitted, make_table
from support.tasks import make_task

from devnet.cli.main import main
from devnet.tables import TableModel

ADDED = ["anomaly_score", "p_value", "is_alert"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    table = make_table(seed=2)[0]
    pq.write_table(table, folder / "t.parquet")
    csv.write_csv(table, folder / "t.csv")
    fitted().save(folder / "m.devnet")
    rows, y, _ = make_task(0)
    quick().fit(rows, y).save(folder / "matrix.devnet")
    return folder


@pytest.fixture
def devnet(folder, monkeypatch):
    """Run the command in the folder."""
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(main, list(map(str, words)))


def told(done):
    """The sentence of a refusal."""
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return " ".join(done.stderr.split())


@pytest.fixture
def graph(devnet, folder):
    assert devnet("export", "m.devnet", "m.onnx").exit_code == 0
    return folder / "m.onnx"


def test_export_says_what_the_graph_takes(devnet, folder):
    done = devnet("export", "m.devnet", "m.onnx")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("m.onnx takes 4 columns; alerts are rows that score as high as")
    done = json.loads(devnet("export", "m.devnet", "m.onnx", "--json").stdout)
    assert [one["column"] for one in done["inputs"]] == ["time", "amount", "shop", "limit"]
    assert done["n_bytes"] == (folder / "m.onnx").stat().st_size


@pytest.mark.parametrize("output", ["parquet", "csv"])
@pytest.mark.parametrize("table", ["t.parquet", "t.csv"])
@pytest.mark.parametrize("only_id", [[], ["--only-id"]])
def test_a_graph_writes_what_the_model_writes(devnet, graph, folder, table, output, only_id):
    for model in ("m.onnx", "m.devnet"):
        done = devnet("score", model, table, "-o", f"{model}.{output}", *only_id)
        assert done.exit_code == 0, done.output
    read = {"parquet": pq.read_table, "csv": csv.read_csv}[output]
    found, expected = (read(folder / f"{model}.{output}") for model in ("m.onnx", "m.devnet"))
    expected = expected.drop(["nominal_p_value"])
    assert found.schema.equals(expected.schema)
    assert found.drop(ADDED).equals(expected.drop(ADDED))
    scores = [one["anomaly_score"].to_numpy() for one in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5)
    assert found["is_alert"].equals(expected["is_alert"])


def test_a_graph_without_ids_numbers_the_rows(devnet, folder):
    TableModel("rank deviation").fit({"x": [1.0, 2.0, 5.0] * 9}).save(folder / "x.devnet")
    csv.write_csv(pq.read_table(folder / "t.parquet").select(["amount"]), folder / "a.csv")
    (folder / "x.csv").write_text("x\n1\n2\n9\n")
    assert devnet("export", "x.devnet", "x.onnx").exit_code == 0
    assert devnet("score", "x.onnx", "x.csv", "--only-id", "-o", "s.csv").exit_code == 0
    assert csv.read_csv(folder / "s.csv")["row"].to_pylist() == [0, 1, 2]


def test_score_says_how_many_alerts_there_are(devnet, graph):
    done = devnet("score", "m.onnx", "t.parquet", "-o", "s.parquet", "--json")
    said = json.loads(done.stdout)
    assert said["n_rows"] == 3000
    assert said["n_alerts"] == int(pq.read_table("s.parquet")["is_alert"].to_numpy().sum())


def test_a_threshold_may_be_given_instead_of_a_policy(devnet):
    refused = told(devnet("export", "m.devnet", "b.onnx", "--budget", 10))
    assert "the 10 highest rows, which depends on all rows of a table" in refused
    assert "with --threshold" in refused
    assert devnet("export", "m.devnet", "b.onnx", "--threshold", 5).exit_code == 0
    done = devnet("score", "b.onnx", "t.parquet", "-o", "s.parquet")
    assert "rows that score above 5" in done.stdout
    both = told(devnet("export", "m.devnet", "b.onnx", "--threshold", 5, "--confidence", 0.9))
    assert "--threshold 5.0 say which rows are alerts; give one of them" in both


def test_a_matrix_model_is_exported_but_scores_no_table(devnet):
    done = devnet("export", "matrix.devnet", "matrix.onnx")
    assert done.stdout.startswith("matrix.onnx takes the matrix X")
    refused = told(devnet("score", "matrix.onnx", "t.parquet", "-o", "s.csv"))
    assert "matrix.onnx takes a matrix 'X', not a table" in refused


def test_the_model_and_the_graph_are_never_replaced(devnet, graph, folder):
    before = {name: (folder / name).read_bytes() for name in ("m.devnet", "m.onnx")}
    (folder / "linked.onnx").unlink(missing_ok=True)
    (folder / "linked.onnx").symlink_to("m.devnet")
    assert "is the model itself" in told(devnet("export", "m.devnet", "linked.onnx"))
    assert "m.devnet does not end in .onnx" in told(devnet("export", "matrix.devnet", "m.devnet"))
    (folder / "graph.csv").unlink(missing_ok=True)
    (folder / "graph.csv").symlink_to("m.onnx")
    assert "is the model itself" in told(devnet("score", "m.onnx", "t.csv", "-o", "graph.csv"))
    assert before == {name: (folder / name).read_bytes() for name in before}


def test_what_is_no_graph_is_refused_in_a_sentence(devnet, graph, folder, monkeypatch):
    score = ("score", "bad.onnx", "t.parquet", "-o", "never.csv")
    assert "bad.onnx does not exist" in told(devnet(*score))
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 4
    (folder / "bad.onnx").write_bytes(content)
    assert "bad.onnx" in told(devnet(*score))
    (folder / "bad.onnx").write_bytes(b"amount,shop\n")
    assert "bad.onnx is not an ONNX graph" in told(devnet(*score))
    assert "has its alerts in the graph" in told(
        devnet("score", "m.onnx", "t.csv", "-o", "never.csv", "--budget", 3)
    )
    monkeypatch.setattr(onnxruntime, "__version__", "1.9.0")
    refused = told(devnet("score", "m.onnx", "t.csv", "-o", "never.csv"))
    assert "onnxruntime 1.9.0 is too old" in refused
    assert not (folder / "never.csv").exists()


def test_a_table_that_does_not_fit_is_refused_in_a_sentence(devnet, graph, folder):
    table = pq.read_table(folder / "t.parquet")
    pq.write_table(table.drop(["amount"]), folder / "less.parquet")
    refused = told(devnet("score", "m.onnx", "less.parquet", "-o", "never.csv"))
    assert "less.parquet has no column 'amount', which the model needs" in refused
    devnet("score", "m.onnx", "t.parquet", "-o", "scored.parquet")
    refused = told(devnet("score", "m.onnx", "scored.parquet", "-o", "never.csv"))
    assert "has a column 'anomaly_score' already" in refused
    assert "--only-id" in refused
    assert not (folder / "never.csv").exists()


def test_a_method_that_cannot_be_exported_is_told(devnet, folder):
    table = make_table(n_rows=300)[0]
    parameters = {"n_epochs": 1, "n_batches": 2}
    TableModel("REPEN", parameters=parameters, random_state=0).fit(table, "fraud").save(
        folder / "repen.devnet"
    )
    refused = told(devnet("export", "repen.devnet", "repen.onnx"))
    assert "REPEN cannot be exported" in refused
    assert "--method 'deviation ensemble'" in refused
    assert not (folder / "repen.onnx").exists()


def test_an_empty_table_has_no_scores(devnet, graph, folder):
    pq.write_table(pq.read_table(folder / "t.parquet").slice(0, 0), folder / "none.parquet")
    done = devnet("score", "m.onnx", "none.parquet", "-o", "s.parquet")
    assert done.exit_code == 0, done.output
    assert pq.read_table(folder / "s.parquet").num_rows == 0
