"""Verbs on folders of images, as a user types them."""

import json
import re

import numpy as np
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner

import devnet
from devnet.cli.main import main

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")


def write_images(folder, n=120, n_labelled=6):
    """Noise, with a bright square in each tenth image."""
    generator = np.random.default_rng(0)
    for name in ("anomaly", "unlabelled"):
        (folder / name).mkdir(parents=True)
    for i in range(n):
        pixels = generator.integers(0, 60, (12, 12)).astype(np.uint8)
        is_bad = i % 10 == 0
        if is_bad:
            pixels[6:10, 2:6] = 220
        known = is_bad and i < 10 * n_labelled
        Image.fromarray(pixels).save(
            folder / ("anomaly" if known else "unlabelled") / f"{i:03}.png"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from devnet.deep.images.image_devnet import ImageDevNet
    from devnet.deep.images.image_model import ImageModel

    folder = tmp_path_factory.mktemp("images")
    write_images(folder / "parts")
    detector = ImageDevNet((8,), head="patches", n_epochs=6, batch_size=32, random_state=0)
    ImageModel(detector, random_state=0).fit(folder / "parts").save(folder / "m.devnet")
    return folder


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(main, list(map(str, words)))


def told(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_model_is_restored_to_the_bit(folder, tmp_path):
    model = devnet.load(folder / "m.devnet")
    model.save(tmp_path / "again.devnet")
    assert (tmp_path / "again.devnet").read_bytes() == (folder / "m.devnet").read_bytes()
    again = devnet.load(tmp_path / "again.devnet")
    assert again.score(folder / "parts").equals(model.score(folder / "parts"))


def test_images_are_scored_to_a_file_with_their_names(run, folder):
    done = told(run("score", "m.devnet", "parts", "-o", "s.csv", "--json"))
    assert done["n_images"] == 120
    rows = csv.read_csv(folder / "s.csv")
    assert rows.column_names[0] == "file"
    assert rows["file"][0].as_py() == "anomaly/000.png"
    assert sum(rows["is_alert"].to_pylist()) == done["n_alerts"]
    alone = told(run("score", "m.devnet", "parts/anomaly", "-o", "a.csv", "--json"))
    assert alone["n_images"] == 6
    assert csv.read_csv(folder / "a.csv")["anomaly_score"][0] == rows["anomaly_score"][0]


def test_alerts_are_ranked_and_tell_where(run, folder):
    found = told(run("alerts", "m.devnet", "parts", "--budget", "6", "--maps", "maps", "--json"))
    assert (found["n_images"], found["n_known"], found["n_alerts"]) == (114, 6, 6)
    assert {one["name"] for one in found["shown"]} == {
        f"unlabelled/{i:03}.png" for i in range(60, 120, 10)
    }
    for one in found["shown"]:
        assert 4 <= one["peak"]["row"] <= 11
        assert 0 <= one["peak"]["column"] <= 7
    assert len(list((folder / "maps").glob("*.png"))) == 6
    text = run("alerts", "m.devnet", "parts", "--budget", "6", "--show", "2").output
    assert "6 alerts in 114 images" in text
    assert "... and 4 more" in text
    assert told(run("alerts", "m.devnet", "parts", "--known", "--json"))["n_known"] == 0


def test_a_row_is_explained_with_a_map_in_the_terminal(run):
    shown = run("explain", "m.devnet", "parts", "--row", "0")
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("anomaly/000.png: score ")
    drawn = [line for line in shown.output.splitlines() if "@" in line]
    assert drawn


def test_inspect_and_policy_know_images(run, folder, tmp_path):
    facts = told(run("inspect", "m.devnet", "--json"))
    assert facts["images"] == 120
    assert facts["shape"] == "12 x 12 pixels with 1 channel"
    copy = tmp_path / "c.devnet"
    copy.write_bytes((folder / "m.devnet").read_bytes())
    assert "the 5 highest images" in run("policy", copy, "--budget", "5").output
    assert devnet.load(copy).policy == devnet.Budget(5)


def test_the_report_shows_pictures_and_no_columns(folder):
    from devnet.report.image_page import make_image_page

    page = make_image_page(devnet.load(folder / "m.devnet"), folder / "parts", np.array([6.0]))
    assert page.count("data:image/png;base64,") == 24
    assert "unlabelled/060.png" in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "parts", "-o", "x", "--label", "a"], "--label is about the columns of a table"),
        (["fit", "parts", "-o", "x", "--length", "8"], "--length does not apply to a folder of"),
        (["fit", "parts", "-o", "x", "--head", "steps"], "--head steps is for series"),
        (["fit", "parts", "-o", "x", "--method", "iForest"], "--method 'iForest' is for tables"),
        (["fit", "parts/unlabelled", "-o", "x"], "has no subfolder 'anomaly'"),
        (["fit", "parts", "--labels", "no.csv", "-o", "x"], "there is no file of labels"),
        (["alerts", "m.devnet", "nowhere"], "there is no folder nowhere"),
        (["alerts", "m.devnet", "parts", "-o", "x.csv"], "--output is for alerts of tables"),
        (["explain", "m.devnet", "parts", "--row", "500"], "there is no image 500"),
        (["score", "m.devnet", "parts", "-o", "m.devnet"], "is the model itself"),
        (["score", "m.devnet", "parts", "-o", "x.csv", "--only-id"], "--only-id is for tables"),
        (["drift", "m.devnet", "parts"], "is a model of images"),
        (["export", "m.devnet", "x.onnx"], "is a model of images, which is not exported"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(run, folder, words, said):
    before = (folder / "m.devnet").read_bytes()
    done = run(*words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert (folder / "m.devnet").read_bytes() == before
    assert not (folder / "x").exists()


@pytest.mark.slow
def test_a_folder_is_learned_from_with_a_file_of_labels(run, folder):
    lines = [f"anomaly/{i:03}.png,1" for i in range(0, 60, 10)]
    (folder / "labels.csv").write_text("\n".join(["file,label", *lines, "unlabelled/001.png,-1"]))
    words = ("--labels", "labels.csv", "--report", "r.html", "--size", "8", "8", "--seed", "1")
    done = run("fit", "parts", "-o", "new.devnet", *words)
    assert done.exit_code == 0, done.output
    assert "labelled as anomalies: 6, as normal: 1" in " ".join(done.output.split())
    assert "8 x 8 pixels" in done.output
    assert (folder / "r.html").exists()
    found = told(run("alerts", "new.devnet", "parts", "--budget", "6", "--json"))
    hits = {one["name"] for one in found["shown"]} & {
        f"unlabelled/{i:03}.png" for i in range(60, 120, 10)
    }
    assert len(hits) >= 5


def test_methods_are_compared_on_images(run, tmp_path):
    page = tmp_path / "c.html"
    words = ("--method", "PU trees on features", "--repeats", 1)
    done = run("compare", "parts", *words, "--report", page)
    assert done.exit_code == 0, done.output
    assert "parts: 6 labelled anomalies, 114 unlabelled images, 3 splits" in done.stdout
    assert "Take PU trees on features" in done.stdout
    assert "make_pipeline(ImageFeatures(), PUBaggedTrees()).fit(X, y)" in done.stdout
    assert "unlabelled images compared" in page.read_text()
    facts = told(run("compare", "parts", *words, "--json"))
    assert (facts["things"], facts["recommended"]) == ("images", "PU trees on features")


def test_comparing_images_recommends_a_command(run, monkeypatch):
    from devnet.deep.images.image_devnet import ImageDevNet
    from devnet.experiments import deep_comparison

    def quick(size, seed):
        return ImageDevNet((8,), n_epochs=6, batch_size=32, size=size, random_state=seed)

    networks = {"ImageDevNet on patches": quick}
    monkeypatch.setattr(deep_comparison, "IMAGE_METHODS", networks)
    done = run("compare", "parts", "--size", 10, 10, "--repeats", 1)
    assert "Next: devnet fit parts --size 10 10 --head patches --output MODEL" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--label", "x"), "--label is about the columns of a table, not a folder of images"),
        (("--time", "x"), "--time does not apply to images"),
        (("--group", "x"), "--group does not apply to images"),
        (("--length", 5), "--length does not apply to a folder of images"),
        (("--labels", "none.csv"), "there is no file of labels none.csv"),
        (("--method", "PU trees"), "unknown method 'PU trees'.*Did you mean 'PU trees on feat"),
    ],
)
def test_wrong_words_about_comparing_images_get_a_sentence(run, words, says):
    done = run("compare", "parts", *words)
    assert done.exit_code != 0
    assert re.search(says, " ".join(done.output.split()))


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "parts", "--labels", "l.csv", "--output", "l.csv"),
        ("fit", "parts", "--labels", "l.csv", "--output", "m", "--report", "l.csv"),
        ("fit", "parts", "--labels", "l.csv", "--output", "parts/anomaly/000.png"),
        ("compare", "parts", "--labels", "l.csv", "--report", "l.csv"),
        ("compare", "parts", "--report", "parts/anomaly/000.png"),
    ],
)
def test_no_output_replaces_an_image_or_the_labels(run, folder, words):
    (folder / "l.csv").write_text("file,label\nanomaly/000.png,1\n")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = run(*words)
    assert done.exit_code == 2
    assert "is a file that is learned from; give another name" in done.output
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
