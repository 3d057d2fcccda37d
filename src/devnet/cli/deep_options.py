"""Options of folders of images and of series, and which of the three a command is about."""

from collections.abc import Collection
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from devnet.cli.spelling import spell
from devnet.cli.table_options import Command, TrainingOptions, open_any
from devnet.core.sentence import Setting

if TYPE_CHECKING:
    from devnet.deep.kept_model import KeptModel

_OPTIONS = {
    "series": click.option(
        "--series", is_flag=True, help="TABLE is a series: its rows follow each other."
    ),
    "time": click.option("--time", metavar="COLUMN", help="Of a series: the column of times."),
    "channels": click.option(
        "--channel",
        "channels",
        multiple=True,
        metavar="COLUMN",
        help="Of a series: a column of numbers; repeatable.  [default: all others]",
    ),
    "length": click.option(
        "--length",
        type=click.IntRange(min=2),
        metavar="STEPS",
        help="Of a series: steps of a window.  [default: 64]",
    ),
    "head": click.option(
        "--head",
        type=click.Choice(["global", "patches", "steps"]),
        help="What is scored: all of it, or its patches or steps.  [default: global]",
    ),
    "size": click.option(
        "--size",
        type=(int, int),
        metavar="HEIGHT WIDTH",
        help="Of images: resize them to so many pixels.",
    ),
}

OF_SERIES_TABLES = ("label", "decimal_comma", "day_first", "missing")  # of the training options
OF_SERIES = ("time", "channels", "length", "head")
NEEDS_COLUMNS = (
    "a series needs --time COLUMN, the column of times, and --label COLUMN, with 1 in rows of "
    "known anomalies."
)
VERBS_OF = {"images": "devnet.cli.image_verbs", "series": "devnet.cli.series_verbs"}

maps_option = click.option(
    "--maps",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Of images: write each with a map of where it is anomalous, as PNG.",
)


class DeepOptions(NamedTuple):
    """What the user says about images or a series."""

    series: bool = False
    time: str | None = None
    channels: tuple[str, ...] = ()
    length: int | None = None
    head: str | None = None
    size: tuple[int, int] | None = None

    def refuse_but(self, what: str, *allowed: str) -> None:
        """Refuse options that say nothing about this kind of input."""
        for name, value in self._asdict().items():
            if value not in (None, False, ()) and name not in allowed:
                raise click.UsageError(f"{_option(name)} does not apply to {what}; leave it out.")

    def refuse_for_tables(self) -> None:
        """Refuse options of images and series where the table is neither."""
        for name, value in self._asdict().items():
            if value not in (None, False, ()):
                other = "add --series" if name in OF_SERIES else "give a folder of images"
                raise click.UsageError(
                    f"{_option(name)} is not for tables: {other}, or leave it out."
                )


def _option(name: str) -> str:
    return {"channels": "--channel"}.get(name, f"--{name}")


def deep_options(command: Command, *, without: tuple[str, ...] = ()) -> Command:
    """Options of images and series, as one argument, `deep`; `without` some of them."""
    offered = {name: option for name, option in _OPTIONS.items() if name not in without}

    @wraps(command)
    def collected(**arguments: Any) -> Any:
        deep = DeepOptions(**{name: arguments.pop(name) for name in offered})
        return command(deep=deep, **arguments)

    for option in reversed(offered.values()):
        collected = option(collected)
    return collected


def holds_images(table: str) -> bool:
    """Whether a folder has images, not tables, in it."""
    from devnet.deep.images.image_folder import ENDINGS

    folder = Path(table)
    if not folder.is_dir():
        return folder.suffix.lower() in ENDINGS
    names = (path.suffix.lower() for path in folder.rglob("*"))
    return next((True for name in names if name in ENDINGS), False)


def refuse_table_options(
    training: TrainingOptions, what: str, allowed: Collection[str] = ()
) -> None:
    """Refuse options about the columns of a table where there are none."""
    for name, value in training.given().items():
        if name not in ("seed", *allowed):
            option = spell(Setting(name, value)).partition(" ")[0]
            raise click.UsageError(f"{option} is about the columns of a table, not {what}.")


def open_kept(path: Path) -> "KeptModel | None":
    """A model of images or of series; None if the file is anything else."""
    from devnet.core.model_file import ModelFileError, read_header
    from devnet.deep.methods import KEPT_MODELS

    try:
        header = read_header(path)
    except (ModelFileError, OSError):
        return None  # what opens models of tables says what is wrong
    if not set(header) & set(KEPT_MODELS):
        return None
    model: KeptModel = open_any(path)
    return model


def refuse_maps(maps: Path | None, model: Path) -> None:
    """Refuse maps of rows of tables."""
    if maps is not None:
        raise click.UsageError(f"--maps is for images, but {model} is a model of tables.")


def verbs_of(model: "KeptModel") -> Any:
    """The module with what verbs do for this kind of model."""
    return import_module(VERBS_OF[model.kind])
