"""A scoring network whose feature learner psi is the caller's own torch module."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from devnet.core.arrays import Place, to_numpy
from devnet.engine.scoring_network import Gradient


class ModuleNetwork:
    """m copies of a module, each with one linear unit on top; the contract of ScoringNetwork.

    Weights and running statistics of a member are views of its row in `parameters`, so the
    optimizer, the best epoch and the model file treat this network like any other. The gradient
    comes from autograd. The L2 penalty falls on the module's kernels: its trainable parameters of
    two or more axes. A labelled anomaly stands once in a batch, with its multiplicity as weight;
    layers that mix rows, such as batch normalisation, see it once.

    Parameters
    ----------
    module : torch.nn.Module
        Maps rows (b, d) to representations (b, h). It is copied, weights included.
    n_columns : int
        Width d of the rows.
    n_members : int
    output_unit : bool
        Whether the linear unit eta follows; without it the representation is the output.
    """

    first_kernel = None

    def __init__(
        self, module: nn.Module, n_columns: int, n_members: int, *, output_unit: bool = True
    ) -> None:
        _refuse_untrainable(module, output_unit)
        width = _representation_width(module, n_columns)
        self.n_outputs = 1 if output_unit else width
        self.has_output_unit = output_unit
        self.members = [_member(module, width, output_unit) for _ in range(n_members)]
        self.n_penalised = sum(kernel.numel() for kernel in _kernels(self.members[0]))
        self.parameters = torch.stack([_flatten(member) for member in self.members])  # (m, P)
        self._random_state = torch.get_rng_state()
        self._bind()

    def draw_output_units(self, generators: Sequence[np.random.Generator]) -> None:
        """Glorot-uniform weights and zero bias for the linear units."""
        for member, generator in zip(self.members, generators, strict=True):
            for unit in list(member)[1:]:
                weight, bias = unit.parameters()
                limit = np.sqrt(6 / (weight.numel() + 1))
                draws = generator.uniform(-limit, limit, tuple(weight.shape))
                weight.data.copy_(torch.from_numpy(draws))
                bias.data.zero_()

    def copy(self, place: Place) -> "ModuleNetwork":
        """Copy to a place."""
        copied = object.__new__(ModuleNetwork)
        copied.n_outputs = self.n_outputs
        copied.has_output_unit = self.has_output_unit
        copied.n_penalised = self.n_penalised
        copied.parameters = place(to_numpy(self.parameters).copy())
        device = copied.parameters.device
        copied.members = [deepcopy(member).to(device) for member in self.members]
        copied._random_state = self._random_state
        copied._bind()
        return copied

    def for_scoring(self, place: Place) -> "ModuleNetwork":
        """Copy to a place; a module keeps its single precision."""
        return self.copy(place)

    def start_training(
        self, columns: np.ndarray | None, generators: Sequence[np.random.Generator]
    ) -> None:
        """Switch layers such as dropout to training, with draws of their own."""
        seed = int(generators[0].spawn(1)[0].integers(2**63))
        self._random_state = torch.Generator().manual_seed(seed).get_state()
        for member in self.members:
            member.train()

    def end_training(self) -> None:
        """Switch layers such as dropout to scoring."""
        for member in self.members:
            member.eval()

    def forward(self, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs (m, b, k), and the same with their graph, one a member.

        Rows are (m, b, d), or (1, b, d) for all members.
        """
        rows = rows.to(self.parameters.dtype).expand(len(self.members), -1, -1)
        if self.members[0].training:
            with torch.random.fork_rng():
                torch.set_rng_state(self._random_state)  # what the caller draws is left alone
                outputs = self._outputs(rows)
                self._random_state = torch.get_rng_state()
        else:
            with torch.no_grad():
                outputs = self._outputs(rows)
        return torch.stack([output.detach() for output in outputs]), outputs

    def _outputs(self, rows: Tensor) -> list[Tensor]:
        return [member(part) for member, part in zip(self.members, rows, strict=True)]

    def new_gradient(self) -> Gradient:
        """Room for the result of `backward`."""
        return Gradient(self.parameters, {"kernels": [], "biases": []})

    def backward(self, tape: list[Tensor], slope: Tensor, gradient: Gradient) -> None:
        """Leave the gradient of sum(slope * outputs), slope (m, b, k), in `gradient`."""
        rows = gradient.dense
        rows.zero_()
        for member, output, part, row in zip(self.members, tape, slope, rows, strict=True):
            trained = [tensor for tensor in _ordered(member) if tensor.requires_grad]
            found = torch.autograd.grad(output, trained, part, allow_unused=True)
            start = 0
            for weight, value in zip(trained, found, strict=True):
                if value is not None:
                    row[start : start + weight.numel()] = value.reshape(-1)
                start += weight.numel()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    def _bind(self) -> None:
        """Make every weight and running statistic a view of its place in `parameters`."""
        for member, row in zip(self.members, self.parameters, strict=True):
            start = 0
            for tensor in _ordered(member):
                stop = start + tensor.numel()
                tensor.data = row[start:stop].view(tensor.shape)
                start = stop


def _member(module: nn.Module, width: int, output_unit: bool) -> nn.Sequential:
    learner = deepcopy(module)
    if not output_unit:
        return nn.Sequential(learner)
    unit = nn.utils.skip_init(nn.Linear, width, 1)  # type: ignore[no-untyped-call]
    return nn.Sequential(learner, unit)


def _kernels(member: nn.Sequential) -> list[Tensor]:
    return [weight for weight in member[0].parameters() if weight.requires_grad and weight.ndim > 1]


def _ordered(member: nn.Sequential) -> list[Tensor]:
    """Penalised kernels, other trained weights, the rest: the order of a flat row."""
    learner = list(member[0].parameters())
    others = [weight for weight in learner if weight.requires_grad and weight.ndim < 2]
    unit = [weight for part in list(member)[1:] for weight in part.parameters()]
    fixed = [weight for weight in learner if not weight.requires_grad]
    statistics = [buffer for buffer in member.buffers() if buffer.is_floating_point()]
    return [*_kernels(member), *others, *unit, *fixed, *statistics]


def _flatten(member: nn.Sequential) -> Tensor:
    parts = [tensor.detach().reshape(-1).to(torch.float32) for tensor in _ordered(member)]
    return torch.cat(parts)


def _refuse_untrainable(module: nn.Module, output_unit: bool) -> None:
    weights = list(module.parameters())
    if any(isinstance(weight, nn.parameter.UninitializedParameter) for weight in weights):
        raise ValueError(
            f"hidden={type(module).__name__} has lazy parameters; call it once on some rows first."
        )
    if not output_unit and not any(weight.requires_grad for weight in weights):
        raise ValueError(
            f"hidden={type(module).__name__} with end_to_end=False leaves nothing to train; give a "
            "module with trainable parameters."
        )


def _representation_width(module: nn.Module, n_columns: int) -> int:
    probe = deepcopy(module).eval()
    try:
        with torch.no_grad():
            shape = tuple(probe(torch.zeros(2, n_columns)).shape)
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(
            f"hidden={type(module).__name__} failed on rows of shape (2, {n_columns}): {error}. "
            "A feature learner maps rows (b, n_columns) to representations (b, width)."
        ) from error
    if len(shape) != 2 or shape[0] != 2 or shape[1] == 0:
        raise ValueError(
            f"hidden={type(module).__name__} maps rows of shape (2, {n_columns}) to shape {shape}; "
            "a feature learner must give one representation (b, width) per row."
        )
    return int(shape[1])
