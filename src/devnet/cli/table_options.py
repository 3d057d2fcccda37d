"""What verbs share: options for tables, alert policies and JSON, and a progress bar of rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from devnet.cli.spelling import spell
from devnet.cli.terminal import echo_notes
from devnet.core.sentence import Setting
from devnet.core.wording import visible

if TYPE_CHECKING:
    from devnet.significance.policies import AlertPolicy
    from devnet.tables.readings.reading import Conventions
    from devnet.tables.table_model import TableModel

Command = Callable[..., Any]
MEGABYTE = 1e6

as_json = click.option("--json", "wants_json", is_flag=True, help="Print JSON for other programs.")

spreadsheet_safe = click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="Put ' before texts of a CSV file that a spreadsheet would run as formulas.",
)

_POLICY_OPTIONS = (
    click.option("--budget", type=int, metavar="N", help="Alert on the N highest rows."),
    click.option(
        "--false-alarm-rate",
        type=float,
        metavar="A",
        help="Alert on rows that score like the top share A of unlabelled rows, such as 0.01.",
    ),
    click.option(
        "--fdr",
        type=float,
        metavar="Q",
        help="Alert so that on average at most a share Q of the alerts is false.",
    ),
    click.option(
        "--confidence",
        type=float,
        metavar="P",
        help="Alert above the score that normal rows stay below with probability P, such as 0.95.",
    ),
    click.option(
        "--cost",
        type=(float, float),
        metavar="MISSED FALSE",
        help="Alert so that missed anomalies and false alarms, at these costs, cost least.",
    ),
)


def _only_one(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str:
    if len(values) > 1:
        raise click.UsageError(
            f"{option.opts[0]} is given {len(values)} times, as {' and '.join(map(repr, values))}; "
            "give it once."
        )
    return values[0] if values else ""


def _not_negative(context: click.Context, option: click.Parameter, value: int) -> int:
    if value < 0:
        raise click.UsageError(
            f"{option.opts[0]} {value} is not possible: give a whole number of at least 0."
        )
    return value


_TRAINING_OPTIONS = (
    click.option(
        "--label",
        multiple=True,
        callback=_only_one,
        metavar="COLUMN",
        help="The column that marks anomalies.",
    ),
    click.option(
        "--ignore", multiple=True, metavar="COLUMN", help="Leave a column out; repeatable."
    ),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="Treat a column of numbers or dates as categories; repeatable.",
    ),
    click.option(
        "--anomaly",
        metavar="VALUE",
        help="The label of anomalies.  [default: the larger number, the rarer text]",
    ),
    click.option(
        "--normal",
        metavar="VALUE",
        help="The label of rows known to be normal, such as 'false alarm'.  [default: none]",
    ),
    click.option(
        "--id",
        "id_column",
        metavar="COLUMN",
        help="The column that names rows.  [default: the first whose values all differ]",
    ),
    click.option(
        "--decimal-comma/--decimal-point",
        "decimal_comma",
        default=None,
        help="How to read '1,234'.  [default: as the values suggest, else 1234]",
    ),
    click.option(
        "--day-first/--month-first",
        "day_first",
        default=None,
        help="How to read '04/05/2017'.  [default: as the values suggest, else 5 April]",
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="TEXT",
        help="A value that stands for a missing one, such as 9999; repeatable.",
    ),
    click.option(
        "--seed",
        type=int,
        callback=_not_negative,
        default=0,
        show_default=True,
        help="Seed of all random draws.",
    ),
)


class TrainingOptions(NamedTuple):
    """What the user says about the columns of a training table."""

    label: str  # empty if it is not given, which `fit` allows
    ignore: tuple[str, ...]
    categorical: tuple[str, ...]
    anomaly: str | None
    normal: str | None
    id_column: str | None
    decimal_comma: bool | None
    day_first: bool | None
    missing: tuple[str, ...]
    seed: int

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return {
            name: value
            for name, value in self._asdict().items()
            if value not in (None, (), "") and (name, value) != ("seed", 0)
        }

    def typed(self) -> str:
        """The same as they are typed, for the next command."""
        return " ".join(spell(Setting(name, value)) for name, value in self.given().items())

    def conventions(self) -> "Conventions":
        """How the table writes values."""
        from devnet.tables.readings.reading import Conventions

        return Conventions(self.decimal_comma, self.day_first, self.missing)


def training_options(command: Command) -> Command:
    """Options about the columns of a training table, as one argument, `training`."""

    @wraps(command)
    def collected(**arguments: Any) -> Any:
        training = TrainingOptions(*(arguments.pop(name) for name in TrainingOptions._fields))
        return command(training=training, **arguments)

    return _decorate(collected, _TRAINING_OPTIONS)


def policy_options(command: Command) -> Command:
    """Options that choose which rows are alerts."""
    return _decorate(command, _POLICY_OPTIONS)


def chosen_policy(
    *,
    budget: int | None,
    false_alarm_rate: float | None,
    fdr: float | None,
    confidence: float | None,
    cost: tuple[float, float] | None,
) -> "AlertPolicy | None":
    """The policy that the options name, if any."""
    from devnet.core.parameters import ParameterError
    from devnet.significance.policies import (
        Budget,
        Confidence,
        ExpectedCost,
        FalseAlarmRate,
        FalseDiscoveryRate,
    )

    made: dict[str, Callable[[Any], AlertPolicy]] = {
        "--budget": Budget,
        "--false-alarm-rate": FalseAlarmRate,
        "--fdr": FalseDiscoveryRate,
        "--confidence": Confidence,
        "--cost": lambda costs: ExpectedCost(*costs),
    }
    values = (budget, false_alarm_rate, fdr, confidence, cost)
    given = [(name, v) for name, v in zip(made, values, strict=True) if v is not None]
    if len(given) > 1:
        raise click.UsageError(
            f"{given[0][0]} and {given[1][0]} exclude each other; give one of them."
        )
    if not given:
        return None
    ((option, value),) = given
    try:
        return made[option](value)
    except ParameterError as error:
        typed = " ".join(map(str, value)) if isinstance(value, tuple) else value
        raise click.UsageError(f"{option} {typed} is not possible: give {error.says}.") from None


def _decorate(command: Command, options: tuple[Any, ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def open_any(path: Path) -> Any:
    """Open a model of any kind; note if nothing vouches for the file."""
    from devnet.core.checksum import CHECKSUM
    from devnet.core.model_file import ModelFileError, read_header
    from devnet.loading import load
    from devnet.tables.sources.opening import TABLE_SUFFIXES

    try:
        model = load(path)
    except ModelFileError:
        if path.is_file() and path.suffix.lower() in TABLE_SUFFIXES:
            raise click.UsageError(f"{path} is not a model; {_instead_of_a_table(path)}") from None
        raise
    if CHECKSUM not in read_header(path):
        echo_notes(
            [
                f"{path} was written before model files had a checksum, so damage to it would go "
                "unnoticed; saving it again adds one."
            ]
        )
    return model


def open_model(path: Path) -> "TableModel":
    """Open a model of raw tables, or raise a clear error."""
    from devnet.deep.kept_model import KeptModel
    from devnet.tables.table_model import TableModel

    model = open_any(path)
    if isinstance(model, KeptModel):
        raise click.UsageError(
            f"{path} is a model of {model.kind}; this takes models of tables. Those of images and "
            "series go with fit, score, alerts, explain, inspect and policy."
        )
    if not isinstance(model, TableModel):
        raise click.UsageError(
            f"{path} holds a {type(model).__name__} that was fitted on a matrix in Python, not a "
            f"model of tables. Use it with devnet.load({str(path)!r}), or fit a model: devnet fit "
            "TABLE --label COLUMN --output MODEL"
        )
    return model


def _instead_of_a_table(path: Path) -> str:
    """What to type if a table is given for a model."""
    if any(one.name == "table" for one in click.get_current_context().command.params):
        return "the model comes first, then the table."
    return f"learn one from the table: devnet fit {quote(str(path))} --label COLUMN --output MODEL"


@contextmanager
def counting_rows(what: str, table: str, then: str = "") -> Iterator[Callable[[int], None]]:
    """A bar with rows and rows per second on standard error, if it is a terminal.

    If the table knows its number of rows, the bar fills up, and then says what comes next. For a
    text file, perhaps compressed, it fills up by the bytes read.
    """
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),  # a glob may have [brackets]
        BarColumn(),
        TextColumn("{task.completed:,} rows"),
        TextColumn("{task.fields[read]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    from devnet.tables.sources.meter import metered

    n_rows, n_bytes = _count(table)
    with metered() as meter, Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(f"{what} {visible(table)}", total=n_rows, read="", speed="")

        def update(done: int) -> None:
            speed, n_read = bars.tasks[task].speed, meter.n_read()
            bars.update(task, completed=done, speed=f"{speed:,.0f} rows/s" if speed else "")
            if n_read and n_rows is None:
                expected = done * n_bytes // n_read
                bars.update(task, total=max(done, expected), read=_read_text(n_read, n_bytes))
            if then and done == n_rows:
                bars.update(task, description=then)

        yield update


def _read_text(n_read: int, n_bytes: int) -> str:
    return f"{n_read / MEGABYTE:,.1f} of {n_bytes / MEGABYTE:,.1f} MB read"


def _count(table: str) -> tuple[int | None, int]:
    """Rows of a table, if known before reading it, and bytes of its files."""
    from devnet.tables.sources.opening import open_table

    try:
        source = open_table(table)
        return source.n_rows, sum(path.stat().st_size for path in source.paths)
    except (ValueError, OSError):  # the verb itself reports it
        return None, 0
