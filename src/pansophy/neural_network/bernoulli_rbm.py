"""Restricted Boltzmann machine with binary units, fitted by stochastic likelihood.

Visible units v and hidden units h, without connections inside a layer, have the energy

    E(v, h) = -b'v - c'h - h' W v,      p(v, h) = exp(-E) / Z                    (1)

so that each layer is independent given the other,

    P(h = 1 | v) = sigmoid(W v + c),    P(v = 1 | h) = sigmoid(W' h + b)         (2)

and h sums out: F(v) = -b'v - sum_j log(1 + exp(W v + c)_j) is the free energy, p(v) =
exp(-F(v)) / Z. The gradient of the log likelihood is a difference of two expectations,

    d log p / dW = E_data h v' - E_model h v'                                    (3)

of which the second is taken over chains that go on from batch to batch by one Gibbs
step (2) each (persistent contrastive divergence). Rows are values in [0, 1].

Z is not known; `score_samples` gives the pseudo-likelihood, d log sigmoid(F(v') - F(v))
with one random unit of v turned over.

Cost      O(n d k) an epoch, for k hidden units
Shapes    v (n, d)   h (n, k)   W (k, d)   b (d,)   c (k,)
Refs      [Smolensky1986] (1); [Tieleman2008] persistent chains
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.drivers.iterate import repeat
from ..core.random import make_rng
from ..params import Count, Natural, Positive, Verbosity, check_params
from ..typing import Seed

INITIAL_WEIGHTS = 0.01  # standard deviation
SHOWN_ROWS = 500  # on which the error after an epoch is measured


class BoltzmannState(NamedTuple):
    """Parameters and chains after an epoch."""

    W: np.ndarray  # (k, d)
    b: np.ndarray  # (d,), of visible units
    c: np.ndarray  # (k,), of hidden units
    chains: np.ndarray  # (m, k), hidden units of 0 and 1
    objective: float = np.inf  # mean squared error of rows reconstructed by eq. (2)


def _hidden_probabilities(v, W, c):
    """P(h = 1 | v) of eq. (2), (n, k)."""
    z = np.asarray(v @ W.T)
    z += c
    return expit(z, out=z)


def _visible_probabilities(h, W, b):
    """P(v = 1 | h) of eq. (2), (n, d)."""
    z = h @ W
    z += b
    return expit(z, out=z)


def _drawn_units(p, rng):
    """Units that are 1 with probability p; the same draws in both precisions."""
    return (rng.random(p.shape) < p).astype(p.dtype)


def free_energy(v, W, b, c):
    """F(v), (n,)."""
    return -np.asarray(v @ b).ravel() - np.logaddexp(0, np.asarray(v @ W.T) + c).sum(1)


def _persistent_step(state: BoltzmannState, v, rate, rng) -> BoltzmannState:
    """One step along eq. (3) for a batch v; changes the arrays of the state."""
    W, b, c, chains, _ = state
    h = _hidden_probabilities(v, W, c)
    fantasy = _drawn_units(_visible_probabilities(chains, W, b), rng)
    hidden = _hidden_probabilities(fantasy, W, c)
    rate = rate / v.shape[0]
    W += rate * (np.asarray(v.T @ h).T - hidden.T @ fantasy)
    c += rate * (h.sum(axis=0) - hidden.sum(axis=0))
    b += rate * (np.asarray(v.sum(axis=0)).ravel() - fantasy.sum(axis=0))
    return BoltzmannState(W, b, c, _drawn_units(hidden, rng))


def _drawn_unit_of_rows(v) -> np.ndarray:
    """One unit of each row, (n,), as good as random and a function of the row alone."""
    d = v.shape[1]
    key = np.random.default_rng(0).random(d)
    share = np.abs(np.sum(v * (1000 * key), axis=1, dtype=float)) % 1.0
    return np.minimum((share * d).astype(int), d - 1)


def reconstruction_error(v, state: BoltzmannState) -> float:
    """Mean squared distance of rows from what their hidden units say of them."""
    h = _hidden_probabilities(v, state.W, state.c)
    reconstruction = _visible_probabilities(h, state.W, state.b)
    dense = v.toarray() if sparse.issparse(v) else v
    return float(np.square(dense - reconstruction).mean())


@dataclass(eq=False, repr=False)
class BernoulliRBM(PrefixedOutput, Transformer, Estimator):
    """Restricted Boltzmann machine: binary features of rows with values in [0, 1].

    Parameters
    ----------
    n_components : int, default=256
        Hidden units.
    learning_rate : float, default=0.1
    batch_size : int, default=10
    n_iter : int, default=10
        Passes over the rows.
    verbose : bool or int, default=0
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        W.
    intercept_hidden_ : array of shape (n_components,)
        c.
    intercept_visible_ : array of shape (d,)
        b.
    h_samples_ : array of shape (batch_size, n_components)
        Hidden units of the chains.
    n_iter_, history_, converged_, interrupted_
        How training went.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import BernoulliRBM
    >>> X = np.array([[0, 0, 1.0], [0, 1, 0], [1, 0, 0], [0, 1, 1]])
    >>> BernoulliRBM(n_components=2, random_state=0).fit(X).transform(X).shape
    (4, 2)
    """

    n_components: Count = 256
    _: KW_ONLY
    learning_rate: Positive = 0.1
    batch_size: Count = 10
    n_iter: Natural = 10
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None):
        """Fit the machine to rows X (n, d), dense or CSR."""
        X, _ = self._check_training_data(X, accept_sparse="csr")
        rng = make_rng(self.random_state)
        state = self._first_state(X, rng)
        batches = [
            slice(i, i + self.batch_size) for i in range(0, X.shape[0], self.batch_size)
        ]

        shown = X[:SHOWN_ROWS]

        def epoch(state):
            W, b, c, chains, _ = state
            state = BoltzmannState(W.copy(), b.copy(), c.copy(), chains)
            for batch in batches:
                state = _persistent_step(state, X[batch], self.learning_rate, rng)
            return state._replace(objective=reconstruction_error(shown, state))

        def run(task):
            return repeat(epoch, state, self.n_iter, task=task)

        self._store(self._run_driver(run, total=self.n_iter, X=X).state)
        self._rng = rng
        return self

    def partial_fit(self, X, y=None):
        """One step of learning for a batch of rows X."""
        check_params(self)
        if not hasattr(self, "components_"):
            X, _ = self._check_training_data(X, accept_sparse="csr")
            self._store(self._first_state(X, self._own_rng()))
        else:
            X = self._check_new_data(X, accept_sparse="csr")
        rng = self._own_rng()
        state = _persistent_step(self._state(), X, self.learning_rate, rng)
        self._store(state)
        return self

    def _own_rng(self):
        """The generator of this machine, begun at its seed."""
        if not hasattr(self, "_rng"):
            self._rng = make_rng(self.random_state)
        return self._rng

    def _first_state(self, X, rng):
        k = self.n_components
        d = X.shape[1]
        zeros = lambda *shape: np.zeros(shape, X.dtype)
        W = (INITIAL_WEIGHTS * rng.standard_normal((k, d))).astype(X.dtype)
        return BoltzmannState(W, zeros(d), zeros(k), zeros(self.batch_size, k))

    def _state(self):
        W, b, c = self.components_, self.intercept_visible_, self.intercept_hidden_
        return BoltzmannState(W, b, c, self.h_samples_)

    def _store(self, state):
        self.components_, self.intercept_visible_ = state.W, state.b
        self.intercept_hidden_, self.h_samples_ = state.c, state.chains

    @property
    def _n_features_out(self):
        return int(self.n_components)

    def transform(self, X):
        """P(h = 1 | v) of each row: (n, n_components)."""
        X = self._check_new_data(X, accept_sparse="csr")
        return _hidden_probabilities(X, self.components_, self.intercept_hidden_)

    def gibbs(self, v, random_state=None):
        """Visible units after one Gibbs step from v: (n, d) of bool.

        Parameters
        ----------
        v : array of shape (n, d)
        random_state : int, RandomState, Generator or None
            None: that of the machine, which goes on from call to call, so that
            steps one after the other are a chain.
        """
        v = self._check_new_data(v)
        rng = self._own_rng() if random_state is None else make_rng(random_state)
        W, b, c = self._state()[:3]
        h = _drawn_units(_hidden_probabilities(v, W, c), rng)
        return _drawn_units(_visible_probabilities(h, W, b), rng) > 0

    def free_energy(self, X):
        """F(v) of each row, (n,): -log p(v) up to a constant."""
        X = self._check_new_data(X, accept_sparse="csr")
        return free_energy(X, *self._state()[:3])

    def score_samples(self, X):
        """Pseudo-likelihood of each row, by one unit turned over; (n,).

        The unit is drawn by the row itself, so that a row has the same score wherever
        it stands.
        """
        v = self._check_new_data(X, accept_sparse="csr")
        dense = v.toarray() if sparse.issparse(v) else v
        turned = dense.copy()
        rows = np.arange(len(dense))
        units = _drawn_unit_of_rows(dense)
        turned[rows, units] = 1 - turned[rows, units]
        gap = free_energy(turned, *self._state()[:3]) - free_energy(
            dense, *self._state()[:3]
        )
        return -dense.shape[1] * np.logaddexp(0, -gap)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
