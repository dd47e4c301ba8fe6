"""Marks of completed warm-ups: files that say that loops need not be looked for.

A mark lies in the user's cache folder, beside the loops (`core/loops/loop_cache.py`),
and is named by what it holds for: the loop files as they are, the compiler, this
machine.
"""

import contextlib
import hashlib
from pathlib import Path


def completed_mark(part: str = "all") -> Path | None:
    """File that is there once a warm-up of these loops, on this machine, was done.

    None for a user without a home, who keeps no loops.

    Parameters
    ----------
    part : str
        Which loops: all of them, or those of a part that has marks of its own.
    """
    from .loop_cache import target_name, user_folder

    digest = hashlib.sha256(target_name().encode())
    root = Path(__file__).parents[2]
    for path in sorted(root.rglob("_[!_]*.py")):
        digest.update(path.read_bytes())
    folder = user_folder()
    if folder is None:
        return None
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"warm-{part}-{digest.hexdigest()[:16]}"


def loops_are_missing(part: str = "all") -> bool:
    """Whether this machine may have to compile: nothing shipped, no warm-up done."""
    from .loop_cache import shipped_levels

    marks = completed_mark(), completed_mark(part)
    is_done = any(mark is not None and mark.exists() for mark in marks)
    return not shipped_levels() and not is_done


def mark_completed(part: str = "all") -> None:
    """Leave the mark; where the folder cannot be written there is none."""
    mark = completed_mark(part)
    with contextlib.suppress(OSError):
        if mark is not None:
            mark.touch(mode=0o600)
