"""The suite as on another processor: the oldest and the newest kernels of this one.

OpenBLAS, NumPy, torch, MKL and oneDNN choose their kernels by the processor, and add in
another order on each. `make test-elsewhere` runs pytest once for each of two settings
of their environment variables, after asking the libraries whether the setting took
effect; MKL and oneDNN cannot be asked.

    python tools/test_elsewhere.py [--loops] [paths and options of pytest]

`--loops` also compiles our own loops for x86-64-v2 in the first run.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
X86 = ("x86_64", "AMD64")
ARM = ("aarch64", "arm64")

PROBE = """
import importlib.util, json
import numpy, scipy.linalg, threadpoolctl
from numpy._core import _multiarray_umath as core
facts = {
    "OpenBLAS": sorted(
        {
            info.get("architecture") or "unknown"
            for info in threadpoolctl.threadpool_info()
            if info["internal_api"] == "openblas"
        }
    ),
    "NumPy": [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]],
    "torch": "absent",
}
if importlib.util.find_spec("torch"):
    import torch
    facts["torch"] = torch.backends.cpu.get_cpu_capability()
print(json.dumps(facts))
"""


def settings(machine, dispatched):
    """{name: environment variables} of the oldest and the newest kernels.

    `dispatched` are the levels above its baseline that NumPy uses on this machine.
    """
    plain = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched),
        "ATEN_CPU_CAPABILITY": "default",
    }
    if machine in X86:
        wide = any(name == "X86_V4" or "AVX512" in name for name in dispatched)
        old = {
            **plain,
            "OPENBLAS_CORETYPE": "Nehalem",
            "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
        }
        return {
            "oldest": old,
            "newest": {"OPENBLAS_CORETYPE": "SkylakeX" if wide else "Haswell"},
        }
    if machine in ARM:
        return {"oldest": {**plain, "OPENBLAS_CORETYPE": "ARMV8"}, "newest": {}}
    return {"oldest": plain, "newest": {}}


def kernels_in_use(variables):
    """What the libraries say they use under these environment variables."""
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROBE],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(out.stdout)


def without_effect(variables, facts):
    """A sentence for each variable that the libraries did not follow."""
    core = variables.get("OPENBLAS_CORETYPE")
    found = [name.lower() for name in facts["OpenBLAS"]]
    if core and found != [core.lower()]:
        yield f"OPENBLAS_CORETYPE={core} means nothing here: {found or 'no OpenBLAS'}"
    if variables.get("NPY_DISABLE_CPU_FEATURES") and facts["NumPy"]:
        yield f"NPY_DISABLE_CPU_FEATURES left {' '.join(facts['NumPy'])}"
    wanted = variables.get("ATEN_CPU_CAPABILITY", "").upper()
    if wanted and facts["torch"] not in (wanted, "absent"):
        yield f"ATEN_CPU_CAPABILITY means nothing here: torch uses {facts['torch']}"


def main(arguments):
    with_loops = "--loops" in arguments
    arguments = [a for a in arguments if a != "--loops"]
    native = kernels_in_use({})
    runs = settings(platform.machine(), native["NumPy"])
    if with_loops:
        folder = Path(tempfile.gettempdir()).resolve() / "pansophy-loops-x86-64-v2"
        runs["oldest"] |= {
            "NUMBA_CPU_NAME": "x86-64-v2",
            "PANSOPHY_CACHE_DIR": str(folder),
        }
    worst = 0
    seen = []
    for name, variables in runs.items():
        facts = kernels_in_use(variables)
        print(f"{name}:", *(f"{k}={v!r}" for k, v in variables.items()))
        print("  in use:", *(f"{k} {v}" for k, v in facts.items()))
        for sentence in without_effect(variables, facts):
            print(f"  {sentence}")
        if facts in seen:
            print("  the same kernels as before: not run again")
            continue
        seen.append(facts)
        command = [sys.executable, "-m", "pytest", "-m", "not slow and not gpu"]
        done = subprocess.run(
            [*command, *arguments], cwd=ROOT, env=os.environ | variables
        )
        print(f"  pytest: {done.returncode}", flush=True)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
