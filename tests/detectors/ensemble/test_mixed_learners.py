"""Learners of tables with text: blocks of columns, votes, files and refits."""

import numpy as np
import pytest
import scipy.sparse as sp

from devnet import DeviationEnsemble, load
from devnet.core.layout import Layout
from devnet.core.model_file import ModelFileError
from devnet.detectors.ensemble.mixed_learners import MixedLearners, Parts

WIDE = 6000
LAYOUT = Layout((1, WIDE, 2, WIDE), (False, True, False, True))
N = 400


def mixed_rows(seed=0):
    """The first text and the last number tell anomalies; the second text says nothing."""
    generator = np.random.default_rng(seed)
    is_anomaly = np.arange(N) < 20
    numbers = generator.normal(size=(N, 3))
    numbers[is_anomaly, 2] += 2
    texts = [sp.random_array((N, WIDE), density=0.003, rng=generator) > 0 for _ in range(2)]
    first = texts[0].astype(float).tolil()
    first[:20, 100:105] = 1
    blocks = [numbers[:, :1], first, numbers[:, 1:], texts[1].astype(float)]
    rows = sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return rows.astype(np.float32), (np.arange(N) < 10).astype(int)


def ensemble(**changes):
    return DeviationEnsemble(2, 8, **{"layout": LAYOUT, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def fitted():
    return ensemble().fit(*mixed_rows())


def test_parts_take_a_matrix_apart_and_put_it_together(seed):
    parts = Parts.of_layout(LAYOUT)
    rows = sp.random_array((5, LAYOUT.n_columns), density=0.1, rng=seed, format="csr")
    assert parts.dense(rows).shape == (5, 3)
    assert (parts.joined(parts.dense(rows), parts.texts(rows)) != rows).nnz == 0


def test_each_text_and_the_other_columns_have_votes(fitted):
    learners = fitted.learners_
    assert isinstance(learners, MixedLearners)
    assert learners.n_scorers == len(fitted.combination_.scale) >= 4
    by_block = np.bincount(LAYOUT.block, fitted.column_importance_)
    assert by_block[1] > by_block[3]
    rows, _ = mixed_rows(seed=1)
    scores = fitted.anomaly_score(rows)
    assert scores[:20].min() > np.quantile(scores[20:], 0.95)


def test_without_wide_blocks_learners_are_as_before():
    rows, y = mixed_rows()
    dense = rows[:, [0, WIDE + 1, WIDE + 2]].toarray()
    told = ensemble(layout=Layout((1, 1, 1), (False,) * 3)).fit(dense, y)
    assert np.array_equal(
        told.anomaly_score(dense), ensemble(layout=None).fit(dense, y).anomaly_score(dense)
    )


def test_if_all_columns_are_text_the_learner_of_wide_rows_is_alone():
    rows, y = mixed_rows()
    text = rows[:, 1 : 1 + WIDE]
    found = ensemble(layout=Layout((WIDE,), (True,))).fit(text, y)
    assert type(found.learners_).__name__ == "WideLearners"


def test_contributions_add_up_to_the_score_from_any_baseline(fitted):
    rows, _ = mixed_rows(seed=2)
    own = fitted.baseline
    other = own.copy()
    other[[0, WIDE + 2]] = 1.5
    for baseline in (own, other):
        parts = fitted.own_contributions(rows, baseline)
        added = np.asarray(parts.sum(axis=1)).ravel()
        start = fitted.anomaly_score(baseline[None])
        assert np.allclose(added, fitted.anomaly_score(rows) - start, atol=1e-3)


def test_a_mixed_ensemble_survives_its_file_and_any_batch(fitted, tmp_path):
    rows, _ = mixed_rows(seed=3)
    fitted.save(tmp_path / "m.devnet")
    scores = load(tmp_path / "m.devnet").anomaly_score(rows)
    assert np.array_equal(scores, fitted.anomaly_score(rows))
    assert np.array_equal(scores[7:9], fitted.anomaly_score(rows[7:9]))
    assert np.array_equal(scores[[3]], fitted.anomaly_score(rows[[3]].toarray()))


@pytest.mark.parametrize(
    "spans", [[[5, 1]], [[0, 2 * WIDE + 3]], [[1, 1]], [[-4, 1]], [[1, 99999]], [[1, 9], [5, 20]]]
)
def test_edited_spans_of_texts_are_refused(fitted, spans):
    tensors = {**fitted.learners_.to_tensors(), "text_span": np.array(spans, dtype=np.int64)}
    with pytest.raises(ModelFileError):
        MixedLearners.from_tensors(tensors, LAYOUT.n_columns, len(fitted.pool_))


def test_a_refit_with_text_takes_further_labels():
    rows, y = mixed_rows()
    found = ensemble().fit(rows, y)
    y[10:15] = 1
    scores = found.refit(rows, y).anomaly_score(rows)
    assert scores[15:20].min() > np.quantile(scores[20:], 0.95)
    assert len(found.out_of_bag_.labelled) == 15
