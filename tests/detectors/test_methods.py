"""The registry: the method for a table, and restoring a saved detector."""

import numpy as np
import pytest
from support.model_files import write_sealed

import devnet
from devnet import DevNet
from devnet.core import model_file
from devnet.detectors.methods import (
    HAND_OVER,
    METHODS,
    NAMED,
    REVIEW_METHODS,
    REVIEWING,
    find_method,
    method_for,
)


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:7"])
def test_a_file_that_names_a_device_opens(device, task, tmp_path):
    rows, y, _ = task
    model = DevNet(n_epochs=1, random_state=0).fit(rows, y)
    model.save(tmp_path / "model")
    header, tensors = model_file.read(tmp_path / "model")
    assert "device" not in header["parameters"]
    header["parameters"]["device"] = device
    write_sealed(tmp_path / "model", header, tensors)
    opened = devnet.load(tmp_path / "model")
    assert opened.device == "auto"
    np.testing.assert_array_equal(opened.anomaly_score(rows), model.anomaly_score(rows))
    opened.partial_fit(rows, y)


def test_a_table_without_a_labelled_anomaly_has_a_method_that_needs_none():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    NAMED[method_for(0)]().fit(rows, np.zeros(50))
    assert method_for(HAND_OVER) == method_for(1000) == REVIEWING


def test_methods_for_reviews_are_found_by_name_but_not_compared_by_default():
    assert not METHODS.keys() & REVIEW_METHODS.keys()
    assert all(find_method(name) is method for name, method in REVIEW_METHODS.items())
