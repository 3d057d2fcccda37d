"""Deviation networks for images: the estimator contract."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.model_files import write_sealed
from support.pictures import fitted, make_images, quick

import devnet
from devnet import DataReference, ModelFileError
from devnet.core import model_file

torch = pytest.importorskip("torch")
nn = torch.nn

HEADS = ("global", "patches")


def backbone(frozen=False, n_channels=1):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(
            nn.Conv2d(n_channels, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2)
        )
    return module.requires_grad_(not frozen)


@pytest.mark.parametrize(
    "variant",
    [
        {},
        {"head": "patches"},
        {"head": "patches", "pyramid": 2, "n_members": 2},
        {"flips": ("horizontal", "vertical"), "shift": 2},
        {"shift": 0, "reference": DataReference()},
    ],
)
def test_learns(variant, seed):
    images, y, truth, _ = make_images(seed)
    others, _, _, _ = make_images(seed + 100)
    model = quick(n_epochs=10, **variant).fit(images, y)
    assert roc_auc_score(truth, model.anomaly_score(others)) > 0.9
    assert set(model.predict(others)) == {0, 1}
    assert ((model.p_value(others) > 0) & (model.p_value(others) <= 1)).all()


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("frozen", [False, True])
def test_a_backbone_of_the_caller_learns_features(head, frozen):
    images, y, truth, _ = make_images()
    module = backbone(frozen)
    before = [weight.clone() for weight in module.state_dict().values()]
    model = quick(hidden=module, head=head, n_epochs=20).fit(images, y)
    assert roc_auc_score(truth, model.anomaly_score(images)) > 0.8
    inside = model.network_.members[0][0].learner.state_dict().values()
    is_same = [torch.equal(one, other) for one, other in zip(before, inside, strict=True)]
    assert all(is_same) == frozen  # running statistics too
    assert all(torch.equal(a, b) for a, b in zip(before, module.state_dict().values(), strict=True))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("own", [False, True])
def test_the_seed_decides_alone_whatever_state_torch_is_in(head, own):
    images, y, _, _ = make_images()
    scores = []
    for state in (1, 2):
        with torch.random.fork_rng():
            torch.manual_seed(state)
            model = quick(head=head, **({"hidden": backbone()} if own else {})).fit(images, y)
            scores.append(model.anomaly_score(images))
    np.testing.assert_array_equal(*scores)


def test_a_backbone_may_give_flat_features():
    images, y, _, _ = make_images()
    module = nn.Sequential(backbone(), nn.Flatten())
    assert np.isfinite(quick(hidden=module).fit(images, y).anomaly_score(images)).all()


@pytest.mark.parametrize("head", HEADS)
def test_a_row_alone_scores_as_in_a_batch(head, seed):
    images, _, _, _ = make_images(seed, n=70)
    model = fitted(head)
    together = model.anomaly_score(images)
    alone = np.concatenate([model.anomaly_score(images[row : row + 1]) for row in range(70)])
    assert np.array_equal(alone, together)
    assert np.array_equal(model.anomaly_score(images[::-1]), together[::-1])


@pytest.mark.parametrize("head", HEADS)
def test_the_same_seed_gives_the_same_model(head):
    images, y, _, _ = make_images()
    state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()
    again = quick(head=head).fit(images, y)
    assert np.array_equal(again.anomaly_score(images), fitted(head).anomaly_score(images))
    other = quick(head=head, random_state=1).fit(images, y)
    assert not np.array_equal(again.anomaly_score(images), other.anomaly_score(images))
    assert np.array_equal(state, np.random.get_state()[1])  # global states are left alone
    assert torch.equal(torch_state, torch.get_rng_state())


def test_all_layouts_and_types_are_the_same_images():
    images, _, _, _ = make_images()
    scores = fitted().anomaly_score(images)
    scaled = images / np.float32(255)
    alike = [images[..., None], images[:, None], scaled, scaled.astype(float)]
    for same in (*alike, np.asfortranarray(images), list(images)):
        assert np.array_equal(fitted().anomaly_score(same), scores)
    wide = images.astype(np.uint16) * 257
    assert np.array_equal(fitted().anomaly_score(wide), scores)


def test_colours_may_be_the_first_or_the_last_axis():
    grey, y, _, _ = make_images()
    last = np.stack([grey, grey // 2, 255 - grey], axis=3)
    first = np.moveaxis(last, 3, 1)
    scores = quick().fit(last, y).anomaly_score(last)
    assert np.array_equal(quick().fit(first, y).anomaly_score(first), scores)
    many = np.concatenate([first, first], axis=1)
    model = quick(channels_first=True).fit(many, y)
    assert model.image_shape_ == (6, 12, 12)
    assert model.typical_image_.shape == (6, 12, 12)


@pytest.mark.parametrize("head", HEADS)
def test_save_and_load_to_the_bit(tmp_path, head):
    images, y, _, _ = make_images()
    model = fitted(head)
    model.save(tmp_path / "model")
    again = devnet.load(tmp_path / "model")
    assert np.array_equal(again.anomaly_score(images), model.anomaly_score(images))
    assert np.array_equal(again.anomaly_map(images[:5]), model.anomaly_map(images[:5]))
    assert again.get_params() == model.get_params()
    assert again.image_shape_ == (1, 12, 12)
    again.partial_fit(images, y)
    with pytest.raises(ModelFileError, match="load it without hidden"):
        devnet.load(tmp_path / "model", hidden=backbone())


@pytest.mark.parametrize("head", HEADS)
def test_a_model_with_a_backbone_is_loaded_with_one(tmp_path, head):
    images, y, _, _ = make_images()
    model = quick(hidden=backbone(), head=head).fit(images, y)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="a torch module of yours"):
        devnet.load(tmp_path / "model")
    with torch.no_grad():
        other = backbone()
        other[0].weight.zero_()  # the weights are those of the file
    again = devnet.load(tmp_path / "model", hidden=other)
    assert np.array_equal(again.anomaly_score(images), model.anomaly_score(images))


@pytest.mark.parametrize("shape", [[1, 12], [1, 12, 13], "1", [1, -12, -12], None])
def test_an_edited_shape_is_refused(tmp_path, shape):
    fitted().save(tmp_path / "model")
    header, tensors = model_file.read(tmp_path / "model")
    write_sealed(tmp_path / "edited", {**header, "image_shape": shape}, tensors)
    with pytest.raises(ModelFileError, match="edited"):
        devnet.load(tmp_path / "edited")


def test_clone_pickle_and_pipeline():
    images, y, _, _ = make_images()
    model = fitted("patches")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.anomaly_score(images), model.anomaly_score(images))
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(FunctionTransformer(lambda X: 255 - X), quick()).fit(images, y)
    assert np.array_equal(
        pipeline.decision_function(images),
        quick().fit(255 - images, y).decision_function(255 - images),
    )


def test_training_can_go_on():
    images, y, _, _ = make_images()
    model = quick(warm_start=True).fit(images, y).fit(images, y)
    assert model.n_iter_ == 8
    model.set_params(head="patches")
    with pytest.raises(ValueError, match="`head` was changed after the fit"):
        model.partial_fit(images, y)


def test_known_normal_images_and_weights_count():
    images, y, _, _ = make_images()
    plain = quick().fit(images, y)
    known = np.where(np.arange(len(y)) > 100, -1, y)
    told = quick(normal_label=-1).fit(images, known)
    assert not np.array_equal(told.anomaly_score(images), plain.anomaly_score(images))
    weight = np.where(np.arange(len(y)) < 120, 1.0, 0.0)
    weighted = quick().fit(images, y, sample_weight=weight)
    black = np.where(weight[:, None, None] > 0, images, 0)
    same = quick().fit(black, y, sample_weight=weight)
    assert np.array_equal(weighted.anomaly_score(images), same.anomaly_score(images))


def test_the_scale_of_floats_makes_no_difference():
    images, y, truth, _ = make_images()
    wide = 1000 * images.astype(np.float32) + 77
    assert roc_auc_score(truth, quick(n_epochs=10).fit(wide, y).anomaly_score(wide)) > 0.9


def test_a_constant_channel_is_no_trouble():
    images, y, _, _ = make_images()
    both = np.stack([images, np.full_like(images, 7)], axis=1)
    scores = quick(channels_first=True).fit(both, y).anomaly_score(both)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"head": "local"}, "'global' or 'patches'"),
        ({"top_share": 0}, "a share above 0"),
        ({"pyramid": 0}, "whole number"),
        ({"shift": -1}, "'auto' or a whole number"),
        ({"flips": ("diagonal",)}, "'horizontal' and 'vertical'"),
        ({"size": (3,)}, "a height and a width"),
        ({"channels_first": "yes"}, "True, False or None"),
        ({"pyramid": 2}, "head='patches'"),
    ],
)
def test_impossible_parameters(parameters, says):
    images, y, _, _ = make_images()
    with pytest.raises(ValueError, match=says):
        quick(**parameters).fit(images, y)


class Shapeless(nn.Module):
    def __init__(self, to):
        super().__init__()
        self.unit = nn.Conv2d(1, 2, 1)
        self.to = to

    def forward(self, images):
        return self.to(self.unit(images))


@pytest.mark.parametrize(
    ("to", "head", "says"),
    [
        (lambda maps: maps.mean(dim=(2, 3)), "patches", r"to shape \(2, 2\).*needs feature maps"),
        (lambda maps: maps[0], "global", r"needs feature maps .* or features"),
        (lambda maps: maps.reshape(5, 5), "global", "failed on images of shape"),
        (lambda maps: maps[:, :0], "patches", r"to shape \(2, 0, 12, 12\)"),
    ],
)
def test_a_backbone_without_feature_maps_is_refused(to, head, says):
    images, y, _, _ = make_images()
    with pytest.raises(ValueError, match=says):
        quick(hidden=Shapeless(to), head=head).fit(images, y)
