"""Members of an ensemble: their seeds, what each draws, copies, fits and collection.

Seeds. Each member has an integer seed and draws from its own generator. So what it sees
depends neither on threads nor on the number of members, and can be drawn again later
instead of being stored.

Draws. Rows drawn with replacement are kept as counts c_1 .. c_n: a count is a weight,
and no row is copied. A member of n draws sees a row with probability

    1 - (1 - 1/n)^n  ->  1 - 1/e = 0.632...                                     (1)

and the row is out of its bag otherwise.

Fits. A member is a clone of a template with its own random states, fitted to some of
the columns and to rows with counts or weights. `fit_member` passes counts as
`sample_weight` to an estimator that takes weights, and repeats rows for one that does
not. Decision trees of this package have a faster way, `ensemble/forests/tree_table.py`.

Shapes    counts (n,)   columns (k,)   seeds (members,)
Refs      [Breiman1996] bagging; [Ho1998] subspaces; [Louppe2012] patches
"""

import warnings
from functools import wraps
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from ..base import InterruptedFitWarning, host_array
from ..core.arrays.rows import is_dataset
from ..core.drivers.routing import routing_enabled
from ..core.random import make_rng

# -- seeds and draws -------------------------------------------------------------


class ResamplingPlan(NamedTuple):
    """Plan of drawing rows and columns for members: a seed and this repeat a draw."""

    n: int  # rows
    d: int  # columns
    n_rows: int  # rows to draw
    n_columns: int  # columns to draw
    bootstrap: bool  # rows with replacement
    bootstrap_columns: bool
    p: np.ndarray | None = None  # probabilities of the rows; None: all equal

    @property
    def all_columns(self) -> bool:
        return self.n_columns == self.d and not self.bootstrap_columns

    @property
    def all_rows(self) -> bool:
        return self.n_rows == self.n and not self.bootstrap

    def draw(self, seed):
        """Columns (k,) and counts of rows (n,) of the member with this seed."""
        rng = np.random.default_rng(seed)
        columns = np.arange(self.d)
        if not self.all_columns:
            columns = draw_feature_subset(
                rng, self.d, self.n_columns, self.bootstrap_columns
            )
        if self.bootstrap:
            return columns, bootstrap_counts(rng, self.n, self.n_rows, self.p)
        return columns, subset_counts(rng, self.n, self.n_rows)


def members_fit_columns(model) -> bool:
    """Whether the trees among the members of a loaded ensemble fit its columns.

    They may be packed into one forest, which looks at no member's number of columns.
    """
    members = getattr(model, "estimators_", [])
    columns = getattr(model, "estimators_features_", None)
    width = getattr(model, "n_features_in_", None)
    if columns is not None and len(columns) != len(members):
        return False
    for i, member in enumerate(members):
        tree = getattr(member, "tree_", None)
        expected = width if columns is None else len(columns[i])
        if tree is not None and tree.n_features != expected:
            return False
    return True


def member_seeds(random_state, n, skip=0) -> np.ndarray:
    """Seeds (31 bits) of members skip .. n; the first ones are the same for any n."""
    return make_rng(random_state).integers(0, 2**31 - 1, size=n)[skip:]


def bootstrap_counts(rng, n, size=None, p=None) -> np.ndarray:
    """Counts (n,) of `size` rows drawn with replacement, uniformly or by p.

    >>> bootstrap_counts(np.random.default_rng(0), 6)
    array([1, 2, 0, 2, 0, 1])
    """
    size = n if size is None else size
    if p is None:
        return np.bincount(rng.integers(0, n, size=size), minlength=n)
    steps = np.cumsum(p)
    last = np.flatnonzero(p)[-1]  # rounding may leave the last step short of the sum
    drawn = np.searchsorted(steps, np.sort(rng.random(size)) * steps[-1], side="right")
    return np.bincount(np.minimum(drawn, last), minlength=n)


def subset_counts(rng, n, size) -> np.ndarray:
    """Counts (n,), 0 or 1, of `size` distinct rows."""
    counts = np.ones(n, np.int64)
    if size < n:
        counts[:] = 0
        counts[rng.choice(n, size, replace=False, shuffle=False)] = 1
    return counts


def draw_feature_subset(rng, d, size, replace=False) -> np.ndarray:
    """`size` columns in ascending order, with or without repetition."""
    if replace:
        return np.sort(rng.integers(0, d, size=size))
    return np.sort(rng.choice(d, size, replace=False, shuffle=False))


def number_of_rows_to_draw(max_samples, n, w=None) -> int:
    """None: n; an integer: itself; a fraction: of n, or of the total weight."""
    if max_samples is None:
        return n
    if isinstance(max_samples, Integral):
        return int(max_samples)
    return max(1, int(max_samples * (n if w is None else float(np.sum(w)))))


def number_of_columns_to_draw(max_features, d) -> int:
    """An integer: itself; a fraction: of d, at least one."""
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * d))


def share_of_distinct_rows(counts) -> float:
    """Share of the rows that were drawn at least once, see eq. (1).

    >>> share_of_distinct_rows(np.array([2, 0, 1, 1]))
    0.75
    """
    return float(np.mean(np.asarray(counts) > 0))


# -- clones and their fits -------------------------------------------------------


def require_in_memory(model, X):
    """X as a NumPy array, SciPy matrix or data frame; a table on disk is refused."""
    if is_dataset(X):
        name = type(model).__name__
        raise TypeError(f"{name} needs its rows in memory: pass an array.")
    return host_array(model, X)


def takes_sample_weight(estimator) -> bool:
    """Whether `fit` of the estimator takes weights, and with routing asks for them."""
    if routing_enabled():
        routing = get_routing_for_object(estimator)
        return "sample_weight" in routing.consumes("fit", ("sample_weight",))
    return has_fit_parameter(estimator, "sample_weight")


def clone_with_seed(template, seed) -> Any:
    """An unfitted clone; every random_state inside it is derived from the seed."""
    made = clone(template)
    names = sorted(k for k in made.get_params() if k.split("__")[-1] == "random_state")
    if names:
        states = {k: member_random_state(seed, i) for i, k in enumerate(names)}
        made.set_params(**states)
    return made


def member_random_state(seed, i=0) -> int:
    """The random state of number i inside the member with this seed."""
    return (int(seed) + 0x9E3779B1 * (i + 1)) % (2**31 - 1)


def fit_member(
    template, seed, X, y, columns=None, counts=None, w=None, params=None
) -> Any:
    """A member fitted to some columns and to rows by count, weight or both.

    `params` are further arguments of its `fit`, by row where they have as many entries.
    """
    model = clone_with_seed(template, seed)
    params = {} if params is None else params
    if columns is not None:
        X = X[:, columns]
    if counts is None and w is None:
        model.fit(X, y, **params)
        return model
    if takes_sample_weight(model):
        weight = counts if w is None else w if counts is None else counts * w
        model.fit(X, y, sample_weight=weight, **params)
        return model
    if counts is None:
        name = type(model).__name__
        raise ValueError(
            f"{name} takes no sample_weight; use bootstrap=True to draw rows by weight."
        )
    rows = np.repeat(np.arange(len(counts)), counts)
    model.fit(X[rows], y[rows], **rows_of_params(params, rows, len(counts)))
    return model


def rows_of_params(params, rows, n) -> dict:
    """Arguments with an entry for each of n rows, cut down to some rows."""
    by_row = lambda v: (
        hasattr(v, "__len__") and not isinstance(v, (str, dict)) and len(v) == n
    )
    return {name: np.asarray(v)[rows] if by_row(v) else v for name, v in params.items()}


def class_probabilities(model, X, n_classes, dtype=float, params=None):
    """(n, K) probabilities by a model whose classes are some of 0 .. K - 1."""
    answer = np.asarray(model.predict_proba(X, **(params or {})), dtype)
    if answer.shape[1] == n_classes:
        return answer
    out = np.zeros((len(answer), n_classes))
    out[:, np.asarray(model.classes_, int)] = answer
    return out


def probabilities_or_votes(model, X, n_classes, params=None):
    """`class_probabilities`, or one-hot votes of a member without probabilities."""
    if hasattr(model, "predict_proba"):
        return class_probabilities(model, X, n_classes, dtype=None, params=params)
    votes = np.asarray(model.predict(X, **(params or {})), np.int64)
    return np.eye(n_classes)[votes]


# -- collecting members, and warm starts -----------------------------------------


def collect_members(model, fitted, task, what="tree", n_kept=0) -> list:
    """The members that `fitted` yields, until it ends or a callback stops it.

    Ctrl-C keeps those that are there, after `n_kept` of an earlier fit, with a
    warning; it is raised where there are none.
    """
    members = []
    try:
        for member in fitted:
            child = task.child(f"{what} {n_kept + len(members)}")
            members.append(member)
            if child.end():
                break
    except KeyboardInterrupt:
        k = n_kept + len(members)
        if not k:
            raise
        warnings.warn(
            f"{type(model).__name__} was interrupted after {k} {what}"
            f"{'s' if k > 1 else ''}; the model is usable as it stands.",
            InterruptedFitWarning,
            stacklevel=6,
        )
    return members


def checks_warm_start(attribute):
    """A decorator of `fit`: under warm_start, columns and classes must be the same.

    `attribute` is the one that holds the members of the earlier fit.
    """

    def decorate(fit):
        @wraps(fit)
        def run(self, X, y=None, *args, **options):
            if self.warm_start and hasattr(self, attribute):
                check_same_columns_and_classes(self, X, y)
            return fit(self, X, y, *args, **options)

        return run

    return decorate


def check_same_columns_and_classes(model, X, y):
    """Raise if columns or classes differ from those of the earlier fit."""
    shape = np.shape(X)
    if len(shape) == 2 and shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {shape[1]} columns, but warm_start goes on from a fit of "
            f"{model.n_features_in_}."
        )
    before = getattr(model, "classes_", None)
    if not isinstance(before, np.ndarray):
        return
    try:
        classes = np.unique(np.asarray(y))
    except TypeError:  # missing labels: the fit raises its own error
        return
    if not np.array_equal(classes, before):
        raise ValueError(
            f"y has the classes {classes.tolist()}, but warm_start goes on from a fit "
            f"of {before.tolist()}."
        )
