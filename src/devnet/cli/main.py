"""The `devnet` command. A verb is one file here and one line in `VERBS`."""

import importlib
import sys
from typing import Any

try:
    import click
except ImportError:  # pragma: no cover - an installation without extras
    sys.exit("the devnet command needs two more packages: pip install 'deviation-network[cli]'")

from devnet.names import known

VERBS = {
    "data": "devnet.cli.data",
    "demo": "devnet.cli.demo",
    "experiment": "devnet.cli.experiment",
}


class Verbs(click.Group):
    """Imports a verb when it is asked for, and shows bad input as a sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in alphabetical order."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        """The verb's command, which bears its name."""
        try:
            known(name, VERBS, "verb")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        command: click.Command = getattr(importlib.import_module(VERBS[name]), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # as in `devnet demo | head`: click ends quietly
            raise
        except (ValueError, OSError, ImportError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deviation-network", prog_name="devnet")
def main() -> None:
    """Find anomalies with few labels, and reproduce the paper on how."""
