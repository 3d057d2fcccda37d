"""One thread of torch, for networks that are small."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run torch on the calling thread alone.

    Several threads add up gradients in an order that depends on their number, and wait for each
    other: small steps take twice as long, and many times as long beside other programs.
    """
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
