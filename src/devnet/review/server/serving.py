"""Serving on a socket, until the process is told to stop."""

import errno
import os
import socket
import ssl
from dataclasses import replace
from shlex import quote
from typing import TypeVar

import uvicorn
from starlette.types import ASGIApp

from devnet.core.sentence import Setting, UserError
from devnet.core.wording import path_text
from devnet.review.server.line import LOCAL, Line

MOST_CONNECTIONS = 500
NO_ADDRESS = (errno.EADDRNOTAVAIL, socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_FAIL)
Listens = TypeVar("Listens", bound=Line)


def bind(listening: Listens) -> tuple[socket.socket, Listens]:
    """A socket that listens, and where it does: port 0 becomes a free one."""
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    try:
        found = socket.create_server((listening.host, listening.port), family=family)
    except OSError as error:
        if error.errno in NO_ADDRESS:
            raise UserError(
                f"the host {listening.host} is not an address of this machine; give one that is, "
                "such as ",
                Setting("host", LOCAL),
                ".",
            ) from None
        raise UserError(
            f"nothing can listen on port {listening.port} of {listening.host}: "
            f"{os.strerror(error.errno) if error.errno else error}. Give another one with ",
            Setting("port", listening.port + 1),
            ".",
        ) from None
    # An answer is two packets, and the second would wait 40 ms until the first is acknowledged:
    # asyncio prevents that only for sockets that it makes itself. Connections inherit it.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found, replace(listening, port=found.getsockname()[1])


def make_server(
    app: ASGIApp, listening: Line, *, most_connections: int = MOST_CONNECTIONS
) -> uvicorn.Server:
    """A server that says nothing about itself and believes nobody; see `Protection`."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=most_connections,
        timeout_keep_alive=75,  # longer than a proxy keeps its connections
        timeout_graceful_shutdown=5,
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
    )
    return uvicorn.Server(config)


def check_certificate(listening: Line) -> None:
    """Refuse a certificate that cannot be served."""
    if listening.certificate is None or listening.key is None:
        return
    for path in (listening.certificate, listening.key):
        if not path.is_file():
            raise UserError(f"there is no file {path_text(path)}; give a PEM file.")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(listening.certificate, listening.key, password=lambda: "")
    except (ssl.SSLError, OSError):
        raise UserError(
            f"the certificate {path_text(listening.certificate)} and the key "
            f"{path_text(listening.key)} cannot be used: both must be PEM files, of one "
            "certificate, and the key must have no password. See what they are: openssl x509 -in "
            f"{quote(path_text(listening.certificate))} -noout -subject"
        ) from None
