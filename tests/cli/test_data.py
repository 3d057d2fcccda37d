"""The verb `data` as a user sees it, with a server on this machine."""

import hashlib
import json
import re

import pytest
from click.testing import CliRunner

from devnet.cli.main import main
from devnet.datasets import DATASETS

THYROID = b"a,b,class\n" + b"0.5,0.25,0\n" * 30 + b"1,1,1\n" * 5
FILE = "annthyroid_21feat_normalised.csv"


@pytest.fixture
def devnet(tmp_path, monkeypatch):
    """Run the command with an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DEVNET_DATA", raising=False)
    return lambda *words: CliRunner().invoke(main, ["data", *map(str, words)])


@pytest.fixture
def served(server, monkeypatch):
    """The thyroid set comes from the local server, and is small."""

    def serve(sha256):
        record = DATASETS["thyroid"]
        file = (
            record.sources[0]
            .files[0]
            ._replace(address=f"{server.address}/thyroid.csv", sha256=sha256)
        )
        source = record.sources[0]._replace(files=(file,))
        monkeypatch.setitem(DATASETS, "thyroid", record._replace(sources=(source,)))
        server.files["/thyroid.csv"] = THYROID
        return server

    return serve


def is_a_sentence(result):
    """Bad input ends in one line that starts with Error, and nothing else."""
    return (
        result.exit_code == 2
        and isinstance(result.exception, SystemExit)
        and result.stderr.startswith("Error: ")
        and result.stderr.endswith((".\n", "?\n"))
        and result.stderr.count("\n") == 1
    )


def test_the_list_has_every_set_and_fits_80_columns(devnet):
    result = devnet("list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if re.match(r"\w+ .* no\s*$", line)] == list(DATASETS)
    assert "3,231,961" in result.stdout
    assert "…" not in result.stdout


def test_the_list_as_json(devnet):
    sets = json.loads(devnet("list", "--json").stdout)
    assert [facts["name"] for facts in sets] == list(DATASETS)
    assert {facts["copy"] for facts in sets} == {None}
    assert sets[0]["f2_percent"] == 0.08


@pytest.mark.parametrize("name", list(DATASETS))
def test_show_says_all_that_is_known(devnet, name):
    shown, record = devnet("show", name).stdout, DATASETS[name]
    for fact in (record.anomaly, record.address, record.licence, record.citation):
        assert fact in shown
    for source in record.sources:
        assert source.format in shown
        assert source.note in shown
        for fact in (fact for file in source.files for fact in file):
            assert fact in shown
    assert f"devnet data get {name}" in shown
    assert json.loads(devnet("show", name, "--json").stdout)["citation"] == record.citation


def test_show_names_a_copy_and_how_it_differs(devnet, tmp_path, monkeypatch):
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    for name in ("url_X.npz", "url_y.npy"):
        (tmp_path / name).touch()
    shown = devnet("show", "URL").stdout
    assert f"Your copy:\n  {tmp_path / 'url_X.npz'}\n" in shown
    assert "It differs from the paper's set: a SUBSTITUTE" in shown
    (row,) = [line for line in devnet("list").stdout.splitlines() if line.startswith("URL")]
    assert row.endswith("differs")


def test_get_fetches_once_and_says_where_and_under_which_licence(devnet, served, tmp_path):
    server = served(hashlib.sha256(THYROID).hexdigest())
    result = devnet("get", "thyroid")
    assert result.exit_code == 0
    path = tmp_path / "cache" / "devnet" / FILE
    assert path.read_bytes() == THYROID
    assert f"thyroid is here:\n  {path}\n    SHA-256 matches the published" in result.stdout
    assert "Licence: CC BY 4.0" in result.stdout
    assert "devnet.datasets.load('thyroid')" in result.stdout
    assert result.stderr == f"Fetching {FILE}, 0.0 MB\n"
    again = devnet("get", "thyroid")
    assert again.stdout == result.stdout
    assert again.stderr == ""
    assert len(server.requests) == 1
    path.write_bytes(THYROID[:-1])  # damaged: fetched anew
    assert devnet("get", "thyroid").exit_code == 0
    assert path.read_bytes() == THYROID


def test_get_into_a_folder_prints_the_checksum_where_none_is_published(devnet, served, tmp_path):
    served("")
    folder = tmp_path / "new" / "folder"
    result = devnet("get", "thyroid", "--folder", folder)
    assert (folder / FILE).read_bytes() == THYROID
    assert (
        f"no checksum is published; SHA-256 is {hashlib.sha256(THYROID).hexdigest()}"
        in result.stdout
    )
    assert f"devnet.datasets.load('thyroid', '{folder}')" in result.stdout


def test_get_draws_a_bar_on_a_terminal(devnet, served, monkeypatch):
    served("")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    result = devnet("get", "thyroid")
    assert result.exit_code == 0
    assert "━" in result.stderr
    assert "━" not in result.stdout


def test_get_goes_on_after_an_interruption(devnet, served):
    server = served(hashlib.sha256(THYROID).hexdigest())
    server.cut = 100
    broken = devnet("get", "thyroid")
    assert broken.exit_code == 2
    assert "again to resume at 0.0 MB" in broken.stderr
    assert "Traceback" not in broken.output
    server.cut = None
    assert devnet("get", "thyroid").exit_code == 0
    assert server.requests[-1] == ("/thyroid.csv", "bytes=100-")


def test_bad_names_and_folders_get_a_sentence(devnet, served, tmp_path):
    server = served("")
    for words in (["show", "tyroid"], ["get", "tyroid"], ["get", "thyroid", "tyroid"]):
        result = devnet(*words)
        assert is_a_sentence(result)
        assert "unknown data set 'tyroid'" in result.stderr
        assert "Did you mean 'thyroid'?" in result.stderr
    assert "Did you mean 'URL'?" in devnet("show", "url").stderr
    assert server.requests == []  # one bad name, and nothing is fetched
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        result = devnet("get", "thyroid", "--folder", folder)
        assert is_a_sentence(result)
        assert f"cannot create the folder {folder} (" in result.stderr
    assert devnet("get").exit_code == 2
    assert devnet("fetch").exit_code == 2


def test_a_file_that_is_gone_names_the_page(devnet, served, tmp_path):
    served("").files.clear()
    result = devnet("get", "thyroid", "--folder", tmp_path)
    assert result.exit_code == 2
    assert "answered 404 (Not Found) to http://127.0.0.1" in result.stderr
    assert "By hand: get annthyroid_21feat_normalised.csv" in result.stderr
    assert f"from {DATASETS['thyroid'].address} and put it into" in result.stderr
    assert f"put it into {tmp_path}.\n" in result.stderr


def test_a_set_that_needs_a_login_names_the_page(devnet, monkeypatch):
    record = DATASETS["fraud"]
    monkeypatch.setitem(DATASETS, "fraud", record._replace(sources=record.sources[1:]))
    result = devnet("get", "fraud")
    assert is_a_sentence(result)
    assert "without a login: get fraud.npz by hand from https://www.kaggle.com" in result.stderr
