"""Fits of hidden Markov models, and rows for them, which tests of every kind share."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pansophy.state_space import CategoricalHMM


def fit_quietly(model, *args):
    """A fit of few iterations, without the warning that it did not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args)


def largest_rise(model):
    """By how much the objective ever rose, in units of rounding."""
    path = model.history_["objective"]
    size = np.abs(path).max() + 1
    return np.diff(path).max(initial=0.0) / size


def put_parameters(model, k, **found):
    """The model with k sticky states and the parameters given."""
    model.startprob_ = np.full(k, 1 / k)
    model.transmat_ = np.full((k, k), 0.3 / k) + 0.7 * np.eye(k)
    for name, value in found.items():
        setattr(model, name, value.copy())
    return model


def two_place_rows(rng, n=300):
    """Two states, one of them in two two_place_rows."""
    z = np.repeat(rng.integers(0, 2, n // 10), 10)
    where = np.where(z == 0, rng.choice([-3.0, 3.0], n), 9.0)
    return where[:, None] + rng.normal(size=(n, 2)), z


def categorical_hmm(start, trans, emit, **more):
    """A model with these parameters."""
    model = CategoricalHMM(len(start), init_params="", **more)
    model.startprob_, model.transmat_ = np.array(start), np.array(trans)
    model.emissionprob_ = np.array(emit)
    return model
