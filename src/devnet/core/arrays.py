"""One spelling for two array libraries: NumPy on the CPU, torch on CUDA and under autograd.

The networks here are so small that the overhead of a call decides their speed, and NumPy's is the
smallest; torch is there for graphics cards and for a caller's own modules. The engine uses only
what both spell alike (operators, `sum`, `sqrt`, `sign`, `where`, `matmul` ...), so it is written
once. torch is imported when it is first needed.
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

Place = Callable[[np.ndarray], Array]
"""Puts a NumPy array where a network computes."""


def namespace(array: Array) -> ModuleType:
    """The library that an array belongs to."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def to_numpy(array: Array) -> np.ndarray:
    """Bring an array back to NumPy; without a copy where it is in main memory."""
    found: np.ndarray = array if isinstance(array, np.ndarray) else array.detach().cpu().numpy()
    return found


def beside(other: Array, array: np.ndarray) -> Array:
    """Bring a NumPy array to the library, place and type of another array."""
    if isinstance(other, np.ndarray):
        return array.astype(other.dtype, copy=False)
    return namespace(other).from_numpy(array).to(other)


def mean_over(axis: int, array: Array) -> Array:
    """Mean over an axis, which costs nothing where the axis has one element."""
    return array.squeeze(axis) if array.shape[axis] == 1 else array.mean(axis)


def is_module(value: Any) -> bool:
    """Whether a value is a torch.nn.Module; asks torch only if somebody has imported it."""
    torch_nn = sys.modules.get("torch.nn")
    module = getattr(torch_nn, "Module", None)  # not there yet while another thread imports torch
    return module is not None and isinstance(value, module)


def place_on(device: Any, *, with_torch: bool) -> Place:
    """How arrays reach a device: "auto", "cpu", "cuda", or a torch.device.

    Parameters
    ----------
    device : str or torch.device
        "auto" is CUDA where there is one, else the CPU.
    with_torch : bool
        Whether torch computes on the CPU too, because a network needs it.
    """
    if str(device) == "cpu" and not with_torch:
        return _stay
    import torch

    name = str(device)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    found = torch.device(name)
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={name!r}, but torch finds no CUDA here; use device='auto'.")
    if found.type == "cpu" and not with_torch:
        return _stay
    return lambda array: torch.from_numpy(array.copy()).to(found)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep products to the calling thread: waiting for others takes longer than small products.

    The limit is the process's, so of callers that overlap the first sets it and the last lifts it.
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
    """Who keeps BLAS to one thread now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_callers = 0
        self.limiter: Any = None


_blas = _Blas()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _stay(array: np.ndarray) -> np.ndarray:
    return array
