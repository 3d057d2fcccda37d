"""Constraints of constructor parameters as data, and the one error that refuses a value."""

from collections.abc import Callable
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple


class Constraint(NamedTuple):
    """What a parameter accepts, as a predicate and in words."""

    accepts: Callable[[Any], bool]
    says: str


def whole_number(at_least: int, *, even: bool = False) -> Constraint:
    """An int of at least this size."""

    def accepts(value: Any) -> bool:
        is_int = isinstance(value, Integral) and not isinstance(value, bool)
        return is_int and value >= at_least and not (even and value % 2)

    return Constraint(accepts, f"{'an even' if even else 'a'} whole number of at least {at_least}")


def number(
    above: float = float("-inf"),
    *,
    below: float = float("inf"),
    or_equal: bool = False,
    or_none: bool = False,
) -> Constraint:
    """A finite real number between bounds; `or_equal` admits the lower bound."""

    def accepts(value: Any) -> bool:
        if value is None:
            return or_none
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        try:
            found = float(value)
        except OverflowError:
            return False
        return (
            isfinite(found) and found < below and (above < found or (or_equal and above == found))
        )

    says = "a finite number"
    says += "" if above == float("-inf") else f" {'of at least' if or_equal else 'above'} {above:g}"
    says += "" if below == float("inf") else f" and below {below:g}"
    return Constraint(accepts, says + (", or None" if or_none else ""))


def one_of(*values: Any) -> Constraint:
    """One of a few values, of the same type as one of them."""
    kinds = {type(value) for value in values}
    names = " or ".join(repr(value) for value in values)
    return Constraint(lambda value: type(value) in kinds and value in values, names)


class ParameterError(ValueError):
    """A parameter whose value breaks its constraint."""

    says: str  # what it must be


def check_parameters(estimator: Any, constraints: dict[str, Constraint]) -> None:
    """Refuse the first parameter whose value breaks its constraint."""
    for name, constraint in constraints.items():
        value = getattr(estimator, name)
        if not constraint.accepts(value):
            error = ParameterError(
                f"{type(estimator).__name__}({name}={value!r}) is not possible: "
                f"{name} must be {constraint.says}."
            )
            error.says = constraint.says
            raise error
