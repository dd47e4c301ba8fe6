"""Build hook: a wheel with compiled loops is for one platform and one Python.

The loops hold machine code that Numba loads and links to itself, and no shared library
that the system's loader would see: they ask for no version of the C library. Numba's
own wheels do, so that the tag for Linux is the one of the oldest that it supports.
"""

import platform
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MANYLINUX = "manylinux_2_17"  # glibc 2.17, which every manylinux image since 2014 has


def wheel_tag() -> str:
    """Tag of a wheel with machine code that is built by this Python, here."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    if sys.platform == "linux":
        target = f"{MANYLINUX}_{platform.machine()}"
    else:
        target = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{target}"


class PlatformTag(BuildHookInterface):
    """Marks the wheel as not pure if it holds machine code."""

    def initialize(self, version, build_data):
        loops = Path(self.root) / "src" / "pansophy" / "_compiled_loops"
        if version != "editable" and loops.is_dir() and any(loops.iterdir()):
            build_data["pure_python"] = False
            build_data["tag"] = wheel_tag()
