"""Images as arrays, files and folders; and sentences for what cannot be read."""

import sys

import numpy as np
import pytest
from support.pictures import fitted, make_images, quick, write_files

pytest.importorskip("torch")
library = pytest.importorskip("PIL.Image")
from devnet.deep.images import file_rows  # noqa: E402
from devnet.deep.images.reading import read_images  # noqa: E402


def test_files_and_folders_are_the_same_images(tmp_path):
    images, y, _, _ = make_images()
    files = write_files(tmp_path, images)
    (tmp_path / "notes.txt").write_text("no image")
    scores = fitted().anomaly_score(images)
    for same in (files, [str(path) for path in files], tmp_path, str(tmp_path), np.array(files)):
        assert np.array_equal(fitted().anomaly_score(same), scores)
    learned = quick().fit(files, y)
    assert np.array_equal(learned.anomaly_score(images), scores)


def test_no_more_than_some_decoded_files_are_kept(tmp_path, monkeypatch):
    images, _, _, _ = make_images()
    files = write_files(tmp_path, images[:20])
    monkeypatch.setattr(file_rows, "KEPT_BYTES", 5 * 144)
    rows = read_images(files)
    expected = (images[:20] / np.float32(255)).reshape(20, -1)
    for _ in range(2):
        assert np.array_equal(rows.dense(np.arange(20)), expected)
    assert len(rows._kept) == 5
    assert np.array_equal(rows.select(np.array([3, 1])).dense(slice(0, 2)), expected[[3, 1]])


@pytest.mark.parametrize(
    ("mode", "channels"),
    [
        *(("1", 1), ("L", 1), ("I;16", 1), ("F", 1)),
        *(("P", 3), ("RGB", 3), ("CMYK", 3), ("LA", 4), ("RGBA", 4)),
    ],
)
def test_modes_of_files(tmp_path, mode, channels):
    grey = library.fromarray(make_images()[0][0])
    if mode == "I;16":
        image = library.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    else:
        image = grey.convert("RGB").convert(mode) if mode in ("P", "CMYK") else grey.convert(mode)
    image.save(tmp_path / "a.tiff")
    rows = read_images(tmp_path)
    assert rows.image_shape == (channels, 12, 12)
    if mode in ("L", "I;16"):
        expected = np.asarray(grey).reshape(1, -1) / np.float32(255)
        assert np.allclose(rows.dense(slice(0, 1)), expected)


def test_files_are_resized_if_asked(tmp_path):
    images, y, _, _ = make_images()
    files = write_files(tmp_path, [*images[:-1], np.zeros((9, 20), np.uint8)])
    model = quick(size=(10, 14)).fit(files, y)
    assert model.image_shape_ == (1, 10, 14)
    assert model.anomaly_score(files).shape == (len(files),)


def cut_short(path):
    noise = np.random.default_rng(0).integers(256, size=(12, 12), dtype=np.uint8)
    library.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:-60])


SPOILED = {
    "not an image": lambda path: path.write_text("hello"),
    "empty": lambda path: path.write_bytes(b""),
    "other size": lambda path: library.fromarray(np.zeros((12, 13), np.uint8)).save(path),
    "other channels": lambda path: library.fromarray(np.zeros((12, 12, 3), np.uint8)).save(path),
    "cut short": cut_short,
    "missing": lambda path: path.unlink(),
    "NaN": lambda path: library.fromarray(np.full((12, 12), np.nan, np.float32)).save(path),
}


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("not an image", r"002\.png is not an image that Pillow can read"),
        ("empty", r"002\.png is not an image"),
        ("other size", r"002\.png has 12 x 13 pixels, but .*000\.png has 12 x 12.*size=\(12, 12\)"),
        ("other channels", r"002\.png has 3 channels, but .*000\.png has 1"),
        ("cut short", r"002\.png is not an image that Pillow can read"),
        ("missing", r"there is no image file .*002\.png"),
        ("NaN", r"002\.tiff contains NaN.* nan at row 0, column 0"),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path, case, says):
    images = make_images()[0][:4]
    has_floats = case == "NaN"  # which PNG has not
    files = write_files(
        tmp_path,
        images.astype(np.float32) if has_floats else images,
        "tiff" if has_floats else "png",
    )
    SPOILED[case](files[2])
    with pytest.raises(ValueError, match=says):
        fitted().anomaly_score(files)
    with pytest.raises(ValueError, match=says):
        quick().fit(files, [1, 1, 0, 0])


def test_a_file_that_changes_is_named(tmp_path):
    files = write_files(tmp_path, make_images()[0][:4])
    rows = read_images(files)
    library.fromarray(np.zeros((5, 5), np.uint8)).save(files[1])
    with pytest.raises(ValueError, match=r"001\.png has changed"):
        rows.dense(slice(0, 4))


def test_hostile_names_are_written_out(tmp_path):
    path = tmp_path / "a\nb\x1b[2J.png"
    path.write_text("no image")
    with pytest.raises(ValueError, match="not an image") as caught:
        fitted().anomaly_score([path])
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_huge_picture_is_refused(tmp_path, monkeypatch):
    files = write_files(tmp_path, make_images()[0][:2])
    monkeypatch.setattr(library, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ValueError, match=r"000\.png is not an image"):
        read_images(files)


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (np.zeros((5, 144)), r"X has shape \(5, 144\).*Reshape flat rows"),
        (np.zeros((5, 12, 12), int), "values of type int64"),
        (np.full((5, 12, 12), "a"), "values of type str"),
        (np.zeros((0, 12, 12)), "0 sample"),
        ([], "0 sample"),
        (np.zeros((5, 3, 12, 3)), "channels_first=True"),
        (np.zeros((5, 6, 12, 12)), "channels_first=True"),
        ([np.zeros((12, 12)), np.zeros((12, 13))], r"image 1 has shape \(12, 13\), but image 0"),
        ([np.zeros((12, 12)), np.zeros((12, 12, 3))], "image 1 has shape"),
        (np.zeros((5, 12, 13)), "12 x 13 pixels with 1 channel, but the model learned from images"),
        (np.zeros((5, 12, 12, 3)), "with 3 channels, but"),
        ("/no/such/folder", "there is no folder /no/such/folder"),
    ],
)
def test_arrays_that_are_no_images(X, says):
    with pytest.raises(ValueError, match=says):
        fitted().anomaly_score(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_value_that_is_not_finite_is_named(bad):
    images, y, _, _ = make_images()
    broken = images / 255.0
    broken[7, 3, 5] = bad
    for use in (fitted().anomaly_score, fitted().anomaly_map, lambda X: quick().fit(X, y)):
        with pytest.raises(ValueError, match=r"image 7 contains NaN.*row 3, column 5, channel 0"):
            use(broken)


def test_size_is_for_files():
    images, y, _, _ = make_images()
    with pytest.raises(ValueError, match="is for files"):
        quick(size=(5, 5)).fit(images, y)


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(ValueError, match="has no images: looked for files that end in .png"):
        fitted().anomaly_score(tmp_path)


def test_one_image_is_too_few_to_learn_from():
    with pytest.raises(ValueError, match="minimum of 2"):
        quick().fit(make_images()[0][:1], [1])


def test_files_need_pillow(monkeypatch, tmp_path):
    files = write_files(tmp_path, make_images()[0][:2])
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"deviation-network\[images\]"):
        read_images(files)
