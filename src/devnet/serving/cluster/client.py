"""A cluster to score on: some processes on this machine, or a running Dask cluster."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from devnet.core.model_file import package_versions
from devnet.core.sentence import Setting, UserError
from devnet.core.wording import cut, visible

if TYPE_CHECKING:
    from distributed import Client

HERE = "127.0.0.1"
SECONDS = 10  # until a scheduler that does not answer is given up
LOOK = 1.0  # seconds until workers are counted again
LONGEST_REASON = 200  # characters of what Dask says
_NEEDED = "clusters need more packages: pip install 'deviation-network[dask]'"
_ADDRESS = re.compile(r"(tcp|tls)://[^/\s]+:\d+", re.IGNORECASE)
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1)
_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.http.routes": [],  # nothing is served over HTTP
    "distributed.worker.http.routes": [],
    # A look at all threads every 10 ms, which nobody would see, costs half as much as scoring
    "distributed.worker.profile.enabled": False,
    # Dask would also give memory back to the system at once, which costs a fifth of the time
    "distributed.nanny.pre-spawn-environ": _ONE_THREAD,
}


@contextmanager
def local_cluster(n_workers: int) -> "Iterator[Client]":
    """Worker processes on this machine, of one thread each, until the block ends.

    They listen on 127.0.0.1 only, and there is no dashboard.

    Parameters
    ----------
    n_workers : int
    """
    if not isinstance(n_workers, int) or n_workers < 1:
        raise UserError(
            f"{n_workers!r} workers are not possible; give a whole number of at least 1: ",
            Setting("workers", 2),
        )
    _need_dask()
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(_SETTINGS),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host=HERE,
            dashboard_address=f"{HERE}:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
        _kept(cluster, n_workers),
    ):
        yield client


@contextmanager
def _kept(cluster: Any, n_workers: int) -> Iterator[None]:
    """Start workers anew that died while they were starting: Dask gives these up."""
    from distributed.core import Status
    from tornado.ioloop import PeriodicCallback

    def keep() -> None:
        for name, nanny in list(cluster.workers.items()):
            if nanny.status in (Status.closed, Status.failed):
                del cluster.workers[name]
        cluster.scale(n_workers)

    keeping = PeriodicCallback(keep, 1000 * LOOK)
    cluster.loop.add_callback(keeping.start)
    try:
        yield
    finally:
        cluster.loop.add_callback(keeping.stop)


@contextmanager
def joined_cluster(address: str) -> "Iterator[Client]":
    """The client of a running Dask cluster.

    Parameters
    ----------
    address : str
        Of its scheduler, such as tcp://10.0.0.5:8786 or tls://10.0.0.5:8786. The certificates of
        the latter are those of Dask's configuration (`distributed.comm.tls`).
    """
    if not _ADDRESS.fullmatch(address):
        raise UserError(
            f"{visible(address)!r} is not the address of a Dask scheduler; give one such as ",
            Setting("cluster", "tcp://10.0.0.5:8786"),
            ", or start workers on this machine with ",
            Setting("workers", 2),
            ".",
        )
    _need_dask()
    from distributed import Client

    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"no Dask scheduler answers at {visible(address)} ({_reason(error)}); check that it "
            "runs and can be reached from here. For tls://, Dask's configuration names the "
            "certificates (distributed.comm.tls)."
        ) from error
    with client:
        check_workers(client)
        yield client


def check_workers(client: "Client") -> None:
    """Refuse a cluster without workers, or with workers that would score otherwise."""
    ours = package_versions()
    try:
        client.wait_for_workers(1, timeout=SECONDS)
        found: dict[str, Any] = client.run(package_versions)
    except TimeoutError:
        raise UserError(
            "the cluster has no workers; start some: dask worker ADDRESS --nthreads 1"
        ) from None
    except Exception as error:
        raise UserError(
            f"the workers cannot run devnet ({_reason(error)}); install the same version there: "
            f"pip install 'deviation-network[dask,tables]=={ours['devnet']}'"
        ) from error
    for worker, theirs in found.items():
        if theirs["devnet"] != ours["devnet"]:
            raise UserError(
                f"the worker {visible(worker)} has devnet {theirs['devnet']}, but {ours['devnet']} "
                "is here; install the same version on all."
            )


def _need_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ImportError(_NEEDED) from None


def _reason(error: BaseException) -> str:
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return cut(visible(said), LONGEST_REASON)
