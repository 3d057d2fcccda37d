"""Networks as named arrays of a model file, and back with every shape checked."""

from typing import Any

import numpy as np

from devnet.core.arrays import is_module, to_numpy
from devnet.core.model_file import ModelFileError, field, is_finite_number, size_of, tensor
from devnet.core.parameters import number
from devnet.engine.reference_scores import Reference
from devnet.engine.scoring_network import ScoringNetwork, is_first_hidden, parameter_count
from devnet.engine.sparse_layer import SparseKernel


def to_tensors(network: Any) -> dict[str, np.ndarray]:
    """All weights as arrays; of a sparse first kernel only the rows that are not zero."""
    tensors = {"parameters": to_numpy(network.parameters)}
    first = network.first_kernel
    if first is not None:
        weighs = first.kernel.any((0, 2))
        tensors["first_kernel"] = first.kernel[:, weighs]
        tensors["columns"] = first.columns[weighs]
    return tensors


def from_tensors(
    tensors: dict[str, np.ndarray],
    *,
    hidden: Any,
    n_columns: int,
    n_members: int,
    output_unit: bool,
    biases: bool,
) -> Any:
    """Build the network that these parameters describe from exactly these tensors."""
    unknown = set(tensors) - {"parameters", "first_kernel", "columns"}
    if unknown:
        raise ModelFileError(f"the model file holds an unknown tensor {sorted(unknown)[0]!r}.")
    if is_module(hidden):
        return _module_network(tensors, hidden, n_columns, n_members, output_unit)
    try:
        widths = sizes(hidden, n_columns, output_unit)
    except ValueError as error:
        raise ModelFileError(f"the model file has an impossible network: {error}") from error
    sparse = "columns" in tensors or "first_kernel" in tensors
    n_parameters = parameter_count(widths, sparse=sparse)
    parameters = tensor(tensors, "parameters", (n_members, n_parameters))
    first_kernel = _sparse_kernel(tensors, widths, n_members, output_unit) if sparse else None
    return ScoringNetwork(
        widths, parameters, output_unit=output_unit, biases=biases, first_kernel=first_kernel
    )


def sizes(hidden: Any, n_columns: int, output_unit: bool) -> tuple[int, ...]:
    """Widths of a network from input to output."""
    if not (len(hidden) or output_unit):
        raise ValueError(
            "hidden=() with end_to_end=False leaves no layer to train; give at least one hidden "
            "layer, or the output unit."
        )
    return (n_columns, *(int(width) for width in hidden), *([1] if output_unit else []))


def describes(network: Any, hidden: Any, *, n_members: int, output_unit: bool) -> bool:
    """Whether a network is what these parameters ask for."""
    if len(network.parameters) != n_members or is_module(hidden) != hasattr(network, "members"):
        return False
    if is_module(hidden):
        return bool(output_unit == network.has_output_unit)
    wanted = sizes(hidden, network.sizes[0], output_unit)
    return bool(wanted == network.sizes and output_unit == network.output_unit)


def _module_network(
    tensors: dict[str, np.ndarray], hidden: Any, n_columns: int, n_members: int, output_unit: bool
) -> Any:
    from devnet.engine.module_network import ModuleNetwork

    network = ModuleNetwork(hidden, n_columns, n_members, output_unit=output_unit)
    shape = tuple(network.parameters.shape)
    network.parameters[:] = network.parameters.new_tensor(tensor(tensors, "parameters", shape))
    network.end_training()
    return network


def _sparse_kernel(
    tensors: dict[str, np.ndarray], widths: tuple[int, ...], n_members: int, output_unit: bool
) -> SparseKernel:
    n_known = size_of(tensors, "columns")
    columns = tensor(tensors, "columns", (n_known,), "int64")
    kernel = tensor(tensors, "first_kernel", (n_members, n_known, widths[1]))
    in_order = bool((np.diff(columns) > 0).all())
    if n_known and not (in_order and columns[0] >= 0 and columns[-1] < widths[0]):
        raise ModelFileError(
            f"the columns of the model file's first kernel must ascend from 0 to {widths[0] - 1}; "
            "the file was edited or damaged."
        )
    is_hidden = is_first_hidden(widths, output_unit)
    return SparseKernel(columns, kernel, widths[0], is_penalised=is_hidden)


def read_history(header: dict[str, Any]) -> list[dict[str, Any]]:
    """The training history of a header."""
    history: list[dict[str, Any]] = field(header, "history", _is_history)
    return history


def read_best_epoch(header: dict[str, Any], n_members: int) -> list[int]:
    """The kept epoch of each member."""

    def is_valid(value: Any) -> bool:
        is_list = isinstance(value, list) and len(value) == n_members
        return is_list and all(type(epoch) is int and epoch >= 0 for epoch in value)

    best: list[int] = field(header, "best_epoch", is_valid)
    return best


def read_reference(header: dict[str, Any], n_members: int) -> Reference:
    """What the scores of each member are measured against, (m, 1)."""
    constraints = {"mean": number(), "std": number(0)}

    def is_valid(value: Any) -> bool:
        return isinstance(value, dict) and all(
            isinstance(value.get(part), list)
            and len(value[part]) == n_members
            and all(constraint.accepts(found) for found in value[part])
            for part, constraint in constraints.items()
        )

    found = field(header, "reference", is_valid)
    return Reference(*(np.array(found[part], dtype=np.float64)[:, None] for part in constraints))


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(record, dict)
        and set(record) == {"epoch", "loss", "member_loss"}
        and type(record["epoch"]) is int
        and isinstance(record["member_loss"], list)
        and all(is_finite_number(loss) for loss in [record["loss"], *record["member_loss"]])
        for record in value
    )
