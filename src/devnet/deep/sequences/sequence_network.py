"""From flat rows to what the deviation loss is about: one representation or score per sequence."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from devnet.deep.sequences.learners import LEARNERS, Given
from devnet.deep.shrinking_share import ShrinkingShare


class Inputs(NamedTuple):
    """What a feature learner sees."""

    values: Tensor  # (b, t, d + c): numbers or embedded symbols, 0 where missing; surprises
    observed: Tensor  # (b, t, c): 1 where a value was observed
    inside: Tensor  # (b, t) bool: steps within the sequence


class SequenceNetwork(nn.Module):
    """Unflattens rows, learns features of each step, and pools them.

    Parameters
    ----------
    n_channels : int
    n_codes : int
        Codes of symbols; 0 for numbers.
    n_steps : int
        Steps of the sequences that a caller's module is tried on.
    hidden : tuple of int or nn.Module
        Widths of our learner, or a caller's module (b, t, c) -> (b, steps, width).
    learner, head, top_share, embedding
        As of SequenceDevNet.
    """

    def __init__(
        self,
        *,
        n_channels: int,
        n_codes: int,
        n_steps: int,
        hidden: Any,
        learner: str,
        head: str,
        top_share: float,
        embedding: int,
    ) -> None:
        super().__init__()
        self.n_channels = n_channels
        self.top_share = ShrinkingShare(top_share)
        self._width = embedding if n_codes else n_channels
        self.embedding = nn.Embedding(n_codes, embedding) if n_codes else None
        if isinstance(hidden, nn.Module):
            self.learner: nn.Module = Given(hidden)
        else:
            self.learner = LEARNERS[learner](self._width + 2 * n_channels, hidden)
        self.unit = nn.Linear(self._n_features(n_steps), 1) if head == "steps" else None

    def forward(self, rows: Tensor) -> Tensor:
        """Representations (b, 2 * h) of the global head, or scores (b, 1) of the steps head."""
        return self.pooled(self.inputs(rows))

    def inputs(self, rows: Tensor) -> Inputs:
        """What the feature learner sees of flat rows (b, 1 + 3 * t * c)."""
        b, c = len(rows), self.n_channels
        t = (rows.shape[1] - 1) // (3 * c)
        values, observed, surprise = rows[:, 1:].reshape(b, 3, t, c).unbind(1)
        # A row of zeros, on which a module is tried, has all steps.
        length = torch.where(rows[:, 0] > 0, rows[:, 0], torch.full_like(rows[:, 0], t))
        inside = torch.arange(t, device=rows.device) < length[:, None]
        if self.embedding is not None:
            values = self.embedding(values[:, :, 0].long()) * observed
        return Inputs(torch.cat([values, surprise], dim=2), observed, inside)

    def pooled(self, inputs: Inputs) -> Tensor:
        """Features of all steps as one representation, or step scores as one score."""
        if self.unit is not None:
            return self._top(self.step_scores(inputs)[:, :, None], inputs.inside)
        features, inside = self.features(inputs), inputs.inside[:, :, None]
        total = torch.where(inside, features, torch.zeros_like(features)).sum(dim=1)
        mean = total / inside.sum(dim=1)
        return torch.cat([mean, self._top(features, inputs.inside)], dim=1)

    def features(self, inputs: Inputs) -> Tensor:
        """Features (b, t, h)."""
        if isinstance(self.learner, Given):
            found: Tensor = self.learner(inputs.values[:, :, : self._width], inputs.inside)
        else:
            found = self.learner(torch.cat(inputs[:2], dim=2), inputs.inside)
        return found

    def step_scores(self, inputs: Inputs) -> Tensor:
        """Scores (b, t) of the steps head."""
        assert self.unit is not None
        scores: Tensor = self.unit(self.features(inputs))[:, :, 0]
        return scores

    def _n_features(self, n_steps: int) -> int:
        """Width of the learner's features, by trying it."""
        device = next((one.device for one in self.learner.parameters()), None)
        observed = torch.zeros(2, n_steps, self.n_channels, device=device)
        values = torch.zeros(2, n_steps, self._width + self.n_channels, device=device)
        probe = Inputs(values, observed, observed[:, :, 0] == 0)
        was_training = self.learner.training
        self.learner.eval()
        with torch.no_grad():
            found = self.features(probe).shape[2]
        self.learner.train(was_training)
        return found

    def _top(self, signals: Tensor, inside: Tensor) -> Tensor:
        """Means (b, h) of the highest share of each sequence's own steps, signals (b, t, h)."""
        length = inside.sum(dim=1)
        share = self.top_share.next(is_training=self.training)
        size = torch.ceil(length * share).clamp(min=1)[:, None]
        most = int(size.max())
        top, _ = signals.masked_fill(~inside[:, :, None], -torch.inf).topk(most, dim=1)
        counts = torch.arange(most, device=signals.device) < size  # (b, most)
        kept = torch.where(counts[:, :, None], top, torch.zeros_like(top))
        return kept.sum(dim=1) / size
