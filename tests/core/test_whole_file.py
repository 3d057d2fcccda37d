"""Files that appear under their name only when they are complete."""

import os
import stat
from pathlib import Path

import pytest

from devnet.core.whole_file import check_target, whole_file, write_whole


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
