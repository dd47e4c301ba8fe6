"""Builds the wheel with compiled loops inside. `make wheel`.

For each level of CPU (see `core/loop_cache.py`) that is worth shipping, the usual calls
of all public names are made in fresh processes that compile for that level alone, into
an empty folder; the loops found there afterwards are packed into the package. A level
can be built on any machine of the same architecture that can run it, since the calls
are really made.

    python tools/build_wheel.py                     the levels of LEVELS
    python tools/build_wheel.py x86-64-v3 --jobs 2  one level
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

# x86-64-v4 would add AVX-512, which buys nothing that shows
# (`python -m benchmarks.shipped_loops speed`), so that one level serves all of x86-64
SHIPPED_LEVELS = {"x86-64-v3", "generic", "apple-m1"}
PACK = """
import sys
from pathlib import Path
from pansophy.core.loop_cache import pack_user_folder
print(pack_user_folder(sys.argv[1], Path(sys.argv[2]).read_text().split()))
"""


def build_level(level: str, jobs: int | None) -> int:
    """Compile all loops for a level and pack them; returns how many there are.

    The usual calls are made twice: the first time they compile, the second time they
    tell which loops Python asks for.
    """
    with tempfile.TemporaryDirectory() as folder:
        used = f"{folder}/used"
        Path(used).touch()
        environment = os.environ | {
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": "",
            "PANSOPHY_CACHE_DIR": os.environ.get("PANSOPHY_BUILD_DIR", folder),
            "PYTHONPATH": str(ROOT / "src"),
        }
        warm = [sys.executable, "-m", "pansophy", "warm"]
        warm += ["--jobs", str(jobs)] if jobs else []
        subprocess.run(warm, env=environment, check=True)
        environment["PANSOPHY_USED_LOOPS"] = used
        subprocess.run(warm, env=environment, check=True)
        packed = subprocess.run(
            [sys.executable, "-c", PACK, level, used],
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
    levels = options.levels or [n for n in host_levels() if n in SHIPPED_LEVELS]
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
