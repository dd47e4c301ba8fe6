"""Hidden Markov model whose states emit counts of m symbols in several trials.

The model and its fit are those of `hmm`; the emission is a batch of `Multinomial`
distributions B (k, m): x_t counts how often each symbol came up in sum_v x_tv trials,
which may differ from row to row. The M-step is counting,

    B_jv in proportion to sum_t g_t(j) x_tv + prior - 1                          (1)

One trial a row is `CategoricalHMM` with symbols written as indicators.

Shapes    X (n, m) counts   B (k, m)
Refs      [Rabiner1989]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import numpy as np

from ...base import Estimator
from ...distributions.categorical import Multinomial, checked_probabilities
from ...distributions.priors import Dirichlet
from ...params import Count, Natural, NonNegative, Verbosity
from ...persist.saved_state import FloatArray, saved_state
from ...typing import ListLike, Matrix, NumericArray, Seed
from .distribution_emission import DistributionEmission
from .hmm import AbstractHMM
from .hmm_initialization import kmeans_centers, letters_rule, refuse_negative

Letters = Annotated[str, letters_rule("ste")]


@saved_state(emissionprob_=FloatArray("n_components", "n_features_in_"))
@dataclass(eq=False, repr=False)
class MultinomialHMM(AbstractHMM, Estimator):
    """Hidden Markov model with counts of symbols as emissions, by Baum-Welch.

    Parameters
    ----------
    n_components : int, default=1
        Number of states, k.
    n_trials : int or array of int, optional
        Trials of each row, which its counts must sum to. None reads them off the rows.
    startprob_prior, transmat_prior : float or array, default=1
        Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    emissionprob_prior : float or array of shape (k, m), default=1
        Dirichlet prior of the rows of `emissionprob_`.
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
        of the proportions; the rest is taken from the attributes.
    implementation : {"scaling", "log"}, default="scaling"
        Rescaled products, or logarithms throughout: many times slower, for
        transition probabilities too small to be multiplied.

    Attributes
    ----------
    startprob_ : array of shape (k,)
        Probabilities of the first state.
    transmat_ : array of shape (k, k)
        Probabilities of moving from row to column.
    emissionprob_ : array of shape (k, m)
        Probabilities of the symbols in each state.
    n_trials_ : int or None
        Trials of the rows seen, if all had the same: what `sample` draws.
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
    >>> from pansophy.state_space import MultinomialHMM
    >>> X = np.array([[9, 1], [8, 2], [9, 1], [2, 8], [1, 9], [2, 8], [9, 1], [8, 2]])
    >>> model = MultinomialHMM(2, random_state=0, n_iter=50).fit(X)
    >>> sorted(model.emissionprob_[:, 0].round(2).tolist())
    [0.17, 0.86]
    """

    n_components: Count = 1
    n_trials: Count | Matrix | ListLike | None = None
    _: KW_ONLY
    startprob_prior: NonNegative | NumericArray = 1.0
    transmat_prior: NonNegative | NumericArray = 1.0
    emissionprob_prior: NonNegative | NumericArray = 1.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Natural = 10
    tol: NonNegative = 1e-2
    verbose: Verbosity = False
    params: Letters = "ste"
    init_params: Letters = "ste"
    implementation: Literal["scaling", "log"] = "scaling"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _check_columns(self, X, fitting):
        refuse_negative(self, X)
        sums = X.sum(axis=1)
        seen = ~np.isnan(sums)
        if self.n_trials is not None and np.size(self.n_trials) in (1, len(X)):
            wrong = seen & (sums != np.broadcast_to(self.n_trials, sums.shape))
            if wrong.any():
                raise ValueError(
                    f"row {int(np.argmax(wrong))} of X sums to "
                    f"{sums[np.argmax(wrong)]:g}, not to n_trials."
                )
        if fitting:
            distinct = np.unique(sums[seen])
            is_constant = len(distinct) == 1 and float(distinct[0]).is_integer()
            self.n_trials_ = int(distinct[0]) if is_constant else None

    def _emission(self):
        if not hasattr(self, "emissionprob_"):
            raise ValueError(
                "emissionprob_ is neither fitted nor set: see init_params."
            )
        B = checked_probabilities(
            np.asarray(self.emissionprob_, dtype=float), "emissionprob_"
        )
        if B.ndim != 2 or len(B) != self.n_components:
            raise ValueError(
                f"emissionprob_ must have {self.n_components} rows, got {B.shape}."
            )
        one_number = self.n_trials if np.size(self.n_trials) == 1 else None
        trials = (
            getattr(self, "n_trials_", None) if one_number is None else int(one_number)
        )
        return DistributionEmission(Multinomial(B, 1 if trials is None else trials))

    def sample(self, n_samples=1, random_state=None, currstate=None):
        """A sequence of counts (n, m) and its states (n,)."""
        is_one_number = self.n_trials is not None and np.size(self.n_trials) == 1
        if not is_one_number and getattr(self, "n_trials_", None) is None:
            raise ValueError("to sample, give n_trials as one number.")
        return super().sample(n_samples, random_state, currstate)

    def _initial_emission(self, X, rng):
        total = X.sum(axis=1, keepdims=True)
        share = X / np.where(total > 0, total, 1.0)
        B = (
            np.maximum(kmeans_centers(share, self.n_components, rng), 0.0)
            + 0.1 / X.shape[1]
        )
        return DistributionEmission(Multinomial(B / B.sum(axis=1, keepdims=True)))

    def _emission_attributes(self, emission):
        return {"emissionprob_": emission.distribution.prob}

    def _emission_prior(self, emission):
        a = np.asarray(self.emissionprob_prior, dtype=float)
        if a.ndim == 0 and a == 1:
            return None
        return Dirichlet(np.broadcast_to(a, emission.distribution.prob.shape))
