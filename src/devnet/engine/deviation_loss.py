"""The Z-score deviation loss (equations 6 and 7) and its slope with respect to the scores."""

from devnet.core.arrays import Array, namespace
from devnet.engine.reference_scores import Reference, StepReference
from devnet.engine.sampler import Batch
from devnet.engine.trainer import Objective


def deviation_loss(
    scores: Array, *, is_anomaly: Array, reference: Reference, margin: float
) -> Array:
    """Loss of each row; same shape as `scores`.

    L = (1 - y) |dev| + y max(0, a - dev) with dev = (phi(x) - mu_R) / sigma_R. Unlabelled rows
    are drawn to the reference, labelled anomalies are pushed at least `margin` (the paper's a)
    standard deviations above it.
    """
    return abs(_miss(scores, is_anomaly, reference, margin))


def deviation_loss_and_slope(
    scores: Array, *, is_anomaly: Array, reference: Reference, margin: float
) -> tuple[Array, Array]:
    """Loss of each row and its derivative with respect to the row's own score, shaped as `scores`.

    The slope is what autograd would find for `deviation_loss`, without its cost.
    """
    miss = _miss(scores, is_anomaly, reference, margin)
    return abs(miss), namespace(miss).sign(miss) / reference.std


def slope_through_reference(slope: Array, scores: Array, reference: Reference) -> Array:
    """Slope with respect to the scores of a loss whose reference may depend on them.

    All are (m, b, k).

    Parameters
    ----------
    slope : array
        Slope of the loss with the reference held constant.
    scores, reference
        As for the loss. A score moves mu_R by its weight in the mean, and sigma_R by its deviation
        times that weight. Raising mu_R shifts all deviations down, raising sigma_R shrinks them.
    """
    if reference.made_of is None:
        return slope
    deviation = (scores - reference.mean) / reference.std
    by_mean = -slope.sum(1)[:, None]  # (m, 1, k)
    by_std = -(slope * deviation).sum(1)[:, None]
    return slope + reference.made_of * (by_mean + by_std * deviation)


def deviation_objective(reference_of: StepReference, margin: float) -> Objective:
    """Weighted deviation loss of a batch, measured against the reference of its step.

    Without an output unit every unit of the representation has its own loss.
    """

    def objective(outputs: Array, batch: Batch) -> tuple[Array, Array]:
        is_anomaly, n_outputs = batch.is_anomaly, outputs.shape[2]  # (m, b, 1)
        if n_outputs > 1:
            is_anomaly = namespace(outputs).broadcast_to(is_anomaly, outputs.shape)
        reference = reference_of(outputs, batch)
        loss, slope = deviation_loss_and_slope(
            outputs, is_anomaly=is_anomaly, reference=reference, margin=margin
        )
        weight = batch.weight / n_outputs
        slope *= weight
        loss *= weight
        return loss.sum((1, 2)), slope_through_reference(slope, outputs, reference)

    return objective


def _miss(scores: Array, is_anomaly: Array, reference: Reference, margin: float) -> Array:
    """By how much each deviation misses its target, with sign.

    The target is 0 for an unlabelled row, and any deviation of at least `margin` for an anomaly.
    """
    # A silent broadcast of (b,) against (b, 1) would mix every label with every score.
    if scores.shape != is_anomaly.shape:
        raise ValueError(
            f"scores of shape {tuple(scores.shape)} cannot be paired with labels of shape "
            f"{tuple(is_anomaly.shape)}; give one label per score, in the same shape."
        )
    deviation = (scores - reference.mean) / reference.std
    if deviation.shape != scores.shape:
        raise ValueError(
            f"a reference of shape {tuple(reference.mean.shape)} does not fit scores of shape "
            f"{tuple(scores.shape)}; it must broadcast to the scores without enlarging them."
        )
    shortfall = deviation - margin
    shortfall = shortfall * (shortfall < 0)  # beyond the margin nothing is missing
    return namespace(scores).where(is_anomaly, shortfall, deviation)
