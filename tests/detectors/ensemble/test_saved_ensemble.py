"""Ensembles in model files, intact and edited."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from support.competitor_checks import (
    check_edited_tensors_get_a_sentence,
    check_saved_and_loaded_is_bit_equal,
)
from support.ensemble_checks import check_same, fitted, quick
from support.model_files import write_sealed
from support.tasks import make_task

import devnet
from devnet import DeviationEnsemble, ModelFileError
from devnet.core import model_file
from devnet.core.layout import Layout


@pytest.mark.parametrize("kind", ["table", "wide"])
def test_everything_comes_back_from_a_file_and_goes_on_alike(kind, tmp_path):
    _, rows, y = fitted(kind)
    model = quick().fit(rows, y)
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    check_same(model, loaded, rows)
    more = y.copy()
    more[-5:] = 1
    check_same(model.refit(rows, more), loaded.refit(rows, more), rows)
    loaded.save(tmp_path / "m.devnet")
    check_same(model, devnet.load(tmp_path / "m.devnet"), rows)


def test_saved_and_loaded_is_bit_equal(tmp_path):
    check_saved_and_loaded_is_bit_equal(quick(), tmp_path / "m.devnet")


def test_a_file_of_sixty_columns_is_small(seed, tmp_path):
    rows, y, _ = make_task(seed, n=21_000, d=60)
    DeviationEnsemble(random_state=0).fit(rows, y).save(tmp_path / "m.devnet")
    assert (tmp_path / "m.devnet").stat().st_size < 5e6


def test_edited_tensors_get_a_sentence(tmp_path):
    check_edited_tensors_get_a_sentence(quick(), tmp_path / "m.devnet")


EDITS = {
    "a number": lambda array: array.ravel()[0],
    "nothing": lambda array: array[:0],
    "one axis more": lambda array: array[None],
    "all below": lambda array: -np.abs(array) - 1,
    "all zero": lambda array: array * 0,
    "as large as can be": lambda array: np.full_like(
        array, np.iinfo(array.dtype).max if array.dtype.kind == "i" else 3e38
    ),
    "reversed": lambda array: array[::-1],
    "other bytes": lambda array: array.view(np.uint8),
}


@pytest.mark.parametrize("kind", ["table", "wide"])
@pytest.mark.parametrize("edit", EDITS)
def test_whatever_is_edited_gets_a_sentence_or_works(kind, edit, tmp_path):
    model, rows, _ = fitted(kind)
    path = tmp_path / "m.devnet"
    model.save(path)
    header, tensors = model_file.read(path)
    for name, array in tensors.items():
        changed = tensors | {name: np.ascontiguousarray(EDITS[edit](array))}
        if edit == "a number":
            changed[name] = np.array(array.ravel()[0])
        write_sealed(path, header, changed)
        try:
            loaded = devnet.load(path)
        except ModelFileError as error:
            assert "model file" in str(error)
            continue
        with np.errstate(all="ignore"):
            assert loaded.anomaly_score(rows).shape == (rows.shape[0],)
            assert loaded.p_value(rows).shape == (rows.shape[0],)
            assert loaded.contributions(rows[:5]).shape == (5, rows.shape[1])
            loaded.expected_quality()


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("combination_scale", lambda scale: -scale),
        ("encoding_normal", lambda normal: 100 * normal),
        ("tree_value", lambda value: 0 * value + 1e308),
        ("tree_value", lambda value: value - 6),
        ("importance", lambda importance: 0 * importance + 0.9),
        ("bag_labelled", lambda numbers: numbers - 1000),
        ("bag_labelled", lambda numbers: numbers[::-1]),
        ("bag_unlabelled", lambda bag: 0 * bag),
        ("tree_left", lambda a: np.where(a > 0, 0, a)),
        ("tree_left", lambda a: a + 1000),
        ("tree_column", lambda a: a + 8),
        ("encoding_start", lambda a: a + 1),
        ("bag_unlabelled", lambda a: a + 1180),
        ("bag_anomalies", lambda a: a + 2**40),
        ("pool", lambda a: a + 1),
        ("pool", lambda a: a - 21),
        ("pool_weight", lambda a: a + 0.5),
        ("pool_weight", lambda a: a * 0),
        ("posterior", lambda a: a - 1),
        ("important_column", lambda a: a + 1),
        ("importance", lambda a: a - 1),
    ],
)
def test_numbers_out_of_range_get_a_sentence(name, edit, tmp_path):
    path = tmp_path / "m.devnet"
    fitted()[0].save(path)
    header, tensors = model_file.read(path)
    changed = edit(tensors[name]).astype(tensors[name].dtype)
    write_sealed(path, header, tensors | {name: changed})
    with pytest.raises(ModelFileError, match="edited or damaged"):
        devnet.load(path)


@pytest.mark.parametrize("kind", ["table", "wide"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learners", "Evil"),
        ("learners", ["TableLearners"]),
        ("learners", None),
        ("n_rows", 5),
        ("n_rows", 0),
        ("n_rows", 1e9),
        ("n_rows", True),
        ("n_labelled", 0),
        ("n_labelled", 7),
        ("n_labelled", 10**30),
        ("n_labelled", None),
        ("combination_shift", "x"),
        ("combination_shift", None),
        ("hidden_anomaly_share", [0.1, 0.2, 0.3]),
        ("hidden_anomaly_share", [0.1, 0.1]),
        ("hidden_anomaly_share", [0.1, 0.1, 2]),
        ("hidden_anomaly_share", 0.1),
        ("n_features_in", 3),
        ("n_features_in", 10**30),
    ],
)
def test_edited_headers_get_a_sentence(kind, name, value, tmp_path):
    path = tmp_path / "m.devnet"
    fitted(kind)[0].save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header | {name: value}, tensors)
    with pytest.raises(ModelFileError, match="model file"):
        devnet.load(path)


def test_a_table_s_file_is_not_taken_for_a_wide_one(tmp_path):
    path = tmp_path / "m.devnet"
    for kind, other in (("table", "WideLearners"), ("wide", "TableLearners")):
        fitted(kind)[0].save(path)
        header, tensors = model_file.read(path)
        write_sealed(path, header | {"learners": other}, tensors)
        with pytest.raises(ModelFileError, match="should hold a tensor"):
            devnet.load(path)


def test_pickled_and_cloned(tmp_path):
    for kind in ("table", "wide"):
        model, rows, y = fitted(kind)
        check_same(pickle.loads(pickle.dumps(model)), model, rows)
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        check_same(copy.fit(rows, y), model, rows)


def arrays_in(thing, seen):
    """All arrays that can be reached from an object."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
        return
    parts = thing if isinstance(thing, list | tuple) else getattr(thing, "__dict__", {}).values()
    for part in parts:
        yield from arrays_in(part, seen)


@pytest.mark.parametrize("kind", ["table", "wide"])
def test_no_training_row_is_kept(kind, tmp_path):
    model, rows, y = fitted(kind)
    model.save(tmp_path / "m.devnet")
    _, tensors = model_file.read(tmp_path / "m.devnet")
    kept = [*arrays_in(model, set()), *tensors.values()]
    assert len(kept) > 10
    dense = rows.toarray() if sp.issparse(rows) else rows
    row = dense[0][dense[0] != 0].astype(np.float32).tobytes()
    for array in kept:
        assert array.nbytes < dense.nbytes
        assert row not in array.tobytes()
        assert array is not rows


def test_a_huge_number_of_columns_in_an_edited_file_takes_no_memory(tmp_path):
    path = tmp_path / "m.devnet"
    model, rows, _ = fitted("wide")
    model.save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header | {"n_features_in": 10**15}, tensors)
    with pytest.raises(ModelFileError, match="edited or damaged"):
        devnet.load(path)


def test_a_layout_is_part_of_the_file(tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    y = np.arange(200) < 6
    model = DeviationEnsemble(2, 4, layout=Layout((1, 3), (False, False)), random_state=0)
    model.fit(rows, y).save(tmp_path / "model.devnet")
    assert devnet.load(tmp_path / "model.devnet").layout == Layout((1, 3), (False, False))


def test_a_layout_of_other_columns_is_refused():
    rows = np.random.default_rng(0).normal(size=(200, 4))
    with pytest.raises(ValueError, match="X has 4 columns, but the layout has 3"):
        DeviationEnsemble(layout=Layout((3,), (False,))).fit(rows, np.arange(200) < 6)
