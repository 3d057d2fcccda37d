"""However wide a model of tables says it is, scoring and explaining take bounded memory."""

import numpy as np
import pyarrow as pa
import pytest
from support.model_files import write_sealed
from support.small_methods import small

import devnet
from devnet import ModelFileError
from devnet.core import model_file
from devnet.detectors.methods import METHODS
from devnet.tables import TableModel, row_scores
from devnet.tables import explainer as explaining

PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])
KEEPS_SPARSE = ["DevNet", "REPEN", "DSVDD", "FSNet", "deviation ensemble", "rank deviation"]


def wide_table(n_rows=120, n_columns=5000):
    generator = np.random.default_rng(0)
    rows = [
        [{"index": int(i), "value": 1.0} for i in np.unique(generator.integers(0, n_columns, 20))]
        for _ in range(n_rows - 1)
    ]
    rows.append([{"index": n_columns - 1, "value": 1.0}])
    label = [1 if i < 15 else 0 for i in range(n_rows)]
    return pa.table({"words": pa.array(rows, pa.list_(PAIR)), "fraud": label})


def fitted(name, table):
    detector = small(name)
    own = {
        key: value
        for key, value in detector.get_params(deep=False).items()
        if key in ("n_epochs", "n_batches", "n_networks", "n_trees")
    }
    return TableModel(name, parameters=own, random_state=0).fit(table, "fraud")


@pytest.mark.parametrize("name", METHODS)
def test_a_wide_sparse_model_does_not_become_dense(name, tmp_path, monkeypatch):
    """Without the check, a file of a few kilobytes asks for gigabytes."""
    table, path = wide_table(), tmp_path / "m.devnet"
    model = fitted(name, table)
    model.save(path)
    header, tensors = model_file.read(path)
    header["table"]["encoder"]["is_sparse"] = False
    write_sealed(path, header, tensors)
    if name in KEEPS_SPARSE:
        with pytest.raises(ModelFileError, match="dense rows of 5000 columns.*from sparse ones"):
            devnet.load(path)
        return
    monkeypatch.setattr(row_scores, "MATRIX_VALUES", 3 * 5000)
    scores = devnet.load(path).score(table)["anomaly_score"].to_numpy()
    np.testing.assert_allclose(scores, model.score(table)["anomaly_score"].to_numpy(), rtol=1e-6)


def test_rows_are_explained_alike_in_any_number_of_parts(monkeypatch):
    table = wide_table()
    model = fitted("deviation ensemble", table)
    together = model.explain(table, range(9))
    monkeypatch.setattr(explaining, "EXPLAINED_VALUES", 2 * 4096)
    assert model.explain(table, range(9)) == together
    assert [one.row for one in together] == list(range(9))
