"""Options of verbs that can work on a cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from distributed import Client

_OPTIONS = (
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster: its scheduler's address, tcp://... or tls://...",
    ),
    click.option(
        "--workers",
        type=int,
        metavar="N",
        help="Work with N processes on this machine, of one thread each.",
    ),
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that choose a cluster."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wants_cluster(cluster: str | None, workers: int | None) -> bool:
    """Whether the options name a cluster."""
    if cluster is not None and workers is not None:
        raise click.UsageError("--cluster and --workers exclude each other; give one of them.")
    return cluster is not None or workers is not None


@contextmanager
def chosen_cluster(cluster: str | None, workers: int | None) -> "Iterator[Client]":
    """The client of the cluster that the options name."""
    from devnet.serving.cluster import joined_cluster, local_cluster

    if cluster is not None:
        with joined_cluster(cluster) as client:
            yield client
    else:
        with local_cluster(workers or 0) as client:
            yield client
