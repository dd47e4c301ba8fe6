"""Choosing the number of clusters k by one of eight criteria on the k-means cost.

J_k is the best cost found with k clusters. The runs of k + 1 include one from the
centres of k and the row farthest from them, so J_k never rises with k. The curve or a
score s_k made from it gives k:

    elbow       the k farthest below the chord of the curve J_k                 (1)
    penalty     min J_k + p k                                                   (2)
    bic         min -2 log L_k + k (d + 1) log n, with one round normal a
                cluster, one variance and free shares                           (3)
    silhouette  max mean_i (b_i - a_i) / max(a_i, b_i)                          (4)
    gap         least k with g_k >= g_{k+1} - e_{k+1}, where g_k is
                mean log J_k of uniform rows in the same box - log J_k, and
                e_k the standard error of that mean                             (5)
    stability   max mean agreement (adjusted Rand) of all rows labelled by the
                centres of two random halves; of those within one standard
                error of the best, the largest k                                (6)
    holdout     min cost of rows not fitted to                                  (7)
    labels      max agreement with the rows whose labels are known              (8)

(7) is there to show that it does not work: more centres are nearer to new rows too, so
it keeps falling and selects the largest k; a warning says so. (1) always has an answer,
also where there are no clusters. (3) and (5) can select 1.

Refs      [Tibshirani2001] the gap; [Pelleg2000] the likelihood; [Rousseeuw1987]
"""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score, silhouette_score

from ..base import interruptions_raised
from ..core.random import draw_seed, make_rng
from ..distributions import entropy
from ..params import ParameterError
from .centers.kmeans import KMeans, kmeans_objective


@dataclass(frozen=True)
class KChoice:
    """The k chosen, and the curve it was chosen from.

    Attributes
    ----------
    k : int
    method : str
    ks : array
        The numbers of clusters tried.
    costs : array
        J_k, never rising.
    scores : array
        What was compared, one for each k; NaN where it has no meaning.
    errors : array or None
        Standard errors of the scores, for "gap" and "stability".
    """

    k: int
    method: str
    ks: np.ndarray
    costs: np.ndarray
    scores: np.ndarray
    errors: np.ndarray | None = None


class KMeansRuns:
    """Rows, and k-means models fitted to them."""

    def __init__(self, X, ks, n_init, rng):
        self.X = np.asarray(X, dtype=np.float64)
        self.ks = np.asarray(ks)
        self.n_init = n_init
        self.rng = rng

    def fit(self, X, k, n_init=None):
        seed = draw_seed(self.rng)
        return KMeans(k, n_init=n_init or self.n_init, random_state=seed).fit(X)

    def curve(self, X, n_init=None):
        """Models for every k, with costs that never rise."""
        models = []
        for k in self.ks:
            model = self.fit(X, k, n_init)
            if models:
                C = extended_centers(models[-1], X, k)
                other = KMeans(k, init=C, n_init=1).fit(X)
                model = min(model, other, key=lambda m: m.inertia_)
            models.append(model)
        costs = np.array([m.inertia_ for m in models])
        return models, np.minimum.accumulate(costs)


def extended_centers(model, X, k):
    """The centres of a model and the rows farthest from them, to make k."""
    C = model.cluster_centers_
    D = model.transform(X).min(axis=1)
    while len(C) < k:
        C = np.vstack([C, X[np.argmax(D)]])
        D = np.minimum(D, np.sqrt(((X - C[-1]) ** 2).sum(axis=1)))
    return C


def elbow_scores(data, models, costs):
    """Eq. (1): how far the curve is below its chord, both axes scaled to 1."""
    x = (data.ks - data.ks[0]) / max(data.ks[-1] - data.ks[0], 1)
    fall = costs[0] - costs[-1]
    y = (costs - costs[-1]) / fall if fall > 0 else np.zeros(len(x))
    return 1 - x - y, None


def kmeans_bic_scores(data, models, costs):
    """Eq. (3), its sign turned so that more is better."""
    (n, d) = data.X.shape
    out = []
    for k, model, J in zip(data.ks, models, costs, strict=True):
        variance = max(J / max(d * (n - k), 1), 1e-300)
        share = np.bincount(model.labels_, minlength=k) / n
        share = share[share > 0]
        L = -n * float(entropy(share))
        L -= 0.5 * n * d * np.log(2 * np.pi * variance) + 0.5 * J / variance
        out.append(2 * L - k * (d + 1) * np.log(n))
    return np.array(out), None


def silhouette_scores(data, models, costs, sample=2000):
    """Eq. (4), on a sample of the rows."""
    n = len(data.X)
    few = data.rng.permutation(n)[:sample]
    out = []
    for model in models:
        z = model.labels_[few]
        groups = len(np.unique(z))
        fine = 2 <= groups < len(z)
        out.append(silhouette_score(data.X[few], z) if fine else np.nan)
    return np.array(out), None


def gap_statistic(data, models, costs, references=10):
    """Eq. (5): the gap and its standard error."""
    low = data.X.min(axis=0)
    high = data.X.max(axis=0)
    logs = np.empty((references, len(data.ks)))
    for b in range(references):
        U = data.rng.uniform(low, high, size=data.X.shape)
        logs[b] = np.log(np.maximum(data.curve(U, 1)[1], 1e-300))
    scores = logs.mean(axis=0) - np.log(np.maximum(costs, 1e-300))
    return scores, logs.std(axis=0) * np.sqrt(1 + 1 / references)


def stability_scores(data, models, costs, resamples=8):
    """Eq. (6)."""
    n = len(data.X)
    results = []
    for k, model in zip(data.ks, models, strict=True):
        if k == 1 or len(np.unique(model.labels_)) < k:  # no k clusters to agree on
            results.append([np.nan] * resamples)
            continue
        one = []
        for _ in range(resamples):
            order = data.rng.permutation(n)
            halves = order[: n // 2], order[n // 2 :]
            a, b = (data.fit(data.X[h], k).predict(data.X) for h in halves)
            one.append(adjusted_rand_score(a, b))
        results.append(one)
    A = np.array(results)
    return A.mean(axis=1), A.std(axis=1) / np.sqrt(resamples)


def holdout_scores(data, models, costs, folds=5):
    """Eq. (7), its sign turned; per row."""
    n = len(data.X)
    total = np.zeros(len(data.ks))
    for part in np.array_split(data.rng.permutation(n), folds):
        rest = np.setdiff1d(np.arange(n), part)
        for at, k in enumerate(data.ks):
            C = data.fit(data.X[rest], k).cluster_centers_
            total[at] += kmeans_objective(data.X[part], C)
    return -total / n, None


METHODS = {
    "elbow": elbow_scores,
    "bic": kmeans_bic_scores,
    "silhouette": silhouette_scores,
    "gap": gap_statistic,
    "stability": stability_scores,
    "holdout": holdout_scores,
}


def choose_k(
    X,
    ks=range(1, 11),
    *,
    method="elbow",
    penalty=None,
    labels=None,
    n_init=5,
    random_state=None,
) -> KChoice:
    """The number of clusters that one criterion selects.

    Parameters
    ----------
    X : array of shape (n, d)
    ks : sequence of int
        Numbers of clusters to try, rising.
    method : {"elbow", "penalty", "bic", "silhouette", "gap", "stability", \
"holdout", "labels"}
        Eq. (1) to (8) of the module text.
    penalty : float or None
        p of eq. (2); None is the mean fall of the curve, which makes (2) equal to (1).
    labels : array of length n or None
        For "labels": the class of each row, -1 where it is not known.
    n_init : int
        Starts for each k.
    random_state : None, int, RandomState or Generator

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.cluster import choose_k
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 50, axis=0)
    >>> [choose_k(X, range(1, 7), method=m, random_state=0).k for m in ("elbow", "bic")]
    [3, 3]
    """
    ks = np.array(sorted(set(ks)))
    known = (*METHODS, "penalty", "labels")
    if method not in known:
        raise ParameterError(f"method must be one of {', '.join(known)}, got {method}.")
    if len(ks) == 0 or ks[0] < 1 or ks[-1] > len(X):
        raise ValueError(
            f"ks must be whole numbers from 1 to the number of rows, got {ks}."
        )
    data = KMeansRuns(X, ks, n_init, make_rng(random_state))
    with collapse_repeated_warnings(), interruptions_raised():
        models, costs = data.curve(data.X)
        errors = None
        if method == "penalty":
            if penalty is None:
                penalty = (costs[0] - costs[-1]) / max(ks[-1] - ks[0], 1)
            scores = -(costs + penalty * ks)
        elif method == "labels":
            scores = label_agreement(models, labels, len(data.X))
        else:
            scores, errors = METHODS[method](data, models, costs)
    if np.all(np.isnan(scores)):
        raise ValueError(f"method={method!r} needs a k of at least 2 among ks.")
    select = SELECTION_RULES.get(method, lambda scores, _: np.nanargmax(scores))
    at = select(scores, errors)
    if method == "holdout" and at == len(ks) - 1:
        warnings.warn(
            "the held-out cost of k-means keeps falling with k, so it cannot choose "
            f"k; {ks[at]} is only the largest tried.",
            UserWarning,
            stacklevel=2,
        )
    return KChoice(int(ks[at]), method, ks, costs, scores, errors)


@contextmanager
def collapse_repeated_warnings():
    """Issue repeated warnings of the fits inside once each, with their number."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    first, times = {}, {}
    for warning in caught:
        kind = warning.category, str(warning.message).translate(NO_DIGITS)
        first.setdefault(kind, str(warning.message))
        times[kind] = times.get(kind, 0) + 1
    for kind, text in first.items():
        more = f" (Same for {times[kind]} fits.)" if times[kind] > 1 else ""
        warnings.warn(text + more, kind[0], stacklevel=4)


NO_DIGITS = str.maketrans("", "", "0123456789")


def label_agreement(models, labels, n):
    """Eq. (8)."""
    if labels is None or len(labels) != n:
        raise ValueError(
            "method='labels' needs labels, one for each row, -1 where not known."
        )
    labels = np.asarray(labels)
    known = labels != -1
    if not known.any():
        raise ValueError("labels are all -1: method='labels' needs some known ones.")
    pairs = [adjusted_rand_score(labels[known], m.labels_[known]) for m in models]
    return np.array(pairs)


def first_within_gap_error(gap, error):
    """The rule of eq. (5); the largest gap if no k meets it."""
    fine = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return int(fine[0]) if len(fine) else int(np.argmax(gap))


def largest_within_one_error(scores, error):
    """The rule of eq. (6): coarse clusters are stable too, so the finest is taken."""
    top = int(np.nanargmax(scores))
    return int(np.flatnonzero(scores >= scores[top] - error[top])[-1])


SELECTION_RULES = {"gap": first_within_gap_error, "stability": largest_within_one_error}
