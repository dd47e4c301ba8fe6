"""Background warm-up: another process compiles loops while this one reads.

It is only begun where loops may be missing: nothing shipped for this machine, and no
`pansophy warm` completed for this version of the loops. The other process stores what
it compiles in the user's cache folder (`core/loop_cache.py`), where this process and
its workers find it.
"""

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def completed_mark() -> Path:
    """File that is there once a warm-up of these loops, on this machine, was done."""
    from .loop_cache import target_name, user_folder

    digest = hashlib.sha256(target_name().encode())
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("_[!_]*.py")):
        digest.update(path.read_bytes())
    folder = user_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"warm-{digest.hexdigest()[:16]}"


def loops_are_missing() -> bool:
    """Whether this machine may have to compile: nothing shipped, no warm-up done."""
    from .loop_cache import shipped_levels

    return not shipped_levels() and not completed_mark().exists()


@contextlib.contextmanager
def background_warm_up(names: list[str]) -> Iterator[None]:
    """Compile the loops of these public names elsewhere while the block runs."""
    if not loops_are_missing():
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-m", "pansophy", "warm", "--jobs", "1", *names],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
