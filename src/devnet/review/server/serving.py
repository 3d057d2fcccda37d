"""Serving the page on a socket, until the process is told to stop."""

import os
import socket
import ssl
from dataclasses import replace

import uvicorn
from starlette.applications import Starlette

from devnet.core.sentence import Setting, UserError
from devnet.core.wording import path_text
from devnet.review.server.listening import Listening

MOST_CONNECTIONS = 500


def bind(listening: Listening) -> tuple[socket.socket, Listening]:
    """A socket that listens, and where it does: port 0 becomes a free one."""
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    try:
        found = socket.create_server((listening.host, listening.port), family=family)
    except OSError as error:
        raise UserError(
            f"nothing can listen on port {listening.port} of {listening.host}: "
            f"{os.strerror(error.errno) if error.errno else error}. Give another one with ",
            Setting("port", listening.port + 1),
            ".",
        ) from None
    return found, replace(listening, port=found.getsockname()[1])


def make_server(app: Starlette, listening: Listening) -> uvicorn.Server:
    """A server that says nothing about itself and believes nobody; see `Protection`."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=75,  # longer than a proxy keeps its connections
        timeout_graceful_shutdown=5,
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError) as error:
        raise UserError(
            f"the certificate {path_text(listening.certificate or '')} and its key "
            f"{path_text(listening.key or '')} cannot be used: {error}. Both are PEM files of one "
            "certificate."
        ) from None
    return uvicorn.Server(config)
