"""Hostile names, values and paths through every verb: shown, but never acting.

No control or direction character reaches a terminal or a page, no line is forged, no markup is
taken for one, and JSON stays JSON.
"""

import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from click.testing import CliRunner
from support.experiments import record
from support.pages import SCRIPT
from support.reviews import open_locally

from campaigns.campaign import Campaign
from campaigns.sentences import diagnosis
from campaigns.small_models import small_table
from campaigns.table_answers import read_cells
from devnet.cli.main import main
from devnet.cli.score import score
from devnet.core.sentence import UserError
from devnet.review.desk.review import open_review

FORGED = "FORGED"  # begins a line only if a line break in a name made it one
HOSTILE = [
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x9b31m", "b\x08\x08", "\x7f"),
    *(
        f"a\n{FORGED}",
        f"a\r{FORGED}",
        f"a\r\n{FORGED}",
        f"\u2028{FORGED}",
        f"\x0b{FORGED}",
        "\x85x",
    ),
    *("\u202egnp.exe", "\u2066x\u2069", "\u200fx", "\u061cx", "\u202a\u202b", "x\x00y"),
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</script><script>1</script>"),
    *('"><svg onload=alert(1)>', "' onmouseover='alert(1)", "--><font>", "]]><blink>"),
    *("</style><marquee>", "</title><iframe>", "<object data=x>", "<base href=x>"),
    *("{{ 7*7 }}", "{% raw %}", "{{ self }}", "${7*7}", "#{7}", "%s%n%x", "{0.__class__}", "{"),
    *("=HYPERLINK(1)", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "[bold red]x[/]", "[/]", ":bug:"),
    *(
        "javascript:alert(1)",
        "&lt;b&gt;",
        "\\",
        "`id`",
        "$(id)",
        "; id",
        "--help",
        "-o",
        "x" * 9000,
    ),
    *("\ufeffx", "e" + "\u0301" * 200, "\U000e0041", "👩\u200d💻", "*.csv", "a#b", "~", "%2e%2e"),
]
UNSEEN = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
ADDRESSES = (  # attributes that a browser follows
    *("src", "srcset", "href", "xlink:href", "action", "formaction", "data", "poster"),
    *("background", "ping", "hx-get", "hx-post"),
)
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
PLACES = [
    "number",
    "category",
    "date",
    "other",
    "value",
    "id",
    "label",
    "anomaly",
    "table",
    "model",
]
METHOD = ["--method", "logistic regression"]
LONGEST = 60_000  # characters of a text for people


class Names(NamedTuple):
    """What is hostile, by place, and which verbs are tried."""

    given: dict[str, str]
    suffix: str  # of the table
    verbs: list[str]

    def __str__(self) -> str:
        odd = {place: text[:60] for place, text in self.given.items() if text in HOSTILE}
        return f"{self.suffix}, {', '.join(self.verbs)}: {odd!r}"


def make(rng: random.Random) -> Names:
    """Some places are hostile, the others as usual."""
    share = rng.choice([0.2, 0.5, 1.0])
    given = {one: rng.choice(HOSTILE) if rng.random() < share else one for one in PLACES}
    verbs = ["fit", *rng.sample([one for one in JOURNEYS if one != "fit"], 3)]
    return Names(given, rng.choice([".parquet", ".csv"]), verbs)


def judge(case: Names, folder: Path) -> None:
    """Run each verb for people and for programs, and look at all that it says and writes."""
    files = _Files(case, folder)
    for verb in case.verbs:
        JOURNEYS[verb](files)


class _Files:
    """A table, a model and outputs with hostile names in a folder, and the command."""

    def __init__(self, case: Names, folder: Path) -> None:
        self.given, self.folder = case.given, folder
        self.table = folder / (_file_name(case.given["table"]) + case.suffix)
        self.model = folder / (_file_name(case.given["model"]) + ".devnet")
        self.label = case.given["label"]
        table = _table(case.given)
        if case.suffix == ".csv":
            pyarrow.csv.write_csv(table, self.table)
        else:
            pq.write_table(table, self.table)

    def run(self, *words: Any) -> Any:
        """Run the command for people; check what it says."""
        done = CliRunner().invoke(main, list(map(str, words)), env={"COLUMNS": "100"})
        is_exit = done.exception is None or isinstance(done.exception, SystemExit)
        assert is_exit, f"devnet {words[0]} ends in a traceback: {diagnosis(done.exception)}"
        codes = (0, 1, 2, 3) if words[0] == "drift" else (0, 1, 2)
        assert done.exit_code in codes, f"{words[0]} ends with {done.exit_code}"
        for stream in (done.stdout, done.stderr):
            _check_text(f"devnet {words[0]}", stream)
        return done

    def run_json(self, *words: Any) -> None:
        """Run the command for programs; if it succeeds, it prints JSON and nothing else."""
        done = self.run(*words, "--json")
        if done.exit_code == 0:
            json.loads(done.stdout, parse_constant=_refuse_constant)

    def page(self, name: str) -> Path:
        return self.folder / name


def _file_name(text: str) -> str:
    """The part of a text that a file name can hold."""
    return text.replace("/", "_").replace("\0", "").encode()[:150].decode(errors="ignore")


def _table(given: dict[str, str]) -> pa.Table:
    """Payments with hostile names and values; columns whose names are the same get a number."""
    table = small_table()
    values = [given["value"], f"{given['value']} 2", "usual"]
    shops = {"grocer": values[0], "baker": values[1], "casino": values[2]}
    columns = {
        "id": [f"{given['id']} {i}" for i in range(table.num_rows)],
        "number": table["amount"],
        "date": table["time"],
        "category": [shops[shop] for shop in table["shop"].to_pylist()],
        "other": [given["other"] if i % 9 else "" for i in range(table.num_rows)],
        "label": [None if one is None else given["anomaly"] for one in table["fraud"].to_pylist()],
    }
    names: list[str] = []
    for place in columns:
        name = given[place] if place != "id" else given["id"] + " of a row"
        names.append(f"{name}{len(names)}" if name in names or not name.strip() else name)
    return pa.table(list(columns.values()), names=names)


def _check_text(what: str, text: str) -> None:
    found = UNSEEN.search(text)
    assert found is None, f"{what} prints {found[0]!r}: {text[max(0, found.start() - 40) :][:80]!r}"
    forged = [line for line in text.split("\n") if line.lstrip().startswith(FORGED)]
    assert not forged, f"{what} prints a forged line: {forged[0][:80]!r}"
    longest = max(map(len, text.split("\n")))
    assert longest <= LONGEST, f"{what} prints a line of {longest:,} characters"


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"JSON has {name}, which is none")


class _Elements(HTMLParser):
    """Elements of a page, and attributes that act, as a browser would see them.

    An attribute such as `data-column` may hold any text: nothing follows it.
    """

    def __init__(self, text: str, own: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str | None] = []  # their addresses
        self.acting: list[str] = []
        self._own = re.compile(own)  # an address that stays here
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append(dict(attributes).get("src"))
        for name, value in attributes:
            leads_away = name in ADDRESSES and not self._own.match(value or "")
            if name.startswith("on") or leads_away:
                self.acting.append(f"{tag} {name}={value!r}")

    handle_startendtag = handle_starttag


def _check_page(path: Path) -> None:
    """Only our own script, no element from a name, nothing that acts."""
    if not path.exists():  # the verb refused
        return
    text = path.read_text(encoding="utf-8")
    n_scripts = text.count(f"<script>\n{SCRIPT}</script>")
    elements = _check_markup(f"the page {path.name}", text, own="#")
    assert elements.scripts == [None] * n_scripts, "the page has a foreign script"


def _check_markup(what: str, text: str, own: str) -> _Elements:
    found = UNSEEN.search(text)
    assert found is None, f"{what} has {found[0]!r}"
    elements = _Elements(text, own)
    foreign = {"img", "iframe", "object", "base", "font", "blink", "marquee"} & {*elements.tags}
    assert not foreign, f"{what} has an element from a name: {foreign}"
    assert not elements.acting, f"{what} has {elements.acting[0]}"
    return elements


def _fit(files: _Files) -> None:
    words = ["fit", files.table, "--label", files.label, *METHOD, "--output", files.model]
    files.run(*words, "--report", files.page("fit.html"))
    _check_page(files.page("fit.html"))
    files.run_json(*words, "--ignore", files.given["number"])
    if not files.model.exists():  # refused: go on with a model that it can fit
        files.run("fit", files.table, "--label=" + files.label, *METHOD, "-o", files.model)


def _score(files: _Files) -> None:
    output = files.folder / ("scored " + _file_name(files.given["category"]) + ".csv")
    files.run("score", files.model, files.table, "-o", output)
    files.run_json("score", files.model, files.table, "-o", output)
    if any(one.name == "spreadsheet_safe" for one in score.params):
        safe = files.folder / "safe.csv"
        done = files.run("score", files.model, files.table, "-o", safe, "--spreadsheet-safe")
        if done.exit_code == 0:
            _check_cells(safe)


def _check_cells(path: Path) -> None:
    names, rows = read_cells(path)
    for cell in [*names, *(cell for row in rows for cell in row)]:
        is_number = re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)
        assert is_number or not cell.startswith(FORMULAS), f"a formula is written: {cell[:40]!r}"


def _alerts(files: _Files) -> None:
    words = ["alerts", files.model, files.table, "--budget", "5"]
    output = files.folder / ("alerts " + _file_name(files.given["other"]) + ".csv")
    files.run(*words)
    files.run_json(*words)
    files.run(*words, "--known", "--output", output)


def _explain(files: _Files) -> None:
    words = ["explain", files.model, files.table, "--row", "0", "--row", "5"]
    files.run(*words)
    files.run_json(*words)


def _inspect(files: _Files) -> None:
    files.run("inspect", files.model)
    files.run_json("inspect", files.model)


def _policy(files: _Files) -> None:
    files.run("policy", files.model, "--budget", "5")
    files.run_json("policy", files.model, "--false-alarm-rate", "0.1")


def _compare(files: _Files) -> None:
    words = ["compare", files.table, "--label", files.label, *METHOD, "--repeats", "1"]
    files.run(*words, "--report", files.page("compare.html"))
    _check_page(files.page("compare.html"))
    files.run_json(*words, "--group", files.given["category"])


def _drift(files: _Files) -> None:
    words = ["drift", files.model, files.table]
    files.run(*words, "--report", files.page("drift.html"))
    _check_page(files.page("drift.html"))
    files.run_json(*words)


def _labels(files: _Files) -> None:
    """Verdicts with hostile ids, notes and names, into a store and out again."""
    given = files.given
    store = files.folder / ("l" + _file_name(given["model"]) + ".db")
    ids = [f"{given['id']} {i}" for i in range(3)]
    verdicts = pa.table(
        {
            "id": ids,
            "verdict": ["anomaly", "normal", given["value"]],
            "note": [given["other"]] * 3,
            "who": [given["category"]] * 3,
        }
    )
    for n_rows in (3, 2):  # with a verdict that is none, and without
        pq.write_table(verdicts[:n_rows], files.folder / "verdicts.parquet")
        words = ["labels", "import", store, files.folder / "verdicts.parquet"]
        files.run(*words, "--table", files.table, "--id", f"{given['id']} of a row")
    exported = files.folder / "labels.csv"
    done = files.run("labels", "export", store, "-o", exported, "--spreadsheet-safe")
    if done.exit_code == 0:
        _check_cells(exported)
    files.run_json("labels", "export", store, "-o", files.folder / "events.csv", "--events")
    files.run("fit", files.table, "--labels", store, *METHOD, "-o", files.folder / "l.devnet")


def _review(files: _Files) -> None:
    """The analysts' page: every page of it, a verdict and a note."""
    given = files.given
    try:
        review = open_review(
            files.table,
            files.folder / "review.db",
            who=given["category"],
            model=files.model if files.model.exists() else None,
            id_column=f"{given['id']} of a row",
        )
    except UserError:  # the terminal shows its text, as other verbs prove
        return
    try:
        browser = open_locally(review)
        browser.judge("anomaly", note=given["other"])
        browser.judge("normal", note=given["value"])
        for path in ("/", "/judged", "/board", "/models", "/log"):
            page = browser.get(path).text
            elements = _check_markup(f"the page {path}", page, own="#|/(?!/)")
            ours = all(one and one.startswith("/static/") for one in elements.scripts)
            assert ours, f"the page {path} has a foreign script"
    finally:
        review.close()


def _mistakes(files: _Files) -> None:
    """Every word that a user may get wrong is repeated in an error."""
    odd = files.given["other"]
    files.run("fit", files.table, "--label", odd, "-o", files.model)
    files.run("fit", files.table, "--label", files.label, "--anomaly", odd, "-o", files.model)
    files.run("fit", files.table, "--label", files.label, "--method", odd, "-o", files.model)
    files.run("fit", files.folder / f"{_file_name(odd)}.csv", "--label", odd, "-o", files.model)
    files.run("score", files.table, files.model, "-o", files.folder / f"s.{_file_name(odd)}")
    files.run("inspect", files.folder / _file_name(odd))
    files.run("data", "show", odd)
    files.run("experiment", "run", odd, "--folder", files.folder)
    files.run(odd)


def _experiment(files: _Files) -> None:
    """A plan and results with hostile titles, names and errors."""
    given = files.given
    (files.folder / "plan.toml").write_text(_plan(given), encoding="utf-8")
    (files.folder / "results").mkdir(exist_ok=True)
    line = vars(record(0, **{"AUC-ROC": 0.9, "AUC-PR": 0.5}))
    line |= {"method": given["category"], "settings": {"n_labelled": 5}, "description": given["id"]}
    failed = line | {"seed": 1, "error": given["value"] + " "}
    lines = [json.dumps(one) + "\n" for one in (line, failed)]
    (files.folder / "results" / "plan.jsonl").write_text("".join(lines))
    folder = ["--folder", files.folder]
    page = files.page("experiments.html")
    files.run("experiment", "list", *folder)
    for form in ("text", "markdown", "csv"):
        files.run("experiment", "table", "plan", "--format", form, *folder)
    files.run_json("experiment", "table", "plan", *folder)
    files.run("experiment", "report", "--output", page, *folder)
    _check_page(page)


def _plan(given: dict[str, str]) -> str:
    written = {place: _toml(text) for place, text in given.items()}
    return f"""
title = {written["number"]}
question = {written["date"]}
remark = {written["other"]}
notes = [{written["value"]}]
measure = "ranking"
runs = 2
datasets = ["thyroid"]
[[grid]]
n_labelled = [5]
[methods]
{written["category"]} = {{ method = "DevNet" }}
"""


def _toml(text: str) -> str:
    escaped = "".join(
        f"\\u{ord(sign):04x}" if sign < " " or sign in '"\\\x7f' else sign for sign in text
    )
    return f'"{escaped}"'


JOURNEYS = {
    "fit": _fit,
    "score": _score,
    "alerts": _alerts,
    "explain": _explain,
    "inspect": _inspect,
    "policy": _policy,
    "compare": _compare,
    "drift": _drift,
    "labels": _labels,
    "review": _review,
    "mistakes": _mistakes,
    "experiment": _experiment,
}

CAMPAIGN = Campaign("injected_cells", make, judge, n_cases=1_000, n_short=12, seconds=60)
