"""Options of verbs that answer requests: where they listen, and how they are protected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

HERE = "127.0.0.1"


def listening_options(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options that say where to listen, by default on 127.0.0.1 at this port."""
    options = (
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="Port to listen on; 0 takes a free one.",
        ),
        click.option(
            "--certificate",
            type=click.Path(path_type=Path),
            metavar="PEM",
            help="Serve https with this.",
        ),
        click.option(
            "--key", type=click.Path(path_type=Path), metavar="PEM", help="Its private key."
        ),
        click.option(
            "--behind-proxy",
            "proxy",
            metavar="ADDRESS",
            help="Only answer the https proxy at this address, and believe its word on clients.",
        ),
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add
