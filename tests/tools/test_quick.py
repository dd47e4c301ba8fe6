"""The daily loop: what it names exists, and what it chooses is what has changed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools import quick  # noqa: E402
from tools.import_graph import ImportGraph  # noqa: E402

FILES = {
    "pyproject.toml": (
        '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n'
        'pythonpath = [".", "src"]\nmarkers = ["slow: minutes", "gpu: a device"]\n'
    ),
    "src/pansophy/__init__.py": "",
    "src/pansophy/base.py": "def double(x):\n    return 2 * x\n",
    "src/pansophy/user.py": (
        "from .base import double\n\n\ndef four(x):\n    return double(double(x))\n"
    ),
    "tests/test_base.py": (
        "from pansophy.base import double\n\n\n"
        "def test_double():\n    assert double(0) == 0\n"
    ),
    "tests/test_user.py": (
        "from pansophy.user import four\n\n\n"
        "def test_four():\n    assert four(1) == 4\n"
    ),
}


def git(folder, *words):
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A small repository whose branch has one commit more than main."""
    for file, text in FILES.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    git(tmp_path, "init", "-b", "main")
    git(tmp_path, "add", "src", "tests", "pyproject.toml")
    git(tmp_path, "commit", "-m", "start")
    git(tmp_path, "checkout", "-b", "topic")
    (tmp_path / ".git" / "info" / "exclude").write_text("tools\n__pycache__\n")
    monkeypatch.setattr(quick, "ROOT", tmp_path)
    monkeypatch.setattr(quick, "CONTRACTS", ())
    # coverage of a parent process, and its paths, are not meant for the child
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p xdist")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a second each
    return tmp_path


def break_base(repository, text="def double(x):\n    return 3 * x\n"):
    (repository / "src/pansophy/base.py").write_text(text)


def test_the_contracts_exist():
    for file in quick.CONTRACTS:
        assert (ROOT / file).is_file(), file


def test_a_commit_of_the_branch_counts_as_changed(repository):
    break_base(repository)
    git(repository, "commit", "-am", "wrong")
    (repository / "src/pansophy/new.py").write_text("")
    assert sorted(quick.changed_files()) == [
        "src/pansophy/base.py",
        "src/pansophy/new.py",
    ]


def test_without_a_main_branch_the_last_commit_counts(repository):
    git(repository, "branch", "-D", "main")
    assert quick.branch_start() == "HEAD"
    break_base(repository)
    assert quick.changed_files() == ["src/pansophy/base.py"]


def test_own_tests_then_those_of_importers(repository):
    must, near = quick.plan(["src/pansophy/base.py"], ImportGraph(repository))
    assert must == ["tests/test_base.py", "src/pansophy/base.py"]
    assert near == ["tests/test_user.py"]


def test_a_test_of_an_importer_fails_the_run(repository, capfd):
    """The tests of `base` see nothing; those of `user`, which imports it, do."""
    break_base(repository)
    assert quick.main() > 0
    assert "test_four" in capfd.readouterr().out


def test_a_missing_contract_is_named(repository, monkeypatch, capfd):
    monkeypatch.setattr(quick, "CONTRACTS", ("tests/test_gone.py",))
    assert quick.main() == 1
    assert "tests/test_gone.py" in capfd.readouterr().out


def test_what_has_no_time_left_is_named(repository, monkeypatch, capfd):
    break_base(repository)
    monkeypatch.setattr(quick, "SECONDS", 0)
    assert quick.main() == 0
    assert "tests/test_user.py" in capfd.readouterr().out


def test_tests_that_begin_too_late_are_left_out(repository):
    limit = ["-p", "tools.time_limit", "--time-limit", "0", "-n", "2"]
    command = [sys.executable, "-m", "pytest", *limit, "tests/test_user.py"]
    out = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr
    assert "1 tests of tests/test_user.py" in out.stdout
