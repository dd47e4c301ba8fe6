"""Base class of mixtures: density, memberships and labels from the log-joint."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from ..base import Density, Estimator
from ..core.arrays import arrays
from ..core.numerics import logsumexp, softmax


class AbstractMixture(Density, Estimator):
    """A mixture whose `_map` gives its log-joint L (n, k), log w_j p_j(x_i)."""

    def _map(self, X, function):
        """function(L) for each block of rows, put together."""
        raise TypeError(f"{type(self).__name__} does not say what its log-joint is.")

    def _warn_if_not_converged(self, reason):
        if reason != "max_iter":
            super()._warn_if_not_converged(reason)
            return
        warnings.warn(
            f"{type(self).__name__} reached max_iter={self.n_iter_}. "
            "Best performing initialization did not converge. Try different init "
            "parameters, or increase max_iter, tol, or check for degenerate data.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def score_samples(self, X):
        """log of the sum over components of the joint, for each row: log p(x)."""
        return self._map(X, lambda L: logsumexp(L, axis=1))

    def score(self, X, y=None):
        """Mean of `score_samples`."""
        return float(arrays.to_numpy(self.score_samples(X)).mean())

    def predict_proba(self, X):
        """Responsibilities of the components: (n, k)."""
        return self._map(X, lambda L: softmax(L, axis=1))

    def predict(self, X):
        """The component of highest responsibility for each row."""
        return self._map(X, lambda L: arrays.namespace(L).argmax(L, axis=1))

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then `predict` for the same rows."""
        return self.fit(X, sample_weight=sample_weight).predict(X)  # pyrefly: ignore
