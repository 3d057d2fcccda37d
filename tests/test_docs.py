"""What the documents show is true."""

import importlib
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import click
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from safetensors import safe_open
from support.ensemble_checks import quick
from support.payment_tables import fitted, make_table
from support.tasks import make_task

import devnet
from devnet.cli.main import main
from devnet.experiments.claim_evidence import Evidence
from devnet.experiments.claims import read_claims
from devnet.experiments.plan import read_experiments
from devnet.experiments.results import read_results
from devnet.experiments.verdicts import Verdict, check, tally_text
from devnet.review.store import LabelStore, ReviewedTable

ROOT = Path(__file__).parents[1]


@cache
def committed(name):
    """The committed results of an experiment."""
    return read_results(ROOT / "experiments" / "results" / f"{name}.jsonl")


def script(name):
    """A script that makes or checks pages."""
    sys.path.insert(0, str(ROOT / "docs" / "scripts"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


examples = script("examples")
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
GUIDES = ["README.md", *PAGES]
DOCUMENTS = [*GUIDES, "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
TEXTS = {name: (ROOT / name).read_text() for name in DOCUMENTS}
README = TEXTS["README.md"]
BLOCKS = {name: examples.blocks(TEXTS[name]) for name in DOCUMENTS}
STORIES = [name for name in DOCUMENTS if BLOCKS[name] and examples.is_story(name, TEXTS[name])]


def steps_of(name):
    return [step for block in BLOCKS[name] for step in block.steps]


def marks(*blocks):
    return [pytest.mark.slow] if any(block.is_slow for block in blocks) else []


PROGRAMS = [
    pytest.param(block.steps[0], id=f"{name}-{i}", marks=marks(block))
    for name in DOCUMENTS
    if name not in STORIES
    for i, block in enumerate(block for block in BLOCKS[name] if block.steps[0].is_python)
]


def skip_without_torch(*steps):
    if any(re.search(r"import torch|ImageDevNet|SequenceDevNet", step.code) for step in steps):
        pytest.importorskip("torch")


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_print_what_the_documents_say(program, tmp_path):
    skip_without_torch(program)
    assert examples.run(program, tmp_path, {}) == program.said


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(*BLOCKS[name])) for name in STORIES]
)
def test_stories_print_what_the_documents_say(name, tmp_path):
    """One step after the other: what is typed in a terminal as well as Python."""
    names, steps = {}, steps_of(name)
    skip_without_torch(*steps)
    for step in steps:
        printed = examples.run(step, tmp_path, names)
        assert examples.is_as_said(step.said, printed), f"{step.code}\n{printed}"


def test_programs_are_found():
    programs = [step for name in BLOCKS for step in steps_of(name)]
    assert sum(bool(step.said) for step in programs) >= 4
    n_python = sum(step.is_python for step in programs)
    assert n_python == sum(text.count("```python\n") for text in TEXTS.values())


def test_every_session_and_all_output_in_the_documents_is_compared():
    """A prompt says that a command is run: what is not stands without one, and without output."""
    compared_below = {"README.md": 1, "docs/explanation/reasons.md": 1}
    for name, text in TEXTS.items():
        sessions = [block for block in BLOCKS[name] if not block.steps[0].is_python]
        assert name in STORIES or len(sessions) == compared_below.get(name, 0), name
        prompts = sum(len(block.steps) for block in sessions)
        assert len(re.findall(r"^\$ ", text, re.M)) == prompts, name
        if name != "docs/reference/command_line.md":  # it is compared as a whole
            printed = sum(step.is_python and bool(step.said) for step in steps_of(name))
            assert len(re.findall(r"^```text$", text, re.M)) == printed, name


def test_commands_shown_without_output_have_options_that_exist():
    verbs = dict(commands(main))
    for text in TEXTS.values():
        for block in re.findall(r"^```\n(.*?)^```$", text, re.S | re.M):
            for line in re.findall(r"^devnet (.*)$", block, re.M):
                words = re.split("[#|]", line)[0].split()
                verb = next(path for path in verbs if path == tuple(words[: len(path)]))
                known = {option for one in verbs[verb].params for option in one.opts}
                assert {word for word in words if word.startswith("-")} <= known, line


def test_a_score_adds_up_as_in_the_tutorial():
    (block,) = examples.blocks(TEXTS["docs/explanation/reasons.md"])
    (step,) = block.steps
    (told,) = [one for one in steps_of("docs/tutorials/payments.md") if one.code == step.code]
    assert examples.is_as_said(step.said, told.said)


def test_what_is_printed_may_be_cut_short_and_nothing_else_may_differ():
    assert examples.is_as_said("one\ntwo\n\n", "one\ntwo\n")
    assert examples.is_as_said("one\n...\nfour", "one\ntwo\nthree\nfour\n")
    assert examples.is_as_said("one\n...\n", "one\n")
    assert examples.is_as_said(
        "DevNet  0.5           9.9\nIt took 1 s.", "DevNet  0.5          12.1\nIt took 2.1 s."
    )
    assert not examples.is_as_said("one\n...\nfour", "one\ntwo\nfour and more\n")
    assert not examples.is_as_said("one...\n", "one or two\n")
    assert not examples.is_as_said("", "one\n")
    assert not examples.is_as_said("a.c\n", "abc\n")


def test_commands_and_what_they_print_are_told_apart():
    page = "<!-- slow -->\n```\n$ echo a \\\n    b\na b\n\n$ true\n```\n"
    (block,) = examples.blocks(page)
    assert block.is_slow
    assert [step.code for step in block.steps] == ["echo a \\\n    b\n", "true\n"]
    assert [step.said.strip() for step in block.steps] == ["a b", ""]
    (found,) = examples.blocks(f"```sh\n$ no session\n```\n\n{page}")
    assert found.steps == block.steps


def test_the_readme_fits_on_a_few_screens():
    assert len(README.splitlines()) <= 150


def test_the_index_lists_every_page_by_its_title_and_the_site_has_it():
    site = (ROOT / "zensical.toml").read_text()
    for name in PAGES:
        page = name.removeprefix("docs/")
        title = TEXTS[name].split("\n")[0].removeprefix("# ")
        assert page == "README.md" or f"- [{title}]({page})" in TEXTS["docs/README.md"]
        assert f'"{page}"' in site


@pytest.mark.parametrize(
    "question",
    [
        "How do I install it?",
        "How do I set a threshold?",
        "Why was this row flagged?",
        "How do I use 5 labels?",
        "When do I retrain?",
        "How do I score a billion rows?",
        "How do I deploy it without Python?",
        "What does the p-value promise?",
        "Where does it lose against others?",
        "How do I remove a person's data?",
    ],
)
def test_the_index_has_one_link_for_what_everybody_asks(question):
    assert TEXTS["docs/README.md"].count(f"- [{question}](") == 1


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


def test_table_1_is_that_of_the_committed_results():
    arguments = ["experiment", "table", "effectiveness", "--format", "markdown"]
    folder = ["--folder", str(ROOT / "experiments")]
    done = CliRunner().invoke(main, [*arguments, *folder], catch_exceptions=False)
    assert done.output.strip() in TEXTS["docs/explanation/results.md"]


def test_the_committed_page_is_that_of_the_committed_results(tmp_path):
    page = tmp_path / "report.html"
    folder = ["--folder", str(ROOT / "experiments"), "--output", str(page)]
    CliRunner().invoke(main, ["experiment", "report", *folder], catch_exceptions=False)
    assert page.read_text() == (ROOT / "experiments" / "report.html").read_text()


@pytest.fixture(scope="module")
def checked_claims():
    folder = ROOT / "experiments"
    results = [(one, committed(one.name)) for one in read_experiments(folder)]
    return check(read_claims(folder), Evidence(results))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_the_documents_say_of_claims_is_what_the_committed_results_say(
    document, checked_claims
):
    """`<!-- claims: id verdict; id verdict -->` after a sentence names the claims that it is of."""
    assert wrong_about_claims(TEXTS[document], checked_claims) == []


def wrong_about_claims(text, checked):
    """Verdicts, counts and numbers in a text that are not those of the claims it names."""
    by_id = {one.claim.id: one for one in checked}
    wrong = [
        said
        for said in re.findall(r"Of \d+ claims, [^.]*\.", " ".join(text.split()))
        if said != tally_text(checked)
    ]
    for sentence, named in re.findall(r"((?:(?!\n\n|-->).)+?)<!-- claims: (.+?) -->", text, re.S):
        known_numbers = set()
        for one_named in named.split(";"):
            name, _, verdict = " ".join(one_named.split()).partition(" ")
            one = by_id.get(name)
            if one is None or one.verdict != verdict:
                wrong.append(f"{name} {verdict}")
                continue
            known_numbers |= numbers(f"{one.claim.claim} {one.published} {one.ours} {one.remark}")
        wrong += sorted(numbers(sentence) - known_numbers)
    return wrong


def numbers(text):
    return set(re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", text))


def test_wrong_words_about_claims_are_noticed(checked_claims):
    by_id = {one.claim.id: one for one in checked_claims}
    one = by_id["table1-auc-pr-iforest"]
    named = f"<!-- claims: {one.claim.id} {one.verdict} -->"
    assert wrong_about_claims(f"It is {one.ours} better. {named}", checked_claims) == []
    assert wrong_about_claims(f"It is 12345% better. {named}", checked_claims) == ["12345"]
    assert wrong_about_claims("It is so. <!-- claims: no-such holds -->", checked_claims)
    other = next(v for v in Verdict if v != one.verdict)
    assert wrong_about_claims(f"It is so. <!-- claims: {one.claim.id} {other} -->", checked_claims)
    assert wrong_about_claims("Of 2 claims,\n1 holds and 1 does not.", checked_claims)
    assert wrong_about_claims(tally_text(checked_claims), checked_claims) == []


def mean_auc_pr(name, method, **settings):
    """Mean over the data sets of the mean over runs."""
    records = committed(name)
    values = {}
    for record in records:
        if record.method == method and record.settings.items() >= settings.items():
            values.setdefault(record.dataset, []).append(record.metrics["AUC-PR"])
    return sum(sum(runs) / len(runs) for runs in values.values()) / len(values)


@pytest.mark.parametrize("method", ["deviation ensemble", "PU trees", "DevNet"])
def test_the_summary_is_that_of_the_committed_results(method):
    means = (
        mean_auc_pr("effectiveness", method),
        mean_auc_pr("data_efficiency", method, n_labelled=5),
        mean_auc_pr("contamination", method, contamination=0.2),
    )
    row = " | ".join([method, *(f"{mean:.3f}" for mean in means)])
    assert f"| {row} |" in TEXTS["docs/explanation/results.md"]
    assert f"{method} {means[0]:.3f}" in README


def cells(*values):
    return " | ".join(f"{value:.3f}" for value in values)


@pytest.mark.parametrize("method", ["deviation ensemble", "PU trees", "DevNet"])
def test_what_labels_are_worth_is_that_of_the_committed_results(method):
    by_labels = [mean_auc_pr("data_efficiency", method, n_labelled=n) for n in (5, 15, 30, 60, 120)]
    assert f"| {method} | {cells(*by_labels)} |" in TEXTS["docs/how_to/few_labels.md"]
    by_wrong = [mean_auc_pr("label_mistakes", method, wrong_labels=w) for w in (0.0, 0.1, 0.3)]
    assert f"| {method} | {cells(*by_wrong)} |" in TEXTS["docs/how_to/wrong_labels.md"]


def test_the_range_of_draws_is_that_of_the_committed_results():
    records = committed("data_efficiency")
    text = " ".join(TEXTS["docs/how_to/few_labels.md"].split())
    for dataset, said in (
        ("backdoor", "ten draws of five range from {} to {}, ten of thirty from {} to {}"),
        ("fraud", "on fraud from {} to {}, and from {} to {}"),
    ):
        ends = []
        for n_labelled in (5, 30):
            found = [
                record.metrics["AUC-PR"]
                for record in records
                if (record.dataset, record.method) == (dataset, "deviation ensemble")
                and record.settings["n_labelled"] == n_labelled
            ]
            ends += [f"{end:.2f}".lstrip("0") for end in (min(found), max(found))]
        assert said.format(*ends) in text


def test_what_reviews_find_is_that_of_the_committed_results():
    records = committed("feedback")

    def found(method, n_labelled):
        values = [
            record.metrics["found of 200"]
            for record in records
            if (record.dataset, record.method) == ("thyroid", method)
            and record.settings["n_labelled"] == n_labelled
        ]
        return f"{sum(values) / len(values):.0f}"

    review, known, kept = ("review ensemble", "dismissed rows known", "never fitted again")
    few = " ".join(TEXTS["docs/how_to/few_labels.md"].split())
    assert (
        f"found {found(review, 5)} anomalies when each round taught the next, {found(kept, 5)} "
        in few
    )
    assert f"from no label at all, {found(review, 0)} and {found(kept, 0)} " in few
    unlabelled = found("dismissed rows unlabelled", 5)
    normals = " ".join(TEXTS["docs/how_to/known_normals.md"].split())
    assert (
        f"found {found(known, 5)} anomalies with dismissed rows known, {unlabelled} with" in normals
    )


def found_by(records, method, n_labelled):
    """Anomalies found after 50, 100 and 200 reviews, by set: means over the runs."""
    runs = {}
    for record in records:
        if (record.method, record.settings["n_labelled"]) == (method, n_labelled):
            found = [record.metrics[f"found of {n}"] for n in (50, 100, 200)]
            runs.setdefault(record.dataset, []).append(found)
    return {dataset: np.mean(found, axis=0) for dataset, found in runs.items()}


@pytest.mark.parametrize(
    "rival", ["gradient boosting", "PU trees", "AADForest", "never fitted again"]
)
def test_reviews_find_more_than_with_any_rival(rival):
    records = committed("feedback")
    parts = []
    for n_labelled in (5, 0):
        ours, theirs = (found_by(records, name, n_labelled) for name in ("review ensemble", rival))
        both = [np.mean([found[name] for name in theirs], axis=0) for found in (theirs, ours)]
        assert (both[1] > both[0]).all()
        parts += [" / ".join(f"{value:.0f}" for value in found) for found in both]
    line = f"| {rival} | {len(theirs)} | {' | '.join(parts)} |"
    assert line in TEXTS["docs/how_to/review.md"]


def test_every_experiment_is_documented_and_whole():
    for experiment in read_experiments(ROOT / "experiments"):
        assert f"| {experiment.name} |" in TEXTS["docs/explanation/results.md"]
        records = committed(experiment.name)
        done = {record.run.key for record in records if not record.error}
        assert done == {run.key for run in experiment.plan()}


def commands(group, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


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


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_in_the_documents_exists(document):
    folders = [ROOT, ROOT / "src" / "devnet", ROOT / "tests", (ROOT / document).parent]
    for name in re.findall(
        r"`((?:[\w.]+/)*[A-Za-z_]\w*\.(?:py|md|txt|toml|html))`", TEXTS[document]
    ):
        assert any((folder / name).exists() for folder in folders), name


def test_the_six_journeys_go_through_files_that_exist_in_at_most_ten_stations():
    text = TEXTS["ARCHITECTURE.md"]
    journeys = re.findall(r"^\*\*.+:\*\* `devnet.+`\n\n```\n([^`]+)```", text, re.M)
    assert len(journeys) == 6
    for journey in journeys:
        stations = [line.split(maxsplit=1)[0] for line in journey.splitlines()]
        assert len(stations) <= 10
        assert len(set(stations)) == len(stations)
        for station in stations:
            assert (ROOT / "src" / "devnet" / station).is_file(), station


def anchors(text):
    """The anchors that GitHub gives to the headings of a Markdown text."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_in_the_documents_leads_somewhere(document):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", TEXTS[document], flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text()), link


def test_the_readme_s_pictures_are_small():
    pictures = re.findall(r"!\[.+\]\((.+)\)", README)
    assert len(pictures) == 2
    assert all((ROOT / picture).stat().st_size < 300_000 for picture in pictures)


def test_every_picture_of_the_pages_is_there_and_has_a_text_instead():
    for name in GUIDES:
        for tag in re.findall(r"<(?:img|source)[^>]*>", TEXTS[name]):
            (link,) = re.findall(r'(?:src|srcset)="([^"]+)"', tag)
            assert ((ROOT / name).parent / link).exists(), link
            assert "srcset" in tag or re.search(r'alt="[^"]+"', tag)


def test_the_readme_s_first_screen_is_the_demo(tmp_path):
    """The journey as a user goes it: what the README shows is what the demo prints."""
    (screen,) = re.findall(r"```\n(\$ devnet fit .*?)```", README, re.S)
    done = subprocess.run(
        [sys.executable, "-m", "devnet.cli", "demo", "--folder", "x"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    shown = done.stdout.replace("x/", "")
    for part in screen.split("\n\n"):
        assert part.strip() in shown
    assert "Now open report.html" in shown
    names = {path.name for path in (tmp_path / "x").iterdir()}
    assert names == {"payments.parquet", "fraud.devnet", "scored.parquet", "report.html"}
    (n_fraud,) = re.findall(r"(\d+) are fraud \(", shown)
    assert f"Of the 100 highest other payments {n_fraud} are fraud." in README
    assert int(n_fraud) >= 90


def test_the_page_of_results_opens_with_the_verdicts():
    opening = TEXTS["docs/explanation/results.md"].split("\n## ")[1]
    assert opening.startswith("What of the paper stands")
    assert opening.count("<!-- claims: ") == 5


def test_the_figures_of_the_paper_s_page_are_those_of_the_code(tmp_path, monkeypatch):
    sys.path.insert(0, str(ROOT / "docs" / "scripts"))
    try:
        figures = importlib.import_module("figures")
    finally:
        sys.path.pop(0)
    monkeypatch.setattr(figures, "PICTURES", tmp_path)
    figures.loss_figure()
    figures.training_figure()
    figures.prior_figure()
    for drawn in tmp_path.iterdir():
        assert drawn.read_text() == (ROOT / "docs" / "pictures" / drawn.name).read_text()
