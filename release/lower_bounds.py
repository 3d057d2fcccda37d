"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

torch is pinned as in constraints.txt: older builds without CUDA are not on every index, and those
with it fill gigabytes.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"all"}  # it repeats others
TOOLS = "torch|pytest.*|hypothesis|polars"


def lower_bounds() -> list[str]:
    """`name==version` for every dependency and every extra, and the tools of the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"]]
    named += [one for name, group in extras.items() if name not in LEFT_OUT for one in group]
    oldest = {}
    for one in named:
        name, version = re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", one).groups()
        oldest[name] = version
    pinned = re.findall(rf"^({TOOLS})==(.+)$", _constraints(), re.M)
    return sorted(f"{name}=={version}" for name, version in {**oldest, **dict(pinned)}.items())


def _constraints() -> str:
    return (ROOT / "constraints.txt").read_text()


if __name__ == "__main__":
    print("\n".join(lower_bounds()))
