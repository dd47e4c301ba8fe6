"""Models of sequences, groups and classes written out as Bayesian networks.

    hidden Markov    z[0],  z[t] | z[t-1],  x[t] | z[t]                            (1)
    mixture          z,     x_j | z                                                (2)
    naive Bayes      class, x_j | class                                            (3)

with the fitted tables of the model. The marginals of the network given what is seen
are then the smoothed states of (1), the responsibilities of (2) and the class
probabilities of (3). Columns of Normals must be independent given the hidden variable
(diagonal or spherical covariances, or a single column), since a node has one value.

Refs      [Murphy2012] ch. 10
"""

from collections.abc import Mapping

import numpy as np

from .bayesian_network import BayesianNetwork
from .conditional_distributions import ConditionalLinearGaussian
from .plates import Plate, unroll_plates


def normal_per_state(means, variances):
    """A node with one Normal for each state of its one, discrete, parent."""
    means = np.asarray(means, dtype=float)
    return ConditionalLinearGaussian(
        means, np.zeros((*means.shape, 0)), variances, (0,)
    )


def independent_variances(model, means) -> np.ndarray:
    """Variances (k, d) of independent columns, from covariances of any shape."""
    k, d = means.shape
    C, kind = np.asarray(model.covariances_, dtype=float), model.covariance_type
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


def hidden_markov_tables(model, n):
    """Tables of eq. (1) for n steps, and the states of its variables."""
    if n is None or n < 1:
        raise ValueError("n, the number of steps, must be at least 1.")
    A = np.asarray(model.transmat_)
    if hasattr(model, "emissionprob_"):
        emit = {"x[t] | z[t]": np.asarray(model.emissionprob_)}
    elif hasattr(model, "means_"):
        means = np.asarray(model.means_, dtype=float)
        S = independent_variances(model, means)
        d = means.shape[1]
        name = (lambda j: "x[t]") if d == 1 else (lambda j: f"x{j}[t]")
        emit = {
            f"{name(j)} | z[t]": normal_per_state(means[:, j], S[:, j])
            for j in range(d)
        }
    else:
        raise unsupported_model(model)
    return [
        {"z[0]": np.asarray(model.startprob_)},
        Plate("t", n - 1, {"z[t] | z[t-1]": A}, start=1),
        Plate("t", n, emit),
    ], {}


def mixture_tables(model):
    """Tables of eq. (2)."""
    means = np.asarray(model.means_, dtype=float)
    S = independent_variances(model, means)
    emit = {
        f"x{j} | z": normal_per_state(means[:, j], S[:, j])
        for j in range(means.shape[1])
    }
    return [{"z": np.asarray(model.weights_)}, emit], {}


def naive_bayes_tables(model):
    """Tables of eq. (3)."""
    labels = tuple(np.asarray(model.classes_).tolist())
    states: dict = {"class": labels}
    if hasattr(model, "theta_"):
        prior = np.asarray(model.class_prior_)
        pairs = zip(np.asarray(model.theta_).T, np.asarray(model.var_).T, strict=True)
        emit = {
            f"x{j} | class": normal_per_state(m, v) for j, (m, v) in enumerate(pairs)
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
        raise unsupported_model(model)
    return [
        {"class": prior / prior.sum()},
        {
            f"x{j} | class": t / t.sum(axis=1, keepdims=True)
            for j, t in enumerate(tables)
        },
    ], states


def unsupported_model(model):
    return TypeError(
        f"no network is known for a {type(model).__name__}: give tables and plates, or "
        "a fitted hidden Markov model, Gaussian mixture or naive Bayes classifier."
    )


def to_bayesian_network(model, n: int | None = None, *, states=None) -> BayesianNetwork:
    """The Bayesian network of plates, or of a fitted model, eq. (1) to (3).

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
    >>> from pansophy.graphical import Plate, to_bayesian_network
    >>> toss = Plate("i", 2, {"toss[i] | coin": [[0.5, 0.5], [0.9, 0.1]]})
    >>> network = to_bayesian_network([{"coin": [0.7, 0.3]}, toss])
    >>> network.space.names
    ('coin', 'toss[0]', 'toss[1]')
    """
    known: dict = {}
    if isinstance(model, (Plate, Mapping, list, tuple)):
        parts = model
    elif hasattr(model, "transmat_"):
        parts, known = hidden_markov_tables(model, n)
    elif hasattr(model, "weights_") and hasattr(model, "covariances_"):
        parts, known = mixture_tables(model)
    elif hasattr(model, "classes_") and (
        hasattr(model, "theta_") or hasattr(model, "feature_log_prob_")
    ):
        parts, known = naive_bayes_tables(model)
    else:
        raise unsupported_model(model)
    told = {**known, **(states or {})}
    return BayesianNetwork.from_tables(unroll_plates(parts), states=told or None)
