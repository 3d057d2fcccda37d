"""The reference has every name, verb, option and field, and none that does not exist."""

import json
import re

import pyarrow.parquet as pq
from click.testing import CliRunner
from safetensors import safe_open
from support.documents import GUIDES, README, ROOT, TEXTS, commands, script
from support.ensemble_checks import quick
from support.payment_tables import fitted, make_table
from support.tasks import make_task

import devnet
from devnet.cli.main import main
from devnet.review.store import LabelStore, ReviewedTable


def test_the_page_of_the_command_line_is_what_help_prints():
    assert TEXTS["docs/reference/command_line.md"] == script("command_line").page()


def test_every_public_name_has_an_entry_in_the_reference():
    documented = set(re.findall(r"^::: (devnet[\w.]*)$", TEXTS["docs/reference/api.md"], re.M))
    for name, home in devnet._HOMES.items():
        assert f"{home}.{name}" in documented, name
    for module in (devnet.significance, devnet.explanation, devnet.competitors):
        for name in set(module.__all__) - {"POLICIES"}:
            one = getattr(module, name)
            assert f"{one.__module__}.{one.__qualname__}" in documented, name


def test_every_verb_is_documented_and_has_help():
    guides = "\n".join(TEXTS[name] for name in GUIDES)
    for path, command in commands(main):
        assert command.help
        assert "\\b" not in command.help  # escaped twice, it is printed and examples run together
        assert f"devnet {' '.join(path)}" in guides


def test_the_readme_lists_every_verb():
    listed = re.findall(r"^\| `devnet (\w+)[^`]*` \|", README, re.M)
    assert sorted(listed) == sorted({path[0] for path, _ in commands(main)})


def test_the_options_of_every_verb_on_tables_are_listed():
    rows = dict(
        re.findall(r"^\| `devnet (\w+)[^`]*` \|(.*)$", TEXTS["docs/reference/tables.md"], re.M)
    )
    verbs = dict(commands(main))
    assert {(verb,) for verb in rows} <= set(verbs)
    for path, command in verbs.items():
        if len(path) > 1:  # of the paper's data and experiments
            continue
        options = {option for parameter in command.params for option in parameter.opts}
        named = set(re.findall(r"`(--[a-z-]+)`", rows[path[0]]))
        assert named | {"--json"} == {option for option in options if option.startswith("--")}


def test_the_options_of_labels_are_listed():
    rows = dict(
        re.findall(r"^\| `devnet (labels \w+)[^`]*` \|(.*)$", TEXTS["docs/how_to/review.md"], re.M)
    )
    verbs = {" ".join(path): command for path, command in commands(main) if path[0] == "labels"}
    assert rows.keys() == verbs.keys()
    for path, command in verbs.items():
        options = {option for one in command.params for option in one.opts if "--" in option}
        assert {*re.findall(r"`(--[a-z-]+)`", rows[path]), "--json"} == options


def test_every_make_target_in_the_documents_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for text in TEXTS.values():
        named = re.findall(r"(?:`|^)make\s([a-z]+)", text, re.M)
        assert set(named) <= targets


def test_every_field_and_tensor_of_a_model_file_is_documented(tmp_path):
    named = set(re.findall(r"`(\w+)`", TEXTS["docs/reference/model_file.md"]))
    fitted().save(tmp_path / "new.devnet")
    rows, y, _ = make_task(0)
    y[500:510] = 2
    quick(normal_label=2).fit(rows, y).save(tmp_path / "dismissed.devnet")
    old = sorted((ROOT / "tests" / "golden" / "0.1.0").glob("*.devnet"))
    for path in [*old, tmp_path / "new.devnet", tmp_path / "dismissed.devnet"]:
        with safe_open(path, framework="np") as file:
            header = json.loads(file.metadata()["devnet"])
            tensors = set(file.keys())
        table = header.get("table", {})
        encoder = table.get("encoder", {})
        columns = [field for column in encoder.get("columns", []) for field in column]
        assert {*header, *table, *encoder, *columns, *tensors} <= named
        assert {*table.get("options", {})} <= named


def test_every_table_and_column_of_a_store_is_documented(tmp_path):
    named = set(re.findall(r"`(\w+)`", TEXTS["docs/reference/store.md"]))
    one = ReviewedTable("t", ("x",))
    with LabelStore(tmp_path / "review.db", one) as store, store.snapshot() as read:
        for (table,) in read.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        ):
            columns = read.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
            assert table == "sqlite_sequence" or {table, *(name for (name,) in columns)} <= named


def test_every_field_of_the_json_of_verbs_on_tables_is_documented(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(make_table()[0], "payments.parquet")
    fitted().save("fraud.devnet")
    both = ["fraud.devnet", "payments.parquet"]
    named = set(re.findall(r"`(\w+)`", TEXTS["docs/reference/output.md"]))
    for words in (
        ["fit", "payments.parquet", "--label", "fraud", "--method", "DevNet", "-o", "new.devnet"],
        ["inspect", "fraud.devnet"],
        ["alerts", *both],
        ["explain", *both, "--row", "0"],
        ["score", *both, "--output", "scored.csv"],
        ["policy", "fraud.devnet", "--budget", "5"],
        ["drift", *both],
        [
            "compare",
            "payments.parquet",
            "--label",
            "fraud",
            "--method",
            "iForest",
            "--repeats",
            "1",
        ],
    ):
        done = CliRunner().invoke(main, [*words, "--json"])
        assert fields(json.loads(done.stdout)) <= named, words


def fields(value):
    """The names of fields that do not depend on the table: those of columns and methods do."""
    if isinstance(value, list):
        return set().union(*map(fields, value))
    if not isinstance(value, dict):
        return set()
    by_name = {
        "parameters",
        "left_out",
        "contributions",
        "values",
        "versions",
        "failed",
        "readings",
    }
    inner = [fields(part) for name, part in value.items() if name not in by_name | {"policy"}]
    return set(value).union(*inner)
