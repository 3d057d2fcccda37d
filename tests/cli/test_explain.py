"""`devnet explain` opens a table once, for reasons and notes."""

import pytest
from click.testing import CliRunner
from support.payment_tables import fitted, make_table

from devnet.cli.main import main
from devnet.tables import opened_table


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_is_opened_once(suffix, tmp_path, monkeypatch):
    frame = make_table()[0].to_pandas().assign(more=1)
    path = tmp_path / f"t.{suffix}"
    getattr(frame, f"to_{suffix}")(path, index=False)
    fitted().save(tmp_path / "m.devnet")
    opened, open_table = [], opened_table.open_table

    def counted(table, **options):
        opened.append(table)
        return open_table(table, **options)

    monkeypatch.setattr(opened_table, "open_table", counted)
    words = ["explain", str(tmp_path / "m.devnet"), str(path), "--row", "7", "--row", "9"]
    done = CliRunner().invoke(main, words)
    assert "Row 7, P00007: score" in done.stdout
    assert "Row 9, P00009: score" in done.stdout
    assert "Note: 1 column is not known to the model and is ignored: more" in done.stderr
    assert opened == [str(path)]
