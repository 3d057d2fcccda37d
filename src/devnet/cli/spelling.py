"""Sentences in the words of the command line: `ignore=['amount']` is typed `--ignore amount`."""

import shlex
from typing import Any

from devnet.core.sentence import Sentence, Setting, UserError

OPTIONS = {  # parameter of the Python API -> option
    "label": "--label",
    "anomaly": "--anomaly",
    "normal": "--normal",
    "who": "--who",
    "ignore": "--ignore",
    "categorical": "--categorical",
    "id_column": "--id",
    "missing": "--missing",
    "seed": "--seed",
    "size": "--size",
    "random_state": "--seed",
    "method": "--method",
    "n_repeats": "--repeats",
    "time": "--time",
    "channel": "--channel",
    "length": "--length",
    "group": "--group",
    "output": "--output",
    "only_id": "--only-id",
    "spreadsheet_safe": "--spreadsheet-safe",
    "known": "--known",
    "n_shown": "--show",
    "rows": "--row",
    "folder": "--folder",
    "results": "--results",
    "names": "--name",
    "host": "--host",
    "store": "--store",
    "model": "--model",
    "port": "--port",
    "certificate": "--certificate",
    "key": "--key",
    "proxy": "--behind-proxy",
    "cluster": "--cluster",
    "workers": "--workers",
    "threshold": "--threshold",
}
PAIRS = ("size",)  # options that take two values
FLAGS = {  # options for true and false
    "decimal_comma": ("--decimal-comma", "--decimal-point"),
    "day_first": ("--day-first", "--month-first"),
}


def spell(setting: Setting) -> str:
    """A setting as typed on the command line, or as in Python if it has no option.

    >>> spell(Setting("ignore", ["amount", "card limit"])), spell(Setting("id_column"))
    ("--ignore amount --ignore 'card limit'", '--id')
    """
    if setting.name in FLAGS and setting.value is not None:
        return FLAGS[setting.name][not setting.value]
    option = OPTIONS.get(setting.name)
    if option is None:
        return str(setting)
    if setting.value is None or setting.value is True:  # a flag takes no value
        return option
    if setting.name in PAIRS:
        return f"{option} {' '.join(map(str, setting.value))}"
    values = setting.value if isinstance(setting.value, list | tuple) else [setting.value]
    return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


def worded(said: Any) -> str:
    """An error or a note with its settings spelled as options."""
    return said.spelled(spell) if isinstance(said, Sentence | UserError) else str(said)
