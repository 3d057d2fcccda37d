"""Feature learners of sequences: from inputs (b, t, d) to features (b, t, h) at each step.

What lies beyond a sequence's length never reaches a feature within it: recurrence goes forward in
time, and a convolution sees zeros there in every layer, as it does beyond the edges of a batch.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

KERNEL = 5  # steps that a convolution sees; in layer i they are 2**i steps apart


class Recurrent(nn.Module):
    """Gated recurrent layers of these widths."""

    def __init__(self, n_inputs: int, widths: Sequence[int]) -> None:
        super().__init__()
        sizes = [n_inputs, *widths]
        self.layers = nn.ModuleList(
            nn.GRU(before, after, batch_first=True)
            for before, after in zip(sizes[:-1], sizes[1:], strict=True)
        )

    def forward(self, inputs: Tensor, inside: Tensor) -> Tensor:
        """Features (b, t, h)."""
        for layer in self.layers:
            inputs, _ = layer(inputs)
        return inputs


class Convolution(nn.Module):
    """Dilated ReLU convolutions of these widths."""

    def __init__(self, n_inputs: int, widths: Sequence[int]) -> None:
        super().__init__()
        sizes = [n_inputs, *widths]
        self.layers = nn.ModuleList(
            nn.Conv1d(before, after, KERNEL, dilation=2**i, padding="same")
            for i, (before, after) in enumerate(zip(sizes[:-1], sizes[1:], strict=True))
        )

    def forward(self, inputs: Tensor, inside: Tensor) -> Tensor:
        """Features (b, t, h)."""
        signal = inputs.transpose(1, 2)  # (b, d, t)
        mask = inside[:, None, :].to(signal.dtype)
        for layer in self.layers:
            signal = torch.relu(layer(signal)) * mask
        return signal.transpose(1, 2)


class Given(nn.Module):
    """A caller's module; sequences of one length at a time, so that it never sees any padding."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, inputs: Tensor, inside: Tensor) -> Tensor:
        """Features (b, t, h); fewer steps than the input's are repeated to as many."""
        lengths = inside.sum(dim=1)
        parts: list[tuple[Tensor, Tensor]] = []
        for length in torch.unique(lengths).tolist():
            chosen = torch.nonzero(lengths == length)[:, 0]
            parts.append((chosen, self._features(inputs[chosen, :length])))
        features = inputs.new_zeros(*inputs.shape[:2], parts[0][1].shape[2])
        for chosen, found in parts:
            features[chosen, : found.shape[1]] = found.to(features.dtype)
        return features

    def _features(self, inputs: Tensor) -> Tensor:
        name = type(self.module).__name__
        b, t, d = inputs.shape
        try:
            found = self.module(inputs)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise ValueError(
                f"hidden={name} failed on sequences of shape ({b}, {t}, {d}): {error}."
            ) from error
        shape = tuple(getattr(found, "shape", ()))
        if len(shape) != 3 or shape[0] != b or not 0 < shape[1] <= t or not shape[2]:
            raise ValueError(
                f"hidden={name} maps sequences of shape ({b}, {t}, {d}) to {_described(found)}, "
                "which is no feature sequence; a module must give features (b, steps, width) with "
                "at most as many steps as its input."
            )
        index = torch.arange(t, device=inputs.device) * shape[1] // t
        features: Tensor = found[:, index]
        return features


def _described(found: object) -> str:
    shape = getattr(found, "shape", None)
    return f"a {type(found).__name__}" if shape is None else f"shape {tuple(shape)}"


LEARNERS = {"recurrent": Recurrent, "convolution": Convolution}
