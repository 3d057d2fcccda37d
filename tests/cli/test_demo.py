"""The demo replaces its own files, and nobody else's."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from devnet.cli.main import main

FILES = ["payments.parquet", "fraud.devnet", "scored.parquet", "report.html"]


def demo(folder, rows=10_000):
    return CliRunner().invoke(main, ["demo", "--folder", str(folder), "--rows", str(rows)])


@pytest.fixture
def payments(tmp_path):
    """A table of somebody who calls it as the demo does."""
    path = tmp_path / "payments.parquet"
    pq.write_table(pa.table({"amount": [1.0], "fraud": [1]}), path)
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_yours_is_never_replaced(name, tmp_path):
    (tmp_path / name).write_bytes(b"mine")
    found = demo(tmp_path)
    assert found.exit_code == 2
    assert f"the demo would replace {tmp_path / name}, which is not" in found.stderr
    assert "devnet demo --folder NEW" in found.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"mine"


def test_a_table_of_yours_is_told_from_that_of_the_demo(payments):
    before = payments.read_bytes()
    assert demo(payments.parent).exit_code == 2
    assert payments.read_bytes() == before


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path):
    (tmp_path / "report.html").symlink_to(tmp_path / "elsewhere.html")
    assert demo(tmp_path).exit_code == 2
    assert not (tmp_path / "elsewhere.html").exists()


def test_the_demo_runs_again_where_it_ran_before(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for name in ("scored.parquet", "report.html"):  # the second run makes again what is missing
        assert demo(tmp_path).exit_code == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "notes.txt"])
        (tmp_path / name).unlink()
