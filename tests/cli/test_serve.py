"""`devnet serve`: a service on a real socket, until it is stopped."""

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from pyarrow import ipc
from support.payment_tables import make_table
from support.services import ARROW, TOKEN, json_rows, model_file, quick_model, stream

from devnet import Budget, TableModel, load
from devnet.cli.main import main

TABLE = make_table(300, seed=1)[0]
ROWS = json_rows(TABLE)
BEARS = {"Authorization": f"Bearer {TOKEN}"}


def run(*words):
    return CliRunner().invoke(main, ["serve", *map(str, words)])


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.touch(0o600)
    path.write_text(f"{TOKEN}\n")
    return path


class Running:
    """A service in a process of its own."""

    def __init__(self, process, context=None):
        self.process, self.context = process, context
        said = ""
        while not said.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            said += line
        self.address = json.loads(said)["address"]

    def connect(self):
        host = self.address.rpartition("/")[2]
        if self.context is not None:
            return http.client.HTTPSConnection(host, timeout=60, context=self.context)
        return http.client.HTTPConnection(host, timeout=60)

    def ask(self, method, path, body=None, kind="application/json", connection=None):
        """Status and body of an answer."""
        own = connection or self.connect()
        own.request(method, path, body, {**BEARS, "Content-Type": kind})
        answer = own.getresponse()
        found = answer.status, answer.read()
        if connection is None:
            own.close()
        return found

    def rows(self, rows, connection=None):
        status, body = self.ask("POST", "/score", json.dumps(rows), connection=connection)
        assert status == 200, body
        return json.loads(body)["rows"]


@contextmanager
def running(*words, context=None):
    command = [
        sys.executable,
        "-m",
        "devnet.cli",
        "serve",
        *map(str, words),
        "--port",
        "0",
        "--json",
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=os.environ) as process:
        try:
            one = Running(process, context)
            yield one
        finally:
            process.send_signal(signal.SIGINT)
            _, one.errors = process.communicate(timeout=60)


def test_rows_are_scored_over_a_socket_until_it_is_stopped(tmp_path, token):
    path = model_file(tmp_path)
    expected = quick_model().score(TABLE)["anomaly_score"].to_pylist()
    with running(path, "--token-file", token, "--log-requests") as service:
        connection = service.connect()  # kept alive over all of these
        for row, score in list(zip(ROWS, expected, strict=True))[:20]:
            assert service.rows([row], connection)[0]["anomaly_score"] == score
        connection.close()
        assert [row["anomaly_score"] for row in service.rows(ROWS)] == expected
        status, body = service.ask("POST", "/score", stream(TABLE), ARROW)
        assert status == 200
        assert ipc.open_stream(body).read_all()["anomaly_score"].to_pylist() == expected
        assert service.ask("POST", "/score?reasons=all", json.dumps(ROWS[:2]))[0] == 200
        assert service.ask("POST", "/score", b"[{")[0] == 400
        assert service.ask("GET", "/health")[0] == 200
        assert _many_at_once(service) == [expected[i % 100] for i in range(400)]
        _swap(service, path)
    assert "Traceback" not in service.errors
    assert service.process.returncode == 0
    lines = service.errors.splitlines()
    assert any("A new model is in use" in line for line in lines)
    assert any("The new model is not used" in line for line in lines)
    assert any(" POST /score 200 " in line for line in lines)
    assert "reasons" not in service.errors
    assert TOKEN not in service.errors


def _many_at_once(service):
    """Scores of single rows that eight clients ask for at the same time, in order."""
    found = [None] * 400

    def ask(first):
        connection = service.connect()
        for i in range(first, 400, 8):
            found[i] = service.rows([ROWS[i % 100]], connection)[0]["anomaly_score"]
        connection.close()

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _swap(service, path):
    """Replace the model file by another one, then by a bad one, while the service runs."""
    other = TableModel("logistic regression", random_state=0).fit(make_table(500)[0], "fraud")
    other.save(path)
    _wait_for(lambda: service.rows(ROWS[:1])[0]["anomaly_score"] != quick_score(ROWS[:1]))
    assert service.rows(ROWS[:1])[0]["anomaly_score"] == load(path).score(TABLE)[0][0].as_py()
    path.write_bytes(b"no model")
    _wait_for(lambda: json.loads(service.ask("GET", "/health")[1])["status"] == "stale")
    assert service.rows(ROWS[:1])[0]["anomaly_score"] == other.score(TABLE)[0][0].as_py()


def quick_score(rows):
    return quick_model().score(TABLE.slice(0, len(rows)))["anomaly_score"][0].as_py()


def _wait_for(is_so):
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_it_is_served_over_https(tmp_path, token):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["-keyout", key, "-out", certificate, "-days", "2"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made, *names]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    context = ssl.create_default_context(cafile=certificate)
    words = ("--token-file", token, "--certificate", certificate, "--key", key)
    with running(model_file(tmp_path), *words, context=context) as service:
        assert service.address.startswith("https://127.0.0.1:")
        assert service.rows(ROWS[:1])[0]["anomaly_score"] == quick_score(ROWS[:1])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--host", "0.0.0.0"], "give --certificate and --key, or the address of a proxy"),
        (["--host", "localhost"], "others can listen in"),
        (["--certificate", "c.pem"], "a certificate needs its key"),
        (["--behind-proxy", "nginx"], "is not the address of a proxy"),
        (["--certificate", "c.pem", "--key", "k.pem"], "there is no file c.pem"),
        (["--token-file", "missing"], "there is no token file missing; make one: (umask 077;"),
        (["--max-megabytes", "0"], "--max-megabytes"),
        (["--port", "70000"], "--port"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words, sentence, tmp_path, token):
    given = () if "--token-file" in words else ("--token-file", token)
    done = run(model_file(tmp_path), *given, *words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())


def test_a_token_is_needed_on_every_host(tmp_path, token):
    done = run(model_file(tmp_path))
    assert (done.exit_code, "--token-file" in done.output) == (2, True)
    token.chmod(0o644)
    done = run(model_file(tmp_path), "--token-file", token)
    assert done.exit_code == 2
    assert "others may read the token file" in " ".join(done.output.split())


def test_a_policy_that_needs_the_whole_table_is_refused_at_the_start(tmp_path, token):
    path = model_file(tmp_path)
    model = load(path)
    model.policy = Budget(10)
    model.save(path)
    done = run(path, "--token-file", token, "--port", 0)
    assert done.exit_code == 2
    assert "the 10 highest rows, which depends on all rows" in " ".join(done.output.split())
    assert "--threshold" in done.output


@pytest.mark.parametrize(
    ("content", "sentence"), [(None, "there is no model file"), (b"x", "not a complete model file")]
)
def test_a_model_that_cannot_be_used_is_refused_at_the_start(tmp_path, token, content, sentence):
    path = tmp_path / "odd.devnet"
    if content is not None:
        path.write_bytes(content)
    done = run(path, "--token-file", token, "--port", 0)
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())


def test_a_port_that_is_taken_is_told_at_once(tmp_path, token):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("no model", "--token-file", token, "--port", taken.getsockname()[1])
    assert done.exit_code == 2
    assert "nothing can listen on port" in done.output
