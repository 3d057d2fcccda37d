"""The measure of images: from images to AUC, and to where defects are."""

from pathlib import Path

import numpy as np
import pytest
from support.pictures import make_images

from devnet.datasets.image_sets import ImageSet
from devnet.detectors.methods import find_method
from devnet.experiments import image_methods
from devnet.experiments.figures import figures
from devnet.experiments.image_measure import PEAKS, PIXELS, images, localisation
from devnet.experiments.plan import read_experiment
from devnet.experiments.results import read_results
from devnet.experiments.tables import tables

pytest.importorskip("torch")
OURS = "devnet.deep.images.image_devnet:ImageDevNet"
RIVALS = "devnet.experiments.image_methods"


@pytest.fixture(scope="module")
def spotted():
    pictures, _, truth, masks = make_images(n=240, n_labelled=30)
    return ImageSet("made", pictures, truth, truth, masks, "made up")


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    monkeypatch.setattr(image_methods, "N_EPOCHS", 4)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (OURS, {"n_epochs": 6, "batch_size": 32}),
        (OURS, {"n_epochs": 6, "batch_size": 32, "head": "patches"}),
        (f"{RIVALS}:SupervisedNetwork", {}),
        (f"{RIVALS}:ConvolutionalSVDD", {}),
        (f"{RIVALS}:OnPixels", {"base": "PU trees"}),
        (f"{RIVALS}:OnFeatures", {"base": "PU trees"}),
    ],
)
def test_methods_rank_images(spotted, method, parameters):
    found = images(find_method(method)(random_state=0, **parameters), spotted, 0, n_labelled=10)
    assert found.metrics["AUC-ROC"] > 0.6
    assert (PIXELS in found.metrics) == (method == OURS)
    assert set(found.seconds) == {"fit", "score"}


@pytest.mark.parametrize("name", ["SupervisedNetwork", "ConvolutionalSVDD"])
def test_rivals_are_the_same_for_the_same_seed(spotted, name):
    method = find_method(f"{RIVALS}:{name}")
    runs = [images(method(random_state=3), spotted, 0, n_labelled=10).metrics for _ in range(2)]
    assert runs[0] == runs[1]


def test_localisation_of_perfect_and_of_inverted_maps():
    _, _, truth, masks = make_images()
    masks = masks[truth]
    assert localisation(masks.astype(float), masks) == {PIXELS: 1.0, PEAKS: 1.0}
    assert localisation(-masks.astype(float), masks) == {PIXELS: 0.0, PEAKS: 0.0}


def test_only_known_kinds_are_labelled(spotted):
    seen = []

    class Spy:
        def fit(self, X, y):
            seen.append(X[y == 1])

        def anomaly_score(self, X):
            return X.mean(axis=(1, 2))

    half = spotted.is_anomaly & (np.arange(len(spotted.images)) % 2 == 0)
    images(Spy(), spotted._replace(may_be_labelled=half), 0, n_labelled=10)
    known = {image.tobytes() for image in spotted.images[half]}
    assert len(seen[0]) == 10
    assert all(image.tobytes() in known for image in seen[0])


def test_the_table_says_where_defects_are_found():
    folder = Path(__file__).parents[2] / "experiments"
    plan = read_experiment("images", folder)
    made = tables(plan, read_results(folder / "results" / "images.jsonl"))
    assert made[-1].title == "Where the defect is"
    names = [row[0].text for row in made[-1].rows]
    assert "mnist-defects, ImageDevNet on patches" in names
    assert len(made[-1].rows[0]) == len(made[-1].header) == 7
    assert figures(plan, read_results(folder / "results" / "images.jsonl"))


def test_the_plan_asks_for_every_method_at_5_10_and_30_labels():
    plan = read_experiment("images", Path(__file__).parents[2] / "experiments")
    assert [settings["n_labelled"] for settings in plan.settings] == [5, 10, 30]
    patches = "ImageDevNet on patches"
    assert {run.dataset for run in plan.plan(methods=[patches])} == {"mnist-defects"}
