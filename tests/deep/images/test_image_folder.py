"""Folders of images and files of labels."""

import pytest
from support.pictures import make_images, quick, write_files

pytest.importorskip("torch")
pytest.importorskip("PIL")
from devnet.deep.images.image_folder import labelled_images  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    images, _, _, _ = make_images()
    write_files(tmp_path / "x" / "anomaly", images[:4])
    write_files(tmp_path / "x" / "unlabelled", images[4:40])
    return tmp_path / "x"


def test_subfolders_are_labels(folder):
    found = labelled_images(folder)
    assert [path.parent.name for path in found.files[3:5]] == ["anomaly", "unlabelled"]
    assert found.y.tolist() == [1] * 4 + [0] * 36
    quick().fit(found.files, found.y)
    write_files(folder / "normal", make_images()[0][50:53])
    assert labelled_images(str(folder)).y.tolist() == [1] * 4 + [0] * 36 + [-1] * 3


@pytest.mark.parametrize("missing", ["anomaly", "unlabelled"])
def test_a_missing_subfolder_is_named(folder, missing):
    (folder / missing).rename(folder / "other")
    with pytest.raises(ValueError, match=f"has no subfolder '{missing}'"):
        labelled_images(folder)


def test_a_file_of_labels_names_files(folder):
    table = folder / "labels.csv"
    table.write_text(
        "\ufefffile,label\nanomaly/000.png,1\nanomaly/001.png,Anomaly\n\nunlabelled/003.png,-1\n"
        'unlabelled/004.png,\n"unlabelled/005.png",0\n',
        encoding="utf-8",
    )
    found = labelled_images(folder, table)
    labels = dict(
        zip([path.relative_to(folder).as_posix() for path in found.files], found.y, strict=True)
    )
    assert {name: label for name, label in labels.items() if label} == {
        "anomaly/000.png": 1,
        "anomaly/001.png": 1,
        "unlabelled/003.png": -1,
    }
    assert len(labels) == 40


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "file,label\n\nanomaly/9.png,1\n",
            "line 3 of .*csv labels 'anomaly/9.png', but .* no such",
        ),
        ("file,label\nanomaly/000.png,1\nanomaly/000.png,0\n", "line 3 .* line 2 has labelled"),
        ("file,label\nanomaly/000.png,maybe\n", "line 2 .* has the label 'maybe'"),
        ("anomaly/000.png\n", "must name two columns"),
        ("", "must name two columns"),
        (b"file,label\n\xff\xfe,1\n", "not a CSV file in UTF-8"),
    ],
)
def test_wrong_labels_are_named(folder, text, says):
    table = folder / "labels.csv"
    table.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=says):
        labelled_images(folder, table)


def test_a_missing_file_of_labels_is_named(folder):
    with pytest.raises(ValueError, match="there is no file of labels"):
        labelled_images(folder, folder / "none.csv")
