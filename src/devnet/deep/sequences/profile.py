"""When: what each time step of a sequence says about its score."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from devnet.core.rows import dense_tiles
from devnet.deep.sequences.sequence_network import Inputs, SequenceNetwork
from devnet.deep.sequences.sequence_rows import SequenceRows
from devnet.engine.reference_scores import Reference

N_POINTS = 64  # of the path from the baseline, at which gradients are taken


def profiles(
    network: Any, reference: Reference, rows: SequenceRows, *, is_of_steps: bool
) -> list[np.ndarray]:
    """A profile (t,) for each sequence: step scores, or integrated gradients."""
    scorer = network.for_scoring()
    total = np.zeros((rows.shape[0], rows.n_steps))
    made = len(scorer.members) * rows.n_steps * N_POINTS
    for selection, tile in dense_tiles(rows, slice(0, rows.shape[0]), np.float64, made):
        flat = scorer.to_device(tile)
        for member, mean, std in zip(scorer.members, reference.mean, reference.std, strict=True):
            found = (
                _step_scores(member, flat)
                if is_of_steps
                else _attributions(member, flat, rows.surprise.least)
            )
            shift = mean[0] if is_of_steps else 0.0
            total[selection] += (found.cpu().numpy() - shift) / std[0]
    total /= len(scorer.members)
    return [profile[:length] for profile, length in zip(total, rows.lengths, strict=True)]


def _step_scores(member: Any, flat: Tensor) -> Tensor:
    network: SequenceNetwork = member[0]
    with torch.no_grad():
        return network.step_scores(network.inputs(flat))


def _attributions(member: Any, flat: Tensor, least: float) -> Tensor:
    """Integrated gradients (b, t) of the output, from values 0 without surprise to each step's."""
    network: SequenceNetwork = member[0]
    with torch.no_grad():
        inputs = network.inputs(flat)
    baseline = torch.zeros_like(inputs.values)
    baseline[:, :, -network.n_channels :] = least * inputs.observed
    way = inputs.values - baseline

    def output_at(values: Tensor) -> Tensor:
        found: Tensor = member[1:](network.pooled(inputs._replace(values=values)))
        return found[:, 0]

    points, weights = np.polynomial.legendre.leggauss(N_POINTS)
    gradient = torch.zeros_like(inputs.values)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        gradient += weight * _slope(output_at, baseline + point * way)
    parts = (gradient * way).sum(dim=2)
    with torch.no_grad():
        change = output_at(inputs.values) - output_at(baseline)
    return _adding_up(parts, change, inputs)


def _slope(output_at: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    with torch.enable_grad():
        at = values.detach().requires_grad_()
        (slope,) = torch.autograd.grad(output_at(at).sum(), at)
    return slope


def _adding_up(parts: Tensor, change: Tensor, inputs: Inputs) -> Tensor:
    """Spread what is left by finitely many points over the steps, larger ones getting more."""
    size = parts.abs() + 1e-12 * inputs.inside
    return parts + size * ((change - parts.sum(dim=1)) / size.sum(dim=1))[:, None]
