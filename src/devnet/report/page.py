"""From templates to pages."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devnet.core.sentence import UserError
from devnet.core.whole_file import check_target
from devnet.core.wording import cut, path_text, visible

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST = 160  # characters that a page shows of a text from outside
SUFFIXES = (".html", ".htm")


def check_report(path: Path | None) -> None:
    """Refuse a file that a report cannot be written to, or that is named like something else."""
    if path is None:
        return
    check_target(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"the report {path_text(path)} would be a page in HTML; give a name that ends in .html."
        )


def short(text: Any) -> str:
    """A text that does not break a page, however long it is."""
    return cut(str(text), LONGEST)


def render(template: str, facts: dict[str, Any], functions: dict[str, Callable[..., Any]]) -> str:
    """A page's HTML; all text is escaped, and what would not show is written out.

    Parameters
    ----------
    template : str
        A file in `templates`.
    facts, functions : dict
        Names for the template: the page's facts, and functions to show them with.
    """
    environment = templates_of("devnet.report")
    environment.globals.update(functions)
    text: str = environment.get_template(template).render(facts)
    return text


def templates_of(*packages: str) -> "Environment":
    """The templates of packages, the first that has one by a name; text in them is inert.

    A template stays as it was when it was first read.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=select_autoescape(),
        auto_reload=False,
        undefined=StrictUndefined,
        finalize=_visible_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["short"] = short
    return environment


def _visible_text(value: Any) -> Any:
    """A value as a page shows it; what is HTML already, such as a picture, stays as it is."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return visible(value) if is_text else value
