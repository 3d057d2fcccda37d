"""`devnet review`: the analysts' page, and who may use it."""

import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.listening_options import listening_options
from devnet.cli.table_options import as_json
from devnet.cli.terminal import echo, echo_json
from devnet.core.wording import path_text

if TYPE_CHECKING:
    from devnet.review.server.accounts import Accounts
    from devnet.review.server.doors import Door
    from devnet.review.server.listening import Listening

_NEEDED = "the page needs more packages: pip install 'deviation-network[review,tables]'"


class _ReviewOrUsers(click.Command):
    """`devnet review users` is another command; a table of that name is ./users."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args[:1] == ["users"]:
            return users.make_context(f"{info_name} users", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


_store = click.option(
    "--store",
    type=click.Path(path_type=Path),
    default=Path("review.db"),
    show_default=True,
    help="File with the verdicts; it is made if there is none.",
)


@click.command(cls=_ReviewOrUsers)
@click.argument("table")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="Rank rows by this model.  [default: the one used last, or without labels]",
)
@_store
@click.option(
    "--id",
    "id_column",
    metavar="COLUMN",
    help="The column that names rows.  [default: that of the store or the model]",
)
@click.option(
    "--label",
    metavar="COLUMN",
    help="A column of TABLE with labels.  [default: that of the model]",
)
@click.option(
    "--anomaly", metavar="VALUE", help="Its value that marks anomalies, if that is not obvious."
)
@click.option("--normal", metavar="VALUE", help="Its value that marks rows known to be normal.")
@click.option(
    "--entity", metavar="COLUMN", help="Show a row with others of the same, say, customer."
)
@click.option(
    "--random",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Share of cards that are random rows: they tell how many anomalies are missed.",
)
@click.option(
    "--unlike",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Share of cards that are unlike the other rows: kinds that nobody labelled.",
)
@listening_options(8765)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="The server's name in browsers; repeatable.  [default: the host]",
)
@as_json
def review(
    table: str,
    model: Path | None,
    store: Path,
    id_column: str | None,
    label: str | None,
    anomaly: str | None,
    normal: str | None,
    entity: str | None,
    random: float,
    unlike: float,
    wants_json: bool,
    **where: Any,
) -> None:
    """Open the page on which analysts judge the rows of TABLE.

    On this machine alone it opens without accounts, by the address that is printed. With any other
    --host it needs accounts ('devnet review users add') and a certificate, its own or a proxy's.
    Nothing is written but STORE and files beside it whose names begin like its own.

    \b
    devnet review payments.parquet --model fraud.devnet --store review.db
    devnet review payments.parquet --store review.db --entity customer_id
    devnet review users add ana --role analyst
    devnet review payments.parquet --host 10.0.0.5 --certificate cert.pem --key key.pem
    """
    try:
        from devnet.review.desk.review import open_review
        from devnet.review.desk.server_lock import only_server
        from devnet.review.queue import Shares
        from devnet.review.server.app import review_app
        from devnet.review.server.listening import Listening
        from devnet.review.server.serving import bind, check_certificate, make_server
        from devnet.review.store_file import refuse_odd
    except ImportError as error:  # pragma: no cover - an installation without extras
        raise ImportError(f"{_NEEDED} ({error})") from error

    asked = Listening(**where)
    check_certificate(asked)
    refuse_odd(store, may_be_made=True)
    with only_server(store), ExitStack() as closing:
        sock, listening = bind(asked)
        closing.enter_context(sock)
        door, address = _door(store, listening)
        opened = open_review(
            table,
            store,
            who=_who(),
            model=model,
            id_column=id_column,
            label=label,
            anomaly=anomaly,
            normal=normal,
            entity=entity,
            shares=Shares(random, unlike),
            say=lambda text: echo(f"{text} ...", err=True),
        )
        closing.callback(opened.close)
        for change in opened.desk.ranked.changes:
            echo(f"Note: {change}", err=True)
        server = make_server(review_app(opened, door, listening), listening)
        opened.desk.read_ahead()
        opened.find_unlike()
        if wants_json:
            echo_json({"address": address, "store": str(store)})
        else:
            echo(f"Open {address} in a browser; stop with Ctrl-C.")
        with suppress(KeyboardInterrupt):
            server.run(sockets=[sock])


def _door(store: Path, listening: "Listening") -> "tuple[Door, str]":
    """The way in, and the address to open."""
    from devnet.review.server.accounts import Accounts, accounts_beside
    from devnet.review.server.doors import AccountDoor, LocalDoor

    if listening.is_local:
        door = LocalDoor()
        return door, f"{listening.address}sign-in?token={door.token}"
    path = accounts_beside(store)
    if not path.exists() or not (accounts := Accounts(path)).everybody():
        raise click.UsageError(f"nobody has an account yet; {_add(store)}")
    return AccountDoor(accounts), listening.address


def _who() -> str:
    from devnet.review.server.doors import user_name

    return user_name()


@click.group()
def users() -> None:
    """Who may use the page on other hosts than this one.

    \b
    devnet review users add ana --role analyst
    devnet review users list
    """


_name = click.argument("name")


@users.command()
@_name
@click.option(
    "--role",
    type=click.Choice(["analyst", "lead"]),
    required=True,
    help="Analysts judge rows; leads also train, go back, export and read the log.",
)
@_store
def add(name: str, role: str, store: Path) -> None:
    """Add an account; its password is asked for, or read from standard input."""
    from devnet.review.server.visitors import Role

    _accounts(store, may_make=True).add(name, Role(role), _password())
    echo(f"{name} may sign in as {role}.")


@users.command()
@_name
@_store
def password(name: str, store: Path) -> None:
    """Give an account a new password, and sign its user out."""
    _accounts(store).change_password(name, _password())
    echo(f"{name} has a new password.")


@users.command()
@_name
@_store
def remove(name: str, store: Path) -> None:
    """Remove an account, and sign its user out; verdicts stay."""
    _accounts(store).remove(name)
    echo(f"{name} may not sign in any more.")


@users.command(name="list")
@_store
def list_users(store: Path) -> None:
    """List accounts and their roles."""
    for one in _accounts(store).everybody():
        echo(f"{one.name}  {one.role}")


def _accounts(store: Path, *, may_make: bool = False) -> "Accounts":
    from devnet.review.server.accounts import Accounts, accounts_beside
    from devnet.review.store_file import refuse_odd

    refuse_odd(store, may_be_made=True)
    path = accounts_beside(store)
    if not (may_make or path.exists()):
        raise click.UsageError(f"nobody has an account for {path_text(store)} yet; {_add(store)}")
    return Accounts(path)


def _add(store: Path) -> str:
    command = f"devnet review users add NAME --role lead --store {quote(path_text(store))}"
    return f"add a lead first: {command}"


def _password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    found: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return found
