"""Whole numbers whose differences overflow are out of order, and reach no compiled code."""

import numpy as np
import pytest
from support.model_files import write_sealed
from support.small_methods import KINDS, fitted_small, small_rows

import devnet
from devnet import ModelFileError
from devnet.core import model_file
from devnet.core.model_file import ascends
from devnet.detectors.methods import METHODS

FAR = 3 << 61  # the difference between this and its negative wraps round to a positive number


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_far_apart_get_a_sentence_or_work(name, kind, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small(name, kind).save(path)
    header, tensors = model_file.read(path)
    for tensor, array in tensors.items():
        if array.dtype != np.int64 or array.size < 3:
            continue
        edited = array.copy()
        edited.ravel()[1:3] = FAR, -FAR
        write_sealed(path, header, tensors | {tensor: edited})
        try:
            model = devnet.load(path)
        except ModelFileError as error:
            assert "model file" in str(error)
        else:
            assert np.isfinite(model.anomaly_score(small_rows(kind)[0])).all()


def test_order_is_not_judged_by_differences():
    assert not ascends(np.array([0, FAR, -FAR, 5]))
    assert not ascends(np.array([0, FAR, -FAR, 5]), strictly=False)
    assert ascends(np.array([-FAR, 0, FAR]))
    assert not ascends(np.array([1, 1]))
    assert ascends(np.array([1, 1]), strictly=False)
    assert ascends(np.array([], dtype=np.int64))
