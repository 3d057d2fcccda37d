"""Downloads from a server on this machine that is made to fail in every way."""

import errno
import hashlib
import io
import os
import socket
from pathlib import Path

import pytest

from devnet.datasets import download as module
from devnet.datasets.download import DownloadError, checksum, download

CONTENT = bytes(range(256)) * 1200  # several chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def served(server):
    server.files["/set.csv"] = CONTENT
    return server


@pytest.fixture
def target(tmp_path):
    return tmp_path / "set.csv"


def part_of(target):
    return target.with_name("set.csv.part")


def test_a_whole_transfer_is_checked_and_reports_every_step(served, target):
    steps = []
    download(
        f"{served.address}/set.csv",
        target,
        sha256=SHA256,
        on_progress=lambda *step: steps.append(step),
    )
    assert target.read_bytes() == CONTENT
    assert checksum(target) == SHA256
    assert steps[0] == (0, len(CONTENT))
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    assert steps == sorted(steps)
    assert list(target.parent.iterdir()) == [target]


def test_an_interrupted_transfer_goes_on_where_it_stood(served, target):
    served.cut = 100_000
    with pytest.raises(
        DownloadError, match=r"broke off .*100,000 of 307,200 bytes.*again to resume at 0.1 MB"
    ):
        download(f"{served.address}/set.csv", target, sha256=SHA256)
    assert not target.exists()
    assert part_of(target).read_bytes() == CONTENT[:100_000]
    served.cut = None
    steps = []
    download(
        f"{served.address}/set.csv",
        target,
        sha256=SHA256,
        on_progress=lambda *step: steps.append(step),
    )
    assert served.requests == [("/set.csv", None), ("/set.csv", "bytes=100000-")]
    assert steps[0] == (100_000, len(CONTENT))
    assert target.read_bytes() == CONTENT
    assert not part_of(target).exists()


@pytest.mark.parametrize(
    ("attribute", "value"), [("knows_range", False), ("shift", 5)], ids=["no Range", "shifted"]
)
def test_an_answer_that_does_not_continue_starts_anew(served, target, attribute, value):
    part_of(target).write_bytes(b"something else")
    setattr(served, attribute, value)
    download(f"{served.address}/set.csv", target, sha256=SHA256)
    assert target.read_bytes() == CONTENT


def test_a_file_that_has_changed_since_starts_anew(served, target):
    served.etag, served.cut = '"first"', 100_000
    with pytest.raises(DownloadError, match="broke off"):
        download(f"{served.address}/set.csv", target)
    served.etag, served.cut = '"second"', None
    served.files["/set.csv"] = changed = CONTENT[::-1]
    download(f"{served.address}/set.csv", target)  # no checksum would tell
    assert target.read_bytes() == changed
    assert list(target.parent.iterdir()) == [target]


def test_a_part_longer_than_the_file_starts_anew(served, target):
    part_of(target).write_bytes(CONTENT + b"more")
    download(f"{served.address}/set.csv", target, sha256=SHA256)
    assert target.read_bytes() == CONTENT


def test_a_server_that_does_not_say_the_length(served, target):
    served.says_length = False
    steps = []
    download(f"{served.address}/set.csv", target, on_progress=lambda *step: steps.append(step))
    assert target.read_bytes() == CONTENT
    assert {total for _, total in steps} == {None}


def test_a_wrong_checksum_keeps_nothing_and_names_both(served, target):
    target.write_text("what was there before")
    with pytest.raises(DownloadError, match=f"{SHA256}.*{'0' * 64}.*Nothing was kept.*again"):
        download(f"{served.address}/set.csv", target, sha256="0" * 64)
    assert target.read_text() == "what was there before"
    assert not part_of(target).exists()


def test_an_absent_file_names_code_and_address(served, target):
    with pytest.raises(DownloadError, match=r"answered 404 \(Not Found\) to http.*/other\.csv"):
        download(f"{served.address}/other.csv", target)
    part_of(target).write_bytes(b"abc")
    with pytest.raises(DownloadError, match="404"):
        download(f"{served.address}/other.csv", target)
    assert part_of(target).read_bytes() == b"abc"


def test_a_web_page_is_not_a_data_file(served, target):
    served.type = "text/html; charset=utf-8"
    with pytest.raises(DownloadError, match="gave a web page, not a data file"):
        download(f"{served.address}/set.csv", target)
    assert not list(target.parent.iterdir())


def test_a_full_disk_keeps_what_came_and_says_what_is_missing(served, target, monkeypatch):
    class FullDisk(io.FileIO):
        def write(self, content):
            if self.tell() >= 2 * module.CHUNK:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(content)

    def open_on_a_full_disk(path, mode, *others, plain=Path.open, **named):
        return FullDisk(path, mode) if "b" in mode else plain(path, mode, *others, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_on_a_full_disk)
        with pytest.raises(
            DownloadError, match=r"disk is full: 176,128 bytes of set.csv .*131,072 bytes .*kept"
        ):
            download(f"{served.address}/set.csv", target, sha256=SHA256)
    assert part_of(target).read_bytes() == CONTENT[: 2 * module.CHUNK]
    download(f"{served.address}/set.csv", target, sha256=SHA256)
    assert target.read_bytes() == CONTENT
    assert served.requests[-1] == ("/set.csv", f"bytes={2 * module.CHUNK}-")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_disk_that_is_really_full(served, target):
    part_of(target).symlink_to("/dev/full")
    with pytest.raises(DownloadError, match="the disk is full: 307,200 bytes of set.csv"):
        download(f"{served.address}/set.csv", target)


@pytest.mark.parametrize("address", ["ftp://example.org/a", "file:///etc/hosts", "set.csv", ""])
def test_other_kinds_of_addresses_are_refused(target, address):
    with pytest.raises(DownloadError, match="only http:// and https:// addresses"):
        download(address, target)


def test_a_server_that_is_down(monkeypatch, target):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"http://127.0.0.1:{free.getsockname()[1]}/set.csv"
        with pytest.raises(DownloadError, match=r"cannot reach http.*refused.*Check the conn"):
            download(address, target)


def test_a_server_that_falls_silent(monkeypatch, target):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/set.csv"
        with pytest.raises(DownloadError, match=r"cannot reach http.*timed out"):
            download(address, target)


def test_a_server_that_falls_silent_on_the_way(served, target, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    served.cut, served.stall = 100_000, 0.6
    with pytest.raises(DownloadError, match=r"broke off \(timed out\).*to resume at 0.1 MB"):
        download(f"{served.address}/set.csv", target)
    served.cut, served.stall = None, 0
    download(f"{served.address}/set.csv", target, sha256=SHA256)
    assert served.requests[-1][1].startswith("bytes=")


def test_a_folder_that_cannot_be_written_to(served, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=r"cannot write .*Name a writable folder"):
        download(f"{served.address}/set.csv", tmp_path / "file" / "set.csv")
    with pytest.raises(DownloadError, match="it is a folder"):
        download(f"{served.address}/set.csv", tmp_path)
