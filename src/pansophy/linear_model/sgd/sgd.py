"""Stochastic gradient descent for linear models: any loss, penalty and step rule.

With raw prediction f = w . x + b, weights v_i (sample times class weight) and any
pointwise loss l of `losses`, approach the minimum of

    J(w, b) = mean_i v_i l(y_i, f_i) + alpha ((1-rho)/2 |w|^2 + rho |w|_1)       (1)

At update t = 1, 2, ... on row i, or on the mean gradient of a batch of rows,

    w <- max(0, 1 - eta_t alpha (1-rho)) w - eta_t v_i l'(y_i, f_i) x_i          (2)
    b <- b - eta_t v_i l'(y_i, f_i)

followed by the cumulative L1 penalty of [Tsuruoka2009]: in all, every |w_j| has to be
shrunk by alpha rho sum_t eta_t, and is shrunk by as much of it as possible without
crossing 0. So a coefficient that noise moves off 0 falls back at once, and zeros are
exact. Step sizes:

    constant    eta0                      invscaling  eta0 / t^power_t           (3)
    optimal     1 / (alpha (t0 + t - 1)), t0 from the size w is likely to have; with a
                slope l' that has no limit but l'' <= L, at most 1 / (L (|x|^2 + 1))
    adaptive    eta0, a fifth of it whenever `n_iter_no_change` passes gain nothing
    pa1         min(eta0, l / |x|^2)      pa2   l / (|x|^2 + 1 / (2 eta0))       (4)
    momentum, nesterov, adagrad, rmsprop, adam: `optim.stochastic` with eta0     (5)

Rules (5) see the gradient of the L2 part too, and take the L1 part by its prox in the
metric of their own step sizes, so that all rules agree about the minimum of (1).

Implementation. w is kept as s u: the shrinkage in (2) costs one product, and a row
without a loss gradient one scalar product. A sparse row touches its own columns only:
the L1 penalty owed by a column is applied when the column is next read, which gives the
same numbers as applying it at every step, so sparse and dense rows agree to rounding
(scikit-learn slows the intercept by 0.01 for sparse rows; here it is not). The average
of w over updates is kept as q u - p, and p changes where u does. It is the mean of the
coefficients after their penalty, so that a coefficient which stays at 0 has the average
0 (scikit-learn's leaves the L1 penalty out of p). Rules (5), batches, and averages
under an L1 penalty touch all d columns at each update.

One fit solves k problems: one for a regression or two classes, one class against the
rest for more. `partial_fit` continues with everything that the step rule and the
penalty remember, so chunks in order give what one unshuffled pass over all of them
gives.

The order of rows is random, so weight k equals k repeated rows in expectation only.
Time O(nnz) a pass; memory O(n) for the order beyond X, O(k d) for the model.

Shapes    X (n, d)   y (n,)   W (k, d) one row per problem   b (k,)
Refs      [Bottou2012] [Tsuruoka2009] [Xu2011] averages [Crammer2006] eqs. (4)
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ...base import FLOATS, host_array
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT
from ...core.loops import threads
from ...core.random import draw_seed
from ...losses.base import Loss
from ...params import ParameterError, check_params
from ...predictors.abstract_linear import (
    AbstractLinearEstimator,
    check_warm_start,
    raw_prediction,
)

LearningRate = Literal[
    "constant",
    "optimal",
    "invscaling",
    "adaptive",
    "pa1",
    "pa2",
    "momentum",  # from here on a step takes the whole gradient vector
    "nesterov",
    "adagrad",
    "rmsprop",
    "adam",
]
LEARNING_RATES = get_args(LearningRate)
CONSTANT, OPTIMAL, INVSCALING, ADAPTIVE, PA1, PA2 = range(6)  # in LEARNING_RATES
MOMENTUM, NESTEROV, ADAGRAD, RMSPROP, ADAM = range(6, 11)
# the scalars of a problem: b, t, eta, the L1 penalty owed by every coordinate, q of the
# average, the sum of b, the updates averaged, and the updates that moved the model
(
    INTERCEPT,
    UPDATE,
    STEP_SIZE,
    L1_OWED,
    SCALE_SUM,
    INTERCEPT_SUM,
    N_AVERAGED,
    N_MOVES,
) = range(8)
N_SCALARS = 8
SMALLEST_STEP = 1e-6  # "adaptive" lowers eta down to this


class SGDRule(NamedTuple):
    """Loss, penalty and step rule as numbers, for compiled passes."""

    loss: int
    loss_parameter: float
    l1: float  # alpha rho
    l2: float  # alpha (1 - rho)
    step: int  # place in LEARNING_RATES
    alpha: float
    eta0: float
    power: float
    t0: float  # of "optimal"
    curvature_bound: float  # L, where steps are kept below 1 / (L (|x|^2 + 1)); or 0
    momentum: float
    intercept: bool
    average: int  # t from which to average; 0: never
    batch_size: int  # rows of an update


class SGDMemory(NamedTuple):
    """The state of the step rule and the penalty: one row per problem, or none."""

    scalars: np.ndarray  # named above
    l1_paid: np.ndarray  # L1 penalty applied so far
    average_offset: np.ndarray  # p of the average
    first_moment: np.ndarray  # of the rules (5), b last
    second_moment: np.ndarray


class SGDState(NamedTuple):
    """The models of all problems after a pass."""

    W: np.ndarray
    memory: SGDMemory
    objective: float  # eq. (1) during the pass, mean over problems
    best: list  # lowest objective, or minus the best score, per problem
    stalls: list  # passes since then
    active: list  # problems that still run


class SGDProblem(NamedTuple):
    """Rows, targets, weights and stopping rule of k problems."""

    rows: "RowArrays"
    order: np.ndarray  # the rows to learn from
    target: Callable  # problem c -> y (n,)
    v: np.ndarray  # row weights, or empty for ones
    factors: np.ndarray  # (k, 2): weight of y <= 0 and y > 0 per problem
    rule: SGDRule
    y_is_sign: bool = True  # eq. (4) steps along y, else along sign(y - f)
    rng: Any = None  # shuffles the order before each pass, if given
    tol: float | None = 1e-3
    patience: int = 5
    score: Callable | None = None  # (c, w, b) -> score on rows held out
    stop_when_clean: bool = False  # end after a pass without an update
    own_loss: Loss | None = None  # a loss that compiled passes do not know


class RowArrays(NamedTuple):
    """Rows for compiled passes: a dense matrix, or the three arrays of CSR."""

    X: np.ndarray  # (n, d), or the data of CSR
    indices: np.ndarray | None
    indptr: np.ndarray | None


def rows_for_loops(X) -> RowArrays:
    """X as `RowArrays`."""
    if sp.issparse(X):
        return RowArrays(X.data, X.indices, X.indptr)
    return RowArrays(np.ascontiguousarray(X), None, None)


def l1_l2_strengths(penalty, alpha, l1_ratio):
    """The factors of |w|_1 and |w|^2 / 2 in eq. (1)."""
    if penalty is None:
        return 0.0, 0.0
    if penalty == "elasticnet" and l1_ratio is None:
        raise ParameterError("l1_ratio must be set when penalty is 'elasticnet'.")
    ratio = {"l1": 1.0, "l2": 0.0}.get(penalty, l1_ratio)
    return alpha * ratio, alpha * (1 - ratio)


def optimal_schedule(loss, alpha):
    """t0 of "optimal" as in scikit-learn, and the bound L where steps need one."""
    if alpha == 0:
        raise ParameterError(
            "alpha must be > 0 since learning_rate is 'optimal', which steps by "
            "1 / (alpha t)."
        )
    size = alpha**-0.25  # a likely |w|; the first step is about as long
    with np.errstate(over="ignore"):
        slopes = loss.gradient(np.ones(3), np.array([-size, -1e6, 1e6]))
    start = max(1.0, float(slopes[0])) / (size * alpha)
    if float(np.max(np.abs(slopes[1:]))) < 1e3:
        return start, 0.0
    if not loss.smooth:
        raise ParameterError(
            f"learning_rate='optimal' steps too far for loss={loss.name!r}, whose "
            "slope grows exponentially; take 'constant', 'adaptive' or 'adagrad'."
        )
    return start, loss.lipschitz


def make_sgd_rule(
    loss,
    step,
    *,
    penalty,
    alpha,
    l1_ratio,
    eta0,
    power_t=0.5,
    momentum=0.9,
    fit_intercept=True,
    average=0,
    batch_size=1,
) -> SGDRule:
    """The `SGDRule` of an estimator's parameters."""
    l1, l2 = l1_l2_strengths(penalty, alpha, l1_ratio)
    t0 = 1.0
    curvature_bound = 0.0
    if step == "optimal":
        t0, curvature_bound = optimal_schedule(loss, alpha)
    return SGDRule(
        loss=loss.kind,
        loss_parameter=float(loss.parameter),
        l1=float(l1),
        l2=float(l2),
        step=LEARNING_RATES.index(step),
        alpha=float(alpha),
        eta0=float(eta0),
        power=float(power_t),
        t0=float(t0),
        curvature_bound=float(curvature_bound),
        momentum=float(momentum),
        intercept=bool(fit_intercept),
        average=int(average),
        batch_size=int(batch_size),
    )


def initial_memory(k, d, dtype, rule, b, t=1.0) -> SGDMemory:
    """The memory before the first pass."""
    zeros_if = lambda needed, width, kind: np.zeros((k, width if needed else 0), kind)
    adaptive = rule.step >= MOMENTUM
    scalars = np.zeros((k, N_SCALARS))
    scalars[:, INTERCEPT] = b
    scalars[:, UPDATE] = t
    scalars[:, STEP_SIZE] = rule.eta0
    return SGDMemory(
        scalars,
        zeros_if(rule.l1 > 0 and not adaptive, d, dtype),
        zeros_if(rule.average > 0, d, np.float64),
        zeros_if(adaptive, d + 1, np.float64),
        zeros_if(adaptive, d + 1, np.float64),
    )


def sgd_pass(problem: SGDProblem, c, w, m: SGDMemory):
    """One pass over the rows for problem c, in place; returns eq. (1) on the way."""
    from . import _sgd as loops

    rule = problem.rule
    y = problem.target(c)
    if problem.own_loss is not None:
        return pass_by_array_functions(problem, problem.own_loss, c, y, w, m)
    if rule.step >= MOMENTUM or rule.batch_size > 1:
        return loops.minibatch_pass(
            problem.rows,
            problem.order,
            y,
            problem.v,
            problem.factors[c],
            rule,
            w,
            m.l1_paid[c],
            m.average_offset[c],
            m.first_moment[c],
            m.second_moment[c],
            m.scalars[c],
        )
    return loops.single_row_pass(
        problem.rows,
        problem.order,
        y,
        problem.v,
        problem.factors[c],
        problem.y_is_sign,
        rule,
        w,
        m.l1_paid[c],
        m.average_offset[c],
        m.scalars[c],
    )


def pass_by_array_functions(problem: SGDProblem, loss, c, y, w, m: SGDMemory):
    """`sgd_pass` for a loss of the user's, by its functions of arrays.

    The updates are those of the compiled passes; the rows of a batch are taken
    together, so that large batches cost little.
    """
    from . import _sgd as loops

    rule = problem.rule
    X = rows_as_matrix(problem.rows, len(w))
    z = m.scalars[c]
    memory = (m.l1_paid[c], m.average_offset[c], m.first_moment[c], m.second_moment[c])
    losses = weights = 0.0
    for head in range(0, len(problem.order), rule.batch_size):
        index = problem.order[head : head + rule.batch_size]
        x, t = X[index], y[index]
        f = x @ w + z[INTERCEPT]
        v = np.where(t > 0, problem.factors[c, 1], problem.factors[c, 0])
        v = v * problem.v[index] if len(problem.v) else v
        with np.errstate(over="ignore", invalid="ignore"):
            losses += float(v @ loss.value(t, f))
            slope = np.clip(
                loss.gradient(t, f), -loops.MAX_GRADIENT, loops.MAX_GRADIENT
            )
        weights += float(v.sum())
        g = v * slope / len(index)
        z[N_MOVES] += np.count_nonzero(g)
        eta = loops.step_size_at(rule, z[UPDATE], z[STEP_SIZE])
        if rule.curvature_bound > 0:
            squares = x.multiply(x) if sp.issparse(x) else x * x
            size = float(squares.sum(axis=1).max())
            eta = min(eta, 1 / (rule.curvature_bound * (1 + size)))
        z[STEP_SIZE] = eta
        G = np.asarray(x.T @ g, dtype=np.float64)
        loops.gradient_step(rule, G, float(g.sum()), eta, w, *memory, z)
        if rule.average and z[UPDATE] >= rule.average:
            z[SCALE_SUM] += 1.0
            z[INTERCEPT_SUM] += z[INTERCEPT]
            z[N_AVERAGED] += 1
        z[UPDATE] += 1
    return loops.pass_objective(rule, losses, weights, w, z[INTERCEPT])


def rows_as_matrix(rows: RowArrays, d):
    """The rows of compiled passes as a NumPy array or a CSR matrix again."""
    if rows.indptr is None:
        return rows.X
    shape = (len(rows.indptr) - 1, d)
    return sp.csr_array((rows.X, rows.indices, rows.indptr), shape=shape)


def sgd_epoch(problem: SGDProblem, s: SGDState) -> SGDState:
    """One pass for every active problem, on threads, and which of them go on."""
    from . import _sgd as loops

    if problem.rng is not None:
        loops.shuffle_order(problem.order, problem.rng.integers(1, 2**63))
    W = s.W.copy()
    memory = SGDMemory(*(a.copy() for a in s.memory))
    scalars = memory.scalars
    rule = problem.rule
    tol = problem.tol
    tasks = ((lambda c=c: sgd_pass(problem, c, W[c], memory)) for c in s.active)
    values = list(threads.run_tasks(tasks))
    best = list(s.best)
    stalls = list(s.stalls)
    active = []
    for c, J in zip(s.active, values, strict=True):
        criterion = J
        if problem.score is not None and math.isfinite(J):
            criterion = -problem.score(c, W[c], scalars[c, INTERCEPT])
        stalled = tol is not None and criterion > best[c] - tol
        stalls[c] = stalls[c] + 1 if stalled else 0
        best[c] = min(best[c], criterion)
        goes_on = stalls[c] < problem.patience
        can_slow_down = rule.step == ADAPTIVE and scalars[c, STEP_SIZE] > SMALLEST_STEP
        if not goes_on and can_slow_down:
            scalars[c, STEP_SIZE] /= 5
            stalls[c] = 0
            goes_on = True
        unchanged = scalars[c, N_MOVES] == s.memory.scalars[c, N_MOVES]
        if goes_on and not (problem.stop_when_clean and unchanged):
            active.append(c)
    return SGDState(W, memory, sum(values) / len(values), best, stalls, active)


def run_sgd(
    problem: SGDProblem, W, memory: SGDMemory, *, max_iter, task=SILENT
) -> Result:
    """Passes over the rows until no problem improves any more."""
    k = len(W)
    start = SGDState(W, memory, math.inf, [math.inf] * k, [0] * k, list(range(k)))
    return iterate(
        lambda s: sgd_epoch(problem, s),
        start,
        max_iter=max_iter,
        tol=0.0,
        change=lambda old, new: float(len(new.active)),
        task=task,
    )


def averaged_coefficients(W, memory: SGDMemory):
    """The mean of W and b over the updates since averaging began."""
    scalars = memory.scalars
    count = np.maximum(scalars[:, N_AVERAGED], 1)[:, None]
    mean = (scalars[:, [SCALE_SUM]] * W - memory.average_offset) / count
    return mean.astype(W.dtype), scalars[:, INTERCEPT_SUM] / count[:, 0]


def arrays_in_memory(model, X, *aligned):
    """X and the arrays aligned to it as NumPy or CSR; tables on disk are refused."""
    if isinstance(X, DatasetRows):
        raise TypeError(
            f"{type(model).__name__} takes rows in memory, not a table; call "
            "partial_fit with its parts."
        )
    return tuple(host_array(model, a) for a in (X, *aligned))


def check_stream_chunk(model, X, y, w, y_kind, first):
    """The checks of `_begin`, without the costly ones for plain NumPy arrays.

    On the small chunks of a stream the full checks take longer than learning.
    """
    is_plain = (
        not first
        and type(X) is type(y) is np.ndarray
        and (X.ndim, y.ndim) == (2, 1)
        and X.dtype in FLOATS
        and y.dtype.kind in "fiub"
        and len(X) == len(y) > 0
        and X.shape[1] == model.n_features_in_
        and not hasattr(model, "feature_names_in_")
        and arrays.all_finite(X)
        and arrays.all_finite(y)
    )
    if not is_plain:
        return model._check_training_data(
            X, y, w, y_kind=y_kind, accept_sparse="csr", reset=first
        )
    check_params(model)
    return X, y, check_sample_weight(w, X)


def checked_initial_value(name, value, like):
    """A given initial value in the shape and dtype of `like`."""
    value = np.array(arrays.to_numpy(value), dtype=like.dtype)
    if value.size != like.size or (value.ndim == 2 and value.shape != like.shape):
        raise ValueError(
            f"Provided {name} does not match dataset: it has shape {value.shape}, and "
            f"{like.shape} is needed."
        )
    return value.reshape(like.shape)


class AbstractSGD(AbstractLinearEstimator):
    """Base of the SGD estimators: start, validation rows, run and storage."""

    warm_start: Any
    early_stopping: Any
    validation_fraction: Any
    shuffle: Any

    def _not_converged_text(self, limit):
        return (
            "Maximum number of iteration reached before convergence. Consider "
            f"increasing max_iter to improve the fit of {type(self).__name__}, or "
            "raising tol."
        )

    def _start(self, X, k, coef_init, intercept_init):
        """Initial W and b: those given, those of the last fit (`warm_start`), or 0."""
        if self.warm_start and hasattr(self, "coef_"):
            coef_init = self._dense_coef() if coef_init is None else coef_init
            if intercept_init is None:
                intercept_init = self.intercept_
        W = np.zeros((k, X.shape[1]), X.dtype)
        b = np.zeros(k)
        if coef_init is not None:
            W = checked_initial_value("coef_init", coef_init, W)
        if intercept_init is not None:
            b = checked_initial_value("intercept_init", intercept_init, b)
        check_warm_start(self, W, b)
        self.t_ = 1.0
        return W, b

    def _resume(self, X, k, rule):
        """W and memory for another pass: those of the last call where they match."""
        if not hasattr(self, "coef_"):
            self.t_ = 1.0
            self._memory = None
            W = np.zeros((k, X.shape[1]), X.dtype)
            b = np.zeros(k)
        else:
            W = np.atleast_2d(self._dense_coef()).astype(X.dtype)
            b = np.atleast_1d(self.intercept_)
        memory = initial_memory(k, X.shape[1], W.dtype, rule, b, self.t_)
        old = self._memory
        if old is None or any(
            old[name].shape != a.shape for name, a in memory._asdict().items()
        ):
            return W, memory
        kept = {n: old[n].astype(a.dtype) for n, a in memory._asdict().items()}
        # t and b are kept by the model, eta0 is its parameter
        reset = [UPDATE, STEP_SIZE]
        if not rule.average:
            reset.append(INTERCEPT)
        kept["scalars"][:, reset] = memory.scalars[:, reset]
        return (old["W"] if rule.average else W), SGDMemory(**kept)

    def _hold_out(self, rng, y, w, *, stratify):
        """Training rows and validation rows; the latter None without early_stopping."""
        n = len(y)
        kind = np.int32 if n < 2**31 else np.int64
        if not self.early_stopping:
            return np.arange(n, dtype=kind), None
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        maker = StratifiedShuffleSplit if stratify else ShuffleSplit
        splitter = maker(
            1, test_size=self.validation_fraction, random_state=draw_seed(rng)
        )
        train, held = next(splitter.split(np.zeros((n, 1)), y))
        if w is not None and not w[held].any():
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a "
                "different random state."
            )
        if not self.shuffle:  # the rows come in the order that they have in X
            train = np.sort(train)
        return train.astype(kind), held

    def _run_sgd(self, problem, W, memory, *, max_iter, X, y):
        """Run `run_sgd` and store the model."""

        def run(task):
            result = run_sgd(problem, W, memory, max_iter=max_iter, task=task)
            # without tol all passes were asked for, unless one without mistakes was
            wanted = problem.tol is None and not problem.stop_when_clean
            if result.reason == "max_iter" and wanted:
                return result._replace(reason="passes")
            return result

        rule = problem.rule
        with threads.limit_threads(getattr(self, "n_jobs", None)):
            result = self._run_driver(
                run,
                total=max_iter,
                X=X,
                y=y,
                snapshot=lambda s: self._fitted_attributes(s, rule),
            )
        self.t_ += float(result.n_iter * -(-len(y) // rule.batch_size))
        state = result.state
        self._memory = state.memory._asdict()
        if rule.average:
            self._memory["W"] = state.W
        for name, value in self._fitted_attributes(state, rule).items():
            setattr(self, name, value)
        return result

    def _fitted_attributes(self, state, rule):
        """coef_ and intercept_ of a state: the averages once there are any."""
        scalars = state.memory.scalars
        W = state.W
        b = scalars[:, INTERCEPT]
        if rule.average and (scalars[:, N_AVERAGED] > 0).all():
            W, b = averaged_coefficients(W, state.memory)
        return {"coef_": W, "intercept_": b.astype(W.dtype)}

    def _raw_prediction(self, X) -> Any:
        """X W^T + b, whether coef_ is an array or a CSR matrix."""
        X = self._check_new_data(X, accept_sparse="csr")
        if not sp.issparse(self.coef_):
            return raw_prediction(self, X)
        (X,) = arrays_in_memory(self, X)
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
