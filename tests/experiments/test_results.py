"""Finished runs are never lost, whatever happens to the file."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.experiments import record

from devnet import __version__
from devnet.experiments.results import ResultsFile, read_results


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "results.jsonl"


def add(path, *records):
    with ResultsFile(path) as file:
        for one in records:
            file.add(one)


def test_what_was_added_is_read(path):
    add(path, record(0), record(1))
    add(path, record(2, value=1 / 3))
    assert read_results(path) == [record(0), record(1), record(2, value=1 / 3)]


def test_no_file_is_no_results(path):
    assert read_results(path) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_cut_anywhere_keeps_its_whole_lines(tmp_path, data):
    path = tmp_path / "cut.jsonl"
    path.unlink(missing_ok=True)
    add(path, record(0), record(1), record(2))
    content = path.read_bytes()
    size = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:size])
    n_whole = content[:size].count(b"\n") + (content[size : size + 1] == b"\n")
    assert len(read_results(path)) == n_whole
    add(path, record(3))
    assert [r.seed for r in read_results(path)] == [*range(n_whole), 3]


def test_a_spoilt_line_is_named_and_nothing_is_changed(path):
    add(path, record(0), record(1))
    lines = path.read_bytes().split(b"\n")
    spoilt = b"\n".join([lines[0], b'{"dataset": "thy', lines[1], b""])
    path.write_bytes(spoilt)
    with pytest.raises(ValueError, match="line 2 of .*is not a run"), ResultsFile(path):
        pass
    assert path.read_bytes() == spoilt


@pytest.mark.parametrize("line", ["[]", "{}", "1", '{"dataset": "thyroid"}', "é" * 10, "\x00"])
def test_foreign_lines_are_not_runs(path, line):
    path.parent.mkdir()
    path.write_text(f"{line}\n")
    with pytest.raises(ValueError, match="line 1 of"):
        read_results(path)


def test_foreign_bytes_get_a_sentence(path):
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(ValueError, match="is not a file of JSON lines"):
        read_results(path)


def test_a_run_that_is_tried_again_counts_once(path):
    add(path, record(0, error="ValueError: no"), record(1))
    add(path, record(0))
    assert read_results(path) == [record(1), record(0)]


def test_tidying_puts_runs_in_order_and_drops_superseded_failures(path):
    with ResultsFile(path) as file:
        for one in (record(2), record(0, error="no"), record(1), record(0)):
            file.add(one)
        file.tidy([record(seed).run for seed in range(3)])
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [0, 1, 2]


def test_results_of_another_version_are_refused_and_kept(path):
    add(path, record(0, version=__version__))
    path.write_text(path.read_text().replace(__version__, "0.0.9"))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"holds runs of devnet 0\.0\.9"), ResultsFile(path):
        pass
    assert path.read_bytes() == before
    assert len(read_results(path)) == 1  # they can still be shown


def test_two_processes_cannot_add_at_once(path):
    with (
        ResultsFile(path),
        pytest.raises(ValueError, match="another process is adding"),
        ResultsFile(path),
    ):
        pass


def test_the_scratch_folder_is_empty_even_after_a_kill(path):
    with ResultsFile(path) as file:
        scratch = file.scratch_folder()
        left_over = scratch.__enter__()  # never left, as in a process that is killed
        (left_over / "data").write_text("")
    with ResultsFile(path) as file, file.scratch_folder() as folder:
        assert list(folder.iterdir()) == []
        assert folder != left_over  # where orphans may still write
        assert not left_over.exists()
    assert not folder.exists()


def test_what_an_orphan_goes_on_writing_is_removed_at_the_end(path):
    with ResultsFile(path) as file:
        left_over = file.scratch_folder().__enter__()
    with ResultsFile(path) as file, file.scratch_folder():
        left_over.mkdir()  # it was writing while the folder was being removed
        (left_over / "rows.npy").write_text("")
    assert not left_over.exists()


def test_an_unwritable_folder_gets_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ValueError, match="cannot write results to .* with results"),
        ResultsFile(tmp_path / "file" / "results.jsonl"),
    ):
        pass
