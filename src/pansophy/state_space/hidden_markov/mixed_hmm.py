"""Hidden Markov model of columns of different kinds.

The model and its fit are those of `hmm`; given the state the columns are independent,

    b_j(x) = prod_a p_a(x_a; theta_ja)                                           (1)

and each has a family of its own: Normals, counts, symbols, yes or no, positive
numbers. The M-step of every family is its own `from_stats`. What is missing of a row
drops out of (1). (Columns of Normals are learned together, as one diagonal batch.)

Shapes    X (n, d)
Refs      [Rabiner1989]; [ZucchiniMacDonald2009]
"""

from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.chains.filtering import Evidence
from ...distributions.categorical import Categorical
from ...distributions.counts import Bernoulli, Poisson
from ...distributions.gaussian.normal import Normal
from ...distributions.priors import Gamma
from ...params import Count, Natural, NonNegative, ParameterRule, Verbosity
from ...persist.saved_state import AnyValue, Each, IntArray, Row, saved_state
from ...typing import NumericArray, Seed
from .distribution_emission import DistributionEmission
from .gaussian_hmm import NormalEmission
from .hmm import AbstractHMM
from .hmm_initialization import (
    data_covariance,
    impute_column_means,
    kmeans_centers,
    letters_rule,
    nearest_center,
)

KINDS = ("normal", "poisson", "categorical", "bernoulli", "gamma")
VALUE_CHECKS = {
    "poisson": ("counts of at least 0", lambda x: x >= 0),
    "bernoulli": ("0 or 1", lambda x: (x == 0) | (x == 1)),
    "categorical": ("whole numbers from 0", lambda x: (x >= 0) & (np.floor(x) == x)),
    "gamma": ("above 0", lambda x: x > 0),
}
Kinds = Annotated[
    Any,
    ParameterRule(
        f"one of {', '.join(KINDS)}, or a list with one of them for each column",
        lambda v: (
            v in KINDS
            if isinstance(v, str)
            else isinstance(v, (list, tuple)) and len(v) > 0 and set(v) <= set(KINDS)
        ),
    ),
]
Letters = Annotated[str, letters_rule("ste")]


def _initial_distribution(kind, x, z, k):
    """A start for one column that is not Normal: groups z, a tenth of them all."""
    R = 0.9 * (z[:, None] == np.arange(k)) + 0.1 / k
    if kind == "categorical":
        part = Categorical(np.full((k, int(x.max()) + 1), 1 / (int(x.max()) + 1)))
        counts = part.stats(x[:, None], R).total[0] + 0.1
        return Categorical(counts / counts.sum(axis=1, keepdims=True))
    mean = (R.T @ x + 0.1 * x.mean()) / (R.sum(axis=0) + 0.1)
    if kind == "bernoulli":
        return Bernoulli(np.clip(mean, 0.02, 0.98)[:, None])
    if kind == "poisson":
        return Poisson(np.maximum(mean, 1e-3)[:, None])
    shape = np.full(
        (k, 1), float(np.clip(mean.mean() ** 2 / max(x.var(), 1e-12), 1, 100))
    )
    return Gamma(shape, shape / mean[:, None])


class ColumnGroup(NamedTuple):
    """Columns and what they are."""

    columns: np.ndarray
    emission: Any


@dataclass(frozen=True, eq=False)
class ProductEmission:
    """Groups of columns, independent of one another given the state."""

    groups: tuple  # of Group
    cache: list = field(default_factory=list)

    def parts(self, X):
        """The columns of each group, cut once for all iterations of a fit."""
        if not self.cache or self.cache[0] is not X:
            cut = [np.ascontiguousarray(X[:, g.columns]) for g in self.groups]
            self.cache[:] = [X, *cut]
        return zip(self.groups, self.cache[1:], strict=True)

    @property
    def notes(self):
        return tuple(dict.fromkeys(n for g in self.groups for n in g.emission.notes))

    def log_prob(self, X):
        return sum(g.emission.log_prob(part) for g, part in self.parts(X))

    def evidence(self, X, ends) -> Evidence:
        return Evidence(self.log_prob(X), None, ends)

    def stats(self, X, R):
        return tuple(g.emission.stats(part, R) for g, part in self.parts(X))

    def expected(self, X, counts):
        return self.stats(X, counts)

    def learn(self, stats, prior, letters):
        priors = prior or (None,) * len(self.groups)
        groups = [
            ColumnGroup(g.columns, g.emission.learn(s, p, letters))
            for g, s, p in zip(self.groups, stats, priors, strict=True)
        ]
        return replace(self, groups=tuple(groups))

    def log_prior(self, prior) -> float:
        pairs = zip(self.groups, prior or (), strict=bool(prior))
        return sum(g.emission.log_prior(p) for g, p in pairs)

    def draw(self, z, rng):
        d = sum(len(g.columns) for g in self.groups)
        out = np.empty((len(z), d))
        for g in self.groups:
            out[:, g.columns] = g.emission.draw(z, rng)
        return out

    @property
    def free(self) -> int:
        counts = (g.emission.free for g in self.groups)
        return sum(sum(c.values()) if isinstance(c, dict) else c for c in counts)


def _emissions_cover_columns(model) -> bool:
    """Whether each column of a loaded model has one distribution in every state."""
    held = getattr(model, "emissions_", None)
    if held is None:
        return True
    columns = np.concatenate([np.zeros(0, int), *(c for c, _ in held)])
    batches = (getattr(p, fields(p)[0].name) for _, p in held)  # a mean, a rate, ...
    if not all(np.shape(batch)[:1] == (model.n_components,) for batch in batches):
        return False
    all_columns = np.arange(len(columns))
    return len(columns) == model.n_features_in_ and np.array_equal(
        np.sort(columns), all_columns
    )


@saved_state(
    emissions_=Each(Row(IntArray(None, low=0, below="n_features_in_"), AnyValue())),
    check=_emissions_cover_columns,
)
@dataclass(eq=False, repr=False)
class MixedHMM(AbstractHMM, Estimator):
    """Hidden Markov model of columns of different kinds, fitted by Baum-Welch.

    Parameters
    ----------
    n_components : int, default=1
        Number of states, k.
    kinds : str or list of str, default="normal"
        "normal", "poisson", "categorical" (symbols 0, 1, ...), "bernoulli" or "gamma",
        for every column, or one for each.
    min_covar : float, default=1e-3
        Floor of variances of Normals that collapse, at most 1e-8 of the variance of
        the column unless that is 0.
    startprob_prior, transmat_prior : float or array, default=1
        Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` gives: the most probable path, or the most probable state of
        each step.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start and of `sample`.
    n_iter : int, default=10
        Greatest number of iterations of Baum-Welch; 0 sets the start only.
    tol : float, default=1e-2
        Stop when an iteration changes the objective by no more than this.
    verbose : int, default=0
        1 shows a progress bar.
    params : str, default="ste"
        What `fit` estimates: s(tart), t(ransitions), e(missions).
    init_params : str, default="ste"
        What `fit` sets first: start and transitions at random, emissions by k-means
        of the standardised columns; the rest is taken from the attributes.
    implementation : {"scaling", "log"}, default="scaling"
        Rescaled products, or logarithms throughout: many times slower, for
        transition probabilities too small to be multiplied.

    Attributes
    ----------
    startprob_ : array of shape (k,)
        Probabilities of the first state.
    transmat_ : array of shape (k, k)
        Probabilities of moving from row to column.
    emissions_ : list of (columns, distribution)
        A batch of k distributions for each group of columns.
    log_likelihood_ : float
        Log-likelihood plus log-prior reached.
    n_iter_, converged_, history_ : int, bool, dict
        Convergence of the fit; history_["objective"] is minus the above after each
        iteration.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import MixedHMM
    >>> X = np.array([[0.1, 3, 0], [-0.2, 2, 0], [0.0, 4, 1], [5.1, 20, 2],
    ...               [4.9, 22, 2], [5.0, 19, 2], [0.2, 3, 1], [0.1, 2, 0]])
    >>> kinds = ["normal", "poisson", "categorical"]
    >>> z = MixedHMM(2, kinds=kinds, random_state=0, n_iter=50).fit(X).predict(X)
    >>> bool((z[3:6] == z[3]).all() and (z[[0, 1, 2, 6, 7]] != z[3]).all())
    True
    """

    n_components: Count = 1
    kinds: Kinds = "normal"
    _: KW_ONLY
    min_covar: NonNegative = 1e-3
    startprob_prior: NonNegative | NumericArray = 1.0
    transmat_prior: NonNegative | NumericArray = 1.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Natural = 10
    tol: NonNegative = 1e-2
    verbose: Verbosity = False
    params: Letters = "ste"
    init_params: Letters = "ste"
    implementation: Literal["scaling", "log"] = "scaling"

    _letters: ClassVar[dict[str, str]] = {"emissions_": "e"}

    def _kinds(self, d):
        """One kind for each of d columns."""
        kinds = [self.kinds] * d if isinstance(self.kinds, str) else list(self.kinds)
        if len(kinds) != d:
            raise ValueError(f"kinds names {len(kinds)} columns, but X has {d}.")
        return kinds

    def _check_columns(self, X, fitting):
        for a, kind in enumerate(self._kinds(X.shape[1])):
            says, holds = VALUE_CHECKS.get(kind, ("", None))
            x = X[~np.isnan(X[:, a]), a]
            if holds is not None and not holds(x).all():
                raise ValueError(f"column {a} of X is {kind}: values must be {says}.")

    def _emission(self):
        if not hasattr(self, "emissions_"):
            raise ValueError("emissions_ is neither fitted nor set: see init_params.")
        groups = []
        for columns, part in self.emissions_:
            normal = isinstance(part, Normal)
            emission = (
                NormalEmission(part, self.min_covar)
                if normal
                else DistributionEmission(part)
            )
            groups.append(ColumnGroup(np.asarray(columns), emission))
        return ProductEmission(tuple(groups))

    def _initial_emission(self, X, rng):
        k = self.n_components
        kinds = np.array(self._kinds(X.shape[1]))
        F = impute_column_means(X)
        scale = np.where(F.std(axis=0) > 0, F.std(axis=0), 1.0)
        C = kmeans_centers(F / scale, k, rng)
        z = nearest_center(F / scale, C)
        groups = []
        normal = np.flatnonzero(kinds == "normal")
        if len(normal):
            V = np.diagonal(data_covariance(X[:, normal], self.min_covar))
            q = Normal(C[:, normal] * scale[normal], np.tile(V, (k, 1)), "diag")
            groups.append(ColumnGroup(normal, NormalEmission(q, self.min_covar)))
        for a in np.flatnonzero(kinds != "normal"):
            seen = ~np.isnan(X[~np.isnan(X).all(axis=1), a])
            part = _initial_distribution(kinds[a], F[seen, a], z[seen], k)
            groups.append(ColumnGroup(np.array([a]), DistributionEmission(part)))
        return ProductEmission(tuple(groups))

    def _emission_attributes(self, emission):
        part = lambda e: e.normal if isinstance(e, NormalEmission) else e.distribution
        return {"emissions_": [(g.columns, part(g.emission)) for g in emission.groups]}

    def _emission_prior(self, emission):
        return None
