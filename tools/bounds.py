"""Tries the versions that pyproject.toml promises. `make test-lowest`.

Makes a clean virtual environment with exactly the lowest version of every dependency
and extra that pyproject.toml declares, fits every estimator there and prints a table,
then runs a selection of the tests. With `--newest`, the newest version of everything.

    python tools/bounds.py             .venv-lowest, lowest versions
    python tools/bounds.py --newest    .venv-newest, newest versions
    python tools/bounds.py --fits-only naive_bayes tree

A lower bound for which there is no wheel for this Python, or that contradicts another,
ends the run with pip's message: the bound is false, and is raised in pyproject.toml.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The release whose wheels resolve to the CPU build; other versions bring CUDA along.
TORCH = "torch==2.13.0"
NOT_INSTALLED = {"ruff", "pyrefly"}  # not imported by tests
TESTS = (
    "tests/core", "tests/test_base.py", "tests/test_params.py", "tests/test_links.py",
    "tests/common/test_losses.py", "tests/common/test_penalties.py",
    "tests/common/test_kernels.py", "tests/common/test_distributions.py",
    "tests/common/test_em.py", "tests/common/test_filters.py",
    "tests/common/test_solvers.py", "tests/common/test_text_estimators.py",
    "tests/common/test_imports.py", "tests/common/test_persist.py",
    "tests/persist", "tests/tables", "tests/cli", "tests/serve",
)  # fmt: skip


PEERS = ("bench", "oracles")  # extras


def declared_requirements() -> list[str]:
    """Requirements of the package, of all its extras, and of its tests.

    Peers, of the benchmarks and of the tests, have no bounds: they are pinned.

    Examples
    --------
    >>> from tools.bounds import declared_requirements
    >>> any(line.startswith("numba>=") for line in declared_requirements())
    True
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    kept = [lines for name, lines in extras.items() if name not in PEERS]
    used = [line for lines in kept for line in lines]
    return [
        line
        for line in (*project["dependencies"], *used)
        if name_of(line) not in NOT_INSTALLED | {"pansophy"}
    ]


def name_of(requirement: str) -> str:
    """Name of the distribution, as the package index writes it.

    Examples
    --------
    >>> from tools.bounds import name_of
    >>> name_of("Scikit_Learn>=1.9")
    'scikit-learn'
    """
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(requirement: str, newest: bool) -> str:
    """The requirement with its lower bound as the only version, or with none.

    Examples
    --------
    >>> from tools.bounds import pinned
    >>> pinned("numpy>=2.0", newest=False), pinned("numpy>=2.0", newest=True)
    ('numpy==2.0', 'numpy')
    """
    name = name_of(requirement)
    if name == "torch":
        return TORCH
    if newest:
        return name
    if ">=" not in requirement:
        raise ValueError(f"{requirement} in pyproject.toml has no lower bound.")
    return f"{name}=={requirement.partition('>=')[2].partition(',')[0].strip()}"


def make_environment(folder: Path, newest: bool) -> Path:
    """Create the environment if need be; returns its Python."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = [pinned(line, newest) for line in declared_requirements()]
    record = folder / "wanted.txt"
    text = "\n".join(wanted)
    if not newest and record.exists() and record.read_text("utf-8") == text:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    install = [python, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    install += ["--only-binary", ":all:"]
    subprocess.run([*install, "--upgrade", "pip"], check=True)
    subprocess.run([*install, TORCH], check=True)  # first and alone: the CPU build
    subprocess.run([*install, *wanted], check=True)
    record.write_text(text, "utf-8")
    return python


def print_versions(folder: Path) -> None:
    """Versions in the environment of what pyproject.toml declares."""
    packages = next(folder.glob("[Ll]ib*/**/site-packages"))
    found = {name_of(d.name): d.version for d in distributions(path=[str(packages)])}
    for line in dict.fromkeys(declared_requirements()):
        print(f"{line:28s} {found.get(name_of(line), 'not installed')}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", help="fit only estimators of these")
    parser.add_argument("--newest", action="store_true", help="newest versions")
    parser.add_argument("--fits-only", action="store_true", help="run no tests")
    options = parser.parse_args()
    folder = ROOT / (".venv-newest" if options.newest else ".venv-lowest")
    python = make_environment(folder, options.newest)
    print_versions(folder)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PANSOPHY_CACHE_DIR": str(folder / "cache"),
    }
    commands = [[python, "tools/bounds_fits.py", *options.packages]]
    if not options.fits_only:
        tests = ["-m", "pytest", "-m", "not slow and not gpu", "-p", "no:cacheprovider"]
        # scikit-learn, NumPy and others warn of what later versions change
        tests += ["-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning"]
        commands.append([python, *tests, *TESTS])
    codes = [subprocess.run(c, cwd=ROOT, env=environment).returncode for c in commands]
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
