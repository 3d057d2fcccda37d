"""`devnet review`: the page is served until it is stopped; accounts are kept beside the store."""

import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from support.reviews import PASSWORD, quick_model, small_review, write_table

from devnet.cli.main import main
from devnet.cli.spelling import worded
from devnet.core.sentence import UserError
from devnet.review.desk.server_lock import only_server


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
        (
            ["--host", "999.1.1.1", "--behind-proxy", "127.0.0.1"],
            "the host 999.1.1.1 is not an address of this machine; give one that is, such as "
            "--host 127.0.0.1.",
        ),
        (
            ["--host", "203.0.113.1", "--behind-proxy", "127.0.0.1"],
            "the host 203.0.113.1 is not an address of this machine",
        ),
        (["--certificate", "c.pem"], "a certificate needs its key"),
        (["--behind-proxy", "127.0.0.1"], "nobody has an account yet"),
        (["--model", "missing.devnet"], "missing.devnet"),
        (["--store", "nowhere/review.db"], "the folder nowhere does not exist; make it first"),
        (["--entity", "customr"], "customr"),
        (["--random", "0.7", "--unlike", "0.7"], "together at most 1"),
        (["--certificate", "c.pem", "--key", "k.pem"], "there is no file c.pem"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(words, sentence, tmp_path):
    table = write_table(tmp_path)
    store = () if "--store" in words else ("--store", tmp_path / "review.db")
    done = run("review", table, *store, "--port", 0, *words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())
    assert not (tmp_path / "review.db").exists()


def test_options_are_named_as_they_are_typed(tmp_path):
    store = tmp_path / "review.db"
    small_review(tmp_path).close()
    done = run(
        *("review", tmp_path / "payments.parquet", "--store", store, "--port", 0),
        *("--label", "shop"),
    )
    words = "leave out --label, or give the name of a new store with --store."
    assert words in " ".join(done.output.split())
    nowhere = tmp_path / "a_file" / "review.db"
    with pytest.raises(UserError) as refused, only_server(nowhere):
        pass
    assert "give another store with --store." in worded(refused.value)


def test_a_table_without_usable_columns_gets_advice_that_can_be_followed(tmp_path):
    table = tmp_path / "t.csv"
    rows = "".join(f"P{i},same\n" for i in range(50))
    table.write_text(f"payment,shop\n{rows}")
    done = run("review", table, "--store", tmp_path / "review.db", "--port", 0, "--id", "payment")
    said = " ".join(done.output.split())
    assert "no column of the table can be used" in said
    assert "with `devnet fit --categorical` and its model with --model." in said


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


def test_accounts_of_a_mistyped_store_are_not_made(tmp_path):
    done = run("review", "users", "list", "--store", tmp_path / "reveiw.db")
    assert done.exit_code == 2
    assert "nobody has an account for" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_served_over_https(tmp_path):
    store, key, certificate = (tmp_path / name for name in ("review.db", "key.pem", "cert.pem"))
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["-keyout", key, "-out", certificate, "-days", "2"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made, *names]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    run("review", "users", "add", "ana", "--role", "lead", "--store", store, given=f"{PASSWORD}\n")
    words = [write_table(tmp_path), "--store", store, "--port", 0]
    words += ["--certificate", certificate, "--key", key]
    with subprocess.Popen(
        [sys.executable, "-m", "devnet.cli", "review", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            address = re.search(r"https://127\.0\.0\.1:\d+/", server.stdout.readline())[0]
            context = ssl.create_default_context(cafile=certificate)
            form = urlencode({"name": "ana", "password": PASSWORD}).encode()
            asked = urllib.request.Request(
                f"{address}sign-in", form, {"Origin": address.rstrip("/")}
            )
            opener = urllib.request.build_opener(
                urllib.request.HTTPSHandler(context=context), urllib.request.HTTPCookieProcessor()
            )
            with opener.open(asked) as page:
                assert "Your next cards" in page.read().decode()
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)


def test_a_certificate_that_cannot_be_used_is_told_at_once(tmp_path):
    for name in ("c.pem", "k.pem"):
        (tmp_path / name).write_text("no certificate")
    pems = ("--certificate", tmp_path / "c.pem", "--key", tmp_path / "k.pem")
    done = run("review", "no table", "--store", tmp_path / "r.db", *pems)
    assert done.exit_code == 2
    assert "both must be PEM files" in " ".join(done.output.split())
