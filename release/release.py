"""Check everything that a release must hold, and only then tag it: `make release VERSION=1.2.0`.

Each step prints one line, and the first that fails says why. Nothing is uploaded: CONTRIBUTING.md
says how to publish what this leaves in dist/.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from pythons import oldest_and_newest

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
FIT = """
import numpy as np
from devnet import DeviationEnsemble, DevNet
rows = np.random.default_rng(0).normal(size=(300, 4))
rows[:5] += 4
for detector in (DevNet(random_state=0), DeviationEnsemble(random_state=0)):
    scores = detector.fit(rows, np.arange(300) < 5).anomaly_score(rows)
    assert scores[:5].min() > scores[5:].mean(), detector
"""


class Refused(Exception):
    """Why there is no release."""


def run(*command: str, cwd: Path = ROOT, **variables: str) -> str:
    """Run a program; its output, or the end of what it said when it failed."""
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **variables}
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-800:]
        raise Refused(f"{' '.join(map(str, command))} failed:\n{said}")
    return done.stdout


def refuse_unready(version: str, root: Path = ROOT) -> None:
    """A clean tree, whose version and changelog are those of the release, not tagged yet."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise Refused(f"VERSION={version} is no version; give one such as VERSION=1.2.0")
    changed = run("git", "status", "--porcelain", cwd=root).strip()
    if changed:
        raise Refused(f"the tree has changes that are not committed; commit them first:\n{changed}")
    if run("git", "tag", "--list", f"v{version}", cwd=root).strip():
        raise Refused(f"v{version} is tagged already; give the next version")
    source = (root / "src" / "devnet" / "__init__.py").read_text()
    (written,) = re.findall(r'^__version__ = "(.+)"$', source, re.M)
    if written != version:
        raise Refused(f"devnet.__version__ is {written}; set it to {version}, and commit")
    changelog = (root / "CHANGELOG.md").read_text()
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.M):
        raise Refused(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'; write it")


def build(folder: Path) -> dict[str, str]:
    """Build sdist and wheel of this commit; the SHA-256 of each."""
    moment = run("git", "log", "-1", "--format=%ct").strip()
    run(
        *(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)),
        SOURCE_DATE_EPOCH=moment,
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def build_twice() -> Path:
    """Build into dist/, and again elsewhere: the same commit gives the same bytes; the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    first = build(DIST)
    with tempfile.TemporaryDirectory() as other:
        second = build(Path(other))
    if first != second:
        raise Refused(f"two builds of one commit differ: {first} and {second}")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, DIST.iterdir()))
    return next(DIST.glob("*.whl"))


def try_wheel(wheel: Path, python: str) -> None:
    """In a fresh environment: detectors without extras, then the demo with all of them."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(python, "-m", "venv", folder)
        own = str(place / "bin" / "python")
        run(own, "-m", "pip", "install", "--quiet", str(wheel), cwd=place)
        run(own, "-c", FIT, cwd=place)
        run(own, "-m", "pip", "install", "--quiet", f"{wheel}[all]", cwd=place)
        run(str(place / "bin" / "devnet"), "demo", "--rows", "10000", cwd=place)


def resolve_extras(wheel: Path) -> list[str]:
    """Ask pip whether every extra can be installed; their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = sorted(project["optional-dependencies"])
    constraint = ("--constraint", str(ROOT / "constraints.txt"))
    for extra in extras:
        asked = ("--dry-run", "--ignore-installed", "--quiet", *constraint)
        run(sys.executable, "-m", "pip", "install", *asked, f"{wheel}[{extra}]")
    return extras


def release(version: str) -> None:
    """All steps, in the order in which they are likely to fail."""
    refuse_unready(version)
    print(f"ready     version {version}, changelog, clean tree")
    wheel = build_twice()
    print(f"built     {wheel.name} and the sdist, twice, to the same bytes; twine has checked them")
    for python in oldest_and_newest():
        try_wheel(wheel, python)
        print(
            f"tried     the wheel, without and with extras, by {run(python, '--version').strip()}"
        )
    print(f"resolved  extras: {', '.join(resolve_extras(wheel))}")
    run("git", "tag", "--annotate", f"v{version}", "--message", f"Version {version}")
    print(f"tagged    v{version}; CONTRIBUTING.md says how to publish dist/")


if __name__ == "__main__":
    try:
        release(sys.argv[1] if len(sys.argv) > 1 else "")
    except Refused as refused:
        sys.exit(f"no release: {refused}")
