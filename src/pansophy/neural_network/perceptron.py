"""What the two perceptron estimators share: from arrays to `nn.train` and back.

The net is `nn.mlp.MLP`, whose module text gives the objective and its gradient. Here
are the parts around it: the solver's rules in scikit-learn's words, held-out rows,
checkpoints, and the forward pass on whatever array library X comes from. A fitted
model is plain arrays (`coefs_`, `intercepts_`), so predicting needs no torch.

Shapes    X (n, d)   W_l (m_{l-1}, m_l)   b_l (m_l,)   F (n, m_L)
"""

import json
import math
import re
import warnings
import zlib
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from .. import nn
from ..base import Estimator
from ..core import arrays
from ..core.numerics import sigmoid
from ..core.random import draw_seed, make_rng
from ..core.rows import Rows
from ..nn.batches import Batches
from ..nn.schedules import inverse
from ..params import (
    Count,
    Flag,
    Fraction,
    NonNegative,
    ParameterRule,
    Positive,
    Verbosity,
)
from ..typing import Seed
from .full_batch import minimise

ACTIVATE = {
    "identity": lambda xp, Z: Z,
    "relu": lambda xp, Z: xp.clip(Z, 0, None),
    "tanh": lambda xp, Z: xp.tanh(Z),
    "logistic": lambda xp, Z: sigmoid(Z),
}
FREE = ("max_iter", "verbose", "device", "checkpoint", "resume", "warm_start")


def is_sizes(value):
    widths = np.atleast_1d(np.asarray(value))
    whole = widths.size == 0 or widths.dtype.kind in "iu"
    return widths.ndim == 1 and whole and bool((widths > 0).all())


Sizes = Annotated[
    Any, ParameterRule("whole numbers above 0, one per hidden layer", is_sizes)
]
Below1 = Annotated[
    float, ParameterRule("a number from 0 to below 1", lambda v: 0 <= v < 1)
]
Device = Annotated[
    str,
    ParameterRule(
        '"auto", "cpu", "cuda" or "cuda:" and a number',
        lambda v: re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", v) is not None,
    ),
]
Patience = Count | Annotated[float, ParameterRule("infinity", lambda v: v == math.inf)]


class Data(NamedTuple):
    """Rows as the net takes them."""

    X: Any
    Y: Any  # (n, m_L), or (n,) class numbers
    w: Any  # (n,) or None

    def take(self, index):
        """The rows at these positions."""

        def part(a):
            if a is None or not arrays.is_foreign(a):
                return None if a is None else a[index]
            return a[arrays.namespace(a).asarray(index, device=arrays.device(a))]

        return Data(*map(part, self))

    def rows(self):
        """What `nn.train` takes."""
        parts = self[:2] if self.w is None else self
        return nn.SparseRows(*parts) if sp.issparse(self.X) else tuple(parts)


def scores(X, coefs, intercepts, activation):
    """Raw scores F of rows of any array library (eq. 1 of `nn.mlp`)."""
    xp = arrays.namespace(X)
    like = X if not sp.issparse(X) else np.empty(0, X.dtype)
    H = X
    for i, (W, b) in enumerate(zip(coefs, intercepts)):
        if i:
            H = ACTIVATE[activation](xp, H)
        H = H @ arrays.asarray(W, like) + arrays.asarray(b, like)
    return H


@dataclass(eq=False, repr=False)
class AbstractMLP(Estimator):
    """Parameters and fitting of both perceptrons; they are described there."""

    _: KW_ONLY
    solver: Literal["adam", "sgd", "lbfgs"] = "adam"
    alpha: NonNegative = 0.0001
    batch_size: Literal["auto"] | Count = "auto"
    learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant"
    learning_rate_init: Positive = 0.001
    power_t: NonNegative = 0.5
    max_iter: Count = 200
    shuffle: Flag = True
    random_state: Seed = None
    tol: NonNegative = 1e-4
    verbose: Verbosity = False
    warm_start: Flag = False
    momentum: Fraction = 0.9
    nesterovs_momentum: Flag = True
    early_stopping: Flag = False
    validation_fraction: Below1 = 0.1
    beta_1: Below1 = 0.9
    beta_2: Below1 = 0.999
    epsilon: Positive = 1e-8
    n_iter_no_change: Patience = 10
    max_fun: Count = 15000
    dropout: Below1 = 0.0
    device: Device = "auto"
    checkpoint: str | Path | None = None
    resume: Flag = False

    # The two estimators give `_targets(y, ...)`, `_outputs(Y)` and `_rate(F, Data)`.

    def _fit(self, X, y, sample_weight, validation=None, *, partial=False, **known):
        first = not hasattr(self, "coefs_") or not (self.warm_start or partial)
        checks = {"y_kind": self._y_kind, "accept_sparse": "csr", "reset": first}
        begun: Any = self._check_training_data(X, y, sample_weight, **checks)
        X, y, w = begun
        data = Data(X, self._targets(y, X, first, partial=partial, **known), w)
        rng = make_rng(self.random_state)
        if first:
            self._start(data, rng)
        elif partial:  # another order of the rows at each call
            rng = np.random.default_rng([*rng.integers(2**32, size=4), self.t_])
        if self.solver == "lbfgs":
            result = self._run_lbfgs(data, validation)
        else:
            data, held = self._hold_out(data, y, validation, rng, partial)
            result = self._run(data, held, rng, partial)
        self._store(result)
        return self

    def _start(self, data, rng):
        """Untrained weights and empty records."""
        self.n_outputs_, self.out_activation_ = self._outputs(data.Y)
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=int))
        sizes = [int(data.X.shape[1]), *hidden.tolist(), self.n_outputs_]
        self.n_layers_ = len(sizes)
        coefs, intercepts = nn.glorot(sizes, rng, self.activation)
        dtype = float_type(data.X)
        self.coefs_ = [W.astype(dtype) for W in coefs]
        self.intercepts_ = [b.astype(dtype) for b in intercepts]
        self.t_ = 0
        self.loss_curve_, self.validation_scores_ = [], None
        self.best_loss_, self.best_validation_score_ = math.inf, None
        self._optimiser_state = None

    def _net(self, dtype):
        own = lambda parts: [np.asarray(a, dtype=dtype) for a in parts]
        return nn.MLP(
            own(self.coefs_),
            own(self.intercepts_),
            activation=self.activation,
            head=self.out_activation_,
            alpha=self.alpha,
            dropout=self.dropout,
        )

    def _hold_out(self, data, y, validation, rng, partial):
        """Training rows and the rows to stop by: the user's, a share, or None."""
        if validation is not None:
            return data, self._given(validation)
        if not self.early_stopping:
            return data, None
        if partial:
            raise ValueError("partial_fit does not support early_stopping=True.")
        index = np.arange(data.X.shape[0])
        inside, outside = train_test_split(
            index,
            test_size=self.validation_fraction,
            random_state=draw_seed(rng),
            stratify=self._strata(y),
        )
        if len(outside) < 2:
            raise ValueError(
                "The validation set is too small. Raise validation_fraction or give "
                "more rows."
            )
        return data.take(inside), data.take(outside)

    def _given(self, validation):
        if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
            raise ValueError("validation must be (X, y) or (X, y, sample_weight).")
        X, y, *w = validation
        X = self._check_new_data(X, accept_sparse="csr")
        y = np.asarray(y) if not arrays.is_foreign(y) else y
        if len(y) != X.shape[0]:
            raise ValueError(f"validation has {X.shape[0]} rows, but {len(y)} targets.")
        w = arrays.asarray(w[0], X) if w else None
        return Data(X, self._targets(y, X, False), w)

    def _run(self, data, held, rng, partial):
        n, state = int(data.X.shape[0]), self._optimiser_state if partial else None
        stop = None if partial else self._stopping(held)
        evaluate = None if held is None else lambda net: self._evaluate(net, held)
        schedule = None
        if self.solver == "sgd" and self.learning_rate == "invscaling":
            schedule = inverse(self.power_t, self.t_)
        options: dict[str, Any] = dict(  # noqa: C408
            epochs=1 if partial else self.max_iter,
            batch_size=self._batch_size(n),
            optimiser=self._optimiser(),
            schedule=schedule,
            device=self._where(data.X),
            seed=rng,
            shuffle=bool(self.shuffle),
            valid=None if held is None else held.rows(),
            evaluate=evaluate,
            stop=stop,
            optimiser_state=state,
            checkpoint=self.checkpoint,
            resume=bool(self.resume),
        )
        if self.checkpoint is not None:
            options["tag"] = self._tag(data)
        net = self._net(float_type(data.X))
        return self._run_driver(
            lambda task: nn.train(net, data.rows(), task=task, **options),
            total=options["epochs"],
            X=data.X,
            y=data.Y,
            snapshot=lambda state: weights_of(state.net),
        )

    def _run_lbfgs(self, data, validation):
        for name, given in (
            ("validation", validation),
            ("checkpoint", self.checkpoint),
            ("dropout", self.dropout),
            ("early_stopping", self.early_stopping),
        ):
            if given:
                raise ValueError(f'{name} needs solver "adam" or "sgd", not "lbfgs".')
        net = self._net(float_type(data.X))
        return self._run_driver(
            lambda task: minimise(
                net,
                data.rows(),
                max_iter=self.max_iter,
                max_calls=self.max_fun,
                tol=self.tol,
                device=self._where(data.X),
                task=task,
            ),
            total=self.max_iter,
            X=data.X,
            y=data.Y,
            snapshot=lambda state: weights_of(state.net),
        )

    def _stopping(self, held):
        adaptive = self.solver == "sgd" and self.learning_rate == "adaptive"
        rule = nn.EarlyStopping(
            monitor="loss" if held is None else "validation_score",
            mode="min" if held is None else "max",
            patience=self.n_iter_no_change,
            tol=self.tol,
            restore=held is not None,
            cut=0.2 if adaptive else None,
            floor=1e-6 / self.learning_rate_init,
        )
        if held is None and self.best_loss_ is not None:
            return rule._replace(best=self.best_loss_)
        return rule._replace(best=self.best_validation_score_)

    def _optimiser(self):
        if self.solver == "adam":
            rates = (self.learning_rate_init, self.beta_1, self.beta_2, self.epsilon)
            return nn.Adam(*rates)
        nesterov = bool(self.nesterovs_momentum)
        return nn.SGD(self.learning_rate_init, self.momentum, nesterov)

    def _batch_size(self, n):
        if self.batch_size == "auto":
            return min(200, n)
        if self.batch_size > n:
            warnings.warn(
                f"batch_size is {self.batch_size}, but there are {n} rows; all of "
                "them make one batch.",
                stacklevel=5,
            )
        return min(self.batch_size, n)

    def _where(self, X):
        """The device: with "auto", that of a tensor; else as it says."""
        return X.device if self.device == "auto" and arrays.is_torch(X) else self.device

    def _tag(self, data):
        """What must agree for a run to be resumed: parameters and data."""
        seed = self.random_state
        plain = {k: repr(v) for k, v in self.get_params().items() if k not in FREE}
        plain["random_state"] = repr(seed) if isinstance(seed, int) else ""
        check = zlib.crc32(json.dumps(plain, sort_keys=True).encode())
        for part in data:
            if part is not None:
                part = part.data if sp.issparse(part) else arrays.to_numpy(part)
                check = zlib.crc32(np.ascontiguousarray(part).data, check)
        return f"{type(self).__name__} {tuple(data.X.shape)} {check:08x}"

    def _evaluate(self, net, held):
        """Score of the held-out rows, as `score` would give it."""
        device = next(net.parameters()).device
        parts = [net(b[0]) for b, _ in Batches(held.rows(), 4096, None, device).pass_()]
        F = np.concatenate([arrays.to_numpy(p) for p in parts])
        host = Data(
            None, *(None if a is None else arrays.to_numpy(a) for a in held[1:])
        )
        score = self._rate(F, host) if np.isfinite(F).all() else math.nan
        return {"validation_score": float(score)}

    def _store(self, result):
        for name, value in weights_of(result.state.net).items():
            setattr(self, name, value)
        losses = result.history.get("loss", np.empty(0)).tolist()
        if losses:
            self.loss_ = losses[-1]
        elif not hasattr(self, "loss_"):
            self.loss_ = math.inf
        self.loss_curve_ = self.loss_curve_ + losses
        self.t_ += result.state.seen
        measured = result.history.get("validation_score")
        if measured is None:
            best = math.inf if self.best_loss_ is None else self.best_loss_
            self.best_loss_ = min([best, *losses])
        else:
            values = [*(self.validation_scores_ or []), *measured.tolist()]
            self.validation_scores_, self.best_loss_ = values, None
            self.best_validation_score_ = float(np.nanmax([*values, -math.inf]))
        slots = result.state.optimiser.items()
        self._optimiser_state = {k: arrays.to_numpy(v).copy() for k, v in slots}

    def _scores(self, X) -> Any:
        """Raw scores of checked rows, by blocks."""
        X = self._check_new_data(X, accept_sparse="csr")
        parts = self.coefs_, self.intercepts_, self.activation
        return Rows(X, block=4096).map(lambda block: scores(block, *parts))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def weights_of(net) -> dict:
    """Fitted attributes of a net: plain arrays."""
    own = lambda parts: [arrays.to_numpy(p).copy() for p in parts]
    return {"coefs_": own(net.weights), "intercepts_": own(net.biases)}


def float_type(X):
    """float32 or float64, after X."""
    return np.float32 if str(X.dtype).endswith("float32") else np.float64
