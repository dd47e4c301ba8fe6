"""The daily loop: style, the cheap contracts, and the tests of what has changed.

`make quick` runs, in about two minutes:

- ruff on everything;
- the contracts that cost little: imports, catalogue, losses, penalties, kernels;
- of every module of the package that the branch has changed since it left the main one,
  and of what is not committed yet: its doctests, and its tests, which have its name;
- then the tests of what imports the changed modules, nearest first, until the two
  minutes are over.

What was left out for lack of time is printed, by file.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.import_graph import ImportGraph, is_test  # noqa: E402

CONTRACTS = (
    "tests/common/test_imports.py",
    "tests/test_catalogue.py",
    "tests/common/test_losses.py",
    "tests/common/test_penalties.py",
    "tests/common/test_kernels.py",
)
MAIN_BRANCHES = ("origin/HEAD", "origin/main", "main")
SECONDS = 120
NOTHING_SELECTED = 5  # pytest's status where all tests of the files are slow
NEIGHBOUR_FILES = 30  # test files of importers, however much time is left


def lines_of(*command):
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return out.stdout.splitlines()


def branch_start():
    """The commit in which this branch left the main one, or HEAD if there is none."""
    for branch in MAIN_BRANCHES:
        command = ["git", "merge-base", "HEAD", branch]
        out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if out.returncode == 0:
            return out.stdout.strip()
    return "HEAD"


def changed_files():
    """Files that differ from the start of the branch, new ones included."""
    changed = lines_of("git", "diff", "--name-only", branch_start())
    return changed + lines_of("git", "ls-files", "--others", "--exclude-standard")


def own_tests(file, graph):
    """The files to test for a changed file: its doctests and the tests of its name."""
    path = Path(file)
    if not (ROOT / path).is_file() or path.suffix != ".py":
        return []
    if path.parts[0] == "tests" and path.name.startswith("test_"):
        return [file]
    if path.parts[0] == "tools":
        test = f"tests/tools/test_{path.stem}.py"
        return [test] if (ROOT / test).is_file() else []
    if path.parts[:2] != ("src", "pansophy"):
        return []
    doctests = [] if path.name.startswith("_") else [file]
    return doctests + [test for test in [graph.own_test(file)] if test]


def plan(changed, graph):
    """(files that must pass, files of importers nearest first) for changed files."""
    must = list(CONTRACTS)
    for file in changed:
        must += own_tests(file, graph)
    # pytest imports a module for its doctests alone if it comes before its tests
    must = sorted(dict.fromkeys(must), key=lambda file: file.startswith("src"))
    known = [file for file in changed if file in graph.module_of and not is_test(file)]
    near = [test for test in graph.tests_near(known) if test not in must]
    return must, near


def pytest(files, seconds):
    """The status of the tests of some files that begin within so many seconds."""
    quiet = ["-x", "-n", "2", "-m", "not slow and not gpu"]
    limit = ["-p", "tools.time_limit", "--time-limit", str(round(seconds))]
    command = [sys.executable, "-m", "pytest", *quiet, *limit, *files]
    status = subprocess.run(command, cwd=ROOT).returncode
    return 0 if status == NOTHING_SELECTED else status


def main():
    start = time.monotonic()
    status = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=ROOT)
    if status.returncode:
        return status.returncode
    must, near = plan(changed_files(), ImportGraph(ROOT))
    missing = [file for file in must if not (ROOT / file).is_file()]
    if missing:  # pytest-xdist would run no test and not say why
        print(f"tools/quick.py names files that do not exist: {', '.join(missing)}")
        return 1
    status = pytest(must, SECONDS)
    seconds = SECONDS - (time.monotonic() - start)
    chosen, left_out = near[:NEIGHBOUR_FILES], near[NEIGHBOUR_FILES:]
    if status or not near:
        return status
    if seconds < 10:
        chosen, left_out = [], near
    if chosen:
        print(f"\nTests of what imports the changed modules: {len(chosen)} files")
        status = pytest(chosen, seconds)
    if left_out:
        print(f"\nLeft out, for lack of time: {len(left_out)} test files of importers")
        print(*(f"  {file}" for file in left_out[:10]), sep="\n")
        if len(left_out) > 10:
            print(f"  and {len(left_out) - 10} more")
    return status


if __name__ == "__main__":
    sys.exit(main())
