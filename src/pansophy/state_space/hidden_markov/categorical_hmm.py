"""Hidden Markov model that emits one of m symbols.

The model and its fit are those of `hmm`; the emission is a batch of `Categorical`
distributions B (k, m), whose M-step is counting,

    B_jv in proportion to sum over t with x_t = v of g_t(j) + prior - 1           (1)

The likelihoods of a step are a column of B, so the compiled loops read a table of m
rows and write expected counts into another, in the same pass.

Shapes    X (n, 1) symbols 0..m-1   B (k, m)
Refs      [Rabiner1989]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import numpy as np

from ...base import Estimator
from ...distributions.categorical import Categorical, checked_probabilities
from ...distributions.priors import Dirichlet
from ...params import Count, Natural, NonNegative, ParameterRule, Verbosity
from ...persist.saved_state import FloatArray, saved_state
from ...typing import NumericArray, Seed
from .hmm import AbstractHMM

Letters = Annotated[
    str,
    ParameterRule(
        'made of the letters "s", "t" and "e"',
        lambda v: isinstance(v, str) and set(v) <= set("ste"),
    ),
]


@saved_state(emissionprob_=FloatArray("n_components", None))
@dataclass(eq=False, repr=False)
class CategoricalHMM(AbstractHMM, Estimator):
    """Hidden Markov model with symbols as observations, fitted by Baum-Welch.

    Parameters
    ----------
    n_components : int, default=1
        Number of states, k.
    startprob_prior : float or array of shape (k,), default=1
        Dirichlet prior of `startprob_`; 1 adds nothing.
    transmat_prior : float or array of shape (k, k), default=1
        Dirichlet prior of the rows of `transmat_`.
    emissionprob_prior : float or array of shape (k, m), default=1
        Dirichlet prior of the rows of `emissionprob_`.
    n_features : int, optional
        Number of symbols, m. None takes the largest symbol seen plus 1.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` gives: the most probable path, or the most probable state of
        each step.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start and of `sample`.
    n_iter : int, default=10
        Greatest number of iterations of Baum-Welch; 0 sets the start only.
    tol : float, default=1e-2
        Stop when an iteration changes the total log-likelihood by no more than this.
    verbose : int, default=0
        1 shows a progress bar.
    params : str, default="ste"
        What `fit` estimates: s(tart), t(ransitions), e(missions).
    init_params : str, default="ste"
        What `fit` draws at random first; the rest is taken from the attributes.
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
    log_likelihood_ : float
        Log-likelihood (plus log-prior, if any) reached.
    n_iter_, converged_, history_ : int, bool, dict
        Convergence of the fit; history_["objective"] is minus the above after each
        iteration.
    n_features_in_ : int
        Number of columns of X: 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import CategoricalHMM
    >>> model = CategoricalHMM(2)
    >>> model.startprob_ = np.array([0.8, 0.2])
    >>> model.transmat_ = np.array([[0.6, 0.4], [0.5, 0.5]])
    >>> model.emissionprob_ = np.array([[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]])
    >>> X = np.array([[2], [0], [2]])
    >>> round(float(np.exp(model.score(X))), 6)
    0.028562
    >>> model.predict(X)
    array([0, 1, 0])
    """

    n_components: Count = 1
    startprob_prior: NonNegative | NumericArray = 1.0
    transmat_prior: NonNegative | NumericArray = 1.0
    _: KW_ONLY
    emissionprob_prior: NonNegative | NumericArray = 1.0
    n_features: Count | None = None
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
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.one_d_array = True
        return tags

    def _check_columns(self, X, fitting):
        if X.shape[1] != 1:
            raise ValueError(
                f"CategoricalHMM reads one column of symbols, got {X.shape[1]}."
            )
        x = X[:, 0]
        is_integer = np.floor(x) == x
        if (
            not (is_integer.all() or (is_integer | np.isnan(x)).all())
            or np.fmin.reduce(x) < 0
        ):
            raise ValueError(
                "Negative values in data passed to CategoricalHMM, or fractions: "
                "symbols are whole numbers from 0, NaN where one is missing."
            )
        m = self.n_features
        if not (fitting and "e" in self.init_params) and hasattr(self, "emissionprob_"):
            m = np.shape(self.emissionprob_)[1]
        largest = np.fmax.reduce(x)
        if m is not None and largest >= m:
            raise ValueError(
                f"X holds the symbol {int(largest)}, but there are {m} symbols only."
            )

    def _emission(self):
        B = checked_probabilities(
            np.asarray(self.emissionprob_, dtype=float), "emissionprob_"
        )
        m = self.n_features or B.shape[-1]
        if B.shape != (self.n_components, m):
            raise ValueError(
                f"emissionprob_ must have shape {(self.n_components, m)}, "
                f"got {B.shape}."
            )
        return Categorical(B)

    def _initial_emission(self, X, rng):
        x = X[~np.isnan(X)]
        m = self.n_features or (int(x.max()) + 1 if x.size else 1)
        B = rng.random((self.n_components, m)) + 0.1
        return Categorical(B / B.sum(axis=1, keepdims=True))

    def _emission_attributes(self, emission):
        return {"emissionprob_": emission.prob}

    def _emission_prior(self, emission):
        a = np.asarray(self.emissionprob_prior, dtype=float)
        if a.ndim == 0 and a == 1:
            return None
        return Dirichlet(np.broadcast_to(a, emission.prob.shape))
