"""Every estimator handed a tensor of a device: where does it answer, and what is said?

    python -m benchmarks.studies.gpu_survey              every estimator, on CUDA
    python -m benchmarks.studies.gpu_survey standin      the same without a GPU, by
                                                         pansophy.testing.stand_in_device

An estimator *answers there* if fitted numbers or predictions are on the device of X,
*refuses* if it says in one sentence of ours that it computes elsewhere, *moves* if it
answers with arrays of the host, and *fails* with any other error. Where it answers, the
predictions are compared with those for the same rows in main memory. On the stand-in an
estimator also moves if a fit or an answer brings as many bytes to the host as X has.

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
N_ROWS = 300
PACKAGES = (
    "torch", "numpy", "scipy", "scikit-learn", "numba", "llvmlite", "triton",
    "array-api-compat", "threadpoolctl", "narwhals", "pyarrow", "pandas", "safetensors",
    "gymnasium",
)  # fmt: skip
METHODS = ("predict", "predict_proba", "transform", "score_samples")


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


def tables(cls, device):
    """An instance, rows and a target in main memory and on the device."""
    import torch

    from pansophy.testing import quick_instance, usual_table

    model = quick_instance(cls)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    X, y = usual_table(model, n_rows=N_ROWS, n_classes=2)
    on_host = torch.as_tensor(np.ascontiguousarray(X)), torch.as_tensor(y)
    return model, on_host, tuple(a.to(device) for a in on_host)


def places(model, device):
    """Kinds of places of the fitted attributes and of the answers of a model."""
    import torch

    found = Counter()
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, torch.Tensor):
            found["there" if value.device.type == device else "host"] += 1
        elif name.endswith("_") and isinstance(value, np.ndarray) and value.size > 1:
            found["host"] += 1
    return found


def survey_one(cls, device, counts=None):
    """(outcome, detail) of one estimator; `counts` are those of a stand-in device."""
    import torch
    from sklearn.base import clone

    model, host, there = tables(cls, device)
    size = there[0].numel() * there[0].element_size()
    fetched = []

    def note(what):
        if counts is not None and counts.n_bytes_out >= size:
            fetched.append(f"{what} fetches {counts.n_bytes_out} bytes")
        if counts is not None:
            counts.reset()

    note("the table")
    fetched.clear()
    try:
        model.fit(*there)
    except TooLongError as error:
        return "slow", str(error)
    except Exception as error:
        text = " ".join(str(error).split())
        ours = cls.__name__ in text and device in text
        return ("refuses" if ours else "fails"), f"{type(error).__name__}: {text[:160]}"
    note("fit")
    answers, apart = {}, None
    other = None
    for method in METHODS:
        if not hasattr(model, method):
            continue
        arguments = () if method == "sample" else (there[0],)
        try:
            value = getattr(model, method)(*arguments)
            note(method)
        except Exception as error:
            text = " ".join(str(error).split())
            ours = cls.__name__ in text and device in text
            answers[method] = (
                "refuses" if ours else f"{type(error).__name__}: {text[:120]}"
            )
            continue
        value = value[0] if isinstance(value, tuple) else value
        if isinstance(value, torch.Tensor) and value.device.type == device:
            answers[method] = "there"
            if method == "sample":
                continue
            other = other or fitted_on_host(clone(model), host)
            if other is not None:
                apart = max(
                    apart or 0.0, difference(value, getattr(other, method)(host[0]))
                )
        else:
            answers[method] = "moves"
    said = ", ".join(f"{m} {a}" for m, a in answers.items())
    detail = said + ("" if apart is None else f", apart {apart:.0e}")
    failed = [a for a in answers.values() if a not in ("there", "refuses", "moves")]
    if failed:
        return "fails", detail
    if fetched:
        return "moves", ", ".join(fetched)
    if "moves" in answers.values():
        return "moves", detail
    if "there" in answers.values() or places(model, device)["there"]:
        return "there", detail
    return ("moves" if places(model, device)["host"] else "there"), detail


def fitted_on_host(model, host):
    """The same model fitted in main memory, or None."""
    try:
        return model.fit(*host)
    except Exception:
        return None


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
