"""Every estimator handed a tensor of a device: where does it answer, and what is said?

    python -m benchmarks.studies.gpu_survey              every estimator, on CUDA
    python -m benchmarks.studies.gpu_survey standin      the same without a GPU, by
                                                         pansophy.testing.stand_in_device

What the outcomes mean is in `pansophy.testing.device_survey`. Where an estimator
answers on the device, predictions are compared with those for the same rows in main
memory.

Writes gpu_survey.json beside the printed table, in $OUT if there is one.
"""

import contextlib
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

SECONDS = 20  # of one estimator
PACKAGES = (
    "torch", "numpy", "scipy", "scikit-learn", "numba", "llvmlite", "triton",
    "array-api-compat", "threadpoolctl", "narwhals", "pyarrow", "pandas", "safetensors",
    "gymnasium",
)  # fmt: skip


class TooLongError(Exception):
    """An estimator took longer than its limit."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise `TooLongError` after so many seconds, between two lines of Python."""

    def stop(*_):
        raise TooLongError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def survey_one(cls, device, counts=None):
    """(outcome, detail) of one estimator; `counts` are those of a stand-in device."""
    from pansophy.testing.device_survey import device_answer, usual_tensors

    outcome, detail, answers, _ = device_answer(cls, device, counts)
    if outcome != "there" or not answers:
        return outcome, detail
    model, X, y = usual_tensors(cls)
    try:
        model.fit(X, y)
    except Exception as error:
        return outcome, f"not on the host: {type(error).__name__}"
    apart = [difference(v, getattr(model, name)(X)) for name, v in answers.items()]
    return outcome, f"apart {max(apart):.0e}"


def difference(one, two):
    """Largest difference of two answers, relative to the largest entry."""
    one = one.detach().cpu().double().numpy()
    two = two.detach().cpu().double().numpy() if hasattr(two, "detach") else two
    two = np.asarray(two, dtype=float)
    return float(np.abs(one - two).max() / max(np.abs(two).max(), 1e-300))


def survey(device, names=None, seconds=300.0, counts=None):
    """Outcome, detail and seconds of each estimator, by name."""
    from pansophy.testing import all_estimators

    warnings.simplefilter("ignore")
    begun, out = time.perf_counter(), {}
    for name, cls in all_estimators():
        if names and name not in names:
            continue
        if time.perf_counter() - begun > seconds:
            out[name] = ("not reached", "", 0.0)
            continue
        start = time.perf_counter()
        try:
            with time_limit(SECONDS):
                outcome, detail = survey_one(cls, device, counts)
        except Exception as error:
            outcome, detail = "fails", f"survey: {type(error).__name__}: {error}"[:200]
        out[name] = (outcome, detail, round(time.perf_counter() - start, 2))
    return out


def print_survey(found):
    """Counts of the outcomes, and a line for each that does not answer there."""
    counts = Counter(outcome for outcome, *_ in found.values())
    print(", ".join(f"{k} {v}" for k, v in counts.most_common()))
    for kind in ("fails", "moves", "slow", "not reached"):
        for name, (outcome, detail, _) in found.items():
            if outcome == kind:
                print(f"  {kind:6s} {name:34s} {detail[:150]}")
    refused = [name for name, (outcome, *_) in found.items() if outcome == "refuses"]
    print("  refuses:", ", ".join(refused), flush=True)


def print_environment():
    """Versions of what the machine has, and its device."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    print("python", platform.python_version(), "cores", os.cpu_count())
    for name in PACKAGES:
        try:
            print(f"{name} {version(name)}", end=", ")
        except PackageNotFoundError:
            print(f"no {name}", end=", ")
    import torch

    there = torch.cuda.is_available()
    print("device:", torch.cuda.get_device_name(0) if there else "none", flush=True)


def main(device="cuda", *names):
    print_environment()
    if device == "standin":
        from pansophy.testing.stand_in_device import StandInDevice

        context = StandInDevice()
    else:
        context = contextlib.nullcontext()
    with context as counts:
        found = survey(device, names, counts=counts)
    print_survey(found)
    folder = Path(os.environ.get("OUT", "."))
    (folder / "gpu_survey.json").write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
