"""Builds the wheel with compiled loops inside. `make wheel`.

For the first level of CPU (see `core/loops/loop_cache.py`) the usual calls of the
public names are made in fresh processes that compile for that level alone, into an
empty folder; the loops found there afterwards are packed into the package. Higher
levels hold a few of the same loops: these are compiled for the types that the files of
the first level were made for, without calling anything. A machine must be able to run
the code of the first level, and compiles for the others whatever it is.

    python tools/build_wheel.py                     all levels of this machine
    python tools/build_wheel.py x86-64-v3 --jobs 2  the first level alone
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))


# Loops that AVX-512 makes faster by 5 to 20 % (`python -m
# benchmarks.studies.shipped_loops speed`); most gain nothing. Trees gain by its
# instructions and registers, k-means by vectors of 512 bits, which LLVM uses for znver4
# alone.
KMEANS_LOOPS = (
    "pansophy.cluster.centers._kmeans.assign_block",
    "pansophy.cluster.centers._kmeans.candidate_costs",
    "pansophy.cluster.centers._kmeans.update_nearest_seed",
)
TREE_LOOPS = (
    "pansophy.tree.growing._parallel_grower.grow_parallel",
    "pansophy.tree.growing._prepared_columns.sort_column",
    "pansophy.tree.growing._serial_grower.grow_serial",
)
# which levels are built from which, and the loops they hold
FIRST_LEVELS = ("x86-64-v3", "generic", "apple-m1")
HIGHER_LEVELS = {
    "x86-64-v4": (*TREE_LOOPS, *KMEANS_LOOPS),
    "znver4": KMEANS_LOOPS,
}
PACK = """
import sys
from pansophy.core.loops.loop_cache import pack_user_folder
print(pack_user_folder(sys.argv[1], sys.argv[2:]))
"""
RECOMPILE = """
import sys
from pansophy.core.loops.loop_cache import recompile_shipped
recompile_shipped(sys.argv[1], sys.argv[2:])
"""


def environment_of(level: str, folder: str) -> dict:
    """Variables of a process that compiles for a level, into a folder."""
    return os.environ | {
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
        "PANSOPHY_CACHE_DIR": os.environ.get("PANSOPHY_BUILD_DIR", folder),
        "PYTHONPATH": str(ROOT / "src"),
    }


def pack(level: str, environment: dict, loops=()) -> int:
    """Pack what was compiled for a level; returns how many files there are."""
    packed = subprocess.run(
        [sys.executable, "-c", PACK, level, *loops],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(packed.stdout)


def build_first_level(level: str, jobs: int, names=()) -> int:
    """Make the usual calls, of the names given or of all, and pack what they compile.

    Only what Python calls is kept on disk: code of loops that other loops call is part
    of theirs.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(level, folder)
        warm = [sys.executable, "-m", "pansophy", "warm", *names, "--jobs", str(jobs)]
        subprocess.run(warm, env=environment, check=True)
        return pack(level, environment)


def build_higher_level(level: str, first: str, jobs: int) -> int:
    """Compile some of the first level's loops for a higher level, and pack them."""
    from pansophy.core.loops.loop_cache import SHIPPED, loop_of_file

    files = [
        path
        for path in (SHIPPED / first).glob("*.loop")
        if loop_of_file(path.name) in HIGHER_LEVELS[level]
    ]
    files.sort(key=lambda path: -path.stat().st_size)  # the longest first
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(level, folder)
        parts = [[path.name for path in files[k::jobs]] for k in range(jobs)]
        running = [
            subprocess.Popen(
                [sys.executable, "-c", RECOMPILE, first, *part], env=environment
            )
            for part in parts
            if part
        ]
        codes = [process.wait() for process in running]
        if any(codes):
            sys.exit(f"The loops of {level} could not be compiled.")
        return pack(level, environment, HIGHER_LEVELS[level])


def main():
    from pansophy.core.loops.loop_cache import SHIPPED, host_levels

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("levels", nargs="*", help="levels to compile for")
    parser.add_argument("--names", nargs="+", help="only loops of these public names")
    parser.add_argument("--jobs", type=int, help="processes; one per core if absent")
    options = parser.parse_args()
    first = next(level for level in FIRST_LEVELS if level in host_levels())
    higher = [n for n in HIGHER_LEVELS if n in options.levels or not options.levels]
    unknown = sorted(set(options.levels) - {first, *HIGHER_LEVELS})
    if unknown:
        sys.exit(f"Nothing is shipped for {', '.join(unknown)} on this machine.")
    shutil.rmtree(SHIPPED, ignore_errors=True)
    jobs = options.jobs or os.cpu_count() or 1
    began = time.perf_counter()
    n_loops = build_first_level(first, jobs, options.names or ())
    print(f"{first}: {n_loops} loops, {time.perf_counter() - began:.0f} s")
    for level in higher if first == "x86-64-v3" else ():
        began = time.perf_counter()
        n_loops = build_higher_level(level, first, jobs)
        print(f"{level}: {n_loops} loops, {time.perf_counter() - began:.0f} s")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", ROOT / "dist", ROOT],
        check=True,
    )


if __name__ == "__main__":
    main()
