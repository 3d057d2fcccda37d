"""What each pixel adds to a score: integrated gradients of a torch network.

The line from the typical image to an image is cut into segments, and in each the gradient is
taken in the middle. What is left of the rise of the score, because units switch within segments, is
shared out in proportion to what pixels have, so that contributions add up.

M. Sundararajan, A. Taly, Q. Yan. Axiomatic attribution for deep networks. ICML 2017.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from devnet.deep.images.reading import Pictures
from devnet.engine.reference_scores import Reference

N_SEGMENTS = 32
TOGETHER = 16  # images
TINY = 1e-300


def pixel_contributions(network: Any, pictures: Pictures, reference: Reference) -> np.ndarray:
    """Contributions (n, c * h * w) to the score, the mean deviation of all members."""
    scoring = network.for_scoring()
    found = np.zeros(pictures.shape)
    for start in range(0, pictures.shape[0], TOGETHER):
        part = slice(start, min(start + TOGETHER, pictures.shape[0]))
        pictures.check_finite(part)
        rows = scoring.to_device(pictures.dense(part).astype(np.float64))
        for member, std in zip(scoring.members, reference.std, strict=True):
            parts = _integrated(member, rows).cpu().numpy() / std[0]
            found[part] += parts / len(scoring.members)
    return found


def _integrated(member: Any, rows: Tensor) -> Tensor:
    """Contributions (b, d) to the output of one network."""
    typical = member[0].typical.reshape(1, -1)
    way = rows - typical
    gradient = torch.zeros_like(rows)
    for segment in range(N_SEGMENTS):
        at = (typical + (segment + 0.5) / N_SEGMENTS * way).requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(member(at).sum(), at)
        gradient += slope / N_SEGMENTS
    parts = gradient * way
    with torch.no_grad():
        rise = member(rows)[:, 0] - member(typical)[:, 0]
    size = parts.abs()
    share = size / size.sum(dim=1, keepdim=True).clamp_min(TINY)
    summed: Tensor = parts + (rise - parts.sum(dim=1))[:, None] * share
    return summed
