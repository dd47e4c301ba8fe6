"""The daily loop: style, the cheap contracts, and the tests of what has changed.

`make quick` runs, in less than two minutes:

- ruff on everything;
- the contracts that cost little: imports, catalogue, losses, penalties, kernels;
- of every module of the package that differs from the last commit: its doctests, and
  its tests, which have its name.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTRACTS = ("imports", "catalogue", "losses", "penalties", "kernels")


def changed_files():
    """Files that differ from the last commit, new ones included."""
    changed = lines_of("git", "diff", "--name-only", "HEAD")
    return changed + lines_of("git", "ls-files", "--others", "--exclude-standard")


def lines_of(*command):
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return out.stdout.splitlines()


def tests_of(name):
    """The files to test for a changed file: its doctests and the tests of its name."""
    path = Path(name)
    if not (ROOT / path).is_file() or path.suffix != ".py":
        return []
    if path.parts[0] == "tests" and path.name.startswith("test_"):
        return [name]
    if path.parts[:2] != ("src", "pansophy"):
        return []
    folder = ROOT / "tests" / Path(*path.parts[2:-1])
    test = folder / f"test_{path.stem.removeprefix('_')}.py"
    found = [] if path.name.startswith("_") else [name]
    return [*found, str(test.relative_to(ROOT))] if test.exists() else found


def main():
    commands = [[sys.executable, "-m", "ruff", "check", "."]]
    tests = [f"tests/common/test_{name}.py" for name in CONTRACTS]
    for name in changed_files():
        tests += tests_of(name)
    # pytest imports a module for its doctests alone if it comes before its tests
    tests.sort(key=lambda name: name.startswith("src"))
    quiet = ["-x", "-n", "2", "-m", "not slow and not gpu"]
    commands.append([sys.executable, "-m", "pytest", *quiet, *dict.fromkeys(tests)])
    for command in commands:
        status = subprocess.run(command, cwd=ROOT).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
