"""From templates to pages."""

from collections.abc import Callable
from typing import Any

from devnet.core.wording import cut, visible

LONGEST = 160  # characters that a page shows of a text from outside


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
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("devnet.report"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        finalize=_visible_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(functions, short=short)
    text: str = environment.get_template(template).render(facts)
    return text


def _visible_text(value: Any) -> Any:
    """A value as a page shows it; what is HTML already, such as a picture, stays as it is."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return visible(value) if is_text else value
