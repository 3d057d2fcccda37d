"""Files that appear under their name only when they are complete."""

import json
import os
import shlex
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from devnet.core.whole_file import check_target, whole_file, write_whole

NAMES = ["out", "out.parquet", ".hidden", "a" * 255, "é" * 127, f"{'b' * 240}.parquet", "[a]*{b}"]
FULL = OSError(28, "No space left on device")


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert (temporary.parent, temporary.suffix) == (tmp_path, ".txt")
    assert path.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_whatever_goes_wrong_the_earlier_file_stays(error, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_has_the_rights_that_a_new_file_has(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    write_whole(tmp_path / "whole", b"")
    usual, whole = ((tmp_path / name).stat().st_mode for name in ("usual", "whole"))
    assert stat.S_IMODE(whole) == stat.S_IMODE(usual)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(is_there, tmp_path):
    (tmp_path / "far").mkdir()
    far, link = tmp_path / "far" / "data.csv", tmp_path / "link.csv"
    if is_there:
        far.write_text("old")
    link.symlink_to(Path("far") / "data.csv")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert far.read_text() == "new"
    assert [one.name for one in far.parent.iterdir()] == ["data.csv"]


def test_links_to_nowhere_get_a_sentence(tmp_path):
    (tmp_path / "lost").symlink_to(tmp_path / "no" / "file")
    with pytest.raises(FileNotFoundError, match="mkdir -p"):
        check_target(tmp_path / "lost")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(FileNotFoundError, match="leads to itself"):
        write_whole(tmp_path / "round", b"")


def test_pipes_and_devices_are_left_alone(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="is a pipe or device"):
        write_whole(pipe, b"new")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(OSError, match="is a pipe or device"):
        check_target(Path("/dev/null"))
    with pytest.raises(OSError, match="is a pipe or device"):
        check_target(Path("/dev/full"))


def test_names_that_cannot_be_written_to_get_a_sentence(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for name, sentence in (
        (".", "is a folder"),
        ("no/a", "mkdir -p"),
        ("file/a", "is a file, so a cannot be saved in it"),
    ):
        with pytest.raises(OSError, match=sentence):
            check_target(tmp_path / name)


def test_a_file_keeps_its_mode(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_whole(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o640


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", [*NAMES, f"x.{'c' * 253}", "two\nlines\x1b[2J"])
def test_any_name_that_a_file_may_have_can_be_written(name, tmp_path):
    check_target(tmp_path / name)
    assert names_in(tmp_path) == []
    write_whole(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"
    assert names_in(tmp_path) == [name]


def test_a_name_that_is_too_long_is_told_before_the_work(tmp_path):
    with pytest.raises(OSError, match="cannot be written: File name too long; give a shorter name"):
        check_target(tmp_path / ("a" * 256))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_folder_that_takes_no_files_is_told_before_the_work():
    with pytest.raises(OSError, match=r"/proc/m cannot be written: .*; choose a folder .*/proc\)"):
        check_target(Path("/proc/m"))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_killed_process_left_is_removed_by_the_next(name, tmp_path):
    target = tmp_path / name
    others = [
        f".{name[:9]}",
        f"{name[:9]}.devnet-abcdefgh",
        ".devnet-abcdefgh",
        ".o.devnet-abcdefgh",
    ]
    for other in others:
        (tmp_path / other).write_bytes(b"mine")
    with killed_writer(target) as left:
        assert left.exists()
        write_whole(target, b"while another writes")
        assert left.exists()
    assert left.exists()
    check_target(target)
    assert names_in(tmp_path) == sorted([*others, name])
    assert target.read_bytes() == b"while another writes"


class killed_writer:  # noqa: N801 - a context
    """A process that writes to a target, and is killed at the end of the block."""

    def __init__(self, target):
        program = (
            "import json, sys\nfrom pathlib import Path\n"
            "from devnet.core.whole_file import whole_file\n"
            "with whole_file(Path(sys.argv[1])) as temporary:\n"
            "    temporary.write_bytes(b'half')\n"
            "    print(json.dumps(str(temporary)), flush=True)\n"
            "    sys.stdin.read()\n"
        )
        command = [sys.executable, "-c", program, str(target)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, **pipes, text=True)

    def __enter__(self):
        return Path(json.loads(self._process.stdout.readline()))

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


def test_several_write_to_one_target_at_once_and_the_last_one_wins(tmp_path):
    target, errors = tmp_path / "out", []

    def write(content):
        try:
            for _ in range(100):
                write_whole(target, content)
        except BaseException as error:  # noqa: BLE001 - told by the test
            errors.append(error)

    contents = [bytes([i]) * 1000 for i in range(4)]
    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert target.read_bytes() in contents
    assert names_in(tmp_path) == ["out"]


def test_a_file_system_without_locks_is_written_and_nothing_is_removed(tmp_path, monkeypatch):
    def no_locks(handle, how):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", no_locks)
    (tmp_path / ".out.devnet-abcdefgh").write_bytes(b"perhaps written by another machine")
    write_whole(tmp_path / "out", b"new")
    assert names_in(tmp_path) == [".out.devnet-abcdefgh", "out"]


@pytest.mark.parametrize("how", ["pathlib.Path.write_bytes", "os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_gets_a_sentence_and_leaves_what_was_there(how, tmp_path, monkeypatch):
    (tmp_path / "m").write_bytes(b"old")

    def full(*_):
        raise FULL

    monkeypatch.setattr(how, full)
    with pytest.raises(OSError, match=r"m cannot be written: No space left on device; free some"):
        write_whole(tmp_path / "m", b"new")
    monkeypatch.undo()
    assert names_in(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == b"old"


def test_what_to_type_is_quoted_for_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = "no dir; touch x"
    with pytest.raises(FileNotFoundError) as raised:
        check_target(Path(folder) / "m")
    typed = str(raised.value).rpartition(": ")[2]
    assert shlex.split(typed) == ["mkdir", "-p", folder]
    subprocess.run(typed, shell=True, check=True)
    check_target(Path(folder) / "m")
    assert names_in(tmp_path) == [folder]
    Path("$(touch x)").touch(mode=0o400)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"chmod u\+w '\$\(touch x\)'"):
        check_target(Path("$(touch x)"))


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_a_database_and_its_log_are_never_replaced(end, tmp_path):
    path = tmp_path / "review.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    before = path.read_bytes()
    (tmp_path / "link").symlink_to(path)
    for target in (tmp_path / f"review.db{end}", tmp_path / f"link{end}"):
        for write in (check_target, lambda target: write_whole(target, b"new")):
            with pytest.raises(FileExistsError, match="part of a database.*never replaced"):
                write(target)
    assert names_in(tmp_path) == ["link", "review.db"]
    assert path.read_bytes() == before
    write_whole(tmp_path / "other.db-wal", b"new")  # no database is beside it
