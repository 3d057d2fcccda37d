"""Seeds: a caller's `random_state` as NumPy and other libraries take it."""

from typing import Any

import numpy as np

from devnet.core.parameters import Constraint, whole_number


def _is_random_state(value: Any) -> bool:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return True
    return value is None or whole_number(0).accepts(value)


RANDOM_STATE = Constraint(
    _is_random_state, "None, a whole number of at least 0, or a NumPy RandomState or Generator"
)


def as_generator(random_state: Any) -> np.random.Generator:
    """A generator; a given one spawns a child, so that two fits draw differently.

    The global random state is never touched.
    """
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    return np.random.default_rng(random_state)


def draw_seed(generator: np.random.Generator) -> int:
    """A seed for scikit-learn and the boosting libraries."""
    return int(generator.integers(2**31 - 1))


def member_generators(random_state: Any, n_members: int) -> list[np.random.Generator]:
    """Independent generators, one per member; the global random state is never touched.

    Member i draws the same numbers however many members there are.
    """
    if isinstance(random_state, np.random.Generator):
        seeds = random_state.integers(2**63, size=n_members)
    elif isinstance(random_state, np.random.RandomState):
        seeds = random_state.randint(2**31, size=n_members)
    else:
        sequence = np.random.SeedSequence(random_state)
        return [np.random.default_rng(child) for child in sequence.spawn(n_members)]
    return [np.random.default_rng(int(seed)) for seed in seeds]
