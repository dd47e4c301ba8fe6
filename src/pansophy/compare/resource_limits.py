"""Time, memory and threads of other processes, with the means of each platform.

On Linux memory is read from /proc: pages of a process and its children that are its
own (not files mapped into memory, such as the table all workers share). Elsewhere
psutil is used if it is installed, and otherwise memory is not watched; see
`memory_is_watched`.
"""

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

from ..core.free_memory import free_memory

LINUX = sys.platform.startswith("linux")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
MEMORY_SHARE = 0.8  # of the free memory is given to all workers together
MIN_MEMORY = 256e6  # bytes: Python with its libraries needs about half of this


def default_workers() -> int:
    """One for each core, or what PANSOPHY_WORKERS says."""
    import joblib

    setting = os.environ.get("PANSOPHY_WORKERS", "")
    return int(setting) if setting.isdigit() else joblib.cpu_count()


def worker_processes_wanted(workers=None) -> bool:
    """Whether fits run in worker processes: for None, unless PANSOPHY_WORKERS is 0."""
    if workers is None:
        return os.environ.get("PANSOPHY_WORKERS", "") != "0"
    return workers != 0


def thread_environment(threads) -> dict[str, str]:
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


# --- memory ------------------------------------------------------------------------


def default_memory(workers) -> float:
    free = free_memory()
    return (
        float("inf")
        if free is None
        else max(MEMORY_SHARE * free / max(workers, 1), MIN_MEMORY)
    )


def memory_is_watched() -> bool:
    if LINUX and os.path.exists("/proc/self/status"):
        return True
    try:
        import psutil  # noqa: F401
    except ImportError:
        return False
    return True


def private_memory(pid) -> float:
    """Bytes of its own that a process and its children hold; 0 if it is gone."""
    if not LINUX:
        return _private_memory_by_psutil(pid)
    total = 0.0
    todo = [pid]
    while todo:
        process_id = todo.pop()
        with contextlib.suppress(OSError, ValueError):
            with open(
                f"/proc/{process_id}/status", encoding="ascii", errors="replace"
            ) as f:
                for line in f:
                    if line.startswith(("RssAnon", "RssShmem", "VmSwap")):
                        total += float(line.split()[1]) * 1024
            with open(
                f"/proc/{process_id}/task/{process_id}/children", encoding="ascii"
            ) as f:
                todo += [int(child) for child in f.read().split()]
    return total


def _private_memory_by_psutil(pid) -> float:
    try:
        import psutil

        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        return float(sum(p.memory_info().rss for p in family))
    except (ImportError, OSError):
        return 0.0
    except Exception:
        return 0.0


def cap_memory(limit) -> None:
    """Make allocations far beyond the limit fail in this process, where that works.

    The parent watches what is held; this is for one request larger than the machine.
    """
    if not LINUX or limit == float("inf"):
        return
    import resource

    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            used_kilobytes = next(
                float(k.split()[1]) for k in file if k.startswith("VmData")
            )
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = int(used_kilobytes * 1024 + limit)
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def format_bytes(n) -> str:
    return f"{n / 1e9:.3g} GB" if n >= 1e9 else f"{n / 1e6:.3g} MB"


# --- life and death ----------------------------------------------------------------


def die_with(parent) -> None:
    """Have the kernel end this process when its parent goes, even by kill -9."""
    if LINUX:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if hasattr(os, "getppid") and os.getppid() != parent:
        os._exit(1)  # it went before we got here


def no_core_dumps() -> None:
    """A crash leaves no file, and short memory takes this process first."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")


def kill_process_group(pid) -> None:
    """Kill a process and everything it started in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)


def describe_exit_code(code) -> str:
    """The exit code of a process in words."""
    if code is None or code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"its process died with signal {-code}"
    hint = ": somebody killed it, or memory ran out" if -code == 9 else ""
    return f"its process died with signal {-code} ({name}{hint})"
