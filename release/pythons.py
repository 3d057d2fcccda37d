"""The Python versions of this machine that devnet supports, oldest first.

`python release/pythons.py newest` prints which program is the newest; `oldest`, the oldest.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)  # as `requires-python` says
ASK = "import sys; print(*sys.version_info[:2])"


def found() -> dict[tuple[int, int], str]:
    """Interpreter of each minor version: those on PATH, and those of pyenv."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], 30)]
    candidates = [path for name in names if (path := shutil.which(name))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += [str(path) for path in sorted(pyenv.glob("versions/*/bin/python"))]
    versions = {}
    for path in candidates:
        asked = subprocess.run([path, "-c", ASK], capture_output=True, text=True)
        if asked.returncode == 0 and re.fullmatch(r"\d+ \d+\n", asked.stdout):
            major, minor = map(int, asked.stdout.split())
            if (major, minor) >= OLDEST:
                versions[major, minor] = path
    return dict(sorted(versions.items()))


def oldest_and_newest() -> list[str]:
    """The interpreters to try a release with; one, if there is no other."""
    every = list(found().values())
    return list(dict.fromkeys([every[0], every[-1]])) if every else []


def main(which: str) -> None:
    """Print one of them, and say so if there is no choice."""
    ends = oldest_and_newest() or [sys.executable]
    if len(ends) == 1:
        print(f"{ends[0]} is the only Python here: the oldest and the newest", file=sys.stderr)
    print(ends[{"oldest": 0, "newest": -1}[which]])


if __name__ == "__main__":
    main(sys.argv[1])
