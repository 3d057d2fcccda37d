"""A small fitted detector of every method, dense and wide, for tests of model files and doors."""

from functools import cache

import numpy as np
import scipy.sparse as sp

from devnet.detectors.methods import NAMED

SMALL = {"n_epochs": 1, "n_batches": 2, "n_networks": 2, "n_trees": 4}
KINDS = ("dense", "wide")


def small(name, **parameters):
    """A detector that is fitted in a moment."""
    kind = NAMED[name]
    own = kind().get_params(deep=False)
    chosen = {"random_state": 0, **SMALL, **parameters}
    return kind(**{key: value for key, value in chosen.items() if key in own})


@cache
def small_rows(kind):
    """Rows and labels; tests leave them as they are."""
    generator = np.random.default_rng(0)
    y = (np.arange(200) < 20).astype(int)
    if kind == "dense":
        rows = generator.normal(size=(200, 6)).astype(np.float32)
        rows[:40] += 2
        return rows, y
    rows = sp.random_array((200, 5000), density=0.004, format="lil", dtype="f4", rng=generator)
    rows[:40, :20] = 1
    return sp.csr_array(rows), y


@cache
def fitted_small(name, kind):
    """A fitted detector; tests leave it as it is."""
    return small(name).fit(*small_rows(kind))
