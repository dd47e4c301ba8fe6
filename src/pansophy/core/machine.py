"""What the library finds on this machine: cores, BLAS, compiled loops, devices.

`machine_report` gives plain values that `pansophy doctor` prints, so that a slow or a
surprising fit can be explained: how many threads it may use, which libraries multiply
matrices, whether loops are shipped for this processor, which devices torch sees, and
how many estimators compute where `X` is.
"""

import importlib.metadata
import importlib.util
import os
import platform
from typing import Any

import threadpoolctl

from .loops.loop_cache import host_levels, reason_not_kept, shipped_levels, user_folder
from .loops.threads import available_threads

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "triton")


def machine_report() -> dict[str, Any]:
    """Versions, threads, BLAS libraries, loops and devices, as plain values.

    Examples
    --------
    >>> from pansophy.core.machine import machine_report
    >>> sorted(machine_report())
    ['blas', 'devices', 'loops', 'platform', 'python', 'threads', 'versions']
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": _package_versions(),
        "threads": {"cores": os.cpu_count() or 1, "usable": available_threads()},
        "blas": _blas_libraries(),
        "loops": _loop_report(),
        "devices": _torch_devices(),
    }


def _package_versions() -> dict[str, str | None]:
    """Versions of what fits rest on; None for what is not installed."""
    versions: dict[str, str | None] = {}
    for name in ("pansophy", *PACKAGES):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _blas_libraries() -> list[dict[str, Any]]:
    """The loaded libraries for matrix products, each with its threads."""
    import scipy.linalg  # noqa: F401  loads the library that is to be found

    return [
        {
            "library": info.get("internal_api"),
            "version": info.get("version"),
            "threads": info.get("num_threads"),
            "architecture": info.get("architecture"),
        }
        for info in threadpoolctl.threadpool_info()
        if info.get("user_api") == "blas"
    ]


def _loop_report() -> dict[str, Any]:
    """Levels of compiled loops: those of this processor, and those that are shipped."""
    return {
        "processor": list(host_levels()),
        "shipped": [level.name for level in shipped_levels()],
        "kept in": None if reason_not_kept() is not None else str(user_folder()),
        "not kept": reason_not_kept(),
    }


def _torch_devices() -> list[dict[str, Any]]:
    """The devices that torch sees, the processor first; none without torch."""
    if importlib.util.find_spec("torch") is None:
        return []
    import torch

    devices: list[dict[str, Any]] = [{"name": "cpu", "is": platform.machine()}]
    for i in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(i)
        devices.append(
            {
                "name": f"cuda:{i}",
                "is": properties.name,
                "gigabytes": round(properties.total_memory / 1e9, 1),
            }
        )
    if torch.backends.mps.is_available():
        devices.append({"name": "mps", "is": "Apple"})
    return devices
