"""Scores are finite, or an error names the row and the method; NaN never ranks."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from support.model_files import write_sealed
from support.small_methods import KINDS, fitted_small, small, small_rows

import devnet
from devnet import ModelFileError
from devnet.core import model_file
from devnet.detectors.base import ScoreError
from devnet.detectors.methods import METHODS

every = pytest.mark.parametrize("name", METHODS)
LARGEST = np.finfo(np.float32).max
HUGE = {"float32": 3e38, "float64": 1e308}


@every
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sign", [1, -1])
def test_huge_weights_are_refused_or_give_finite_scores(name, kind, sign, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small(name, kind).save(path)
    header, tensors = model_file.read(path)
    rows = small_rows(kind)[0][:5]
    for tensor, array in tensors.items():
        huge = HUGE.get(array.dtype.name)
        if huge is None:
            continue
        for edited in (np.full_like(array, sign * huge), _one(array, sign * huge)):
            write_sealed(path, header, tensors | {tensor: edited})
            try:
                model = devnet.load(path)
            except ModelFileError:
                continue
            assert np.isfinite(model.anomaly_score(rows)).all(), tensor
            assert np.isfinite(model.decision_function(rows)).all(), tensor


def _one(array, value):
    edited = array.copy()
    edited.ravel()[: 1 if array.size else 0] = value
    return edited


@pytest.mark.parametrize(
    "edit",
    [
        {"reference": {"mean": [1e200], "std": [1.0]}},
        {"reference": {"mean": [0.0], "std": [1e-200]}},
        {"reference": {"mean": [0.0], "std": [1e200]}},
    ],
)
def test_a_huge_reference_is_refused(edit, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small("DevNet", "dense").save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header | edit, tensors)
    with pytest.raises(ModelFileError, match="no valid 'reference'"):
        devnet.load(path)


@every
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signs", [[1], [-1], [1, -1], [1, 1, -1]])
def test_the_largest_numbers_have_finite_scores_and_change_no_others(name, kind, signs):
    model, rows = fitted_small(name, kind), small_rows(kind)[0][:7]
    ordinary = model.anomaly_score(rows)
    layouts = [sp.csr_array(rows)] if kind == "wide" else [rows, sp.csr_array(rows)]
    for layout in layouts:
        extreme = _with_largest(layout, 3, signs)
        scores = model.anomaly_score(extreme)
        assert np.isfinite(scores).all()
        others = np.arange(7) != 3
        np.testing.assert_allclose(scores[others], ordinary[others], rtol=1e-6)
        assert np.isin(model.predict(extreme), model.classes_).all()


def _with_largest(rows, row, signs):
    """Rows of which one has no smaller numbers than the largest."""
    rows = rows.copy()
    is_sparse = sp.issparse(rows)
    part = rows.data[slice(*rows.indptr[row : row + 2])] if is_sparse else rows[row]
    part[:] = LARGEST * np.resize(signs, len(part))
    return rows


def broken(name, value):
    """A detector whose scores of one row are not finite."""
    model = small(name).fit(*small_rows("dense"))
    model._score = lambda rows: np.where(np.arange(rows.shape[0]) == 4, value, 0.0)
    return model


@every
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_an_error_that_names_row_and_method(name, value):
    model = broken(name, value)
    for call in (model.anomaly_score, model.decision_function, model.predict):
        with pytest.raises(
            ScoreError, match=f"{type(model).__name__} gives row 4 the score {value}"
        ):
            call(small_rows("dense")[0])


def test_the_error_can_be_sent_between_processes():
    error = pickle.loads(pickle.dumps(ScoreError("DevNet", 4, np.inf)))
    assert (error.method, error.row, error.score) == ("DevNet", 4, np.inf)
    assert str(error.at(7)).startswith("DevNet gives row 7 the score inf, which cannot be ranked")
