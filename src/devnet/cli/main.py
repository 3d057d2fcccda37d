"""The `devnet` command. A verb is one file here and one line in `VERBS`."""

import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    import click
except ImportError:  # pragma: no cover - an installation without extras
    sys.exit("the devnet command needs two more packages: pip install 'deviation-network[cli]'")

from devnet.cli.spelling import worded
from devnet.core.names import known
from devnet.core.wording import path_text, visible

VERBS = {  # each must import little: --help shows them all
    "fit": "devnet.cli.fit",
    "score": "devnet.cli.score",
    "alerts": "devnet.cli.alerts",
    "drift": "devnet.cli.drift",
    "explain": "devnet.cli.explain",
    "review": "devnet.cli.review",
    "serve": "devnet.cli.serve",
    "labels": "devnet.cli.labels",
    "policy": "devnet.cli.policy",
    "inspect": "devnet.cli.inspect",
    "export": "devnet.cli.export",
    "compare": "devnet.cli.compare",
    "demo": "devnet.cli.demo",
    "data": "devnet.cli.data",
    "experiment": "devnet.cli.experiment",
}

ADVICE = {
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ENOENT: "make its folder first, or give another name",
    errno.ENOTDIR: "a file stands where a folder should; give another name",
    errno.EEXIST: "a file has that name; give another one",
    errno.ENOSPC: "free some space, or take another disk",
    errno.EROFS: "take another place",
    errno.EACCES: "take another place, or make it yours: chmod u+rwx",
}


class BadInput(click.ClickException):
    """An error that the user can fix."""

    exit_code = 2


class Interrupted(click.ClickException):
    """Ctrl-C was pressed."""

    exit_code = 128 + signal.SIGINT  # as shells have it

    def __init__(self) -> None:
        super().__init__("interrupted.")


class Verbs(click.Group):
    """Imports a verb on demand, and reports bad input in a sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in order of use."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        """The command that bears the verb's name."""
        try:
            known(name, VERBS, "verb")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        command: click.Command = getattr(importlib.import_module(VERBS[name]), name)
        return command

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read the words before the verb."""
        with _in_a_sentence():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            with _in_a_sentence():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    """Turn bad input into an error of one line; it may quote what was typed, names and paths."""
    try:
        yield
    except BrokenPipeError:  # as in `devnet demo | head`: click ends quietly
        raise
    except click.UsageError as error:
        if error.ctx is not None and error.message == error.ctx.get_help():  # nothing was typed
            raise
        raise click.UsageError(visible(error.format_message()), error.ctx) from error
    except click.ClickException as error:
        raise click.ClickException(visible(error.format_message())) from error
    except MemoryError as error:
        raise click.ClickException(visible(_out_of_memory(error))) from error
    except OSError as error:
        raise BadInput(visible(_refused(error))) from error
    except (ValueError, ImportError) as error:
        raise BadInput(visible(worded(error))) from error


def _refused(error: OSError) -> str:
    """What the operating system refused, in a sentence if nobody gave it one."""
    if error.errno is None or error.filename is None:
        return worded(error)
    advice = ADVICE.get(error.errno, "check the name, and that you may use it")
    return f"{path_text(error.filename)} cannot be used: {os.strerror(error.errno)}; {advice}."


def _out_of_memory(error: MemoryError) -> str:
    reason = f" ({error})" if str(error) else ""
    return (
        f"memory ran out{reason}; give a table with fewer columns, or take a machine with more "
        "memory."
    )


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deviation-network", prog_name="devnet")
def main() -> None:
    """Find anomalies in a table with few labels, and explain them.

    \b
    devnet demo                                             the whole journey
    devnet fit payments.csv --label fraud -o fraud.devnet   learn
    devnet alerts fraud.devnet payments.csv --budget 10     what to look at, and why
    devnet score fraud.devnet new.csv -o scored.csv         score other rows
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # a path may have bytes that are not UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
