"""With `--listed-skips` a test that is skipped for an unknown reason fails the run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def run(tmp_path, monkeypatch):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "tests").mkdir()
    for name in ("__init__.py", "seed_shift.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a second each

    def run(text, *options):
        (tmp_path / "test_it.py").write_text(f"import pytest\n\n\n{text}")
        command = [sys.executable, "-m", "pytest", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


ABSENT = "def test_peer():\n    pytest.importorskip('no_such_peer')\n"
LISTED = "def test_kernel():\n    pytest.skip('Triton is not here')\n"
WHOLE_FILE = f"pytest.importorskip('no_such_peer')\n\n\n{LISTED}"
EXPECTED = "@pytest.mark.xfail\ndef test_open():\n    assert False\n"


def test_an_absent_peer_fails_the_run_only_where_it_is_asked(run):
    assert run(ABSENT + LISTED).returncode == 0
    out = run(ABSENT + LISTED, "--listed-skips", "-p", "xdist", "-n", "1")
    assert out.returncode == 1
    assert "UNLISTED SKIP test_it.py::test_peer" in out.stdout
    assert "test_kernel:" not in out.stdout
    assert "UNLISTED SKIP test_it.py" in run(WHOLE_FILE, "--listed-skips").stdout


def test_listed_reasons_and_expected_failures_pass(run):
    out = run(LISTED + "\n\n" + EXPECTED, "--listed-skips")
    assert out.returncode == 0, out.stdout
