"""Plates and templates: repeated parts of a network, and models unrolled into networks.

A plate stands for copies of its tables. In their names [i] is the number of the copy
and [i-1] that of the one before, so that the same notation describes independent copies
(a plate) and chains (a template):

    "x[i] | class"         x[0] | class,  x[1] | class,  ...                       (1)
    "z[t] | z[t-1]"        z[1] | z[0],   z[2] | z[1],   ...   (from t = 1)        (2)

Plates may contain plates: names then carry an index for each, "x[i][j]". All copies
share the table object itself. `to_bayesian_network` unrolls plates, or a fitted model:

    hidden Markov    z[0],  z[t] | z[t-1],  x[t] | z[t]                            (3)
    mixture          z,     x_j | z                                                (4)
    naive Bayes      class, x_j | class                                            (5)

The marginals of the network given the observations are then the smoothed states of (3),
the responsibilities of (4) and the class probabilities of (5). Normal columns must be
independent given the hidden variable (diagonal or spherical covariances, or a single
column), since a node has one value.

Refs      [Buntine1994]; [Murphy2012] ch. 10
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graphical.networks.bayesian_network import BayesianNetwork
from ..graphical.networks.conditional_distributions import ConditionalLinearGaussian

INDEX = re.compile(r"\[\s*([A-Za-z_]\w*)\s*(?:([+-])\s*(\d+))?\s*\]")


@dataclass(frozen=True, eq=False)
class Plate:
    """Copies of a part of a network.

    Parameters
    ----------
    index : str
        The index letter of the copies in the names.
    size : int
        Number of copies.
    tables : dict, or list of dicts and plates
        Tables by keys such as "x[i] | z[i]".
    start : int, default=0
        Number of the first copy.

    Examples
    --------
    >>> from pansophy.teaching import Plate, unroll_plates
    >>> toss = Plate("i", 3, {"toss[i] | coin": [[0.5, 0.5], [0.9, 0.1]]})
    >>> list(unroll_plates([{"coin": [0.7, 0.3]}, toss]))
    ['coin', 'toss[0] | coin', 'toss[1] | coin', 'toss[2] | coin']
    """

    index: str
    size: int
    tables: Any
    start: int = 0

    def __post_init__(self):
        if not str(self.index).isidentifier():
            raise ValueError(f"index of a plate must be a word, got {self.index!r}.")
        if int(self.size) != self.size or self.size < 0:
            raise ValueError(f"size of a plate must be at least 0, got {self.size!r}.")


def unroll_plates(parts) -> dict[str, Any]:
    """All tables of a list of dicts and plates, by the keys of a `BayesianNetwork`."""
    tables = _flatten_parts(parts)
    for key in tables:
        unknown_index = INDEX.search(key)
        if unknown_index:
            raise ValueError(
                f"no plate of {key!r} has the index {unknown_index.group(1)!r}."
            )
    return tables


def _flatten_parts(parts) -> dict[str, Any]:
    """Tables by key; indices of enclosing plates are still letters."""
    if isinstance(parts, Mapping):
        return dict(parts)
    if isinstance(parts, Plate):
        inner = _flatten_parts(parts.tables)
        flat_tables: dict[str, Any] = {}
        for k in range(parts.start, parts.start + parts.size):
            for key, table in inner.items():
                _add_table(flat_tables, _fill_index(key, parts.index, k), table)
        return flat_tables
    flat_tables = {}
    for part in parts:
        for key, table in _flatten_parts(part).items():
            _add_table(flat_tables, key, table)
    return flat_tables


def _add_table(out, key, table):
    """Add a table; a repeated key raises."""
    if key in out:
        raise ValueError(f"{key!r} is declared twice: does its name lack an index?")
    out[key] = table


def _fill_index(key: str, index: str, k: int) -> str:
    """A key with its index replaced by a number, eq. (1) and (2)."""

    def number(match):
        letter, sign, step = match.groups()
        if letter != index:
            return match.group(0)
        place = k + int(f"{sign or '+'}{step or 0}")
        if place < 0:
            raise ValueError(
                f"{key!r} reaches before the first copy: use start= of its plate."
            )
        return f"[{place}]"

    return INDEX.sub(number, key)


def _normal_per_state(means, variances):
    """A node with one Normal for each state of its single, discrete parent."""
    means = np.asarray(means, dtype=float)
    return ConditionalLinearGaussian(
        means, np.zeros((*means.shape, 0)), variances, (0,)
    )


def _independent_variances(model, means) -> np.ndarray:
    """Variances (k, d) of independent columns, from covariances of any shape."""
    k, d = means.shape
    C = np.asarray(model.covariances_, dtype=float)
    kind = model.covariance_type
    if kind == "diag":
        return np.diagonal(C, axis1=1, axis2=2) if C.ndim == 3 else C
    if kind == "spherical":
        return np.broadcast_to(C.reshape(k, -1)[:, :1], (k, d))
    if d == 1 and kind in ("full", "tied"):
        return np.broadcast_to(C.reshape(-1, 1), (k, 1))
    raise ValueError(
        f"covariance_type={kind!r} with {d} columns has columns that depend on each "
        "other, which single nodes cannot: use 'diag' or 'spherical'."
    )


def _hidden_markov_tables(model, n):
    """Tables of eq. (3) for n steps, and the states of its variables."""
    if n is None or n < 1:
        raise ValueError("n, the number of steps, must be at least 1.")
    A = np.asarray(model.transmat_)
    if hasattr(model, "emissionprob_"):
        emit = {"x[t] | z[t]": np.asarray(model.emissionprob_)}
    elif hasattr(model, "means_"):
        means = np.asarray(model.means_, dtype=float)
        S = _independent_variances(model, means)
        d = means.shape[1]
        name = (lambda j: "x[t]") if d == 1 else (lambda j: f"x{j}[t]")
        emit = {
            f"{name(j)} | z[t]": _normal_per_state(means[:, j], S[:, j])
            for j in range(d)
        }
    else:
        raise _unsupported_model(model)
    return [
        {"z[0]": np.asarray(model.startprob_)},
        Plate("t", n - 1, {"z[t] | z[t-1]": A}, start=1),
        Plate("t", n, emit),
    ], {}


def _mixture_tables(model):
    """Tables of eq. (4), and the states of its variables."""
    means = np.asarray(model.means_, dtype=float)
    S = _independent_variances(model, means)
    emit = {
        f"x{j} | z": _normal_per_state(means[:, j], S[:, j])
        for j in range(means.shape[1])
    }
    return [{"z": np.asarray(model.weights_)}, emit], {}


def _naive_bayes_tables(model):
    """Tables of eq. (5), and the states of its variables."""
    labels = tuple(np.asarray(model.classes_).tolist())
    states: dict = {"class": labels}
    if hasattr(model, "theta_"):
        prior = np.asarray(model.class_prior_)
        pairs = zip(np.asarray(model.theta_).T, np.asarray(model.var_).T, strict=True)
        emit = {
            f"x{j} | class": _normal_per_state(m, v) for j, (m, v) in enumerate(pairs)
        }
        return [{"class": prior}, emit], states
    prior = np.exp(np.asarray(model.class_log_prior_))
    logs = model.feature_log_prob_
    if isinstance(logs, list):  # categories: a table (classes, values) for each column
        tables = [np.exp(np.asarray(t)) for t in logs]
    elif type(model).__name__ == "BernoulliNB":
        p = np.exp(np.asarray(logs))
        tables = [np.stack([1 - p[:, j], p[:, j]], axis=1) for j in range(p.shape[1])]
    else:
        raise _unsupported_model(model)
    return [
        {"class": prior / prior.sum()},
        {
            f"x{j} | class": t / t.sum(axis=1, keepdims=True)
            for j, t in enumerate(tables)
        },
    ], states


def _unsupported_model(model):
    """The error about a model without a network."""
    return TypeError(
        f"no network is known for a {type(model).__name__}: give tables and plates, or "
        "a fitted hidden Markov model, Gaussian mixture or naive Bayes classifier."
    )


def to_bayesian_network(model, n: int | None = None, *, states=None) -> BayesianNetwork:
    """The Bayesian network of plates, or of a fitted model, eq. (1) to (5).

    Parameters
    ----------
    model : Plate, dict, list of these, or a fitted model
        A hidden Markov model with categorical or Gaussian emissions, a Gaussian
        mixture, or a naive Bayes classifier of categories, bits or Normals.
    n : int, optional
        Number of steps of a hidden Markov model.
    states : dict, optional
        States of variables by name.

    Examples
    --------
    >>> from pansophy.teaching import Plate, to_bayesian_network
    >>> toss = Plate("i", 2, {"toss[i] | coin": [[0.5, 0.5], [0.9, 0.1]]})
    >>> network = to_bayesian_network([{"coin": [0.7, 0.3]}, toss])
    >>> network.space.names
    ('coin', 'toss[0]', 'toss[1]')
    """
    model_states: dict = {}
    if isinstance(model, (Plate, Mapping, list, tuple)):
        parts = model
    elif hasattr(model, "transmat_"):
        parts, model_states = _hidden_markov_tables(model, n)
    elif hasattr(model, "weights_") and hasattr(model, "covariances_"):
        parts, model_states = _mixture_tables(model)
    elif hasattr(model, "classes_") and (
        hasattr(model, "theta_") or hasattr(model, "feature_log_prob_")
    ):
        parts, model_states = _naive_bayes_tables(model)
    else:
        raise _unsupported_model(model)
    all_states = {**model_states, **(states or {})}
    return BayesianNetwork.from_tables(unroll_plates(parts), states=all_states or None)
