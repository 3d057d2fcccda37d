"""Where the anomaly is: maps, contributions and pictures."""

import numpy as np
import pytest
from support.pictures import SIDE, fitted, make_images, quick, write_files

torch = pytest.importorskip("torch")
from devnet import ImageDevNet  # noqa: E402
from devnet.deep.images.overlays import colours, overlay  # noqa: E402
from devnet.deep.images.pixel_contributions import _integrated  # noqa: E402


@pytest.fixture(scope="module")
def trained():
    images, y, _, _ = make_images(n=300, n_labelled=30)
    return quick(head="patches", n_epochs=15).fit(images, y)


@pytest.mark.parametrize("head", ["global", "patches"])
def test_contributions_sum_to_the_score_minus_that_of_the_typical_image(head):
    images, _, _, _ = make_images(1)
    model = fitted(head)
    typical = model.anomaly_score(model.typical_image_[:, None])
    rise = model.anomaly_score(images) - typical
    assert np.allclose(model.contributions(images).sum(axis=(1, 2)), rise, atol=1e-5)


def test_little_is_left_to_share_out():
    images, _, _, _ = make_images(1, n=20)
    (member,) = fitted().network_.for_scoring().members
    rows = torch.from_numpy(images.reshape(20, -1) / 255.0)
    parts = _integrated(member, rows)
    way = rows - member[0].typical.reshape(1, -1)
    assert torch.equal(parts == 0, way * parts == 0)  # an unchanged pixel adds nothing
    finer = parts.sum(dim=1)
    with torch.no_grad():
        assert torch.allclose(
            finer, (member(rows) - member(member[0].typical.reshape(1, -1)))[:, 0]
        )


def test_the_highest_patches_make_the_score():
    images, _, _, _ = make_images(1)
    model = fitted("patches")
    (patches,) = model.patch_scores(images)
    flat = np.sort(patches[0].reshape(len(images), -1), axis=1)
    n_top = round(model.top_share * flat.shape[1])
    assert np.allclose(flat[:, -n_top:].mean(axis=1), model.anomaly_score(images), atol=1e-5)
    assert patches.shape == (1, len(images), SIDE // 2, SIDE // 2)


def test_several_networks_and_levels_score_at_least_what_their_mean_map_does():
    images, y, _, _ = make_images()
    model = quick(head="patches", n_members=2, pyramid=2).fit(images, y)
    levels = model.patch_scores(images)
    assert [level.shape for level in levels] == [(2, 160, 6, 6), (2, 160, 3, 3)]

    def top(patches):
        flat = np.sort(patches.reshape(*patches.shape[:-2], -1), axis=-1)
        return flat[..., -max(1, round(0.1 * flat.shape[-1])) :].mean(axis=-1)

    score = np.mean([top(level).mean(axis=0) for level in levels], axis=0)
    assert np.allclose(score, model.anomaly_score(images), atol=1e-5)
    of_mean = np.mean([top(level.mean(axis=0)) for level in levels], axis=0)
    assert (of_mean <= model.anomaly_score(images) + 1e-5).all()


def test_the_map_is_highest_in_the_defect(trained):
    images, _, truth, masks = make_images(5, n=100, n_labelled=25)
    maps = trained.anomaly_map(images)
    assert maps.shape == images.shape
    peaks = maps.reshape(100, -1).argmax(axis=1)
    in_mask = masks.reshape(100, -1)[np.arange(100), peaks]
    assert in_mask[truth].mean() > 0.8


def test_a_map_depends_on_its_image_alone(trained):
    images, _, _, _ = make_images(5, n=70)
    together = trained.anomaly_map(images)
    assert np.allclose(trained.anomaly_map(images[66:67]), together[66:67], rtol=1e-12)


def test_the_global_head_has_no_patches():
    with pytest.raises(ValueError, match="scores no patches"):
        fitted().patch_scores(make_images()[0])


@pytest.mark.parametrize("head", ["global", "patches"])
def test_overlays_are_written_as_pictures(tmp_path, head):
    image_library = pytest.importorskip("PIL.Image")
    images, _, _, _ = make_images()
    paths = fitted(head).save_overlays(images[:70], tmp_path / "new" / "maps")
    assert [path.name for path in paths[:2]] == ["00000.png", "00001.png"]
    with image_library.open(paths[69]) as picture:
        assert picture.size == (2 * 228 + 8, 228)  # 12 pixels, 19 times as large
        left = np.asarray(picture)[::19, :228:19, 0]
    assert np.array_equal(left, images[69])


def test_overlays_of_files_keep_their_names(tmp_path):
    images, _, _, _ = make_images()
    files = write_files(tmp_path / "in", images[:3])
    (tmp_path / "in" / "002.png").rename(tmp_path / "in" / "odd name é.png")
    paths = fitted().save_overlays([*files[:2], tmp_path / "in" / "odd name é.png"], tmp_path)
    assert [path.name for path in paths] == [
        "00000_000.png",
        "00001_001.png",
        "00002_odd_name_é.png",
    ]
    with pytest.raises(ValueError, match="is a file, not a folder"):
        fitted().save_overlays(images[:2], files[0])


def test_colours_grow_lighter_evenly():
    shown = colours(np.linspace(0, 1, 33)) / 255
    linear = np.where(shown > 0.04045, ((shown + 0.055) / 1.055) ** 2.4, shown / 12.92)
    light = 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16
    assert (np.diff(light) > 1).all()
    assert (np.diff(light[2:]) < 5).all()


def test_pictures_of_any_range_and_number_of_channels():
    values = np.zeros((8, 8))
    values[2, 3] = 9
    for image in (np.zeros((1, 8, 8)), np.full((3, 8, 8), -500.0), np.ones((6, 8, 8))):
        shown = overlay(image, values, 5.0)
        assert shown.shape == (224, 2 * 224 + 8, 3)
        marked = shown[2 * 28 + 14, 224 + 8 + 3 * 28 + 14].astype(int)
        assert (marked != shown[0, -1].astype(int)).any()


def test_maps_of_a_mirrored_image_are_mirrored_where_flips_are_allowed():
    generator = np.random.default_rng(0)
    images = generator.normal(size=(60, 10, 10))
    images[:6, 2:5, 2:5] += 3
    model = ImageDevNet(
        (4, 4), head="patches", flips=("horizontal", "vertical"), n_epochs=2, random_state=0
    ).fit(images, np.arange(60) < 4)
    maps = model.anomaly_map(images[:5])
    np.testing.assert_allclose(model.anomaly_map(images[:5, :, ::-1]), maps[:, :, ::-1])
    np.testing.assert_allclose(model.anomaly_map(images[:5, ::-1]), maps[:, ::-1])


def smooth(seed, n, side=16):
    """Images that are smooth along their rows only, with a bright spot in every tenth."""
    generator = np.random.default_rng(seed)
    images = generator.normal(size=(n, side, side + 8)).cumsum(axis=2)
    images = 40 * (images[:, :, 8:] - images[:, :, :-8])
    masks = np.zeros(images.shape, bool)
    for i in range(0, n, 10):
        row, column = generator.integers(1, side - 4, 2)
        masks[i, row : row + 3, column : column + 3] = True
    images[masks] += 400
    return images, masks


@pytest.mark.slow
def test_maps_lie_on_defects_not_to_one_side_of_them():
    images, masks = smooth(0, 400)
    truth = masks.any(axis=(1, 2))
    model = ImageDevNet((16, 16), head="patches", n_epochs=15, random_state=0)
    model.fit(images, truth & (np.arange(400) < 200))
    peaks = model.anomaly_map(images[truth]).reshape(40, -1).argmax(axis=1)
    middles = np.array([np.argwhere(mask).mean(axis=0) for mask in masks[truth]])
    missed = np.stack(np.divmod(peaks, 16), axis=1) - middles
    assert masks[truth].reshape(40, -1)[np.arange(40), peaks].mean() > 0.9
    assert np.abs(missed.mean(axis=0)).max() < 0.5


def test_a_patch_head_begins_with_all_patches_and_ends_with_the_highest():
    from devnet.deep.images.heads import PatchHead, top_mean

    head = PatchHead(3, top_share=0.1).train()
    features = torch.randn(2, 3, 10, 10, generator=torch.Generator().manual_seed(0))
    patches = head.patches(features)
    head.top_share.start(8)
    for share in (0.1**0.25, 0.1**0.5, 0.1**0.75, 0.1, 0.1):
        torch.testing.assert_close(head(features)[:, 0], top_mean(patches, share))
    head.top_share.start(8)
    torch.testing.assert_close(head.eval()(features)[:, 0], top_mean(patches, 0.1))
