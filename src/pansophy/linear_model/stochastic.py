"""What models fitted by stochastic passes share: start, rows held out, run, storage.

A model is W (k, d) and b (k,), one row per problem of eq. (1) in `sgd.py`: one for a
regression or two classes, one per class against the rest for more. `partial_fit` goes
on where the last call stopped, with all that its step rule and penalty remember, so
chunks in order give what one unshuffled pass over all of them gives.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..base import FLOATS, Estimator, check_weights
from ..core import arrays, threads
from ..core.random import seed_int
from ..core.rows import DatasetRows
from ..params import check_params
from . import sgd
from .base import raw_prediction


def require_in_memory(model, X, *aligned):
    """Rows and what is aligned to them as NumPy or CSR."""
    if isinstance(X, DatasetRows):
        raise TypeError(
            f"{type(model).__name__} takes rows in memory, not a table; call "
            "partial_fit with its parts."
        )
    host = lambda a: arrays.to_numpy(a) if arrays.is_foreign(a) else a
    return (host(X), *(host(a) for a in aligned))


def check_stream_chunk(model, X, y, w, y_kind, first):
    """The checks of `_begin`, without the dear ones for arrays that are plainly good.

    A stream comes in small pieces, on which the full checks take longer than learning.
    """
    plain = (
        not first
        and type(X) is type(y) is np.ndarray
        and (X.ndim, y.ndim) == (2, 1)
        and X.dtype in FLOATS
        and y.dtype.kind in "fiub"
        and len(X) == len(y) > 0
        and X.shape[1] == model.n_features_in_
        and not hasattr(model, "feature_names_in_")
        and arrays.finite(X)
        and arrays.finite(y)
    )
    if not plain:
        return model._begin(X, y, w, y_kind=y_kind, accept_sparse="csr", reset=first)
    check_params(model)
    return X, y, check_weights(w, X)


def checked_initial_value(name, value, like):
    """`value` in the shape and dtype of `like`."""
    value = np.array(arrays.to_numpy(value), dtype=like.dtype)
    if value.size != like.size or (value.ndim == 2 and value.shape != like.shape):
        raise ValueError(
            f"Provided {name} does not match dataset: it has shape {value.shape}, and "
            f"{like.shape} is needed."
        )
    return value.reshape(like.shape)


class AbstractSGD(Estimator):
    """Runs `sgd.descend` and keeps `coef_`, `intercept_`, `t_` and its memory."""

    warm_start: Any
    early_stopping: Any
    validation_fraction: Any

    def _start(self, X, k, coef_init, intercept_init):
        """W and b to begin a fit with: those given, those of the last fit, or 0."""
        if self.warm_start and hasattr(self, "coef_"):
            coef_init = self._dense_coef() if coef_init is None else coef_init
            if intercept_init is None:
                intercept_init = self.intercept_
        W, b = np.zeros((k, X.shape[1]), X.dtype), np.zeros(k)
        if coef_init is not None:
            W = checked_initial_value("coef_init", coef_init, W)
        if intercept_init is not None:
            b = checked_initial_value("intercept_init", intercept_init, b)
        self.t_ = 1.0
        return W, b

    def _goes_on(self, X, k, rule):
        """W and memory for another pass: those of the last call where they fit."""
        if not hasattr(self, "coef_"):
            self.t_, self._memory = 1.0, None
            W, b = np.zeros((k, X.shape[1]), X.dtype), np.zeros(k)
        else:
            W = np.atleast_2d(self._dense_coef()).astype(X.dtype)
            b = np.atleast_1d(self.intercept_)
        memory = sgd.initial_memory(k, X.shape[1], W.dtype, rule, b, self.t_)
        old = self._memory
        if old is None or any(
            old[name].shape != a.shape for name, a in memory._asdict().items()
        ):
            return W, memory
        kept = {n: old[n].astype(a.dtype) for n, a in memory._asdict().items()}
        fixed = [sgd.T, sgd.ETA]  # the model's own, and its parameter's
        if not rule.average:
            fixed.append(sgd.B)
        kept["z"][:, fixed] = memory.z[:, fixed]
        return (old["W"] if rule.average else W), sgd.SGDMemory(**kept)

    def _hold_out(self, rng, y, w, *, stratify):
        """Rows to learn from and rows to score on, None unless early_stopping."""
        n = len(y)
        kind = np.int32 if n < 2**31 else np.int64
        if not self.early_stopping:
            return np.arange(n, dtype=kind), None
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        maker = StratifiedShuffleSplit if stratify else ShuffleSplit
        cut = maker(1, test_size=self.validation_fraction, random_state=seed_int(rng))
        learn, held = next(cut.split(np.zeros((n, 1)), y))
        if w is not None and not w[held].any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a "
                "different random state."
            )
        return learn.astype(kind), held

    def _descend(self, problem, W, memory, *, max_iter, X, y):
        """Run `sgd.descend` and store the model."""

        def run(task):
            result = sgd.run_sgd(problem, W, memory, max_iter=max_iter, task=task)
            asked = result.reason == "max_iter" and problem.tol is None
            return result._replace(reason="passes") if asked else result

        rule = problem.rule
        with threads.limited(getattr(self, "n_jobs", None)):
            result = self._drive(
                run, total=max_iter, X=X, y=y, snapshot=lambda s: self._view(s, rule)
            )
        self.t_ += float(result.n_iter * -(-len(y) // rule.batch_size))
        state = result.state
        self._memory = state.memory._asdict()
        if rule.average:
            self._memory["W"] = state.W
        for name, value in self._view(state, rule).items():
            setattr(self, name, value)
        return result

    def _view(self, state, rule):
        """coef_ and intercept_ of a state: the averages once there are any."""
        W, b = state.W, state.memory.z[:, sgd.B]
        if rule.average and (state.memory.z[:, sgd.COUNT] > 0).all():
            W, b = sgd.averaged_coefficients(W, state.memory)
        return {"coef_": W, "intercept_": b.astype(W.dtype)}

    def _raw(self, X) -> Any:
        """X W^T + b, whether coef_ is an array or a CSR matrix."""
        X = self._ready(X, accept_sparse="csr")
        if not sp.issparse(self.coef_):
            return raw_prediction(self, X)
        (X,) = require_in_memory(self, X)
        F = X @ self.coef_.T
        return (F.toarray() if sp.issparse(F) else np.asarray(F)) + self.intercept_

    def _dense_coef(self):
        return self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_

    def sparsify(self):
        """Keep `coef_` as a CSR matrix: smaller and faster where most of it is 0."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Keep `coef_` as an array again."""
        check_is_fitted(self)
        self.coef_ = self._dense_coef()
        return self
