"""Forged model files: every estimator's file is changed, loaded and asked to answer.

    python tools/forge.py                          # all estimators, 40 forgeries each
    python tools/forge.py --count 0 --only KMeans  # every forgery of one estimator

A forged file has a right checksum, so that only the rules of its content stand between
it and the compiled loops. Each forgery is loaded and asked in a child process with a
limit of time and memory. It must be refused (an exception of one sentence) or answer; a
child that dies, hangs or asks for too much memory fails the battery.

With NUMBA_BOUNDSCHECK=1 (and a NUMBA_CACHE_DIR of its own) an index outside an array
fails too, where the compiled loop would have read what lies beside it.
"""

import argparse
import contextlib
import copy
import importlib.util
import json
import math
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

SECONDS = 60  # for one forgery, in which a loop may have to be compiled
MEMORY = 1 << 30  # bytes beyond what the child has when it begins
COUNT = 40  # forgeries of one file
TEXTS = 200  # of each kind of change of a text
# Methods that are asked with the rows, and without.
ASKED = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "transform",
    "score_samples", "apply", "decision_path", "kneighbors", "search", "log_probs",
)  # fmt: skip

ALONE = ("get_n_leaves", "get_depth", "feature_importances_", "sample", "labels_")
REFUSED = "refused"
ANSWERED = "answered"


class ModelFile(NamedTuple):
    """A model file taken apart: the node of the model, the tensors, the versions."""

    model: Any
    tensors: dict[str, np.ndarray]
    manifest: dict


class Forgery(NamedTuple):
    """One change of a file: where, what kind, and the node or tensor instead."""

    path: tuple  # keys that lead to the node in the manifest
    kind: str
    value: Any  # an array for a tensor, else a node

    @property
    def name(self) -> str:
        return (
            f"{'.'.join(str(p) for p in self.path if p not in ('v', 't'))}: {self.kind}"
        )


def read_model_file(path) -> ModelFile:
    with safe_open(path, framework="numpy") as file:
        manifest = json.loads(file.metadata()["manifest"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return ModelFile(manifest["model"], tensors, manifest)


def write_model_file(path, model, tensors, manifest):
    """A file with a right checksum."""
    from pansophy.persist.file import checksum

    text = json.dumps({**manifest, "model": model})
    tensors = {name: np.ascontiguousarray(t) for name, t in tensors.items()}
    save_file(
        tensors, path, metadata={"manifest": text, "sha256": checksum(text, tensors)}
    )


# --- changes -----------------------------------------------------------------------


def array_changes(a, rng):
    """Arrays that a forger would put in the place of one."""
    n = len(a) if a.ndim else 0
    floats = a.dtype.kind in "fc"
    top = (
        np.finfo(a.dtype).max
        if floats
        else np.iinfo(a.dtype).max
        if a.dtype.kind in "iu"
        else True
    )
    if n:
        yield "cut", a[: n // 2]
        yield "empty", a[:0]
        yield "one longer", np.concatenate([a, a[-1:]])
        yield "longer", np.concatenate([a, a, a])
        yield "one shorter", a[:-1]
    if a.ndim > 1:
        yield "flat", a.reshape(-1)
        yield "narrower", a[..., :-1]
        yield "wider", np.concatenate([a, a], axis=-1)
        yield "turned", np.ascontiguousarray(a.T)
    yield "deeper", a[..., None]
    if a.size:
        yield "huge", np.full_like(a, top)
        yield "zero", np.zeros_like(a)
        for name, value in (("first huge", top), ("first 5000", 5000), ("first 0", 0)):
            if a.dtype.kind != "b" and (floats or value <= top):
                changed = a.copy()
                changed.flat[0] = value
                yield name, changed
        if a.dtype.kind in "if":
            yield "negative", np.full_like(a, -1)
            changed = a.copy()
            changed.flat[-1] = -7
            yield "last negative", changed
            yield "least", np.full_like(a, -top if floats else -top - 1)
        if floats:
            yield "NaN", np.full_like(a, np.nan)
            changed = a.copy()
            changed.flat[0] = np.nan
            yield "first NaN", changed
            yield "infinite", np.full_like(a, np.inf)
            widest = min(1e6, float(np.finfo(a.dtype).max) / 10)
            yield "random", rng.normal(0, widest, a.shape).astype(a.dtype)
            yield "whole numbers", np.zeros(a.shape, np.int64)
            with np.errstate(over="ignore"):
                half = a.astype(np.float16)
            yield "half precision", half
        elif a.dtype.kind != "b":
            yield "random", rng.integers(0, min(top, 10**6), a.shape).astype(a.dtype)
            yield "shuffled", rng.permutation(a.reshape(-1)).reshape(a.shape)
            yield "fractions", a.astype(np.float64)
        yield "bytes", np.zeros(a.shape, np.uint8)
        yield "booleans", np.ones(a.shape, bool)
        if a.dtype == np.uint8 and a.ndim == 1:
            yield from text_changes(a.tobytes(), rng)


def text_changes(content, rng):
    """Texts of models of other libraries with other numbers or parts."""
    places = [m.span() for m in re.finditer(rb"-?\d+(\.\d+)?", content)]
    if len(places) < 100:
        return
    numbers = (b"0", b"-1", b"7", b"5000", b"2147483647", b"-2147483648", b"1e308",
               b"100000000", b"nan", b"0.5", b"", b"9" * 400)  # fmt: skip
    as_array = lambda *parts: np.frombuffer(b"".join(parts), np.uint8)
    for i in range(TEXTS):
        start, end = places[rng.integers(len(places))]
        new = numbers[rng.integers(len(numbers))]
        name = f"text {i}: {content[start:end]!r} at {start} -> {new[:12]!r}"
        yield name, as_array(content[:start], new, content[end:])
        a, b = np.sort(rng.integers(0, len(content), 2))
        b = min(b, a + 200)
        yield f"text {i}: without {a} to {b}", as_array(content[:a], content[b:])
        yield f"text {i}: {a} to {b} twice", as_array(content[:b], content[a:])


def number_changes(value):
    """Nodes that a forger would put in the place of a number."""
    yield "zero", 0
    yield "negative", -1
    yield "large", 100_000
    yield "huge", 2**40
    yield "double", 2 * value if abs(value) < 2**40 else 7
    yield "one more", value + 1
    yield "fraction", 2.5
    yield "NaN", {"$": "float", "v": "nan"}
    yield "none", None
    yield "text", "seven"
    yield "list", [value]
    yield "enormous", {"$": "int", "v": hex(10**400)}


def list_changes(items):
    yield "empty", []
    yield "cut", items[: len(items) // 2]
    yield "longer", items * 3
    yield "range", {"$": "range", "v": [0, 100_000_000_000, 1]}
    yield "tuple of range", {"$": "tuple", "v": {"$": "range", "v": [0, 10**11, 1]}}
    yield "none", None
    if len(items) > 1:
        yield "reversed", items[::-1]
        yield "last first", [items[-1], *items[1:]]


def node_changes(node):
    """Nodes that a forger would put in the place of a value of any kind."""
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    doubled: Any = [0] * 10
    for _ in range(12):  # as JSON this is written out, and so stays small
        doubled = {"$": "tuple", "v": [doubled]}
    yield "none", None
    yield "number", 3
    yield "text", "x"
    yield "range", {"$": "tuple", "v": {"$": "range", "v": [0, 10**11, 1]}}
    yield "set of range", {"$": "set", "v": {"$": "range", "v": [0, 10**11, 1]}}
    yield "deep", deep
    yield "nested", doubled
    yield "objects", {"$": "objects", "shape": [1], "v": [None]}
    yield "masked", {"$": "masked", "v": [1.0, True, 0]}
    yield "itself", {"$": "same", "id": 0}


def all_forgeries(file, rng) -> list[Forgery]:
    """Every change of every array, number, list and node of a file."""
    found = []

    def add(path, kinds):
        found.extend(Forgery(path, kind, value) for kind, value in kinds)

    def visit(node, path):
        if type(node) is bool:
            add(path, [("not", not node), ("number", 7), ("none", None)])
        elif type(node) in (int, float):
            add(path, number_changes(node))
        elif type(node) is str:
            add(path, [("other text", "x"), ("number", 5), ("empty", "")])
        elif type(node) is list:
            add(path, list_changes(node))
            for i in pick_items(len(node)):
                visit(node[i], (*path, i))
        elif isinstance(node, dict):
            visit_tagged(node, path)

    def visit_tagged(node, path):
        tag = node.get("$")
        if path:
            add(path, node_changes(node))
        if tag == "array" or tag == "tensor":
            add((*path, "t"), array_changes(file.tensors[node["t"]], rng))
            for key in ("shape", "turned", "scalar", "dtype"):
                if key in node:
                    add((*path, key), [("huge", [2**40, 2]), ("none", None)])
        elif tag in ("object", "record", "module"):
            for part in ("v", "_parameters", "_buffers", "_modules"):
                for name, held in node.get(part, {}).items():
                    visit(held, (*path, part, name))
                    found.append(Forgery((*path, part, name), "left out", DROP))
        elif tag in ("dict", "OrderedDict", "defaultdict", "Bunch"):
            for i in pick_items(len(node["v"])):
                visit(node["v"][i][1], (*path, "v", i, 1))
        elif tag == "sparse":
            add((*path, "shape"), [("huge", [2**40, 2**40]), ("small", [1, 1])])
            visit(node["v"], (*path, "v"))
        elif tag in ("RandomState", "Generator") or (
            "v" in node and type(node["v"]) in (list, int, float)
        ):
            visit(node["v"], (*path, "v"))

    visit(file.model, ())
    return found


DROP = object()


def pick_items(n):
    """The first items of a list, and the last."""
    return range(n) if n <= 3 else (0, 1, n - 1)


def some_forgeries(file, count, rng) -> list[Forgery]:
    """A sample: kinds of all places in turn, those of arrays and numbers first."""
    places: dict[tuple, list[Forgery]] = {}
    for forgery in all_forgeries(file, rng):
        places.setdefault(forgery.path, []).append(forgery)
    piles = [[pile[i] for i in rng.permutation(len(pile))] for pile in places.values()]
    heavy = lambda pile: pile[0].path[-1:] != ("t",)  # arrays first
    piles = [piles[i] for i in rng.permutation(len(piles))]
    piles.sort(key=heavy)
    out: list[Forgery] = []
    while len(out) < count and any(piles):
        out += [pile.pop() for pile in piles if pile]
    return out[:count] if len(out) > count else out


def forged(file, forgery):
    """(model, tensors) with one change."""
    model = copy.deepcopy(file.model)
    tensors = dict(file.tensors)
    *way, last = forgery.path
    at = model
    for key in way:
        at = at[key]
    if isinstance(forgery.value, np.ndarray):
        tensors["forged"] = forgery.value
        at[last] = "forged"
    elif forgery.value is DROP:
        del at[last]
    else:
        at[last] = forgery.value
    return model, tensors


# --- trial -------------------------------------------------------------------------


def ask(model, X):
    """Ask a model everything that it answers; exceptions of Python are answers too."""
    told = []
    for name in ASKED:
        try:
            method = getattr(model, name, None)
            if method is not None:
                method(X)
        except MemoryError:
            raise
        except Exception as error:
            told.append((name, error))
    for name in ALONE:
        try:
            held = getattr(model, name, None)
            if callable(held):
                held()
        except MemoryError:
            raise
        except Exception as error:
            told.append((name, error))
    return told


def is_outside(error) -> bool:
    """Whether compiled code with its bounds checked met an index outside an array."""
    return isinstance(error, IndexError) and str(error) == "index is out of bounds"


def try_file(path, X) -> tuple[str, str]:
    """What became of a forged file: (outcome, why)."""
    from pansophy.persist import PersistError, load

    try:
        model = load(path)
    except PersistError as error:
        return REFUSED, str(error)
    except MemoryError as error:
        return "memory", f"at loading: {error}"
    except Exception as error:
        return "traceback", f"at loading: {type(error).__name__}: {error}"
    try:
        told = ask(model, X)
    except MemoryError:
        return "memory", traceback.format_exc(limit=-4)
    outside = [f"{name}: {error}" for name, error in told if is_outside(error)]
    if outside:
        return "outside", "; ".join(outside)
    return ANSWERED, "; ".join(f"{n}: {type(e).__name__}: {e}" for n, e in told)[:300]


def limit_memory(extra=None):
    """Let this process have so many bytes more than it has now; None for any."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = resource.RLIM_INFINITY if extra is None else current_bytes() + extra
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def current_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def child(pipe):
    """Serve forged files one after the other."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sys.setrecursionlimit(1000)
    import pansophy.persist

    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    while True:
        path, rows, honest = pipe.recv()
        X = read_rows(rows)
        if honest:  # compiles the loops of this model before memory is counted
            limit_memory(None)
            ask(pansophy.persist.load(path), X)
            limit_memory(MEMORY)
            outcome = "ready", ""
        else:
            outcome = try_file(path, X)
        pipe.send(outcome)


def read_rows(path):
    """Rows to ask a model about: an array, or an Arrow table."""
    if os.fspath(path).endswith(".npy"):
        return np.load(path, allow_pickle=False)
    from pyarrow import parquet

    return parquet.read_table(path)


@contextlib.contextmanager
def one_thread():
    """Processes begun inside have one thread: several would wait for busy cores."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


class Trial:
    """A child process that is begun again when it dies or is late."""

    def __init__(self):
        self.process = None

    def begin(self):
        here, there = multiprocessing.get_context("spawn").Pipe()
        self.process = multiprocessing.get_context("spawn").Process(
            target=child, args=(there,), daemon=True
        )
        with one_thread():
            self.process.start()
        there.close()
        self.pipe = here

    def run(self, path, rows, honest=False, seconds=SECONDS):
        if self.process is None:
            self.begin()
        try:
            self.pipe.send((os.fspath(path), os.fspath(rows), honest))
            if self.pipe.poll(seconds):
                return self.pipe.recv()
            outcome = ("hang", f"no answer in {seconds} s")
        except (EOFError, ConnectionError, BrokenPipeError):
            self.process.join()
            outcome = ("crash", f"exit code {self.process.exitcode}")
        self.end()
        return outcome

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def try_forgeries(name, folder, count, seed=0, trial=None) -> list[tuple]:
    """(forgery, outcome, why) of the forgeries of one saved model."""
    folder = Path(folder)
    path = folder / f"{name}.pansophy"
    (rows,) = [p for p in folder.glob(f"{name}.*") if p.suffix in (".npy", ".parquet")]
    file = read_model_file(path)
    rng = np.random.default_rng([seed, *name.encode()])
    chosen = some_forgeries(file, count or math.inf, rng)
    own = trial is None
    trial = trial or Trial()
    out = []
    try:
        if trial.run(path, rows, True, 10 * SECONDS)[0] != "ready":
            raise RuntimeError(f"{name} does not answer by itself")
        bad = folder / f"{name}.forged"
        for forgery in chosen:
            try:
                write_model_file(bad, *forged(file, forgery), file.manifest)
            except RecursionError:
                continue
            outcome, why = trial.run(bad, rows)
            out.append((forgery, outcome, why))
            if trial.process is None:
                trial.run(path, rows, True, 10 * SECONDS)
        bad.unlink(missing_ok=True)
    finally:
        if own:
            trial.end()
    return out


# --- models ------------------------------------------------------------------------


def fit_estimator(cls):
    """A fitted estimator and rows to ask it about.

    Little training is enough: a file has the same parts after much.
    """
    from sklearn.base import is_classifier

    from pansophy.testing import quick_instance, usual_table

    model = quick_instance(cls)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    X, y = usual_table(model, n_rows=80, n_columns=4, n_classes=2)
    if is_classifier(model):
        y = np.array(["no", "yes"])[y]
    return model.fit(X, y), X


def fit_mixed_table():
    """A generator of tables fitted to columns of all kinds, and that table."""
    import pyarrow as pa

    from pansophy.generative import TableVAE

    rng = np.random.default_rng(0)
    n = 80
    income = [None if gone else x for gone, x in zip(rng.random(n) < 0.2, range(n))]
    table = pa.table(
        {
            "age": rng.integers(18, 90, n),
            "income": income,
            "day": rng.integers(0, 400, n).astype("datetime64[D]"),
            "length": rng.integers(0, 9000, n).astype("timedelta64[s]"),
            "yes": rng.random(n) < 0.5,
            "town": rng.choice(["Bern", "Pune", ""], n),
        }
    )
    model = TableVAE(2, hidden_layer_sizes=(8,), n_epochs=2, random_state=0)
    return model.fit(table), table


MIXED = "TableVAE of mixed columns"
BOOSTERS = {f"Booster of {name}": name for name in ("lightgbm", "xgboost", "catboost")}


def fit_booster(library):
    """A model of another library as `compare` keeps it, and rows to ask it about."""
    from pansophy.compare.methods.external_boosters import BoosterClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 3] = rng.integers(0, 9, 200)
    y = np.where((X[:, 0] > 0) ^ (X[:, 3] % 2 == 0), "yes", "no")
    model = BoosterClassifier(
        library,
        n_estimators=6,
        max_leaves=8,
        min_samples_leaf=5,
        categorical_features=[3],
        random_state=0,
    )
    return model.fit(X, y), X


def save_estimators(folder, names=None) -> list[str]:
    """Files of all estimators, fitted to a small table; their names."""
    from pyarrow import parquet

    from pansophy.persist import save
    from pansophy.testing import all_estimators

    out = []
    if names is None or MIXED in names:
        out.append(MIXED)
        model, table = fit_mixed_table()
        parquet.write_table(table, os.path.join(folder, f"{MIXED}.parquet"))
        save(model, os.path.join(folder, f"{MIXED}.pansophy"))
    for name, library in BOOSTERS.items():
        if (names is None or name in names) and importlib.util.find_spec(library):
            out.append(name)
            model, X = fit_booster(library)
            np.save(os.path.join(folder, f"{name}.npy"), X)
            save(model, os.path.join(folder, f"{name}.pansophy"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, cls in all_estimators():
            if names is not None and name not in names:
                continue
            out.append(name)
            if not os.path.exists(os.path.join(folder, f"{name}.pansophy")):
                model, X = fit_estimator(cls)
                np.save(os.path.join(folder, f"{name}.npy"), X)
                save(model, os.path.join(folder, f"{name}.pansophy"))
    return out


def main():
    reader = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    reader.add_argument("--count", type=int, default=COUNT, help="0 for all")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--only", help="names of estimators, separated by commas")
    reader.add_argument("--folder", help="holds the files; kept for the next run")
    asked = reader.parse_args()
    begun = time.perf_counter()
    total: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as own:
        folder = asked.folder or own
        names = save_estimators(folder, asked.only and asked.only.split(","))
        trial = Trial()
        for name in names:
            counts: dict[str, int] = {}
            for forgery, outcome, why in try_forgeries(
                name, folder, asked.count, asked.seed, trial
            ):
                counts[outcome] = counts.get(outcome, 0) + 1
                total[outcome] = total.get(outcome, 0) + 1
                if outcome not in (REFUSED, ANSWERED):
                    print(f"  {outcome} {name} {forgery.name} ({why})", flush=True)
            print(name, counts, flush=True)
        trial.end()
    print(f"{len(names)} estimators, {sum(total.values())} forgeries:", total)
    print(f"{time.perf_counter() - begun:.0f} s")
    bad = sum(n for kind, n in total.items() if kind not in (REFUSED, ANSWERED))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
