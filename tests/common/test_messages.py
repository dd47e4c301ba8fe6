"""Messages by battery: what a caller can get wrong is told in our words.

Every estimator is given wrong types, shapes, text, None and ragged rows for X, y, the
weights, rows to predict and each parameter. The fit may succeed, or end in a ValueError
or TypeError that is no sentence of NumPy, SciPy, torch or the interpreter about its own
business ("could not convert string to float", "object has no attribute", ...).
"""

import inspect
import re
import warnings

import numpy as np
import pytest

from pansophy.core.arrays.unreadable import array_of_rows, what_is_unreadable
from pansophy.testing import all_estimators, quick_instance, usual_table

N = 20
ESTIMATORS = [pytest.param(cls, id=name) for name, cls in all_estimators()]
ASKED = ("predict", "transform", "score_samples", "predict_proba", "decision_function")

# pieces of other libraries' sentences, none of which names what the caller gave
FOREIGN = re.compile(
    r"could not convert|inhomogeneous|mat1 and mat2|has no attribute|"
    r"not supported between|0-d array|unsized|not iterable|float\(\) argument|"
    r"int\(\) argument|unhashable|only length-1|only 0-dim|setting an array element|"
    r"truth value|unsupported operand|cannot reshape|broadcast|ufunc|invalid literal|"
    r"has no len|not subscriptable|expected np.ndarray|not callable|list index|"
    r"out of bounds|must be real number|Cannot interpret|object is not|"
    r"can't convert|division by zero|core dimension|unpack|only integer scalar|"
    r"Cannot cast|no matching|nopython|must be str, not|at least 1 dimension i.e."
)
ALLOWED = (ValueError, TypeError)
RAGGED = [[1], [1, 2]] * (N // 2)


def wrong_training_data(X, y, weighted):
    """Names and arguments (X, y, weights) of fits with one thing wrong."""
    rows = X.tolist()
    wrong = {
        "X None": None, "X number": 3.0, "X texts": [["a", "b", "c"]] * N,
        "X words": ["a b", "c"] * (N // 2), "X empty": [],
        "X ragged": [row[: 1 + i % 2] for i, row in enumerate(rows)],
        "X 3d": np.ones((N, 2, 2)), "X 1d": np.ones(N), "X dict": {"a": 1},
        "X dicts": [{"a": 1}] * N, "X mixed": [[1.0, "a", None]] * N,
        "X Nones": [[None] * 3] * N, "X complex": X + 1j,
    }  # fmt: skip
    for name, bad in wrong.items():
        yield name, (bad, [] if name == "X empty" else y, None)
    wrong = {
        "y None": None, "y number": 3.0, "y text": "text", "y short": y[:-3],
        "y ragged": RAGGED, "y dicts": [{"a": 1}] * N, "y mixed": [1, "a"] * (N // 2),
        "y texts": ["a", "b"] * (N // 2), "y Nones": [None] * N,
        "y 3d": np.ones((N, 2, 2)), "y complex": np.ones(N) * 1j,
    }  # fmt: skip
    for name, bad in wrong.items():
        yield name, (X, bad, None)
    wrong = {
        "w text": "text", "w texts": ["a"] * N, "w short": np.ones(N - 3),
        "w 2d": np.ones((N, 2)), "w negative": -np.ones(N), "w dict": {"a": 1},
        "w ragged": RAGGED, "w NaN": np.full(N, np.nan), "w Nones": [None] * N,
    }  # fmt: skip
    for name, bad in wrong.items() if weighted else ():
        yield name, (X, y, bad)


def wrong_new_rows(d):
    """Names and arguments of predictions with something wrong."""
    return {
        "rows None": None, "rows number": 3.0, "rows texts": [["a"] * d] * 3,
        "rows ragged": [[1.0], [1.0, 2.0, 3.0]], "rows 3d": np.ones((3, 2, 2)),
        "rows 1d": np.ones(3), "rows wide": np.ones((3, d + 4)), "rows dict": {"a": 1},
        "rows empty": [], "rows complex": np.ones((3, d)) * 1j,
        "rows Nones": [[None] * d] * 3,
    }  # fmt: skip


def foreign_message(call, *args, **kwargs) -> str | None:
    """The message of another library that a call ends in; None if it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(*args, **kwargs)
    except ALLOWED as error:
        text = str(error)
        return f"{type(error).__name__}: {text}" if FOREIGN.search(text) else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def usual_data(cls):
    estimator = quick_instance(cls)
    X, y = usual_table(estimator, n_rows=N, n_columns=3, seed=np.random.default_rng(0))
    return np.asarray(X, dtype=float), np.asarray(y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_wrong_data_are_told_in_our_words(cls):
    X, y = usual_data(cls)
    parameters = inspect.signature(cls.fit).parameters
    found = {}
    for name, (rows, target, w) in wrong_training_data(
        X, y, "sample_weight" in parameters
    ):
        if name.startswith("y") and "y" not in parameters:
            continue
        weights = {} if w is None else {"sample_weight": w}
        model = quick_instance(cls)
        found[name] = foreign_message(model.fit, rows, target, **weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = quick_instance(cls).fit(X, y)
    for method in [m for m in ASKED if hasattr(model, m)][:1]:
        for name, rows in wrong_new_rows(X.shape[1]).items():
            found[name] = foreign_message(getattr(model, method), rows)
    assert {k: v for k, v in found.items() if v is not None} == {}


# said of the data and not of the parameter, and plain enough
OTHER_WORDS = {
    ("connectivity", "list"),
    ("estimator", "list"),  # "an expert of ... must take sample_weight"
    ("formulas", "text"),  # "'no such value' is no formula"
    ("monotonic_cst", "list"),
}


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_wrong_parameters_are_named(cls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of files are parameters too
    X, y = usual_data(cls)
    found = {}
    for parameter in quick_instance(cls).get_params(deep=False):
        wrong = {"object": object(), "NaN": np.nan, "list": [{}]}
        if parameter not in ("checkpoint", "resume"):
            wrong["text"] = "no such value"
        for kind, value in wrong.items():
            model = quick_instance(cls).set_params(**{parameter: value})
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X, y)
            except ALLOWED as error:
                if parameter in str(error) or (parameter, kind) in OTHER_WORDS:
                    continue
                found[parameter, kind] = f"{type(error).__name__}: {error}"
            except Exception as error:
                found[parameter, kind] = f"{type(error).__name__}: {error}"
    assert found == {}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([[1, 2], [3, 4, 5]], "row 1 has 3 entries and row 0 has 2"),
        ([[1, 2], 3], "row 1 has no entries of its own and row 0 has 2"),
        ([[1, "2"], [3, "x"]], "row 1 holds the text 'x' in column 1"),
        ([1.0, None, 2.0], "entry 1 is None"),
        ({"a": [1]}, "it is a dict"),
        ("abc", "it is the text 'abc'"),
        (np.array([[1, "y"]]), "row 0 holds the text 'y' in column 1"),
        (3.0, "it is a float"),
        ([[1.0, 2.0]], None),
    ],
)
def test_the_place_is_told(values, problem):
    assert what_is_unreadable(values) == problem


def test_rows_of_unequal_length_are_named():
    with pytest.raises(ValueError, match="X of PCA must hold numbers, but row 2 has 1"):
        array_of_rows([[1, 2], [3, 4], [5]], "X of PCA")
