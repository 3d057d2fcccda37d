"""The verb `compare` as a user sees it."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from devnet.cli.main import main

QUICK = ("--method", "logistic regression", "--method", "sklearn.tree:DecisionTreeClassifier")


@pytest.fixture
def table(tmp_path):
    """A file of 300 payments, 30 of them labelled; large amounts at night are fraud."""
    generator = np.random.default_rng(0)
    label = np.arange(300) < 30
    amount = generator.lognormal(size=300) + 5 * label
    hour = np.where(label, 3, generator.integers(0, 24, size=300))
    columns = zip(range(300), amount, generator.normal(size=300), hour, label, strict=True)
    lines = [f"P{i},{a:.2f},{b:.5f},{h},{int(is_fraud)}" for i, a, b, h, is_fraud in columns]
    path = tmp_path / "payments.csv"
    path.write_text("\n".join(["payment,amount,balance,hour,fraud", *lines]) + "\n")
    return path


def devnet(*words):
    return CliRunner().invoke(main, ["compare", *map(str, words)])


def is_a_sentence(result):
    """Bad input ends in one line that starts with Error, and nothing else."""
    return (
        result.exit_code == 2
        and isinstance(result.exception, SystemExit)
        and result.stdout == ""
        and result.stderr.startswith("Error: ")
        and result.stderr.count("\n") == 1
    )


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def test_methods_stand_in_a_table_and_advice_and_next_command_follow(table):
    result = devnet(table, "--label", "fraud", *QUICK)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"{table}: 30 labelled anomalies, 270 unlabelled rows, 9 splits"
    rows = [re.fullmatch(r"(.+?) +([\d.]+)  ([\d.]+) to ([\d.]+) +[\d.]+ +[\d.]+", line)
            for line in lines[3:5]]  # fmt: skip
    assert {row[1] for row in rows} == {QUICK[1], QUICK[3]}
    assert [float(row[2]) for row in rows] == sorted((float(row[2]) for row in rows), reverse=True)
    assert lines[5].split() == ["chance", "0.1", "0.500"]
    taken = rows[0][1]
    assert lines[7].startswith("Unlabelled rows count as normal here")
    assert re.search(rf"[Tt]ake {re.escape(taken)}: AUC-PR {rows[0][2]} \(", lines[8])


def test_the_next_command_fits_the_method_that_is_taken(table):
    result = devnet(table, "--label", "fraud", *QUICK[:2], "--repeats", "1")
    command = f"devnet fit {table} --label fraud --method 'logistic regression' --output MODEL"
    assert f"\nNext: {command}\n" in result.stdout
    assert "Next: " not in devnet(table, "--label", "fraud", *QUICK[2:]).stdout


def test_json_has_all_figures(table):
    result = devnet(table, "--label", "fraud", *QUICK, "--repeats", "1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout, parse_constant=refuse_constant)
    assert (found["n_rows"], found["n_labelled"], found["n_splits"]) == (300, 30, 3)
    assert (found["time"], found["group"], found["n_equal"], found["notes"]) == (None, None, 0, [])
    assert set(found["undecided"]) <= {QUICK[1], QUICK[3]} - {found["recommended"]}
    assert found["test_share"] == pytest.approx(1 / 3)
    assert found["recommended"] == found["to_beat"] == found["methods"][0]["method"]
    for one in found["methods"]:
        assert set(one) == {"method", "auc_pr", "auc_roc", "lead", "seconds"}
        assert one["auc_pr"]["low"] <= one["auc_pr"]["mean"] <= one["auc_pr"]["high"]


@pytest.mark.parametrize("wants_json", [False, True])
def test_the_report_is_written(table, tmp_path, wants_json):
    page = tmp_path / "page.html"
    words = ["--label", "fraud", *QUICK, "--repeats", "1", "--report", page]
    result = devnet(table, *words, *["--json"] * wants_json)
    assert result.exit_code == 0
    assert page.read_text().startswith("<!doctype html>")
    if wants_json:
        json.loads(result.stdout)
    else:
        assert result.stdout.endswith(f"\nReport: {page}\n")


def test_a_method_that_fails_is_noted(table):
    result = devnet(
        table, "--label", "fraud", *QUICK[:2], "--method", "support.odd_estimators:Failing"
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: support.odd_estimators:Failing was left out: ")
    assert result.stderr.count("\n") == 1


def test_columns_can_be_ignored_and_rows_named(table):
    words = ["--label", "fraud", *QUICK[:2], "--repeats", "1", "--json"]
    whole, blind = (
        json.loads(devnet(table, *words, *more).stdout)
        for more in ([], ["--ignore", "amount", "--id", "payment", "--categorical", "hour"])
    )
    assert whole["methods"][0]["auc_pr"] != blind["methods"][0]["auc_pr"]


def test_a_terminal_sees_one_bar_that_reads_and_then_fits(table, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if standard error were a terminal
    monkeypatch.setenv("TERM", "xterm")
    result = devnet(table, "--label", "fraud", *QUICK, "--repeats", "1")
    assert result.exit_code == 0, result.stderr
    assert "Fitting" in result.stderr
    last = re.split(r"\x1b\[2K", result.stderr)[-1]
    assert "━" not in last  # the bar is gone at the end


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--label", "fruad"], "'fraud'"),
        (["--label", "fraud", "--method", "PU tree"], "Did you mean 'PU trees'?"),
        (["--label", "fraud", "--method", "nowhere:Tree"], "cannot be imported"),
        (["--label", "fraud", "--ignore", "citty"], "citty"),
        (["--label", "fraud", "--anomaly", "7"], "--anomaly"),
        (["--label", "hour"], "--anomaly"),
        (["--label", "fraud", "--report", "/nowhere/page.html"], "mkdir -p /nowhere"),
    ],
)
def test_bad_input_ends_in_a_sentence(table, words, told):
    result = devnet(table, *words)
    assert is_a_sentence(result), result.output
    assert told in result.stderr


def test_too_few_labels_end_in_a_sentence_with_the_next_command(table):
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([*lines[:4], *lines[31:]]))
    result = devnet(table, "--label", "fraud", "--report", table.with_name("page.html"))
    assert is_a_sentence(result), result.output
    assert "has 3 labelled anomalies by its column 'fraud'" in result.stderr
    assert "fit the recommended method without comparing it: --method" in result.stderr
    assert not table.with_name("page.html").exists()


def test_a_missing_file_and_no_repeats_are_bad_input(table):
    assert is_a_sentence(devnet("nowhere.csv", "--label", "fraud"))
    assert devnet(table, "--label", "fraud", "--repeats", "0").exit_code == 2
    assert devnet(table).exit_code == 2


@pytest.fixture
def dated(table):
    """The payments with a day and a customer; three rows are copies, and one has no day."""
    header, *lines = table.read_text().splitlines()
    days = [f"2024-{1 + i % 9:02d}-{1 + i % 28:02d}" for i in range(300)]
    lines = [
        f"{line},{day},c{i % 50}" for i, (line, day) in enumerate(zip(lines, days, strict=True))
    ]
    lines[7] = lines[7].replace(days[7], "")
    lines += [f"Q{i}{lines[40].removeprefix('P40')}" for i in range(3)]
    table.write_text("\n".join([f"{header},booked,customer", *lines]) + "\n")
    return table


def test_compare_time_booked_group_customer_tells_how_rows_were_split(dated):
    result = devnet(
        dated, "--label", "fraud", *QUICK[:2], "--time", "booked", "--group", "customer"
    )
    assert result.exit_code == 0, result.stderr
    first = result.stdout.splitlines()[0]
    assert first.endswith(
        " splits by booked, each learning from the past, each customer on one side"
    )
    assert result.stderr.splitlines() == [
        "Note: 1 row has no 'booked': left out, as the time is unknown.",
        "Note: 4 rows equal another one in all columns that are used; equal rows are never on both "
        "sides of a split.",
    ]
    assert "--time" not in result.stdout.partition("Next: ")[2]


def test_compare_json_has_the_split_and_the_copies(dated):
    words = ["--label", "fraud", *QUICK[:2], "--group", "customer", "--json"]
    found = json.loads(devnet(dated, *words).stdout)
    assert (found["time"], found["group"], found["n_equal"]) == (None, "customer", 4)
    assert found["notes"] == [
        "4 rows equal another one in all columns that are used; equal rows are never on both "
        "sides of a split."
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--time", "boked"], "Did you mean 'booked'?"),
        (["--group", "custmer"], "Did you mean 'customer'?"),
        (["--time", "customer"], "such as 'c30'. Name a column of dates, or of numbers"),
        (["--time", "fraud"], "name another column with --time."),
        (["--group", "fraud"], "name another column with --group."),
    ],
)
def test_compare_by_a_column_that_cannot_split_rows_ends_in_a_sentence(dated, words, told):
    result = devnet(dated, "--label", "fraud", *words)
    assert is_a_sentence(result), result.output
    assert told in result.stderr
