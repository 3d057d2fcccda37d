"""Opening graphs: ours, intact, by a runtime that can run them; else a sentence."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.ensemble_checks import quick
from support.tasks import make_task

from devnet.core.model_file import ModelFileError
from devnet.serving.onnx import ExportedModel, ExportError, export
from devnet.serving.onnx.metadata import checksum


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "m.onnx"
    rows, y, _ = make_task(0)
    export(quick(n_networks=1, n_trees=1).fit(rows, y), path)
    return path.read_bytes()


def opened(content, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    return ExportedModel(path)


def test_damage_anywhere_is_noticed(content, tmp_path, seed):
    generator = np.random.default_rng(seed)
    for place in generator.integers(len(content), size=60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(generator.integers(8))
        try:
            opened(bytes(damaged), tmp_path)
        except ExportError as error:
            assert "m.onnx" in str(error)
            continue
        original, other = (onnx.load_model_from_string(bytes(c)) for c in (content, damaged))
        assert original.graph == other.graph  # only what nobody reads, such as the producer


@pytest.mark.parametrize("size", [0, 1, 100, 5000])
def test_a_file_that_is_cut_is_refused(content, size, tmp_path):
    with pytest.raises(ExportError, match=r"m\.onnx (is not an ONNX graph|was )"):
        opened(content[:size], tmp_path)


def test_a_file_of_another_program_is_refused(tmp_path):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "XY"]
    node = helper.make_node("Relu", ["X"], ["Y"])
    foreign = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]))
    with pytest.raises(ExportError, match="was not written by devnet"):
        opened(foreign.SerializeToString(), tmp_path)
    with pytest.raises(ExportError, match="is not an ONNX graph, or it is damaged"):
        opened(b"id,amount\n1,2\n" * 9, tmp_path)


def test_a_newer_format_is_refused(content, tmp_path):
    model = onnx.load_model_from_string(content)
    said = next(one for one in model.metadata_props if one.key == "devnet.format")
    said.value = "2"
    with pytest.raises(ExportError, match=r"format '2', which a newer version wrote. Upgrade"):
        opened(model.SerializeToString(), tmp_path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ExportError, match=r"m\.onnx does not exist; give the name"):
        ExportedModel(tmp_path / "m.onnx")
    with pytest.raises(ExportError, match="is not a file"):
        ExportedModel(tmp_path)


def test_a_runtime_that_is_too_old_is_told(content, tmp_path, monkeypatch):
    monkeypatch.setattr(onnxruntime, "__version__", "1.9.0")
    with pytest.raises(ImportError, match=r"onnxruntime 1\.9\.0 is too old .* 1\.21 or newer; pip"):
        opened(content, tmp_path)


def test_a_runtime_that_cannot_open_it_is_told(content, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("Could not find an implementation for TreeEnsemble(5)")

    monkeypatch.setattr(onnxruntime, "InferenceSession", fail)
    with pytest.raises(ExportError, match=r"cannot open .*m\.onnx \(Could not find"):
        opened(content, tmp_path)


def test_a_missing_runtime_is_told(content, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"pip install 'deviation-network\[onnx\]'"):
        opened(content, tmp_path)


def test_a_matrix_is_no_table(content, tmp_path):
    with pytest.raises(ExportError, match=r"m\.onnx takes a matrix 'X', not a table"):
        opened(content, tmp_path).prepare(None)


def test_rows_that_do_not_fit_are_told(content, tmp_path):
    with pytest.raises(ExportError, match=r"m\.onnx cannot score these rows \(.*X"):
        opened(content, tmp_path).score(np.zeros((2, 3)))


@pytest.mark.parametrize("key", ["header", "threshold", "alerts", "checksum"])
def test_edited_metadata_are_refused(content, key, tmp_path):
    model = onnx.load_model_from_string(content)
    for value in (None, "", "[1, 2]", "{}", '{"table": 3}', '{"table": {}}'):
        edited = onnx.ModelProto()
        edited.CopyFrom(model)
        others = [one for one in model.metadata_props if one.key != f"devnet.{key}"]
        del edited.metadata_props[:]
        edited.metadata_props.extend(others)
        if value is not None:
            edited.metadata_props.add(key=f"devnet.{key}", value=value)
        if key != "checksum":  # whoever edits a file can compute a new one
            sums = [one for one in edited.metadata_props if one.key == "devnet.checksum"]
            sums[0].value = checksum(edited)
        try:
            opened(edited.SerializeToString(), tmp_path).table_model()
        except (ExportError, ModelFileError) as error:
            assert "edited" in str(error) or "takes a matrix" in str(error)
