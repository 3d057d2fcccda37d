"""A saved model comes back bit for bit; a damaged file raises a clear error and nothing else."""

import json
import os
import struct

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from support.model_files import resealed, sealed, write_sealed
from support.tasks import make_task

import devnet
from devnet import (
    DataReference,
    DevNet,
    GaussianPrior,
    HybridReference,
    ModelFileError,
    StandardPrior,
)
from devnet.core import model_file


def quick(**parameters):
    return DevNet(**{"n_epochs": 2, "n_batches": 3, "random_state": 0, **parameters})


def wide_rows():
    rows = sp.random_array((200, 6000), density=0.01, format="csr", rng=np.random.default_rng(0))
    return rows, (np.arange(200) < 20).astype(int)


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"hidden": ()},
        {"hidden": (7, 5)},
        {"end_to_end": False},
        {"n_members": 3, "reference": GaussianPrior(0.5, 2, 100), "clip_norm": None},
        {"reference": StandardPrior("student", np.int64(50))},
        {"reference": DataReference(np.float32(0.5)), "n_members": 2},
        {"reference": HybridReference(StandardPrior("gumbel", 50), 0.3), "end_to_end": False},
        {"random_state": np.random.default_rng(0)},
    ],
)
@pytest.mark.parametrize("wide", [False, True])
def test_save_load_score_is_bit_equal(variant, wide, tmp_path, seed):
    rows, y = wide_rows() if wide else make_task(seed)[:2]
    model = quick(**variant).fit(rows, y)
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    np.testing.assert_array_equal(loaded.anomaly_score(rows), model.anomaly_score(rows))
    np.testing.assert_array_equal(loaded.p_value(rows), model.p_value(rows))
    np.testing.assert_array_equal(loaded.reference_[:2], model.reference_[:2])
    for name in ("threshold_", "n_features_in_", "n_iter_", "history_", "best_epoch_"):
        assert getattr(loaded, name) == getattr(model, name)
    expected = model.get_params() | ({"random_state": None} if "random_state" in variant else {})
    assert loaded.get_params() == expected
    loaded.partial_fit(rows, y)


@pytest.mark.parametrize("labels", [("ok", "fraud"), (0, 1), (False, True), (-1.0, 1.0)])
def test_labels_and_names_come_back(labels, tmp_path):
    rows, y, _ = make_task(0)
    frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(8)])
    model = quick(pos_label=labels[1]).fit(frame, np.array(labels)[y])
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.classes_.dtype == model.classes_.dtype
    assert list(loaded.feature_names_in_) == list(frame.columns)


def test_the_header_is_readable_json_and_no_pickle(tmp_path):
    rows, y, _ = make_task(0)
    quick().fit(rows, y).save(tmp_path / "m.devnet")
    with safe_open(tmp_path / "m.devnet", framework="np") as file:
        header = json.loads(file.metadata()["devnet"])
    assert header["format_version"] == 1
    assert header["method"] == "DevNet"
    assert header["parameters"]["margin"] == 5.0
    assert set(header["versions"]) == {"devnet", "numpy", "scikit-learn", "torch", "pyarrow"}


def test_a_wide_model_stores_only_columns_that_weigh(tmp_path):
    rows, y = wide_rows()
    quick(n_epochs=1, n_batches=1, batch_size=8).fit(rows, y).save(tmp_path / "m.devnet")
    assert (tmp_path / "m.devnet").stat().st_size < 250_000  # all columns would be 480,000


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    rows, y, _ = make_task(0)
    model = quick().fit(rows, y)
    path = tmp_path / "m.devnet"
    model.save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.devnet"]


def test_paths_that_cannot_be_written_or_read(tmp_path):
    rows, y, _ = make_task(0)
    model = quick().fit(rows, y)
    with pytest.raises(FileNotFoundError, match="folder .*nowhere does not exist"):
        model.save(tmp_path / "nowhere" / "m.devnet")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="no model file"):
        devnet.load(tmp_path / "missing.devnet")
    with pytest.raises(ModelFileError, match="is a folder, not a model"):
        devnet.load(tmp_path)


def saved(tmp_path, **parameters):
    rows, y, _ = make_task(0)
    path = tmp_path / "m.devnet"
    quick(**parameters).fit(rows, y).save(path)
    header, tensors = model_file.read(path)
    return path, header, tensors


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"format": "other"}, "not a devnet model"),
        ({"format_version": 99}, "format version 99, newer than the 1 known here. Upgrade"),
        ({"format_version": "1"}, "impossible format version"),
        ({"method": "Evil"}, "method 'Evil' that is unknown here"),
        ({"method": ["x"]}, "no valid 'method'"),
        ({"parameters": {}}, "no valid 'parameters'"),
        ({"n_features_in": 9}, "'parameters'.*has float32 of shape"),
        ({"n_features_in": 10**15}, "'parameters'"),
        ({"n_features_in": -1}, "'n_features_in'"),
        ({"feature_names_in": ["a"]}, "'feature_names_in'"),
        ({"classes": [1, 1]}, "'classes'"),
        ({"classes": [0, "a"]}, "'classes'"),
        ({"threshold": "low"}, "'threshold'"),
        ({"threshold": None}, "'threshold'"),
        ({"threshold": 10**400}, "'threshold'"),
        ({"classes": [float("nan"), 1.0]}, "'classes'"),
        ({"classes": [0, 300], "classes_dtype": "V8"}, "'classes_dtype'"),
        ({"best_epoch": [-4]}, "'best_epoch'"),
        ({"history": [{"epoch": 1, "loss": "low", "member_loss": [1.0]}]}, "'history'"),
        ({"history": [{"epoch": 1}]}, "'history'"),
        ({"best_epoch": [1, 2]}, "'best_epoch'"),
    ],
)
def test_an_edited_header_gets_a_sentence(edit, words, tmp_path):
    path, header, tensors = saved(tmp_path)
    write_sealed(path, header | edit, tensors)
    with pytest.raises(ModelFileError, match=words):
        devnet.load(path)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"margin": -3}, "margin=-3"),
        ({"hidden": [10**9]}, "'parameters'"),
        ({"hidden": "os.system"}, "hidden='os.system'"),
        ({"hidden": {"module": "X"}}, "trained with a torch module"),
        ({"reference": {"GaussianPrior": [0, -1, 5]}}, "impossible GaussianPrior"),
        ({"reference": {"GaussianPrior": "abc"}}, "impossible GaussianPrior"),
        ({"reference": {"eval": "1"}}, "unknown kind"),
        ({"reference": {}}, "unknown kind"),
        ({"reference": {"GaussianPrior": 3}}, "impossible GaussianPrior"),
        ({"reference": {"StandardPrior": ["cauchy", 5000]}}, "impossible StandardPrior"),
        ({"reference": {"StandardPrior": ["laplace"] * 9}}, "impossible StandardPrior"),
        ({"reference": {"DataReference": [0]}}, "impossible DataReference.*min_std=0"),
        ({"reference": {"HybridReference": [3, 0.5]}}, "impossible HybridReference.*prior=3"),
        ({"reference": {"HybridReference": [{"eval": 1}, 0.5]}}, "unknown kind"),
        (
            {"reference": {"HybridReference": [{"GaussianPrior": [0, 0, 5]}, 0.5]}},
            "impossible GaussianPrior.*std=0",
        ),
        ({"n_members": 2}, "'parameters'"),
        ({"margin": 10**400}, "margin=1000"),
        ({"reference": {"GaussianPrior": [0, 1, float("inf")]}}, "impossible GaussianPrior"),
        ({"reference": {"GaussianPrior": [10**400, 1, 5000]}}, "impossible GaussianPrior"),
        ({"hidden": [], "end_to_end": False}, "impossible network"),
    ],
)
def test_edited_parameters_get_a_sentence(edit, words, tmp_path):
    path, header, tensors = saved(tmp_path)
    header["parameters"].update(edit)
    write_sealed(path, header, tensors)
    with pytest.raises(ModelFileError, match=words):
        devnet.load(path)


@pytest.mark.parametrize(
    "edit",
    [
        {"mean": [0.0, 0.0]},
        {"mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0]},
        {"mean": [0.0, 0.0], "std": [1.0, 0]},
        {"mean": [0.0, "a"], "std": [1.0, 1.0]},
        {"mean": [0.0, float("nan")], "std": [1.0, 1.0]},
        {"mean": 0.0, "std": 1.0},
        [],
        None,
    ],
)
@pytest.mark.parametrize("kind", [GaussianPrior, DataReference])
def test_an_edited_reference_gets_a_sentence(edit, kind, tmp_path):
    path, header, tensors = saved(tmp_path, n_members=2, reference=kind())
    assert set(header["reference"]) == {"mean", "std"}
    write_sealed(path, header | {"reference": edit}, tensors)
    with pytest.raises(ModelFileError, match="no valid 'reference'"):
        devnet.load(path)


def test_a_file_without_reference_is_that_of_a_prior(tmp_path):
    rows, _, _ = make_task(0)
    for prior in (None, GaussianPrior(0.5, 2, 100), StandardPrior("laplace", 10)):
        path, header, tensors = saved(tmp_path, n_members=2, reference=prior)
        expected = devnet.load(path).anomaly_score(rows)
        header.pop("reference")
        write_sealed(path, header, tensors)
        np.testing.assert_array_equal(devnet.load(path).anomaly_score(rows), expected)
    for learned in (DataReference(), HybridReference()):
        path, header, tensors = saved(tmp_path, reference=learned)
        header.pop("reference")
        write_sealed(path, header, tensors)
        with pytest.raises(ModelFileError, match="no 'reference', which this model has learned"):
            devnet.load(path)


def test_edited_tensors_get_a_sentence(tmp_path):
    path, header, tensors = saved(tmp_path)
    parameters = tensors["parameters"]
    for changed, words in (
        ({}, "but has none"),
        ({"parameters": parameters.astype(np.float64)}, "but has float64"),
        ({"parameters": parameters[:, :-1].copy()}, "shape"),
        ({"parameters": np.full_like(parameters, np.nan)}, "not finite"),
        ({"parameters": parameters, "extra": parameters}, "unknown tensor 'extra'"),
        ({"parameters": parameters, "columns": np.zeros(2, np.int64)}, "'parameters'"),
    ):
        write_sealed(path, header, changed)
        with pytest.raises(ModelFileError, match=words):
            devnet.load(path)


@pytest.mark.parametrize("columns", [[5, 3], [3, 3], [-1, 3], [3, 6000]])
def test_edited_columns_get_a_sentence(columns, tmp_path):
    path = tmp_path / "m.devnet"
    quick().fit(*wide_rows()).save(path)
    header, tensors = model_file.read(path)
    tensors["columns"] = np.array(columns, dtype=np.int64)
    tensors["first_kernel"] = np.ascontiguousarray(tensors["first_kernel"][:, :2])
    write_sealed(path, header, tensors)
    with pytest.raises(ModelFileError, match="must ascend from 0 to 5999"):
        devnet.load(path)


def test_an_endlessly_nested_parameter_gets_a_sentence(tmp_path):
    path, header, tensors = saved(tmp_path)
    header["parameters"]["pos_label"] = "NESTED"
    header.pop("checksum")
    text = json.dumps(header).replace('"NESTED"', "[" * 900 + "]" * 900)
    save_file(tensors, path, metadata={"devnet": text})
    with pytest.raises(ModelFileError, match="nested too deeply|not valid JSON"):
        devnet.load(path)


def test_a_huge_number_of_columns_in_an_edited_file_takes_no_memory(tmp_path):
    path = tmp_path / "m.devnet"
    rows, y = wide_rows()
    quick().fit(rows, y).save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header | {"n_features_in": 10**13}, tensors)
    with pytest.raises(ValueError, match="expecting 10000000000000 features"):
        devnet.load(path).anomaly_score(rows)


def test_foreign_files_get_a_sentence(tmp_path):
    path = tmp_path / "m.devnet"
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match="not a devnet model"):
        devnet.load(path)
    for content in (b"", b"PK\x03\x04", b"\x80\x04pickle", struct.pack("<Q", 2**60), b"{" * 100):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="not a complete model file"):
            devnet.load(path)
    save_file({"a": np.zeros(3)}, path, metadata={"devnet": "[" * 100_000})
    with pytest.raises(ModelFileError, match="not valid JSON"):
        devnet.load(path)


@settings(max_examples=400)
@given(data=st.data())
def test_mutated_files_load_whole_or_get_a_sentence(tmp_path_factory, data):
    content, rows = _saved_once(tmp_path_factory)
    mutated = bytearray(content)
    kind = data.draw(st.sampled_from(["cut", "flip", "insert", "delete", "header"]))
    start = data.draw(st.integers(0, len(mutated) - 1))
    if kind == "cut":
        mutated = mutated[:start]
    elif kind == "flip":
        mutated[start] ^= data.draw(st.integers(1, 255))
    elif kind == "insert":
        mutated[start:start] = data.draw(st.binary(min_size=1, max_size=9))
    elif kind == "delete":
        del mutated[start : start + data.draw(st.integers(1, 9))]
    else:  # a digit, quote or bracket of the JSON header
        position = data.draw(st.integers(8, 1000))
        mutated[position] = data.draw(st.sampled_from(b'0129-.eE"[]{},:ntf\\'))
    path = tmp_path_factory.getbasetemp() / "mutated.devnet"
    path.write_bytes(resealed(mutated))
    try:
        model = devnet.load(path)
    except ModelFileError as error:
        assert str(error)
    else:
        assert len(model.anomaly_score(rows)) == len(rows)


@settings(max_examples=300)
@given(data=st.data())
def test_a_flipped_byte_is_noticed_or_changes_nothing(tmp_path_factory, data):
    content, rows = _saved_once(tmp_path_factory)
    path = tmp_path_factory.getbasetemp() / "flipped.devnet"
    path.write_bytes(content)
    expected = devnet.load(path).anomaly_score(rows)
    flipped = bytearray(content)
    flipped[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(flipped))
    try:
        model = devnet.load(path)
    except ModelFileError as error:
        assert str(error)
    else:  # a blank, or the name of the checksum itself
        np.testing.assert_array_equal(model.anomaly_score(rows), expected)


def test_a_damaged_weight_gets_a_sentence(tmp_path):
    path, _, _ = saved(tmp_path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match="m.devnet does not match its checksum.* Copy it"):
        devnet.load(path)


@pytest.mark.parametrize("checksum", ["", "sha256:", None, 3, ["sha256"], {}])
def test_a_header_with_another_checksum_gets_a_sentence(checksum, tmp_path):
    path, header, tensors = saved(tmp_path)
    text = json.dumps(header | {"checksum": checksum})
    save_file(tensors, path, metadata={"devnet": text})
    with pytest.raises(ModelFileError, match="does not match its checksum"):
        devnet.load(path)


def test_the_checksum_is_the_one_that_the_documents_describe(tmp_path):
    path, header, tensors = saved(tmp_path, n_members=2)
    assert header["checksum"] == sealed(header, tensors)["checksum"]
    assert header["format_version"] == 1  # 0.1.0 reads the file, and ignores the field
    assert resealed(path.read_bytes()) == resealed(resealed(path.read_bytes()))
    assert devnet.load(resealed(path)).get_params() == devnet.load(path).get_params()


def test_a_file_without_a_checksum_opens(tmp_path):
    path, header, tensors = saved(tmp_path)
    header.pop("checksum")
    save_file(tensors, path, metadata={"devnet": json.dumps(header)})
    model = devnet.load(path)
    model.save(path)
    assert "checksum" in model_file.read_header(path)


def _saved_once(tmp_path_factory, cache={}):  # noqa: B006
    if not cache:
        rows, y, _ = make_task(0, n=100)
        path = tmp_path_factory.mktemp("model") / "m.devnet"
        quick(hidden=(3,)).fit(rows, y).save(path)
        cache["found"] = path.read_bytes(), rows
    return cache["found"]


def test_a_file_that_is_cut_while_it_is_read_is_refused(tmp_path, monkeypatch):
    """A mapped file would end the process."""
    path = tmp_path / "m.devnet"
    rows, y = make_task(0)[:2]
    quick(hidden=(2000,)).fit(rows, y).save(path)
    parse = json.loads

    def cut(text):
        os.truncate(path, 10_000)
        return parse(text)

    monkeypatch.setattr(json, "loads", cut)
    with pytest.raises(ModelFileError, match="not a complete model file"):
        devnet.load(path)


def test_what_is_no_model_file_is_not_read_whole(tmp_path):
    path = tmp_path / "m.devnet"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte, of which nothing is on disk
    with pytest.raises(ModelFileError, match="not a complete model file"):
        devnet.load(path)
