"""Hidden Markov model whose states emit Poisson counts.

The model and its fit are those of `hmm`; the emission is a batch of k Poissons in d
independent columns, x_ta | z_t = j ~ Poisson(l_ja). With N_j = sum_t g_t(j) and S_j =
sum_t g_t(j) x_t the M-step is

    l_j = (S_j + a) / (N_j + b)                                                  (1)

the mode of the posterior under a Gamma(a + 1, b) prior: a events in b steps seen
before, a = `lambdas_prior` and b = `lambdas_weight`. (hmmlearn has the weight of all
states in place of N_j in the numerator and denominator, which is the same where a and
b are 0 and lets priors fade k times too fast where they are not.)

Equal rows are looked at once, so long sequences of small counts cost what symbols do.

Shapes    X (n, d) counts   l (k, d)
Refs      [Rabiner1989]; [ZucchiniMacDonald2009]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from ...base import Estimator
from ...distributions.counts import Poisson
from ...params import Count, Natural, NonNegative, Verbosity
from ...persist.saved_state import FloatArray, saved_state
from ...typing import NumericArray, Seed
from .distribution_emission import DistributionEmission, GammaPseudoCounts
from .hmm import AbstractHMM
from .hmm_initialization import kmeans_centers, letters_rule, refuse_negative

Letters = Annotated[str, letters_rule("stl")]


@saved_state(lambdas_=FloatArray("n_components", "n_features_in_"))
@dataclass(eq=False, repr=False)
class PoissonHMM(AbstractHMM, Estimator):
    """Hidden Markov model with Poisson counts as emissions, fitted by Baum-Welch.

    Parameters
    ----------
    n_components : int, default=1
        Number of states, k.
    startprob_prior, transmat_prior : float or array, default=1
        Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    lambdas_prior, lambdas_weight : float or array, default=0
        Events a and steps b that the rates are believed to have had before.
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
    params : str, default="stl"
        What `fit` estimates: s(tart), t(ransitions), l(ambdas).
    init_params : str, default="stl"
        What `fit` sets first: start and transitions at random, rates by k-means; the
        rest is taken from the attributes.
    implementation : {"scaling", "log"}, default="scaling"
        Rescaled products, or logarithms throughout: many times slower, for
        transition probabilities too small to be multiplied.

    Attributes
    ----------
    startprob_ : array of shape (k,)
        Probabilities of the first state.
    transmat_ : array of shape (k, k)
        Probabilities of moving from row to column.
    lambdas_ : array of shape (k, d)
        Rates.
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
    >>> from pansophy.state_space import PoissonHMM
    >>> X = np.array([0, 1, 0, 1, 9, 11, 10, 8, 12, 1, 0, 0, 1])
    >>> model = PoissonHMM(2, random_state=0, n_iter=50).fit(X)
    >>> sorted(model.lambdas_[:, 0].round(1).tolist())
    [0.5, 10.0]
    """

    n_components: Count = 1
    _: KW_ONLY
    startprob_prior: NonNegative | NumericArray = 1.0
    transmat_prior: NonNegative | NumericArray = 1.0
    lambdas_prior: NonNegative | NumericArray = 0.0
    lambdas_weight: NonNegative | NumericArray = 0.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Natural = 10
    tol: NonNegative = 1e-2
    verbose: Verbosity = False
    params: Letters = "stl"
    init_params: Letters = "stl"
    implementation: Literal["scaling", "log"] = "scaling"

    _letters: ClassVar[dict[str, str]] = {"lambdas_": "l"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _check_columns(self, X, fitting):
        refuse_negative(self, X)
        is_given = not fitting or "l" not in self.init_params
        if is_given and hasattr(self, "lambdas_"):
            d = np.atleast_2d(self.lambdas_).shape[1]
            if d != X.shape[1]:
                raise ValueError(f"lambdas_ has {d} columns, but X has {X.shape[1]}.")

    def _emission(self):
        if not hasattr(self, "lambdas_"):
            raise ValueError("lambdas_ is neither fitted nor set: see init_params.")
        rate = np.asarray(self.lambdas_, dtype=float)
        good = rate.ndim == 2 and len(rate) == self.n_components
        if not good or not np.isfinite(rate).all() or (rate < 0).any():
            raise ValueError(
                f"lambdas_ must hold {self.n_components} rows of numbers of at least "
                f"0, got shape {rate.shape}."
            )
        return DistributionEmission(Poisson(rate))

    def _initial_emission(self, X, rng):
        M = kmeans_centers(X, self.n_components, rng)
        return DistributionEmission(
            Poisson(np.maximum(M, 0.05 * M.mean(axis=0) + 1e-3))
        )

    def _emission_attributes(self, emission):
        return {"lambdas_": emission.distribution.rate}

    def _emission_prior(self, emission):
        a, b = np.asarray(self.lambdas_prior, float), np.asarray(self.lambdas_weight)
        if not a.any() and not b.any():
            return None
        lift = lambda v: v[:, None] if v.ndim == 1 else v  # a number for each state
        shape = emission.distribution.rate.shape
        return GammaPseudoCounts(
            *(np.broadcast_to(lift(v), shape) for v in (a + 1, b * 1.0))
        )
