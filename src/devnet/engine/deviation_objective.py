"""The objective of deviation networks: the deviation loss of a batch, and its slope."""

from devnet.core.arrays import Array, namespace
from devnet.engine.deviation_loss import deviation_loss_and_slope, slope_through_reference
from devnet.engine.reference_scores import StepReference
from devnet.engine.sampler import Batch
from devnet.engine.trainer import Objective


def deviation_objective(reference_of: StepReference, margin: float) -> Objective:
    """Weigh the loss of a batch's rows, measured against the reference of its step.

    Without output unit every unit of the representation has a loss of its own.
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
