"""A shared data set is the one that was read, without a copy."""

import numpy as np
import pytest
import scipy.sparse as sp

from devnet.datasets import Dataset
from devnet.datasets.records import Likeness
from devnet.experiments import shared_data
from devnet.experiments.shared_data import open_shared, share


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_what_is_opened_is_what_was_shared(make, tmp_path, monkeypatch):
    rows = make(np.eye(5, 8, dtype=np.float32))
    facts = (list("abcdefgh"), "made: 5 rows.", Likeness.DIFFERS)
    shared = Dataset("made", rows, np.arange(5) < 2, *facts)
    monkeypatch.setattr(shared_data, "load", lambda name: shared)
    share("made", tmp_path)
    opened = open_shared("made", tmp_path)
    assert (opened.name, *opened[3:]) == ("made", *facts)
    np.testing.assert_array_equal(opened.is_anomaly, shared.is_anomaly)
    memory = opened.rows.data if sp.issparse(opened.rows) else opened.rows
    while not isinstance(memory, np.memmap):
        memory = memory.base
    dense = opened.rows.toarray() if sp.issparse(opened.rows) else opened.rows
    np.testing.assert_array_equal(dense, np.eye(5, 8))
