"""One spelling for two array libraries: NumPy on the CPU, torch on CUDA and under autograd.

The networks here are so small that the overhead of a call decides their speed, and NumPy's is the
smallest; torch is there for graphics cards and for a caller's own modules. The engine uses only
what both spell alike (operators, `sum`, `sqrt`, `sign`, `where`, `matmul` ...), so it is written
once. torch is imported when it is first needed.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
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


def mean_over(axis: int, array: Array) -> Array:
    """Mean over an axis, which costs nothing where the axis has one element."""
    return array.squeeze(axis) if array.shape[axis] == 1 else array.mean(axis)


def is_module(value: Any) -> bool:
    """Whether a value is a torch.nn.Module; asks torch only if somebody has imported it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


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
    try:
        found = torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device={name!r} is unknown to torch; use 'auto' or 'cpu'.") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={name!r}, but torch finds no CUDA here; use device='auto'.")
    if found.type == "cpu" and not with_torch:
        return _stay
    return lambda array: torch.from_numpy(array.copy()).to(found)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep products to the calling thread: waiting for others takes longer than small products."""
    limiter: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limiter


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _stay(array: np.ndarray) -> np.ndarray:
    return array
