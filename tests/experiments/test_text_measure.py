"""The measure of texts: from a table with one column of text to AUC."""

import numpy as np
import pytest

from devnet.datasets.raw_texts import RawTexts
from devnet.detectors.methods import find_method
from devnet.experiments.text_measure import text

OURS = "devnet.experiments.raw_methods:RawTableEnsemble"
RIVAL = "devnet.experiments.text_measure:NGramLogistic"


def made_texts():
    generator = np.random.default_rng(0)
    words = [f"{one}{other}" for one in ("red", "blue", "old", "new") for other in ("cat", "car")]
    is_anomaly = np.arange(400) % 10 == 0
    texts = [
        " ".join([*generator.choice(words, 5), *(["offer", "wins"] if odd else [])])
        for odd in is_anomaly
    ]
    return RawTexts("note", texts, is_anomaly, "made up")


@pytest.mark.parametrize(
    ("method", "parameters"),
    [(OURS, {}), (RIVAL, {}), (RIVAL, {"has_runs": False})],
)
def test_texts_with_telling_words_are_ranked_first(method, parameters):
    detector = find_method(method)(random_state=0, **parameters)
    found = text(detector, made_texts(), 0, n_labelled=10)
    assert found.metrics["AUC-PR"] > 0.9
    assert set(found.seconds) == {"fit", "score"}
