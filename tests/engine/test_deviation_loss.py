"""The loss against an oracle written from the paper, and the properties it must have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from devnet import DataReference, GaussianPrior, HybridReference
from devnet.engine.deviation_loss import (
    deviation_loss,
    deviation_loss_and_slope,
    deviation_objective,
    slope_through_reference,
)
from devnet.engine.reference_scores import Reference
from devnet.engine.sampler import Batch

MARGIN = 5.0
SMALL_STEP = 1e-6
finite = st.floats(-20, 20, allow_nan=False, width=64)
references = st.builds(Reference, st.floats(-3, 3), st.floats(0.2, 5), st.none())


@st.composite
def batches(draw):
    size = draw(st.integers(1, 12))
    scores = draw(hnp.arrays(np.float64, size, elements=finite))
    is_anomaly = draw(hnp.arrays(np.bool_, size))
    return scores, is_anomaly


def oracle(scores, is_anomaly, reference, margin):
    """Equations 6 and 7, one row at a time."""
    losses = []
    for score, y in zip(scores, is_anomaly, strict=True):
        deviation = (score - reference.mean) / reference.std
        losses.append((1 - y) * abs(deviation) + y * max(0.0, margin - deviation))
    return np.array(losses)


def test_hand_computed_values():
    # Reference mean 1, standard deviation 2, so the deviations are -1.5, 0, 1, 5 and 7.
    scores = np.array([-2.0, 1.0, 3.0, 11.0, 15.0])
    reference = Reference(1.0, 2.0)
    for label, expected in [(False, [1.5, 0, 1, 5, 7]), (True, [6.5, 5, 4, 0, 0])]:
        loss = deviation_loss(
            scores, is_anomaly=np.full(5, label), reference=reference, margin=MARGIN
        )
        np.testing.assert_allclose(loss, expected)


@given(batches(), references, st.floats(0.5, 8))
def test_equals_the_oracle_and_is_never_negative(batch, reference, margin):
    scores, is_anomaly = batch
    loss = deviation_loss(scores, is_anomaly=is_anomaly, reference=reference, margin=margin)
    assert loss.shape == scores.shape
    assert (loss >= 0).all()
    np.testing.assert_allclose(loss, oracle(scores, is_anomaly, reference, margin), atol=1e-12)


@given(batches(), references)
def test_slope_equals_finite_differences_away_from_kinks(batch, reference):
    scores, is_anomaly = batch
    deviation = (scores - reference.mean) / reference.std
    away = np.abs(deviation - np.where(is_anomaly, MARGIN, 0)) > 1e-3
    _, slope = deviation_loss_and_slope(
        scores, is_anomaly=is_anomaly, reference=reference, margin=MARGIN
    )
    step = 1e-5
    above = oracle(scores + step, is_anomaly, reference, MARGIN)
    below = oracle(scores - step, is_anomaly, reference, MARGIN)
    np.testing.assert_allclose(slope[away], ((above - below) / (2 * step))[away], atol=1e-5)


@given(batches(), references)
def test_slope_equals_autograd(batch, reference):
    torch = pytest.importorskip("torch")
    scores, is_anomaly = (torch.from_numpy(part) for part in batch)
    scores.requires_grad_()
    keywords = {"is_anomaly": is_anomaly, "margin": MARGIN}
    reference = Reference(torch.tensor(reference.mean), torch.tensor(reference.std))
    deviation_loss(scores, reference=reference, **keywords).sum().backward()
    _, slope = deviation_loss_and_slope(scores.detach(), reference=reference, **keywords)
    torch.testing.assert_close(slope, scores.grad)


@given(batches(), references, st.data())
def test_turning_one_label_changes_that_row_and_no_other(batch, reference, data):
    scores, is_anomaly = batch
    row = data.draw(st.integers(0, len(scores) - 1))
    turned = is_anomaly.copy()
    turned[row] = not turned[row]
    slopes = [
        deviation_loss_and_slope(scores, is_anomaly=y, reference=reference, margin=MARGIN)[1]
        for y in (is_anomaly, turned)
    ]
    others = np.arange(len(scores)) != row
    np.testing.assert_array_equal(slopes[0][others], slopes[1][others])
    if 0 < (scores[row] - reference.mean) / reference.std < MARGIN:
        assert slopes[0][row] == -slopes[1][row] != 0


@given(batches(), references, st.floats(-5, 5))
def test_moving_scores_and_reference_together_changes_nothing(batch, reference, shift):
    scores, is_anomaly = batch
    moved = Reference(reference.mean + shift, reference.std)
    np.testing.assert_allclose(
        deviation_loss(scores, is_anomaly=is_anomaly, reference=reference, margin=MARGIN),
        deviation_loss(scores + shift, is_anomaly=is_anomaly, reference=moved, margin=MARGIN),
        atol=1e-9,
    )


def test_a_broadcast_of_labels_against_scores_is_refused():
    with pytest.raises(ValueError, match=r"scores of shape \(4, 1\).*labels of shape \(4,\)"):
        deviation_loss(
            np.zeros((4, 1)),
            is_anomaly=np.zeros(4, dtype=bool),
            reference=Reference(0.0, 1.0),
            margin=MARGIN,
        )


def test_a_reference_that_would_enlarge_the_scores_is_refused():
    with pytest.raises(ValueError, match=r"reference of shape \(3, 1\).*scores of shape \(4,\)"):
        deviation_loss(
            np.zeros(4),
            is_anomaly=np.zeros(4, dtype=bool),
            reference=Reference(np.zeros((3, 1)), np.ones((3, 1))),
            margin=MARGIN,
        )


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_slope_through_the_reference_equals_autograd(share, seed):
    """The reference as a function of the scores: a sample of them mixed with N(1, 2^2)."""
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(seed)
    scores = torch.from_numpy(generator.normal(1, 3, (2, 9, 3))).requires_grad_()
    is_anomaly = torch.from_numpy(np.tile((np.arange(9) < 4)[:, None], (2, 1, 3)))
    weight = torch.from_numpy(generator.random((2, 9, 1)))
    made_of = weight * ~is_anomaly[:, :, :1]
    made_of = share * made_of / made_of.sum(1, keepdim=True)
    mean = (1 - share) * 1 + (made_of * scores).sum(1, keepdim=True)
    spread = (made_of * (scores - mean) ** 2).sum(1, keepdim=True)
    std = (spread + (1 - share) * (4 + (1 - mean) ** 2) + 0.01).sqrt()
    keywords = {"is_anomaly": is_anomaly, "margin": MARGIN}
    loss = deviation_loss(scores, reference=Reference(mean, std), **keywords)
    (weight * loss).sum().backward()
    fixed = Reference(mean.detach(), std.detach(), made_of)
    _, slope = deviation_loss_and_slope(scores.detach(), reference=fixed, **keywords)
    found = slope_through_reference(weight * slope, scores.detach(), fixed)
    torch.testing.assert_close(found, scores.grad)


def test_a_prior_has_no_slope():
    slope = np.ones((1, 2, 1))
    assert slope_through_reference(slope, slope, Reference(0.0, 1.0)) is slope


# The objective


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("kind", [GaussianPrior, DataReference, HybridReference])
def test_the_slope_is_that_of_finite_differences(kind, n_outputs, seed):
    generator = np.random.default_rng(seed)
    outputs = generator.normal(2, 2, size=(2, 8, n_outputs))
    is_anomaly = np.tile((np.arange(8) < 3)[:, None], (2, 1, 1))
    weight = generator.random((2, 8, 1))
    batch = Batch(0, None, is_anomaly, weight / weight.sum(1)[:, None])
    generators = [np.random.default_rng([seed, member]) for member in range(2)]
    reference_of = kind().for_training(n_outputs, 1, generators, lambda array: array)
    objective = deviation_objective(reference_of, 5.0)
    loss, slope = objective(outputs.copy(), batch)
    assert loss.shape == (2,)
    for index in np.ndindex(outputs.shape):
        moved = outputs.copy()
        moved[index] += SMALL_STEP
        found = (objective(moved, batch)[0] - loss).sum() / SMALL_STEP
        assert slope[index] == pytest.approx(found, abs=1e-4)


def test_rows_count_by_their_weight():
    outputs = np.array([[[1.0], [2.0]]])
    batch = Batch(0, None, np.zeros((1, 2, 1), bool), np.array([[[0.25], [0.75]]]))
    reference_of = GaussianPrior(n_scores=10**9).for_training(
        1, 1, [np.random.default_rng(0)], lambda array: array
    )
    loss, slope = deviation_objective(reference_of, 5.0)(outputs, batch)
    assert loss == pytest.approx([0.25 * 1 + 0.75 * 2], rel=1e-3)
    np.testing.assert_allclose(slope[0, :, 0], [0.25, 0.75], rtol=1e-3)
