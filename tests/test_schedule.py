"""The jobs of docs/how_to/schedule.md do what they say, under cron and in Airflow's order."""

import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from shlex import quote
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.payment_tables import make_table

from devnet.cli.main import main

PAGE = (Path(__file__).parents[1] / "docs" / "how_to" / "schedule.md").read_text()
DAY = "2026-11-16"  # yesterday
SHORT_PATH = "/usr/bin:/bin"  # that of cron


def put_command(folder, name, does):
    path = folder / ".venv" / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)


def run_by_cron(folder, weekday):
    """What the line of the crontab runs, with the script in its place; the exit code."""
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    (line,) = re.findall(r"^30 5 \* \* \* +(.*)$", PAGE, re.M)
    (folder / "daily.sh").write_text(script.replace("/srv/fraud", str(folder)))
    (folder / "daily.sh").chmod(0o755)
    put_command(folder, "date", f'[ "$1" = +%u ] && echo {weekday} || echo {DAY}')
    command = ["/bin/sh", "-c", line.replace("/srv/fraud", str(folder))]
    return subprocess.run(command, env={"PATH": SHORT_PATH}, check=False).returncode


@pytest.mark.parametrize(
    ("drift", "weekday", "verbs", "code"),
    [
        (0, 3, ["drift", "score"], 0),
        (0, 1, ["drift", "fit", "score"], 0),
        (3, 3, ["drift", "fit", "score"], 0),
        (2, 1, ["drift"], 2),
        (1, 3, ["drift"], 1),
        (137, 1, ["drift"], 137),  # killed
    ],
)
def test_the_daily_script_does_what_exit_codes_ask_for(drift, weekday, verbs, code, tmp_path):
    put_command(tmp_path, "devnet", f'echo "$1" >> verbs; [ "$1" = drift ] && exit {drift}; exit 0')
    assert run_by_cron(tmp_path, weekday) == code
    assert (tmp_path / "verbs").read_text().split() == verbs


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A folder as the page has it: days of payments, verdicts on some, and a model."""
    monkeypatch.chdir(tmp_path)
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    table, is_fraud = make_table(2_000)
    pq.write_table(table.drop_columns("fraud"), "in/2026-11-15.parquet")
    verdicts = {"payment": table["payment"], "verdict": np.where(is_fraud, "anomaly", None)}
    pq.write_table(table.from_pydict(verdicts), "verdicts.parquet")
    words = ["--table", "in/2026-11-15.parquet", "--id", "payment", "--who", "ana"]
    invoke("labels", "import", "review.db", "verdicts.parquet", *words)
    learn = ["in/*.parquet", "--labels", "review.db", "--method", "logistic regression"]
    invoke("fit", *learn, "--output", "fraud.devnet")
    where = f"PYTHONPATH={quote(os.environ.get('PYTHONPATH', ''))} {quote(sys.executable)}"
    put_command(tmp_path, "devnet", f'{where} -m devnet.cli "$@"')
    return tmp_path


def invoke(*words):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output


def write_day(*, in_cents):
    """Payments of yesterday, with other names and without fraud."""
    table, is_fraud = make_table(1_000, seed=1)
    names = pc.replace_substring(table["payment"], "P", "Q")
    day = table.drop_columns("fraud").set_column(0, "payment", names)
    if in_cents:
        day = day.set_column(2, "amount", pc.multiply(day["amount"], 100))
    day = day.filter(~is_fraud)
    pq.write_table(day, f"in/{DAY}.parquet")
    return day.num_rows


@pytest.mark.parametrize("in_cents", [False, True])
def test_cron_scores_and_fits_again_if_the_data_have_changed(in_cents, job):
    n_rows = write_day(in_cents=in_cents)
    before = Path("fraud.devnet").read_bytes()
    assert run_by_cron(job, weekday=3) == 0
    assert pq.read_table(f"out/{DAY}.parquet").num_rows == n_rows
    assert (Path("fraud.devnet").read_bytes() != before) == in_cents
    log = Path("daily.log").read_text()
    assert f"{n_rows:,} rows scored" in log
    assert ("(another unit?); fit again" in log) == in_cents


class Task:
    """As much of a BashOperator as its documentation promises and the page uses."""

    def __init__(self, task_id, bash_command, cwd, trigger_rule="all_success"):
        assert cwd == "/srv/fraud"
        self.name, self.command, self.rule = task_id, bash_command, trigger_rule
        self.upstream = []

    def __rshift__(self, other):
        other.upstream.append(self)
        return other

    def run(self, states, folder):
        """The state that Airflow gives to the task after those before it."""
        jinja2 = pytest.importorskip("jinja2")
        before = {states[one.name] for one in self.upstream}
        if before & {"failed", "upstream_failed"}:
            return "upstream_failed"
        if "skipped" in before and self.rule == "all_success":
            return "skipped"
        template = jinja2.Template(self.command)
        command = template.render(ds="2026-11-17", macros=SimpleNamespace(ds_add=ds_add))
        path = f"{folder}/.venv/bin:{SHORT_PATH}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env={"PATH": path}, capture_output=True
        )
        return {0: "success", 99: "skipped"}.get(done.returncode, "failed")


def ds_add(day, n_days):
    return (date.fromisoformat(day) + timedelta(days=n_days)).isoformat()


class Dag:
    """A context, as Airflow's is."""

    def __init__(self, dag_id, *, schedule, start_date, catchup):
        assert schedule == "30 5 * * *"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def run_by_airflow(folder, monkeypatch):
    """The state of each task of the page's DAG."""
    (program,) = re.findall(r"```py\n(.*?)```", PAGE, re.S)
    assert len(program.splitlines()) <= 25
    for name, holds in {
        "airflow.providers.standard.operators.bash": {"BashOperator": Task},
        "airflow.sdk": {"DAG": Dag},
    }.items():
        module = ModuleType(name)
        vars(module).update(holds)
        monkeypatch.setitem(sys.modules, name, module)
    names = {}
    exec(program, names)
    states = {}
    for task in ("drift", "fit", "score"):
        states[task] = names[task].run(states, folder)
    return states


@pytest.mark.parametrize("in_cents", [False, True])
def test_airflow_scores_and_fits_again_if_the_data_have_changed(in_cents, job, monkeypatch):
    n_rows = write_day(in_cents=in_cents)
    before = Path("fraud.devnet").read_bytes()
    asked = "success" if in_cents else "skipped"
    states = {"drift": asked, "fit": asked, "score": "success"}
    assert run_by_airflow(job, monkeypatch) == states
    assert pq.read_table(f"out/{DAY}.parquet").num_rows == n_rows
    assert (Path("fraud.devnet").read_bytes() != before) == in_cents


def test_airflow_does_nothing_with_a_day_that_is_missing(job, monkeypatch):
    states = {"drift": "failed", "fit": "upstream_failed", "score": "upstream_failed"}
    assert run_by_airflow(job, monkeypatch) == states
    assert list(Path("out").iterdir()) == []
