"""How much memory a process could still take, limits of containers included."""

import contextlib


def free_memory() -> float | None:
    """Bytes that could be taken, the limit of a container included; None: unknown."""
    results = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next(k for k in file if k.startswith("MemAvailable"))
        results.append(float(line.split()[1]) * 1024)
    with contextlib.suppress(OSError, ValueError):
        root = "/sys/fs/cgroup/memory."
        limit, used = (read_number_file(root + name) for name in ("max", "current"))
        with open(f"{root}stat", encoding="ascii") as file:  # files read, kept in case
            kept = dict(line.split() for line in file).get("inactive_file", 0)
        results.append(max(limit - used + float(kept), 0.0))
    if not results:
        with contextlib.suppress(ImportError):
            import psutil

            results.append(float(psutil.virtual_memory().available))
    return min(results) if results else None


def read_number_file(path) -> float:
    with open(path, encoding="ascii") as file:
        return float(file.read())
