"""Networks beside tables of features, on images and on a series."""

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from devnet.core.sentence import UserError  # noqa: E402
from devnet.deep.images.image_devnet import ImageDevNet  # noqa: E402
from devnet.deep.sequences.sequence_devnet import SequenceDevNet  # noqa: E402
from devnet.deep.sequences.series_table import SeriesTable  # noqa: E402
from devnet.experiments import deep_comparison  # noqa: E402
from devnet.experiments.deep_comparison import (  # noqa: E402
    BLOCK_LENGTHS,
    IMAGE_METHODS,
    SERIES_METHODS,
    compare_images,
    compare_series,
)
from devnet.experiments.splits import RowsToSplit, make_splits  # noqa: E402

FOREST, TREES = "iForest on features", "PU trees on features"


def write_pictures(folder, n=90, n_labelled=9):
    """Noise, with a bright square in the labelled ones."""
    generator = np.random.default_rng(0)
    for name in ("anomaly", "unlabelled"):
        (folder / name).mkdir(parents=True)
    for i in range(n):
        pixels = generator.integers(0, 60, (8, 8)).astype(np.uint8)
        if i < n_labelled:
            pixels[2:6, 2:6] = 220
        place = "anomaly" if i < n_labelled else "unlabelled"
        Image.fromarray(pixels).save(folder / place / f"{i:03}.png")
    return folder


def bursts(n_steps=6000, n_bursts=8, seed=0):
    """A table of a hum with labelled bursts of noise."""
    generator = np.random.default_rng(seed)
    hum = np.sin(np.arange(n_steps) / 5) + 0.1 * generator.normal(size=n_steps)
    fault = np.zeros(n_steps, int)
    for start in np.linspace(200, n_steps - 300, n_bursts).astype(int):
        hum[start : start + 20] += 2 * generator.normal(size=20)
        fault[start : start + 20] = 1
    return {"time": np.arange(n_steps), "hum": hum, "fault": fault}


def quick_networks(monkeypatch):
    """All methods, with networks that take a second."""
    small = {"n_epochs": 8, "batch_size": 64}
    images = {"ImageDevNet": lambda size, seed: ImageDevNet((8,), random_state=seed, **small)}
    series = {"SequenceDevNet": lambda seed: SequenceDevNet((8,), random_state=seed, **small)}
    monkeypatch.setattr(deep_comparison, "IMAGE_METHODS", {**IMAGE_METHODS, **images})
    monkeypatch.setattr(deep_comparison, "SERIES_METHODS", {**SERIES_METHODS, **series})


def test_networks_and_features_rank_the_same_images(tmp_path, monkeypatch):
    quick_networks(monkeypatch)
    told = []
    found = compare_images(
        write_pictures(tmp_path / "parts"),
        methods=["ImageDevNet", TREES],
        n_repeats=2,
        random_state=0,
        on_fit=lambda *words: told.append(words),
    )
    assert (found.n_labelled, found.n_unlabelled, found.n_splits) == (9, 81, 6)
    assert {one.method for one in found.methods} == {"ImageDevNet", TREES}
    assert all(one.auc_roc.mean > 0.9 for one in found.methods)
    assert (found.things, found.failed) == ("images", {})
    assert found.recommended in found.advice
    assert told[0] == (0, 12, "ImageDevNet")
    assert told[-1] == (11, 12, TREES)


def test_the_same_seed_gives_the_same_figures(tmp_path):
    folder = write_pictures(tmp_path / "parts")
    one, other = (
        compare_images(folder, methods=[FOREST], n_repeats=1, random_state=3) for _ in range(2)
    )
    assert one.methods[0].auc_pr == other.methods[0].auc_pr


def test_equal_files_are_on_one_side_and_told(tmp_path):
    folder = write_pictures(tmp_path / "parts", n_labelled=6)
    for i in range(3):
        shutil.copy(folder / "unlabelled" / "050.png", folder / "unlabelled" / f"copy{i}.png")
    found = compare_images(folder, methods=[FOREST], n_repeats=1, random_state=0)
    assert found.notes == [
        "4 files equal another one; equal files are never on both sides of a split."
    ]
    for i in range(5):  # all labelled images but one are the same
        shutil.copy(folder / "anomaly" / "005.png", folder / "anomaly" / f"{i:03}.png")
    with pytest.raises(UserError, match="has 1 labelled image, but comparing .* at least 6"):
        compare_images(folder, methods=[FOREST])


def test_networks_and_features_rank_the_same_windows(monkeypatch):
    quick_networks(monkeypatch)
    found = compare_series(
        bursts(),
        time="time",
        label="fault",
        length=32,
        methods=["SequenceDevNet", TREES],
        n_repeats=1,
        random_state=0,
    )
    assert found.things == "windows"
    assert all(one.auc_roc.mean > 0.9 for one in found.methods), found.methods
    assert found.chance == pytest.approx(found.n_labelled / found.n_rows)


@settings(max_examples=50, deadline=None)
@given(
    n_bursts=st.integers(6, 20),
    length=st.sampled_from([8, 31, 64]),
    seed=st.integers(0, 2**16),
)
def test_windows_on_different_sides_never_overlap(n_bursts, length, seed):
    table = bursts(6000, n_bursts)
    fault = table["fault"]
    edges = np.flatnonzero(np.diff(fault, prepend=0, append=0)).reshape(-1, 2)
    intervals = [(int(start), int(end)) for start, end in edges]
    series = SeriesTable(table["hum"][:, None], table["time"], ("hum",), intervals, [])
    generator = np.random.default_rng(seed)
    cut = deep_comparison._cut(series, length, generator)
    n_labelled = len(np.unique(cut.unit[cut.y == 1]))
    for split in make_splits(RowsToSplit(cut.y == 1, cut.unit, "t"), 1, generator):
        train, test = deep_comparison._apart(cut, length, split)
        distance = np.abs(cut.start[train][:, None] - cut.start[test])
        assert distance.min() >= length
        assert (cut.y[train] == 1).sum() == (cut.y[split.train] == 1).sum()  # none is lost
        assert (cut.y[test] == 1).sum() == (cut.y[split.test] == 1).sum()
        assert len(test) > 0.5 * len(split.test)
    if n_labelled < 15:  # intervals are far from each other
        assert n_labelled == n_bursts


def test_of_a_long_series_blocks_are_drawn(monkeypatch):
    monkeypatch.setattr(deep_comparison, "MOST_WINDOWS", 200)
    found = compare_series(
        bursts(), time="time", label="fault", length=16, methods=[FOREST], random_state=0
    )
    assert 100 < found.n_unlabelled <= 200
    assert found.n_rows > 1000
    assert found.n_rows - found.n_labelled > found.n_unlabelled


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"length": 10_000}, "longer than the series"),
        ({"label": "hum2"}, "no column 'hum2'"),
        ({"methods": ["DevNet"]}, "unknown method 'DevNet'; known are SequenceDevNet"),
        ({"length": 1500}, "labelled interval.*, but comparing methods takes at least 6"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(change, says):
    options = {"time": "time", "label": "fault", "length": 32, "methods": [FOREST], **change}
    with pytest.raises(ValueError, match=says):
        compare_series(bursts(), **options)


def test_a_series_too_short_for_blocks_gets_a_sentence():
    table = bursts(5 * BLOCK_LENGTHS * 32, 7)
    with pytest.raises(UserError, match="has . unlabelled parts of 8 windows' length, but"):
        compare_series(table, time="time", label="fault", length=32, methods=[FOREST])


def test_a_method_that_fails_is_left_out(tmp_path, monkeypatch):
    def broken(size, seed):
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(deep_comparison, "IMAGE_METHODS", {**IMAGE_METHODS, "ImageDevNet": broken})
    folder = write_pictures(tmp_path / "parts")
    found = compare_images(folder, methods=["ImageDevNet", FOREST], n_repeats=1)
    assert found.failed == {"ImageDevNet": "no such kernel"}
    assert found.recommended == FOREST
    with pytest.raises(UserError, match="no method could learn from .*: no such kernel"):
        compare_images(folder, methods=["ImageDevNet"], n_repeats=1)


def test_known_normal_images_teach_and_count_as_normal(tmp_path):
    folder = write_pictures(tmp_path / "parts")
    (folder / "normal").mkdir()
    for i in range(40, 60):
        (folder / "unlabelled" / f"{i:03}.png").rename(folder / "normal" / f"{i:03}.png")
    found = compare_images(folder, methods=[TREES], n_repeats=1, random_state=0)
    assert (found.n_labelled, found.n_unlabelled, found.failed) == (9, 81, {})
