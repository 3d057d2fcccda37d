"""What docs/how_to/containers.md runs in a container does what it says, outside of one."""

import re
import shlex
import ssl
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.payment_tables import make_table
from support.services import quick_model

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how_to" / "containers.md").read_text()


def words_of(verb):
    """What the page's container of this verb runs."""
    (command,) = re.findall(rf"^docker run .* devnet \\\n +({verb} .*)$", PAGE, re.M)
    return [sys.executable, "-m", "devnet.cli", *shlex.split(command)]


@pytest.fixture
def data(tmp_path):
    """What is mounted."""
    quick_model().save(tmp_path / "fraud.devnet")
    pq.write_table(make_table(200)[0], tmp_path / "today.parquet")
    return tmp_path


def test_the_image_has_extras_that_exist():
    (file,) = re.findall(r"```dockerfile\n(.*?)```", PAGE, re.S)
    (extras,) = re.findall(r"'/src\[(.+)\]'", file)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)
    assert "--constraint /src/constraints.txt" in file
    assert (ROOT / "constraints.txt").exists()


def test_a_container_scores(data):
    before = {path.name for path in data.iterdir()}
    subprocess.run(words_of("score"), cwd=data, check=True, capture_output=True)
    assert {path.name for path in data.iterdir()} == before | {"scored.parquet"}
    assert pq.read_table(data / "scored.parquet").num_rows == 200


def test_a_container_serves(data):
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", *names]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made],
        cwd=data,
        check=True,
        capture_output=True,
    )
    (data / "token").touch(0o600)
    (data / "token").write_text("0123456789abcdef")
    with subprocess.Popen(
        [*words_of("serve"), "--port", "0"], cwd=data, stdout=subprocess.PIPE, text=True
    ) as service:
        try:
            (port,) = re.findall(r"https://0\.0\.0\.0:(\d+)/", service.stdout.readline())
            trusted = ssl.create_default_context(cafile=data / "cert.pem")
            with urllib.request.urlopen(
                f"https://localhost:{port}/health", context=trusted
            ) as answer:
                assert answer.status == 200
        finally:
            service.terminate()
    assert service.returncode in (0, -15)


def test_a_copied_secret_is_taken(data):
    """The line that the page has for secrets that others may read."""
    (line,) = re.findall(r"`(umask .*; exec devnet serve) \.\.\.`", PAGE)
    secret, copied = data / "secret", data / "copied"
    secret.write_text("0123456789abcdef")
    secret.chmod(0o444)
    line = line.replace("/run/secrets/token", str(secret)).replace("/tmp/token", str(copied))
    subprocess.run(["sh", "-c", line.replace("exec devnet serve", "true")], check=True)
    assert copied.read_text() == secret.read_text()
    assert copied.stat().st_mode & 0o777 == 0o600
