"""Processes that see the core dependencies alone, as after an install with no extra."""

import contextlib
import os
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def modules_beyond_core() -> list[str]:
    """Top-level modules installed here that no core dependency asks for."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [Requirement(line).name for line in asked["dependencies"]]
    core = {"pansophy"}
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in core:
            continue
        core.add(name)
        with contextlib.suppress(metadata.PackageNotFoundError):
            parts = [Requirement(line) for line in metadata.requires(name) or ()]
            waiting += [
                p.name
                for p in parts
                if not p.marker or p.marker.evaluate({"extra": ""})
            ]
    owners = metadata.packages_distributions()
    return sorted(
        module
        for module, names in owners.items()
        if module not in sys.stdlib_module_names  # backports may be installed
        and not core & {canonicalize_name(name) for name in names}
    )


HIDING = """
import sys
beyond = set({beyond!r})
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        absent = name.split(".")[0] in beyond
        return None if absent else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Without(f) for f in sys.meta_path]
"""


def core_only_environment(folder) -> dict:
    """Variables of a process that cannot import what is no core dependency.

    A file `sitecustomize.py` is written to the folder, which no other Python sees.
    """
    text = HIDING.format(beyond=modules_beyond_core())
    (folder / "sitecustomize.py").write_text(text)
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(paths)}
