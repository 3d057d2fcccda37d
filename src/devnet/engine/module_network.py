"""A scoring network whose feature learner psi is a torch module."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from devnet.core.arrays import is_module, to_numpy
from devnet.core.model_file import edited, refuse_unknown, tensor
from devnet.core.rows import Rows, dense_tiles
from devnet.engine.scoring_network import Gradient


class ModuleNetwork:
    """m copies of a module, each with one linear unit on top; same contract as ScoringNetwork.

    A member's weights and running statistics are views of its row in `parameters`, so the
    optimizer, the best epoch and the model file treat this network like any other. The gradient
    comes from autograd. The L2 penalty applies to the module's kernels: its trainable parameters
    with two or more axes. A labelled anomaly is in a batch once, with its multiplicity as weight;
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
    device : str or torch.device
        Where the network computes; "auto" is CUDA if there is one, else the CPU.
    in_double : bool
        Whether scoring computes in double precision, so that a row scores the same in any batch:
        how a convolution rounds depends on the rows beside it. Training is in single precision.
    """

    first_kernel = None
    layers = None  # nothing is known about the layers of a caller's module

    def __init__(
        self,
        module: nn.Module,
        n_columns: int,
        n_members: int,
        *,
        output_unit: bool = True,
        device: Any = "cpu",
        in_double: bool = False,
    ) -> None:
        _refuse_untrainable(module, output_unit)
        self._device = _find_device(device)
        module = deepcopy(module).to(self._device)
        width = _representation_width(module, n_columns, self._device)
        self.n_outputs = 1 if output_unit else width
        self.has_output_unit = output_unit
        members = [_member(module, width, output_unit) for _ in range(n_members)]
        self.members = [member.to(self._device) for member in members]
        self.n_penalised = sum(kernel.numel() for kernel in _kernels(self.members[0]))
        self.parameters = torch.stack([_flatten(member) for member in self.members])  # (m, P)
        self._random_state = torch.get_rng_state()
        self._in_double = in_double
        self._double: ModuleNetwork | None = None  # the copy that scores, made when it is needed
        self._bind()

    def draw_kernels(self, generators: Sequence[np.random.Generator], under: str = "") -> None:
        """Glorot-uniform kernels and zero biases for all parameters `under` a part's name."""
        for member, generator in zip(self.members, generators, strict=True):
            for name, weight in member[0].named_parameters():
                if not name.startswith(under):
                    continue
                if weight.ndim > 1:
                    limit = np.sqrt(6 / sum(_fans(weight)))
                    draws = generator.uniform(-limit, limit, tuple(weight.shape))
                    weight.data.copy_(torch.from_numpy(draws))
                elif "bias" in name:
                    weight.data.zero_()

    def draw_output_units(self, generators: Sequence[np.random.Generator]) -> None:
        """Glorot-uniform weights and zero bias for the linear units."""
        for member, generator in zip(self.members, generators, strict=True):
            for unit in list(member)[1:]:
                weight, bias = unit.parameters()
                limit = np.sqrt(6 / (weight.numel() + 1))
                draws = generator.uniform(-limit, limit, tuple(weight.shape))
                weight.data.copy_(torch.from_numpy(draws))
                bias.data.zero_()

    @classmethod
    def from_tensors(
        cls,
        tensors: dict[str, np.ndarray],
        module: nn.Module,
        n_columns: int,
        n_members: int,
        *,
        output_unit: bool,
        device: Any,
        in_double: bool = False,
    ) -> "ModuleNetwork":
        """Build the network of a model file from exactly these tensors and the caller's module."""
        refuse_unknown(tensors, ("parameters",))
        if "parameters" not in tensors or tensors["parameters"].shape[:1] != (n_members,):
            raise edited("the network", f"it does not have {n_members} members")
        network = cls(
            module,
            n_columns,
            n_members,
            output_unit=output_unit,
            device=device,
            in_double=in_double,
        )
        shape = tuple(network.parameters.shape)
        network.parameters[:] = network.to_device(tensor(tensors, "parameters", shape))
        network.end_training()
        return network

    def to_tensors(self) -> dict[str, np.ndarray]:
        """All weights and running statistics, as the named arrays of a model file."""
        return {"parameters": to_numpy(self.parameters)}

    def matches(self, hidden: Any, *, n_members: int, output_unit: bool) -> bool:
        """Whether these parameters of a detector describe this network."""
        return (
            is_module(hidden)
            and len(self.members) == n_members
            and self.has_output_unit == output_unit
        )

    def to_device(self, array: np.ndarray) -> Tensor:
        """Copy a NumPy array to where the network computes."""
        return torch.from_numpy(array.copy()).to(self._device)

    def start_training(
        self, rows: Rows, generators: Sequence[np.random.Generator]
    ) -> "ModuleNetwork":
        """Copy to train; layers such as dropout are switched on and get a seed of their own."""
        network = self._copy(self._device)
        seed = int(generators[0].spawn(1)[0].integers(2**63))
        network._random_state = torch.Generator().manual_seed(seed).get_state()
        for member in network.members:
            member.train()
        return network

    def end_training(self) -> None:
        """Switch layers such as dropout to scoring."""
        for member in self.members:
            member.eval()

    def outputs(self, rows: Rows, span: slice, made: int = 1) -> Iterator[tuple[slice, Tensor]]:
        """Yield the outputs (m, b, k) of the rows of a span, tile by tile.

        `made` is how many values the caller makes of a row's outputs.
        """
        network = self.for_scoring()
        dtype = np.float64 if self._in_double else np.float32
        for selection, tile in dense_tiles(rows, span, dtype, made):
            yield selection, network.forward(network.to_device(tile[None]))[0]

    def for_scoring(self) -> "ModuleNetwork":
        """The network in the precision that it scores in."""
        if not self._in_double:
            return self
        if self._double is None:
            self._double = self._copy(self._device, torch.float64)
        return self._double

    def forward(self, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Outputs (m, b, k), and the outputs of each member with their graph.

        Rows are (m, b, d), or (1, b, d) for all members.
        """
        rows = rows.to(self.parameters.dtype).expand(len(self.members), -1, -1)
        if self.members[0].training:
            with torch.random.fork_rng():
                torch.set_rng_state(self._random_state)  # the caller's draws are left alone
                outputs = self._outputs(rows)
                self._random_state = torch.get_rng_state()
        else:
            with torch.no_grad():
                outputs = self._outputs(rows)
        return torch.stack([output.detach() for output in outputs]), outputs

    def _outputs(self, rows: Tensor) -> list[Tensor]:
        return [member(part) for member, part in zip(self.members, rows, strict=True)]

    def new_gradient(self) -> Gradient:
        """Memory for the result of `backward`."""
        return Gradient(torch.zeros_like(self.parameters))

    def backward(self, tape: list[Tensor], slope: Tensor, gradient: Gradient) -> None:
        """Write the gradient of sum(slope * outputs), slope (m, b, k), to `gradient`."""
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

    def _copy(self, device: torch.device, dtype: torch.dtype = torch.float32) -> "ModuleNetwork":
        copied = object.__new__(ModuleNetwork)
        copied.__dict__.update(self.__dict__)
        copied._device, copied._double = device, None
        copied.parameters = self.parameters.to(device, dtype, copy=True)
        copied.members = [deepcopy(member).to(device, dtype) for member in self.members]
        copied._bind()
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """On the CPU, so that a machine without this device can unpickle it."""
        return self._copy(torch.device("cpu")).__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    def _bind(self) -> None:
        """Make every weight and running statistic a view of its part of `parameters`."""
        for member, row in zip(self.members, self.parameters, strict=True):
            start = 0
            for weight in _ordered(member):
                stop = start + weight.numel()
                weight.data = row[start:stop].view(weight.shape)
                start = stop


def _find_device(device: Any) -> torch.device:
    """The torch device of a name, or a clear error where it cannot be used."""
    if str(device) == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError) as error:  # torch raises either, depending on its build
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"device={str(device)!r} cannot be used here ({reason}); use device='auto'."
        ) from error
    return found


def _member(module: nn.Module, width: int, output_unit: bool) -> nn.Sequential:
    learner = deepcopy(module)
    if not output_unit:
        return nn.Sequential(learner)
    unit = nn.utils.skip_init(nn.Linear, width, 1)  # type: ignore[no-untyped-call]
    return nn.Sequential(learner, unit)


def _kernels(member: nn.Sequential) -> list[Tensor]:
    return [weight for weight in member[0].parameters() if weight.requires_grad and weight.ndim > 1]


def _ordered(member: nn.Sequential) -> list[Tensor]:
    """Order of a flat row: penalised kernels, other trained weights, everything else."""
    learner = list(member[0].parameters())
    others = [weight for weight in learner if weight.requires_grad and weight.ndim < 2]
    unit = [weight for part in list(member)[1:] for weight in part.parameters()]
    fixed = [weight for weight in learner if not weight.requires_grad]
    statistics = [buffer for buffer in member.buffers() if buffer.is_floating_point()]
    return [*_kernels(member), *others, *unit, *fixed, *statistics]


def _fans(kernel: Tensor) -> tuple[int, int]:
    """Inputs and outputs of a unit; a convolution's kernel has them at each of its places."""
    places = kernel[0, 0].numel()
    return kernel.shape[1] * places, kernel.shape[0] * places


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


def _representation_width(module: nn.Module, n_columns: int, device: torch.device) -> int:
    probe = deepcopy(module).eval()
    try:
        with torch.no_grad():
            shape = tuple(probe(torch.zeros(2, n_columns, device=device)).shape)
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
