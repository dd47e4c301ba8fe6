"""Measure what the methods of the comparison cost, for `compare/methods/costs.json`.

    python tools/calibrate.py [METHOD ... | missing]

Every method of the portfolio is fitted, in its pipeline, to made tables of growing
size until a fit takes seconds, and to a large one; the numbers of eq. (1) of
`compare/methods/costs.py` are then fitted to the logarithms. Seconds are those of one
processor, so that others may work on the machine meanwhile, and are kept as those of
the machine that was measured first. Named methods (or those not there yet) replace
their rows, others are kept, and so is what was fitted by hand (`BY_HAND`).
"""

import json
import os
import sys
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # as in the workers of a comparison
import numpy as np
from scipy.optimize import least_squares

from pansophy.compare.methods import costs
from pansophy.compare.methods.method import FitContext, missing_requirement
from pansophy.compare.methods.pipelines import fit_pipeline, make_pipeline
from pansophy.compare.methods.portfolio import METHODS
from pansophy.tables import Column, MixedFrame, Schema

FILE = Path(costs.__file__).with_name("costs.json")
SIZES = [(n, d, k) for n in (300, 2500, 12_000) for d, k in ((5, 2), (40, 2), (20, 8))]
BY_HAND = ("many", "categories", "stopped", "few")  # parts of a row of `costs.json`
LARGE = (60_000, 50, 3)  # where a wrong prediction costs most
WEIGHT = 3.0  # of its error
PATIENCE = 100.0  # seconds that a fit to it may seem to take
LONGEST = 0.5  # seconds of a fit after which larger tables are not tried
ORDER = {"RBF support vectors": 2.0}  # a of large n; else 1


def made(n, d, k, task, seed=0):
    """A table with some signal in it: schema, frame and answers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    columns = tuple(Column(f"x{j}", "number", "") for j in range(d))
    B = rng.normal(size=(d, k)) / np.sqrt(d)
    f = X @ B + np.sin(2 * X[:, :1])
    if task == "classification":
        y = np.argmax(2 * f + rng.gumbel(size=f.shape), 1)
        y[:k] = np.arange(k)
        y[k : 2 * k] = np.arange(k)
        return Schema("y", task, "", columns, tuple(range(k))), MixedFrame(X), y
    y = f[:, 0] + rng.normal(size=n)
    if task == "count":
        y = rng.poisson(np.exp(np.clip(f[:, 0], -3, 3))).astype(float)
    return Schema("y", task, "", columns), MixedFrame(X), y


class Watch:
    """The most resident memory while a body runs, beyond what there was before."""

    def __enter__(self):
        self.first = self.most = resident()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.done.wait(0.005):
            self.most = max(self.most, resident())

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self.most = max(self.most, resident())

    @property
    def megabytes(self):
        return (self.most - self.first) / 1e6


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def trim():
    """Give freed memory back, so that it is not mistaken for room."""
    import ctypes
    import gc

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def measure(method, n, d, k):
    """(seconds, megabytes, microseconds a row)."""
    schema, frame, y = made(n, d, k, method.task)
    if method.series:  # the first column is the time
        schema = replace(schema, time="x0")
    model = make_pipeline(method, schema, FitContext(method.task, n, 0))
    trim()
    with Watch() as watch:
        begun = time.process_time()
        fit_pipeline(model, frame, y)
        seconds = time.process_time() - begun
    fresh = frame[: min(n, 2000)]
    ask = model.predict_proba if method.task == "classification" else model.predict
    ask(fresh)
    begun = time.process_time()
    ask(fresh)
    each = max(time.process_time() - begun, 1e-5) / len(fresh)
    return seconds, max(watch.megabytes, 0.1), each * 1e6


HOLD = np.array([0.02, 0.02, 0.3, 0.2, 0.2])


def fit_growth(sizes, values, classes, order, most) -> list[float]:
    """The five numbers of eq. (1), on the scale of logarithms.

    Larger tables count more: small ones are where nobody asks. `order` is what theory
    says of a, and `most` the largest a, b and g that it allows.
    """
    n, d, k = (np.asarray(c, float) for c in zip(*sizes))
    v = np.log(np.asarray(values))
    w = np.sqrt(0.3 + np.log(n / n.min() + 1)) * np.where(n < LARGE[0], 1, WEIGHT)

    def off(z):
        model = np.exp(z[0]) + np.exp(z[1]) * (n / 1000) ** z[2] * (d / 10) ** z[3] * (
            k / 2
        ) ** (z[4] if classes else 0.0)
        weak = HOLD * (z - rest)  # where sizes say little, theory does
        return np.concatenate([w * (np.log(model) - v), weak])

    rest = np.array(
        [np.log(min(values)) - 1, np.log(np.median(values)), order, 1.0, 0.5]
    )
    bounds = [-20, -20, 0, 0, 0], [20, 20, *most]
    found = least_squares(
        off, np.minimum(rest, bounds[1]), bounds=bounds, loss="soft_l1"
    )
    z = found.x
    return [
        float(f"{x:.4g}")
        for x in (np.exp(z[0]), np.exp(z[1]), z[2], z[3], z[4] if classes else 0.0)
    ]


def calibrate(method, factor) -> dict:
    """Its numbers, seconds times `factor`."""
    classes = method.task == "classification"
    sizes, rows = [], []
    slow: set = set()
    order = ORDER.get(method.name, 1.0)
    measure(method, 300, 5, 2)  # compiled, imported
    for n, d, k in SIZES:
        if (not classes and k > 2) or (d, k) in slow:
            continue
        best = measure(method, n, d, k)
        sizes.append((n, d, k))
        rows.append(best)
        if best[0] * 5**order > 10 * LONGEST:  # about how the next would take
            slow.add((d, k))
    if order == 1.0 and rows[-1][0] * LARGE[0] / sizes[-1][0] < PATIENCE:
        sizes.append(LARGE)
        rows.append(measure(method, *LARGE))
    seconds, megabytes, micro = np.transpose(rows) * [[factor], [1.0], [factor]]
    done = f"{len(rows)} sizes, most {max(seconds):.1f} s"
    print(f"{method.task:15} {method.name:25} {done}", flush=True)
    room = min(order, 2.0)
    growth = lambda *a: fit_growth(sizes, *a)
    return {
        "fit": growth(seconds, classes, order, (order + 0.5, 2.0, 1.5)),
        "megabytes": growth(megabytes, classes, room, (max(1.1, room), 1.2, 1.2)),
        "microseconds": growth(micro, classes, 0.5, (1.0, 2.0, 1.5)),
    }


def main(names):
    warnings.simplefilter("ignore")
    kept = json.loads(FILE.read_text()) if FILE.exists() else {"methods": {}}
    now = min(costs.time_reference_work() for _ in range(20))
    kept.setdefault("reference", now)
    for method in METHODS:
        if method.task == "multilabel" or missing_requirement(method):
            continue
        key = f"{method.task}/{method.name}"
        known = method.name not in names and key in kept["methods"]
        if names and (known or (names != ["missing"] and method.name not in names)):
            continue
        old = kept["methods"].get(key, {})
        by_hand = {part: old[part] for part in BY_HAND if part in old}
        kept["methods"][key] = calibrate(method, kept["reference"] / now) | by_hand
        lines = [f' "{k}": {json.dumps(v)}' for k, v in kept["methods"].items()]
        body = f'{{"reference": {kept["reference"]:.5g}, "methods": {{\n'
        body += ",\n".join(lines) + "\n}}"
        FILE.write_text(body + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
