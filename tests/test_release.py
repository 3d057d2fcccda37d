"""A release is refused as long as anything is missing."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def tool(monkeypatch):
    def imported(name):
        monkeypatch.syspath_prepend(str(ROOT / "release"))
        return importlib.import_module(name)

    return imported


@pytest.fixture
def project(tmp_path):
    """A small repository that is ready to be released as 1.2.0."""
    (tmp_path / "src" / "devnet").mkdir(parents=True)
    (tmp_path / "src" / "devnet" / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.0] - 2026-12-01\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")


def refusal(release, project, version):
    try:
        release.refuse_unready(version, project)
    except release.Refused as refused:
        return str(refused)
    return None


def test_what_is_ready_is_not_refused(tool, project):
    assert refusal(tool("release"), project, "1.2.0") is None


@pytest.mark.parametrize(
    ("version", "spoil", "said"),
    [
        ("", lambda folder: None, "is no version"),
        ("1.2", lambda folder: None, "is no version"),
        ("1.3.0", lambda folder: None, "__version__ is 1.2.0; set it to 1.3.0"),
        ("1.2.0", lambda folder: (folder / "new").write_text("x"), "not committed"),
        ("1.2.0", lambda folder: git(folder, "tag", "v1.2.0"), "tagged already"),
    ],
)
def test_what_is_not_ready_is_refused_with_a_reason(tool, project, version, spoil, said):
    spoil(project)
    assert said in refusal(tool("release"), project, version)


def test_a_version_without_a_dated_section_is_refused(tool, project):
    (project / "CHANGELOG.md").write_text("## [1.2.0]\n")
    commit(project)
    assert "no section" in refusal(tool("release"), project, "1.2.0")


def test_lower_bounds_name_every_dependency_once(tool):
    bounds = tool("lower_bounds").lower_bounds()
    names = [bound.partition("==")[0] for bound in bounds]
    assert len(set(names)) == len(names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [group for name, group in project["optional-dependencies"].items() if name != "all"]
    for group in (project["dependencies"], *extras):
        assert {re.match(r"[\w-]+", one)[0] for one in group} <= set(names)
    assert "numpy==2.0" in bounds


def test_the_oldest_and_the_newest_python_are_found(tool):
    pythons = tool("pythons")
    assert sys.version_info[:2] in pythons.found()
    assert 1 <= len(pythons.oldest_and_newest()) <= 2


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_machine_with_one_python_is_told_so(tool, n, monkeypatch, capsys):
    pythons = tool("pythons")
    monkeypatch.setattr(pythons, "found", lambda: {(3, 11 + i): f"python-{i}" for i in range(n)})
    for which, expected in (("oldest", "python-0"), ("newest", f"python-{n - 1}")):
        pythons.main(which)
        printed, said = capsys.readouterr()
        assert printed.strip() == (expected if n else sys.executable)
        assert ("is the only Python here" in said) == (n < 2)


def test_both_hosts_run_the_jobs_of_the_makefile():
    jobs = re.findall(r"^job (?:--\S+ )?(\w+)$", (ROOT / ".ci" / "run").read_text(), re.M)
    assert {"docs", "newest", "oldest", "test"} <= set(jobs)
    assert set(jobs) <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    for host in (".github/workflows/ci.yml", ".gitlab-ci.yml"):
        assert re.search(r"bash \.ci/run$", (ROOT / host).read_text(), re.M)


@pytest.mark.parametrize("job", ["oldest", "newest"])
def test_the_tests_of_old_and_new_versions_exist(job):
    touched = ["-o", f".venv-{job}/installed", "--dry-run"]  # so that nothing is to be set up
    shown = subprocess.run(["make", job, *touched], cwd=ROOT, capture_output=True, text=True)
    paths = re.findall(r"tests/\S+", shown.stdout)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_citation_names_the_last_release():
    (version,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    (date,) = re.findall(r"^date-released: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert f"## [{version}] - {date}\n" in (ROOT / "CHANGELOG.md").read_text()
