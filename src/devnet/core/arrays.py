"""One spelling for two array libraries: NumPy, and torch where a caller's module is trained.

Built-in networks are so small that the overhead of a call decides their speed, and NumPy's is the
smallest. torch is for callers' own modules. What sees the arrays of both (batches, losses,
optimizer) uses only what both spell alike (operators, `sum`, `sqrt`, `sign`, `where`, `matmul`
...), so it is written once. torch is never imported here: torch arrays bring it along.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

Array = Any
"""A numpy.ndarray or a torch.Tensor."""

ToDevice = Callable[[np.ndarray], Array]
"""Brings a NumPy array to the library and device that a network computes with."""


def namespace(array: Array) -> ModuleType:
    """The library that an array belongs to."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def to_numpy(array: Array) -> np.ndarray:
    """Bring an array back to NumPy; without a copy if it is in main memory."""
    found: np.ndarray = array if isinstance(array, np.ndarray) else array.detach().cpu().numpy()
    return found


def convert_like(other: Array, array: np.ndarray) -> Array:
    """Convert a NumPy array to the library, device and type of another array."""
    if isinstance(other, np.ndarray):
        return array.astype(other.dtype, copy=False)
    return namespace(other).from_numpy(array).to(other)


def mean_over(axis: int, array: Array) -> Array:
    """Mean over an axis; costs nothing if the axis has one element."""
    return array.squeeze(axis) if array.shape[axis] == 1 else array.mean(axis)


def is_module(value: Any) -> bool:
    """Whether a value is a torch.nn.Module; asks torch only if somebody has imported it."""
    torch_nn = sys.modules.get("torch.nn")
    module = getattr(torch_nn, "Module", None)  # not there yet while another thread imports torch
    return module is not None and isinstance(value, module)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run products on the calling thread: waiting for others takes longer than small products.

    The limit applies to the whole process, so if callers overlap the first sets it and the last
    lifts it.
    """
    with _blas.lock:
        if not _blas.n_callers:
            _blas.limiter = _controller().limit(limits=1)
        _blas.n_callers += 1
    try:
        yield
    finally:
        with _blas.lock:
            _blas.n_callers -= 1
            if not _blas.n_callers:
                _blas.limiter.restore_original_limits()


class _Blas:
    """How many callers keep BLAS to one thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_callers = 0
        self.limiter: Any = None


_blas = _Blas()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
