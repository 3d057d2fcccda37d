"""A graph while it is built: nodes, constants, inputs and outputs, each with a name of its own."""

from collections.abc import Collection
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

OPSETS = {"": 18, "ai.onnx.ml": 5}  # the first with tree ensembles in double precision
IR_VERSION = 10  # of the same release
TREES = "ai.onnx.ml"
ROWS = "rows"  # the axis of all inputs and outputs that a caller may choose
ANY = None  # an axis of any length, also of length 1

FLOAT, DOUBLE, INTEGER, BOOLEAN, TEXT = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.INT64,
    TensorProto.BOOL,
    TensorProto.STRING,
)


class Graph:
    """Nodes in the order in which they compute; a value is known by its name.

    Parameters
    ----------
    taken : collection of str
        Names that the graph's own values must not have, such as those of columns.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def name(self, about: str) -> str:
        """A name that nothing else has."""
        found, number = about, 2
        while not found or found in self._taken:
            found, number = f"{about}_{number}", number + 1
        self._taken.add(found)
        return found

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Compute something from values; the result's name."""
        output = self.name(operator.lower())
        self._nodes.append(
            helper.make_node(operator, [*inputs], [output], domain=domain, **attributes)
        )
        return output

    def constant(self, values: Any, dtype: Any = None) -> str:
        """A value that is part of the graph."""
        name = self.name("constant")
        self._constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def cast(self, value: str, kind: int) -> str:
        """A value in another type."""
        return self.add("Cast", value, to=kind)

    def input(self, name: str, kind: int, *more: int) -> str:
        """Something that the caller gives, one entry per row, or as many as `more` says."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, [ROWS, *more]))
        return name

    def mark(self, name: str, of: str) -> str:
        """Booleans beside the input `of`, one per row or a single one for all rows."""
        self._inputs.append(helper.make_tensor_value_info(name, BOOLEAN, [ANY]))
        return self.add("Expand", name, self.add("Shape", of))

    def output(self, name: str, value: str, kind: int) -> None:
        """What the graph computes, (rows,)."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, kind, [ROWS]))

    def flat(self, value: str) -> str:
        """Values (rows, 1) as (rows,)."""
        return self.add("Squeeze", value, self.constant([1], np.int64))

    def column(self, value: str) -> str:
        """Values (rows,) as (rows, 1)."""
        return self.add("Unsqueeze", value, self.constant([1], np.int64))

    def sum(self, first: str, *others: str) -> str:
        """Values added up one after another."""
        for other in others:
            first = self.add("Add", first, other)
        return first

    def model(self, producer: str, metadata: dict[str, str]) -> ModelProto:
        """The whole graph as a file's content."""
        graph = helper.make_graph(
            self._nodes, "devnet", self._inputs, self._outputs, initializer=self._constants
        )
        opsets = [helper.make_opsetid(*one) for one in OPSETS.items()]
        model = helper.make_model(
            graph, producer_name=producer, opset_imports=opsets, ir_version=IR_VERSION
        )
        helper.set_model_props(model, metadata)
        return model
