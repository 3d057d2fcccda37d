"""What a model file says about its size never costs more memory than the file pays for."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from support.model_files import write_sealed
from support.small_methods import KINDS, fitted_small, small, small_rows

import devnet
from devnet import DeviationEnsemble, ModelFileError
from devnet.core import model_file, rows
from devnet.detectors.methods import METHODS
from devnet.explanation import contributions

every = pytest.mark.parametrize("name", METHODS)


def peak_of(call):
    """Bytes that a call has allocated at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@every
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1 << 27, 10**12, 10**400])
def test_a_huge_width_is_refused_or_takes_no_memory(name, kind, width, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small(name, kind).save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header | {"n_features_in": width}, tensors)

    def score():
        try:
            model = devnet.load(path)
        except ModelFileError as error:
            assert "edited or damaged" in str(error)  # noqa: PT017
            return
        if width < 2**62:  # no matrix has more columns
            model.anomaly_score(sp.csr_array(([1.0], ([0], [7])), shape=(3, width)))

    assert peak_of(score) < 20e6


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, {"hidden": (500,)}) for name in ("DevNet", "REPEN", "DSVDD", "FSNet")),
        ("REPEN", {"hidden": (2,), "n_members": 9}),
    ],
)
def test_very_wide_layers_and_very_many_members_are_scored_in_lower_tiles(name, size, monkeypatch):
    found, y = small_rows("dense")
    model = small(name, **size).fit(found, y)
    many = np.repeat(found, 5, axis=0)
    whole = peak_of(lambda: model.anomaly_score(many))
    monkeypatch.setattr(rows, "MADE_VALUES", 1 << 14)
    assert peak_of(lambda: model.anomaly_score(many)) < whole / 2


@every
@pytest.mark.parametrize("kind", KINDS)
def test_lower_tiles_give_the_same_scores_and_reasons(name, kind, monkeypatch):
    model, (found, _) = fitted_small(name, kind), small_rows(kind)
    baseline = np.zeros(found.shape[1], np.float32)
    before = model.anomaly_score(found)
    parts = None if kind == "wide" else contributions(model, found, baseline)
    monkeypatch.setattr(rows, "MADE_VALUES", 64)
    np.testing.assert_allclose(model.anomaly_score(found), before, rtol=1e-6)
    if parts is not None:
        np.testing.assert_allclose(contributions(model, found, baseline), parts, atol=1e-6)


def test_more_columns_than_an_ensemble_takes_get_a_sentence():
    too_wide = sp.csr_array(([1.0], ([0], [7])), shape=(30, (1 << 27) + 1))
    with pytest.raises(ValueError, match="134,217,729 columns; at most 134,217,728 are possible"):
        DeviationEnsemble().fit(too_wide, np.arange(30) < 3)
