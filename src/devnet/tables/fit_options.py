"""The settings of a fit in a model file, so that a loaded model can be fitted again."""

from typing import Any

from devnet.core.model_file import decode_parameters, encode_parameters, field, is_texts
from devnet.core.seeds import RANDOM_STATE
from devnet.detectors.methods import PARAMETER_KINDS
from devnet.tables.label_column import as_label
from devnet.tables.table_summary import names_of


def options_of(model: Any) -> dict[str, Any]:
    """The settings of the fit, so that a loaded model can be fitted again in the same way."""
    seed = model.random_state
    return {
        "parameters": encode_parameters(dict(model.parameters or {})),
        "ignore": names_of(model.ignore),
        "categorical": names_of(model.categorical),
        "anomaly": as_label(model.anomaly),
        "normal": as_label(model.normal),
        "id_column": model.id_column,
        "decimal_comma": model.decimal_comma,
        "day_first": model.day_first,
        "missing": names_of(model.missing),
        "random_state": seed if isinstance(seed, int) else None,
    }


def take_options(model: Any, options: dict[str, Any]) -> None:
    """Give a model the settings of its fit, with everything checked."""
    model.parameters = decode_parameters(
        field(options, "parameters", lambda value: isinstance(value, dict)), PARAMETER_KINDS
    )
    for name in ("ignore", "categorical"):
        setattr(model, name, tuple(field(options, name, is_texts)))
    options = {"normal": None, "decimal_comma": None, "day_first": None, "missing": [], **options}
    for name in ("anomaly", "normal", "id_column"):
        setattr(model, name, field(options, name, is_text_or_none))
    for name in ("decimal_comma", "day_first"):
        setattr(model, name, field(options, name, lambda value: value in (None, True, False)))
    model.missing = tuple(field(options, "missing", is_texts))
    model.random_state = field(options, "random_state", RANDOM_STATE.accepts)


def is_text_or_none(value: Any) -> bool:
    """Whether a value of a header is a text, or missing."""
    return value is None or isinstance(value, str)
