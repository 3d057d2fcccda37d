"""Model files that version 0.1.0 wrote still open, and score as they did there."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import devnet

FOLDER = Path(__file__).parent / "golden" / "0.1.0"
EXPECTED = np.load(FOLDER / "expected.npz")
NAMES = sorted(path.stem for path in FOLDER.glob("*.devnet"))


def rows_of(name):
    if not name.endswith("_wide"):
        return EXPECTED["rows"]
    parts = tuple(EXPECTED[f"wide_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=(len(parts[2]) - 1, 4200))


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("table_")])
def test_a_detector_scores_as_it_did(name):
    model = devnet.load(FOLDER / f"{name}.devnet")
    np.testing.assert_allclose(model.anomaly_score(rows_of(name)), EXPECTED[name], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("table_")])
def test_a_table_model_scores_and_explains_as_it_did(name):
    model = devnet.load(FOLDER / f"{name}.devnet")
    table = pq.read_table(FOLDER / "new.parquet")
    scored = model.score(table)
    expected = [key.partition(".")[2] for key in EXPECTED if key.startswith(f"{name}.")]
    assert {*scored.column_names, "reasons"} == {*expected}
    for column in scored.column_names:
        found = scored[column].to_numpy(zero_copy_only=False)
        np.testing.assert_allclose(found, EXPECTED[f"{name}.{column}"], rtol=1e-6)
    reasons = [reason.text for one in model.explain(table, [7, 57]) for reason in one.reasons]
    assert reasons == EXPECTED[f"{name}.reasons"].tolist()
