"""Builds the wheel with compiled loops inside. `make wheel`.

For each level of CPU (see `core/loop_cache.py`) that is worth shipping, the usual calls
of the public names are made in fresh processes that compile for that level alone, into
an empty folder; the loops found there afterwards are packed into the package. A level
can be built on any machine of the same architecture that can run it, since the calls
are really made.

    python tools/build_wheel.py                     all levels of this machine
    python tools/build_wheel.py x86-64-v3 --jobs 2  one level
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))


class ShippedPart(NamedTuple):
    """What is shipped for a level: some loops, and the public names that call them."""

    loops: tuple[str, ...] = ()  # all if empty
    names: tuple[str, ...] = ()  # all if empty


# Loops that AVX-512 makes faster by 5 to 20 % (`python -m
# benchmarks.studies.shipped_loops speed`); most gain nothing. Trees gain by its
# instructions and registers, k-means by vectors of 512 bits, which LLVM uses for znver4
# alone.
KMEANS_LOOPS = (
    "pansophy.cluster._kmeans.assign_block",
    "pansophy.cluster._kmeans.candidate_costs",
    "pansophy.cluster._kmeans.update_nearest_seed",
)
SHIPPED_PARTS = {
    "znver4": ShippedPart(KMEANS_LOOPS, ("pansophy.cluster",)),
    "x86-64-v4": ShippedPart(
        (
            "pansophy.tree._parallel_grower.grow_parallel",
            "pansophy.tree._prepared_columns.sort_column",
            "pansophy.tree._serial_grower.grow_serial",
            *KMEANS_LOOPS,
        ),
        ("pansophy.cluster", "pansophy.tree", "pansophy.ensemble"),
    ),
    "x86-64-v3": ShippedPart(),
    "generic": ShippedPart(),
    "apple-m1": ShippedPart(),
}
PACK = """
import sys
from pathlib import Path
from pansophy.core.loop_cache import loop_of_file, pack_user_folder
level, used, *loops = sys.argv[1:]
names = Path(used).read_text().split()
wanted = [name for name in names if not loops or loop_of_file(name) in loops]
print(pack_user_folder(level, wanted))
"""


def build_level(level: str, jobs: int | None) -> int:
    """Compile the loops for a level and pack them; returns how many there are.

    The usual calls are made twice: the first time they compile, the second time they
    tell which loops Python asks for.
    """
    part = SHIPPED_PARTS.get(level, ShippedPart())
    with tempfile.TemporaryDirectory() as folder:
        used = f"{folder}/used"
        Path(used).touch()
        environment = os.environ | {
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": "",
            "PANSOPHY_CACHE_DIR": os.environ.get("PANSOPHY_BUILD_DIR", folder),
            "PYTHONPATH": str(ROOT / "src"),
        }
        warm = [sys.executable, "-m", "pansophy", "warm", *part.names]
        warm += ["--jobs", str(jobs)] if jobs else []
        subprocess.run(warm, env=environment, check=True)
        environment["PANSOPHY_USED_LOOPS"] = used
        subprocess.run(warm, env=environment, check=True)
        packed = subprocess.run(
            [sys.executable, "-c", PACK, level, used, *part.loops],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return int(packed.stdout)


def main():
    from pansophy.core.loop_cache import SHIPPED, host_levels

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("levels", nargs="*", help="levels to compile for")
    parser.add_argument("--jobs", type=int, help="processes; one per core if absent")
    options = parser.parse_args()
    levels = options.levels or [n for n in host_levels() if n in SHIPPED_PARTS]
    unknown = sorted(set(levels) - set(host_levels()))
    if unknown:
        sys.exit(f"This machine cannot run code for {', '.join(unknown)}.")
    shutil.rmtree(SHIPPED, ignore_errors=True)
    for level in levels:
        print(f"{level}: {build_level(level, options.jobs)} loops")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", ROOT / "dist", ROOT],
        check=True,
    )


if __name__ == "__main__":
    main()
