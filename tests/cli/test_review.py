"""`devnet review`: the page is served until it is stopped; accounts are kept beside the store."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner
from support.reviews import quick_model, write_table

from devnet.cli.main import main


def run(*words, given=None):
    return CliRunner().invoke(main, [str(word) for word in words], input=given)


def test_accounts_are_added_listed_changed_and_removed(tmp_path):
    store = ("--store", tmp_path / "review.db")
    words = ("review", "users")
    done = run(*words, "add", "ana", "--role", "analyst", *store, given="a long password\n")
    assert done.output == "ana may sign in as analyst.\n"
    assert run(*words, "list", *store).output == "ana  analyst\n"
    short = run(*words, "password", "ana", *store, given="short\n")
    assert short.exit_code == 2
    assert "at least 10 characters" in short.output
    assert run(*words, "remove", "ana", *store).exit_code == 0
    assert run(*words, "list", *store).output == ""
    assert (tmp_path / "review.db.users").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--host", "0.0.0.0"], "give --certificate and --key, or the address of a proxy"),
        (["--certificate", "c.pem"], "a certificate needs its key"),
        (["--behind-proxy", "127.0.0.1"], "nobody has an account yet"),
        (["--model", "missing.devnet"], "missing.devnet"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words, sentence, tmp_path):
    table = write_table(tmp_path)
    done = run("review", table, "--store", tmp_path / "review.db", "--port", 0, *words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())
    assert not (tmp_path / "review.db").exists()


def test_the_page_is_served_until_it_is_stopped(tmp_path):
    table, model, store = write_table(tmp_path), tmp_path / "m.devnet", tmp_path / "review.db"
    quick_model().save(model)
    words = ["review", str(table), "--model", str(model), "--store", str(store), "--port", "0"]
    command = [sys.executable, "-m", "devnet.cli", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as server:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/\S+", server.stdout.readline())[0]
            second = run(*words)
            assert "another devnet review serves" in second.output
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with opener.open(address) as page:
                assert page.url.endswith("/")  # the token is gone from the address
                assert "Why it stands out" in page.read().decode()
                assert "Server" not in page.headers
        finally:
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=60)
    assert "Traceback" not in errors
    assert store.exists()
