"""What the command says about model files that are old, damaged or too large."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from devnet.cli.main import main
from devnet.core import model_file

OLD = Path(__file__).parents[1] / "golden" / "0.1.0" / "table_devnet.devnet"
TABLE = OLD.with_name("new.parquet")


@pytest.fixture
def new(tmp_path):
    """The old model, saved again."""
    path = tmp_path / "new.devnet"
    model_file.write(path, *model_file.read(OLD))
    return path


def devnet(*words):
    return CliRunner().invoke(main, list(map(str, words)))


def test_inspect_shows_the_checksum(new):
    checksum = json.loads(devnet("inspect", new, "--json").stdout)["checksum"]
    assert checksum == model_file.read_header(new)["checksum"]
    assert f"\nChecksum {checksum}\n" in devnet("inspect", new).stdout


def test_a_file_without_a_checksum_is_noted_once(new, tmp_path):
    done = devnet("score", OLD, TABLE, "-o", tmp_path / "scored.csv")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("was written before model files had a checksum") == 1
    done = devnet("inspect", OLD, "--json")
    assert json.loads(done.stdout)["checksum"] is None
    assert "Checksum" not in devnet("inspect", OLD).stdout
    assert "checksum" not in devnet("score", new, TABLE, "-o", tmp_path / "again.csv").stderr


def test_a_damaged_file_is_refused_in_a_sentence(new):
    content = bytearray(new.read_bytes())
    content[-1] ^= 1
    new.write_bytes(bytes(content))
    done = devnet("inspect", new)
    assert done.exit_code == 2
    assert "new.devnet does not match its checksum" in done.stderr
    assert "Traceback" not in done.output


def test_memory_that_runs_out_is_told_in_a_sentence(new, monkeypatch, tmp_path):
    def exhausted(*_, **__):
        raise MemoryError("Unable to allocate 20.0 GiB")

    monkeypatch.setattr("devnet.tables.encoder.TableEncoder.encode_read", exhausted)
    done = devnet("score", new, TABLE, "-o", tmp_path / "scored.csv")
    assert done.exit_code == 1
    assert "memory ran out (Unable to allocate 20.0 GiB); give a table with fewer" in done.stderr
    assert "Traceback" not in done.output
    assert not (tmp_path / "scored.csv").exists()
