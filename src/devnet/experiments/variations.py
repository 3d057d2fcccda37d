"""One parameter of a method at a time, around its defaults."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from devnet.core.model_file import decode_parameters, encode_parameters
from devnet.core.names import known
from devnet.detectors.methods import METHODS, PARAMETER_KINDS

FIELDS = {"name", "parameter", "values"}
NONE = "none"


class Variation(NamedTuple):
    """A parameter, and the names of the experiment's methods that differ in it."""

    name: str  # as a reader calls the parameter
    values: list[float]
    methods: list[str]  # one per value; the default's is the method itself
    default: float


def vary(method: str, given: Sequence[Any]) -> tuple[list[Variation], dict[str, dict[str, Any]]]:
    """Expand the tables `[[vary]]` of an experiment.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    given : sequence of dict
        Each with `name`, `parameter` and `values`. The parameter is one of the method, or, as
        "reference.GaussianPrior.mean", a part of one. The default must be among the values.

    Returns
    -------
    variations : list of Variation
    methods : dict
        The method with its defaults, then one for each other value.
    """
    methods: dict[str, dict[str, Any]] = {method: {"method": method}}
    variations = []
    for part in given:
        if (
            not isinstance(part, dict)
            or set(part) != FIELDS
            or not isinstance(part["values"], list)
        ):
            raise ValueError(
                f"{part!r} in vary must have a name, a parameter and a list of values."
            )
        parameter, values = part["parameter"], part["values"]
        default = _default(method, parameter)
        if default not in values:
            raise ValueError(f"{parameter} = {values!r} in vary lacks the default, {default!r}.")
        names = []
        for value in values:
            names.append(method if value == default else f"{part['name']} {_number(value):g}")
            if value != default:
                methods[names[-1]] = {"method": method, **_setting(parameter, value)}
        numbers = [_number(value) for value in values]
        variations.append(Variation(part["name"], numbers, names, _number(default)))
    return variations, methods


def decoded(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a method as it takes them: `{"GaussianPrior": [0, 1, 5000]}` is that prior.

    And `"none"` is None, which TOML cannot write.
    """
    parameters = {name: None if value == NONE else value for name, value in parameters.items()}
    kinds = {
        name: value
        for name, value in parameters.items()
        if isinstance(value, dict) and set(value) <= set(PARAMETER_KINDS)
    }
    return parameters | decode_parameters(kinds, PARAMETER_KINDS)


def _default(method: str, parameter: str) -> Any:
    """The default as a file writes it."""
    name, *inside = parameter.split(".")
    defaults = METHODS[known(method, METHODS, "method to vary")]().get_params(deep=False)
    known(name, defaults, f"parameter of {method}")
    if not inside:
        return encode_parameters({name: defaults[name]})[name]
    kind, part = inside
    made = PARAMETER_KINDS[known(kind, PARAMETER_KINDS, f"kind of {name}")]()
    return vars(made)[known(part, vars(made), f"part of {kind}")]


def _setting(parameter: str, value: Any) -> dict[str, Any]:
    name, *inside = parameter.split(".")
    if not inside:
        return {name: value}
    kind, part = inside
    return encode_parameters({name: PARAMETER_KINDS[kind](**{part: value})})


def _number(value: Any) -> float:
    """A value as a position on an axis; a layer is its width."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if not isinstance(value, int | float):
        raise ValueError(f"{value!r} in vary is not a number, nor the width of one layer.")
    return float(value)
