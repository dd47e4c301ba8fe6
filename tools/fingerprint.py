"""Digests of every estimator's fitted models, to compare two commits bit for bit.

    python tools/fingerprint.py record before.json        # on the old commit
    python tools/fingerprint.py record after.json         # on the new commit
    python tools/fingerprint.py compare before.json after.json

Each estimator is fitted with its defaults and with every other value of its `Literal`
and boolean parameters, one at a time, with and without weights, on small tables. A
digest covers every public fitted attribute and every answer. What a private object is
called inside does not count, only the numbers in it, so that renaming is no difference.
"""

import hashlib
import inspect
import json
import signal
import sys
import typing
import warnings
from collections.abc import Mapping

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

SECONDS = 90  # of processor time for one fit, compiling included
ANSWERS = (
    "predict", "predict_proba", "decision_function", "transform", "score_samples"
)  # fmt: skip


def feed(digest, value, depth=0):
    """Adds the numbers and texts in a value to a digest, whatever holds them."""
    if depth > 12:
        return
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        digest.update(str((value.dtype.kind, value.shape)).encode())
        if value.dtype.names:
            for name in value.dtype.names:
                feed(digest, value[name], depth + 1)
        else:
            digest.update(np.ascontiguousarray(value).tobytes())
    elif sparse.issparse(value):
        for part in ("data", "indices", "indptr"):
            if hasattr(value, part):
                feed(digest, getattr(value, part), depth + 1)
    elif isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        digest.update(repr(value).encode())
    elif isinstance(value, Mapping):
        for item in value.values():
            feed(digest, item, depth + 1)
    elif isinstance(value, (list, tuple, np.ndarray)):
        for item in value:
            feed(digest, item, depth + 1)
    elif hasattr(value, "detach"):
        feed(digest, value.detach().cpu().numpy(), depth + 1)
    elif hasattr(value, "__dict__") and not callable(value):
        for item in vars(value).values():
            feed(digest, item, depth + 1)


def digest_of(value):
    """A short digest of the numbers in a value."""
    digest = hashlib.sha256()
    feed(digest, value)
    return digest.hexdigest()[:16]


def tables():
    """Named (X, y) pairs; an estimator is fitted on all that it accepts."""
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    yield "classes", X[::2], y[::2]
    X, y = load_breast_cancer(return_X_y=True)
    yield "two classes", X[:90, :6], y[:90]
    X, y = load_diabetes(return_X_y=True)
    yield "numbers", X[:90, :5], y[:90]
    yield "counts", rng.poisson(2.0, (60, 4)), rng.integers(0, 2, 60)
    yield "symbols", rng.integers(0, 3, (60, 1)), None


def settings_of(cls, quick):
    """Keyword arguments to try: the defaults, then each other choice by itself."""
    yield {}
    defaults = quick(cls).get_params(deep=False)
    hints = typing.get_type_hints(cls, include_extras=True)
    for name, value in defaults.items():
        if name in ("verbose", "copy_x", "copy_X", "copy"):
            continue
        for choice in choices(hints.get(name)):
            if choice != value or type(choice) is not type(value):
                yield {name: choice}


def choices(hint):
    """The texts and flags that a type of a parameter allows."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return [c for c in typing.get_args(hint) if isinstance(c, (str, bool))]
    if hint is bool:
        return [False, True]
    if origin is typing.Annotated:
        return choices(typing.get_args(hint)[0])
    return [c for part in typing.get_args(hint) for c in choices(part)]


def out_of_time(number, frame):
    raise TimeoutError


def fitted_digests(model, X, y, weight):
    """{attribute or answer: digest} of one fit; the name of the error if it fails."""
    fit = inspect.signature(model.fit).parameters
    extra = {}
    if weight:
        if "sample_weight" not in fit:
            return None
        extra["sample_weight"] = 0.5 + np.arange(len(X)) % 3
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        model.fit(X, *([y] if "y" in fit else []), **extra)
        out = {
            name: digest_of(value)
            for name, value in vars(model).items()
            if name.endswith("_") and not name.startswith("_")
        }
        for name in ANSWERS:
            if hasattr(model, name):
                out[name] = digest_of(getattr(model, name)(X))
        return out
    except TimeoutError:
        return {"error": "time"}
    except Exception as error:
        return {"error": type(error).__name__}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def record(path, only=()):
    """Writes the digests of all estimators, or of those named, to a JSON file."""
    from pansophy.testing import all_estimators
    from pansophy.testing.estimators import quick_instance

    signal.signal(signal.SIGPROF, out_of_time)
    warnings.simplefilter("ignore")
    found = {}
    for name, cls in all_estimators():
        if only and name not in only:
            continue
        for setting in settings_of(cls, quick_instance):
            for table, X, y in tables():
                for weight in (False, True):
                    np.random.seed(0)  # noqa: NPY002 - what scikit-learn draws from
                    model = quick_instance(cls)
                    seeded = "random_state" in model.get_params(deep=False)
                    model.set_params(**({"random_state": 0} if seeded else {}))
                    model.set_params(**setting)
                    digests = fitted_digests(model, X, y, weight)
                    if digests is not None:
                        key = f"{name} {setting} {table}{' weighted' * weight}"
                        found[key] = digests
        print(name, len(found), flush=True)
    with open(path, "w") as file:
        json.dump(found, file, indent=0, sort_keys=True)


def compare(old, new):
    """Prints every difference between two records; the number of models that differ."""
    with open(old) as a, open(new) as b:
        before, after = json.load(a), json.load(b)
    differing = 0
    for key in sorted(before.keys() | after.keys()):
        one, two = before.get(key), after.get(key)
        late = {"error": "time"}
        if one in (two, late) or two == late:
            continue
        differing += 1
        names = set(one or ()) | set(two or ())
        changed = [n for n in sorted(names) if (one or {}).get(n) != (two or {}).get(n)]
        print(f"{key}: {', '.join(changed)}")
    print(f"{differing} of {len(before)} models differ")
    return differing


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "record":
        record(rest[0], rest[1:])
    else:
        sys.exit(1 if compare(*rest) else 0)
