"""`devnet serve`: a service that scores rows as they come."""

import logging
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from devnet.cli.listening_options import listening_options
from devnet.cli.table_options import as_json
from devnet.cli.terminal import echo, echo_json

_NEEDED = "the service needs more packages: pip install 'deviation-network[serve]'"
MOST_CONNECTIONS = 1000
SWITCH_SECONDS = 0.001  # until a thread that scores lets the one that answers have a turn


class _OnTerminal(logging.Handler):
    """Writes what the service says on standard error, with control characters written out."""

    def emit(self, record: logging.LogRecord) -> None:
        for line in self.format(record).splitlines():
            echo(line, err=True)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File with the token that clients must send; nobody else may read it.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="SCORE",
    help="Alert on rows that score above this.  [default: by the model's policy]",
)
@listening_options(8766)
@click.option(
    "--max-megabytes",
    "megabytes",
    type=click.FloatRange(0.001, 1000),
    default=16.0,
    show_default=True,
    help="Refuse larger bodies.",
)
@click.option(
    "--max-seconds",
    "seconds",
    type=click.FloatRange(0.1, 3600),
    default=30.0,
    show_default=True,
    help="Refuse bodies that arrive, and answers that are ready, later.",
)
@click.option("--log-requests", is_flag=True, help="Write a line for each request.")
@as_json
def serve(
    model: Path,
    token_file: Path,
    threshold: float | None,
    megabytes: float,
    seconds: float,
    log_requests: bool,
    wants_json: bool,
    **where: Any,
) -> None:
    """Answer requests for the scores of rows by MODEL, over HTTP.

    POST /score takes rows as JSON or as a stream of Arrow, and answers with scores, p-values and
    alerts. When the file MODEL is replaced, the new model takes over; one that cannot be used is
    refused, and the one before it stays. Whatever --host is, clients need the token.

    \b
    (umask 077; openssl rand -hex 32 > token)
    devnet serve fraud.devnet --token-file token
    devnet serve fraud.devnet --token-file token --host 10.0.0.5 --certificate c.pem --key k.pem
    """
    from threadpoolctl import threadpool_limits

    from devnet.core.arrays import one_blas_thread

    try:
        from devnet.review.server.serving import bind, check_certificate, make_server
        from devnet.serving.service.address import Address
        from devnet.serving.service.app import service_app
        from devnet.serving.service.bearer import read_token
        from devnet.serving.service.limits import Limits
        from devnet.serving.service.metrics import Metrics
        from devnet.serving.service.model_in_use import ModelInUse
    except ImportError as error:  # pragma: no cover - an installation without extras
        raise ImportError(f"{_NEEDED} ({error})") from error

    asked = Address(**where)
    check_certificate(asked)
    bearer, limits, metrics = read_token(token_file), Limits(megabytes, seconds), Metrics()
    with ExitStack() as closing:
        sock, address = bind(asked)
        closing.enter_context(sock)
        in_use = ModelInUse(model, threshold, metrics.swapped)
        app = service_app(in_use, bearer, limits=limits, metrics=metrics, proxy=address.proxy)
        server = make_server(app, address, most_connections=MOST_CONNECTIONS)
        closing.enter_context(in_use.watched())
        if wants_json:
            echo_json({"address": str(address), "model": in_use.now.fingerprint})
        else:
            echo(f"Scores are at {address}/score; stop with Ctrl-C.")
        _log(log_requests)
        sys.setswitchinterval(SWITCH_SECONDS)
        # Idle threads of BLAS spin; set once, it is not set again for each batch.
        with threadpool_limits(1), one_blas_thread(), suppress(KeyboardInterrupt):
            server.run(sockets=[sock])


def _log(wants_requests: bool) -> None:
    """Show what the service says about its model and its failures, and about requests if asked."""
    handler = _OnTerminal()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    own = logging.getLogger("devnet.serving")
    own.addHandler(handler)
    own.setLevel(logging.INFO)
    logging.getLogger("devnet.serving.requests").setLevel(
        logging.INFO if wants_requests else logging.WARNING
    )
