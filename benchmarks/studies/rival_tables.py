"""Tables for the comparison with other tools: real ones that come with scikit-learn and
statsmodels, a messy one and a synthetic one. Nothing is downloaded.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Table(NamedTuple):
    """A table by name; `make` gives an Arrow table."""

    make: Callable
    target: str
    task: str
    share: float = 1 / 3  # of rows that are held out


def bundled(name):
    """One of scikit-learn's."""
    from pansophy.datasets import load

    return lambda: load(name).table


def digits():
    import pyarrow as pa
    from sklearn.datasets import load_digits

    d = load_digits()
    columns = {f"pixel {j}": d.data[:, j] for j in range(d.data.shape[1])}
    return pa.table({**columns, "digit": [f"d{k}" for k in d.target]})


def statsmodels(name, change, rows=None):
    """One of statsmodels', after `change` of its dataframe; at most `rows` of it."""

    def make():
        import pyarrow as pa
        import statsmodels.api as sm

        d = change(getattr(sm.datasets, name).load_pandas().data.copy())
        if rows is not None:
            d = d.sample(rows, random_state=0)
        return pa.Table.from_pandas(d, preserve_index=False)

    return make


def word(column, yes, no):
    """Turns a column of 0 and 1 into one of words."""
    return lambda d: d.assign(**{column: np.where(d[column] > 0, yes, no)})


def passed(d):
    """The share of pupils above the median, from the two counts."""
    share = d["NABOVE"] / (d["NABOVE"] + d["NBELOW"])
    return d.drop(columns=["NABOVE", "NBELOW"]).assign(above=share)


def messy(n=1500):
    def make():
        from pansophy.datasets import make_messy

        return make_messy(n)

    return make


def synthetic(n=200_000, d=50, seed=0):
    """Numbers and categories, curves and an interaction, three classes."""

    def make():
        import pyarrow as pa

        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d - 5)).astype(np.float32)
        kinds = [rng.integers(0, 4 + 6 * j, n) for j in range(5)]
        z = X[:, :8] @ np.linspace(1, 0.2, 8) + 0.8 * np.sin(2 * X[:, 8])
        z += X[:, 9] * X[:, 10] + np.sin(kinds[2] * 1.7) + (kinds[0] == 1)
        b = X[:, :3] @ np.array([-0.5, 1.0, 0.3]) + np.abs(X[:, 11]) - 0.8
        scores = np.stack([z, b, np.zeros(n)], 1) + rng.gumbel(size=(n, 3))
        columns = {f"x{j}": X[:, j] for j in range(d - 5)}
        columns |= {f"k{j}": [f"level {i}" for i in k] for j, k in enumerate(kinds)}
        columns["y"] = np.array(["a", "b", "c"])[scores.argmax(1)]
        return pa.table(columns)

    return make


CLASS, NUMBER, COUNT = "classification", "regression", "count"
TABLES = {
    "iris": Table(bundled("iris"), "species", CLASS),
    "wine": Table(bundled("wine"), "cultivar", CLASS),
    "breast cancer": Table(bundled("breast_cancer"), "diagnosis", CLASS),
    "digits": Table(digits, "digit", CLASS),
    "diabetes": Table(bundled("diabetes"), "progression", NUMBER),
    "anes96": Table(
        statsmodels("anes96", word("vote", "Dole", "Clinton")), "vote", CLASS
    ),
    "fair": Table(statsmodels("fair", word("affairs", "yes", "no")), "affairs", CLASS),
    "spector": Table(
        statsmodels("spector", word("GRADE", "up", "same")), "GRADE", CLASS
    ),
    "modechoice": Table(
        statsmodels("modechoice", word("choice", "taken", "not")), "choice", CLASS
    ),
    "star98": Table(statsmodels("star98", passed), "above", NUMBER),
    "ccard": Table(statsmodels("ccard", lambda d: d), "AVGEXP", NUMBER),
    "engel": Table(statsmodels("engel", lambda d: d), "foodexp", NUMBER),
    "randhie": Table(statsmodels("randhie", lambda d: d, 3000), "mdvis", COUNT),
    "messy": Table(messy(), "quit?", CLASS),
    "synthetic 10k": Table(synthetic(10_000), "y", CLASS, 0.5),
    "synthetic 200k": Table(synthetic(), "y", CLASS),
}
