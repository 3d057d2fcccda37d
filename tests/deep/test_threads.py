"""What a network learns does not depend on the number of cores."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from devnet import ImageDevNet, SequenceDevNet  # noqa: E402


@pytest.fixture(params=[1, 2, 3])
def n_threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def found():
    """Scores by detector, of whichever number of threads came first."""
    return {}


@pytest.mark.parametrize("detector", [ImageDevNet, SequenceDevNet])
def test_training_is_the_same_with_any_number_of_threads(detector, n_threads, found):
    generator = np.random.default_rng(0)
    rows = generator.random((200, 16, 16)).astype(np.float32)
    y = np.arange(200) < 10
    rows[y, 4:8, 4:8] += 1
    fitted = detector(n_epochs=2, n_batches=5, batch_size=64, random_state=0).fit(rows, y)
    assert torch.get_num_threads() == n_threads
    scores = found.setdefault(detector, fitted.anomaly_score(rows))
    np.testing.assert_array_equal(fitted.anomaly_score(rows), scores)


def test_scoring_takes_one_thread(n_threads, monkeypatch):
    from devnet.deep.images.flat_images import FlatImages

    images = np.random.default_rng(0).normal(size=(30, 8, 8))
    model = ImageDevNet((4,), head="patches", n_epochs=1, n_batches=1, random_state=0)
    model.fit(images, np.arange(30) < 3)
    seen, levels = [], FlatImages.levels
    monkeypatch.setattr(
        FlatImages,
        "levels",
        lambda self, rows: seen.append(torch.get_num_threads()) or levels(self, rows),
    )
    for ask in (model.anomaly_score, model.anomaly_map, model.patch_scores, model.contributions):
        ask(images)
    assert set(seen) == {1}
    assert torch.get_num_threads() == n_threads
