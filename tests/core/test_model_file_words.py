"""An error about a model file repeats only a little of it, however long its texts are."""

import json
import struct

import pytest
from support.model_files import write_sealed
from support.tasks import make_task

import devnet
from devnet import DevNet, ModelFileError
from devnet.core import model_file

LONG = "x" * 5_000_000


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Header and tensors of a small model."""
    path = tmp_path_factory.mktemp("long") / "m.devnet"
    rows, y, _ = make_task(0)
    DevNet(n_epochs=1, n_batches=1, random_state=0).fit(rows, y).save(path)
    return model_file.read(path)


@pytest.mark.parametrize(
    "edit",
    [
        {"format_version": LONG},
        {"format_version": int("9" * 4000)},
        {"method": LONG},
        {"reference": LONG},
        {"parameters": {"margin": LONG}},
        {"parameters": {"hidden": {"module": LONG}}},
        {"parameters": {"pos_label": {LONG: 1}}},
        {"parameters": {"reference": {"GaussianPrior": [LONG, 1, 1]}}},
        {"classes": [f"{LONG}a", LONG], "classes_dtype": "float64"},
    ],
    ids=lambda edit: "-".join(edit),
)
def test_long_texts_of_a_header_are_cut(edit, parts, tmp_path):
    header, tensors = parts
    edit = {**edit}
    edit["parameters"] = {**header["parameters"], **edit.get("parameters", {})}
    write_sealed(tmp_path / "m", header | edit, tensors)
    with pytest.raises(ModelFileError) as raised:
        devnet.load(tmp_path / "m")
    assert len(str(raised.value)) < 600 + len(str(tmp_path))


def test_the_long_name_of_an_unknown_tensor_is_cut(parts, tmp_path):
    header, tensors = parts
    write_sealed(tmp_path / "m", header, {**tensors, LONG: tensors["parameters"]})
    with pytest.raises(ModelFileError, match=r"unknown tensor 'xxx.*\.\.\.\.$") as raised:
        devnet.load(tmp_path / "m")
    assert len(str(raised.value)) < 200


def test_what_safetensors_says_of_a_long_text_is_cut(tmp_path):
    metadata = {"devnet": json.dumps({"format": "devnet model", "format_version": 1})}
    tensor = {"dtype": LONG, "shape": [1], "data_offsets": [0, 4]}
    header = json.dumps({"__metadata__": metadata, "a": tensor}).encode()
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(ModelFileError, match="not a complete model file") as raised:
        devnet.load(tmp_path / "m")
    assert len(str(raised.value)) < 600 + len(str(tmp_path))
