"""`devnet drift`: words, JSON, the report, and an exit code for schedulers."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.payment_tables import fitted, make_table

from devnet.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drift")
    fitted().save(folder / "fraud.devnet")
    same = make_table(seed=1)[0]
    pq.write_table(same, folder / "same.parquet")
    shop = pc.replace_substring(same["shop"], "baker", "Bäcker")
    changed = same.set_column(same.column_names.index("shop"), "shop", shop)
    pq.write_table(changed, folder / "changed.parquet")
    pq.write_table(same.slice(0, 0), folder / "empty.parquet")
    return folder


def drift(folder, table, *options):
    return CliRunner().invoke(
        main, ["drift", str(folder / "fraud.devnet"), str(folder / table), *options]
    )


def test_nothing_has_changed(folder):
    done = drift(folder, "same.parquet")
    assert done.exit_code == 0
    assert "rows; nothing has changed since training. " in done.stdout
    assert done.stderr == ""


def test_a_change_has_an_exit_code_of_its_own(folder):
    done = drift(folder, "changed.parquet")
    assert done.exit_code == 3
    assert "  shop: 38% of values were never seen in training, such as 'Bäcker'" in done.stdout


def test_rows_that_a_store_labels_are_no_alarm(tmp_path, monkeypatch):
    """The table that a model learned from is like itself, however many of its rows are labelled."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    amount = np.where(np.arange(2000) < 100, 9.0, 0.0) + rng.normal(size=2000)
    ids = [f"P{i}" for i in range(2000)]
    pq.write_table(pa.table({"id": ids, "amount": amount}), "t.parquet")
    known = ["anomaly"] * 100 + ["normal"] * 40
    csv.write_csv(pa.table({"id": ids[:140], "verdict": known}), "known.csv")
    run = CliRunner().invoke
    words = ["labels", "import", "r.db", "known.csv", "--table", "t.parquet", "--id", "id"]
    assert run(main, [*words, "--who", "ana"]).exit_code == 0
    fit = ["fit", "t.parquet", "--labels", "r.db", "--method", "PU trees", "-o", "m.devnet"]
    assert run(main, fit).exit_code == 0
    without = run(main, ["drift", "m.devnet", "t.parquet"])
    assert "of rows are alerts, where" in without.stdout
    done = run(main, ["drift", "m.devnet", "t.parquet", "--labels", "r.db"])
    assert done.exit_code == 0, done.output
    assert "1,860 rows; nothing has changed since training" in done.stdout


def test_json_has_figures_of_all_columns(folder):
    done = drift(folder, "changed.parquet", "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert found["has_changed"]
    change = next(one for one in found["changes"] if one["column"] == "shop")
    assert change["cause"] == "new values"
    assert change["found"] == pytest.approx(0.38, abs=0.02)
    columns = {one["name"]: one for one in found["columns"]}
    assert list(columns) == ["time", "amount", "shop", "limit"]
    assert columns["limit"]["learned_missing"] == pytest.approx(0.1, abs=0.03)
    assert columns["amount"]["stability_index"] < 0.05
    assert found["scores"]["learned_high"] == pytest.approx(0.05, abs=0.002)


def test_no_rows_are_no_change(folder):
    done = drift(folder, "empty.parquet")
    assert done.exit_code == 0
    assert "0 rows, so there is nothing to compare." in done.stdout
    assert json.loads(drift(folder, "empty.parquet", "--json").stdout)["scores"] is None


@pytest.mark.parametrize("table", ["same.parquet", "changed.parquet", "empty.parquet"])
def test_a_report_is_written(folder, table):
    page = folder / f"{table}.html"
    done = drift(folder, table, "--report", str(page))
    assert f"Report: {page}" in done.stdout
    html = page.read_text()
    assert "still what was learned?" in html
    assert "<script" not in html
    assert ("such as &#39;Bäcker&#39;" in html) == (table == "changed.parquet")


def test_errors_keep_their_exit_code(folder):
    assert drift(folder, "absent.parquet").exit_code == 2
    done = drift(folder, "same.parquet", "--report", str(folder / "fraud.devnet"))
    assert done.exit_code == 2
    assert "is the model itself" in done.stderr


def test_score_and_alerts_tell_changes_beside_their_results(folder):
    model, table = str(folder / "fraud.devnet"), str(folder / "changed.parquet")
    for words in (["alerts", model, table], ["score", model, table, "-o", str(folder / "s.csv")]):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0
        assert "Note: shop: 38% of values were never seen in training" in done.stderr
        facts = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
        assert any(note.startswith("shop: 38% of values") for note in facts["notes"])


def test_hostile_values_are_written_out(folder):
    same = make_table(seed=1)[0]
    shop = pa.array(["\x1b[2Jevil\u202e"] * len(same))
    table = same.set_column(same.column_names.index("shop"), "shop", shop)
    pq.write_table(table, folder / "hostile.parquet")
    page = folder / "hostile.html"
    done = drift(folder, "hostile.parquet", "--report", str(page))
    assert done.exit_code == 3
    for text in (done.output, page.read_text()):
        assert "\x1b" not in text
        assert "\u202e" not in text
