"""The built wheel in a fresh environment, without torch and without this repository's sources."""

import json
import os
import re
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")

pytestmark = pytest.mark.slow


@dataclass
class Environment:
    """A fresh environment with the wheel and its extras `[all]`."""

    folder: Path
    wheel: Path
    seconds: float

    def run(self, *command):
        """Run a program of this environment, away from the repository; returns its output."""
        binaries = self.folder / ("Scripts" if os.name == "nt" else "bin")
        done = run([str(binaries / command[0]), *command[1:]], cwd=self.folder.parent)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, program):
        return self.run("python", "-c", program)

    def megabytes(self):
        files = (path for path in self.folder.rglob("*") if not path.is_symlink())
        return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def run(command, cwd):
    clean = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    return subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    probe = run([*PIP, "download", "--no-deps", "--dest", str(folder), "hatchling"], cwd=folder)
    if probe.returncode:
        pytest.skip(f"no package index can be reached: {probe.stderr.strip()[-200:]}")
    build = [*PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    built = run(build, cwd=folder)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("deviation_network-*.whl")
    venv.create(folder / "environment", with_pip=True)
    fresh = Environment(folder / "environment", wheel, seconds=0.0)
    start = time.perf_counter()
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    fresh.run("python", "-m", "pip", "install", "--quiet", *constraints, f"{wheel}[all]")
    fresh.seconds = time.perf_counter() - start
    return fresh


def test_torch_is_not_installed_and_the_sources_are_the_wheel_s(environment):
    listed = environment.run("python", "-m", "pip", "list", "--format", "json")
    names = {package["name"].lower() for package in json.loads(listed)}
    assert {"deviation-network", "numpy", "pyarrow", "click", "jinja2"} <= names
    assert not {name for name in names if re.match("torch|nvidia|cuda|triton", name)}
    found = environment.python("import devnet; print(devnet.__file__)").strip()
    assert Path(found).is_relative_to(environment.folder)


def test_the_demo_runs_without_torch(environment):
    shown = environment.run("devnet", "demo", "--folder", "x", "--rows", "10000")
    assert "10,000 rows scored" in shown
    names = {path.name for path in (environment.folder.parent / "x").iterdir()}
    assert names == {"payments.parquet", "fraud.devnet", "scored.parquet", "report.html"}


def test_the_command_has_help_without_torch(environment):
    assert "fit" in environment.run("devnet", "--help")


def test_devnet_is_fitted_saved_and_loaded_without_torch(environment):
    environment.python("""
import numpy as np
from devnet import DevNet, load

rows = np.random.default_rng(0).normal(size=(300, 4))
is_anomaly = np.arange(300) < 5
rows[is_anomaly] += 4
model = DevNet(n_epochs=2, random_state=0).fit(rows, is_anomaly)
model.save("saved.devnet")
again = load("saved.devnet")
assert (again.anomaly_score(rows) == model.anomaly_score(rows)).all()
""")


def test_the_readme_says_how_large_the_install_is(environment, record_property):
    """Sizes at most a tenth above what the README says; seconds depend on the connection."""
    kilobytes, megabytes = environment.wheel.stat().st_size / 1e3, environment.megabytes()
    measured = f"wheel {kilobytes:.0f} KB, {environment.seconds:.0f} s, {megabytes:.0f} MB"
    record_property("measured", measured)
    said = re.search(
        r"wheel of (\d+) KB.*?(\d+)\s+seconds.*?(\d+)\s+MB", (ROOT / "README.md").read_text(), re.S
    )
    assert said, measured
    assert kilobytes <= 1.1 * int(said[1]), measured
    assert megabytes <= 1.1 * int(said[3]), measured
