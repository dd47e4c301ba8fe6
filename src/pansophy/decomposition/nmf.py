"""Nonnegative matrix factorisation: rows as sums of a few nonnegative parts.

    J(W, H) = D(X, W H) + a_W d (r |W|_1 + (1-r)/2 |W|^2)
                        + a_H n (r |H|_1 + (1-r)/2 |H|^2),    W, H >= 0          (1)

D is half the squared distance, or another beta divergence (`nmf_multiplicative.py`).
With H fixed, (1) falls apart into n small problems, one for each row w of W,

    min_{w >= 0}  1/2 w G w - (c - l1) . w,    G = H H^T + l2 I,  c = H x        (2)

"cd" solves them by coordinate descent: each w_t is set to its best value given the
others, max(w_t - g_t / G_tt, 0). The products C = X H^T cost n d k and dominate, so
a row is swept several times for each (as many as cost half the product), until a
sweep violates optimality a tenth as much as the first did. No sweep raises J, nor does
the same on H. At the end W is made to fit H, as `transform` does. "mu" multiplies.

The objective comes from products that are there already,
D = 1/2 |X|^2 - <X^T W, H^T> + 1/2 <W^T W, H H^T>. Stopping is by the violation of the
first sweeps, relative to the first iteration, for "cd" (against tol / 2: rows that were
swept several times violate less); by the fall of sqrt(2 J) over ten iterations,
relative to its initial value, for "mu".

Cost      4 n d k an iteration (stored entries in place of n d), (n + d) k^2 a sweep
Memory    (n + d) k beyond X
Shapes    X (n, d)   W (n, k)   H (k, d)   C (n, k)   G (k, k)
Refs      [LeeSeung1999]; [Cichocki2009] coordinates; [Gillis2012] several sweeps
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, check_non_negative

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..core.linalg.truncated_svd import CentredMatrix, truncated_svd
from ..core.loops import threads
from ..core.random import make_rng, spawn_rngs
from ..params import Count, Flag, Fraction, NonNegative, Number, ParameterError
from ..params import Verbosity as Verbose
from ..persist.saved_state import NumberArray, Whole, saved_state
from ..typing import Seed
from . import nmf_multiplicative as mu
from .abstract_pca import SPARSE
from .moments import refuse_table

MAX_SWEEPS = 6  # of a row for one product
SWEEP_TOL = 0.1  # violation of a sweep, relative to the first, that ends them
BLOCK = 2048  # rows that one thread sweeps
CHECK_EVERY = 10  # iterations of "mu" between two looks at its objective
SVD_ZERO = 1e-6  # entries of the SVD below this are zero in the initial factors
LOSSES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


class NMFState(NamedTuple):
    W: np.ndarray  # (n, k)
    H: np.ndarray  # H^T, (d, k)
    objective: float  # J
    violation: float = np.inf  # of the first sweeps ("cd")
    rounding: float = 0.0  # what a violation of "cd" may be by rounding alone


class NMFPenalties(NamedTuple):
    """l1 and l2 of each factor in eq. (2)."""

    l1_W: float
    l2_W: float
    l1_H: float
    l2_H: float


def nmf_coordinate_descent(W, G, C, l1, l2, order, *, max_sweeps, tol=SWEEP_TOL):
    """W after sweeps over eq. (2), and the violation of the first ones."""
    from ._nmf import coordinate_sweeps

    W = np.array(W, order="C")
    G = G + l2 * np.eye(len(G), dtype=G.dtype) if l2 else np.ascontiguousarray(G)
    C = np.ascontiguousarray(C)
    l1 = W.dtype.type(l1)
    cuts = [slice(i, i + BLOCK) for i in range(0, len(W), BLOCK)]
    tasks = (
        (lambda c=c: coordinate_sweeps(W[c], G, C[c], l1, order, max_sweeps, tol))
        for c in cuts
    )
    return W, sum(threads.run_tasks(tasks))


def nmf_penalty(W, H, s: NMFPenalties):
    """The terms of eq. (1) beyond D."""
    half = lambda l1, l2, A: (
        (l1 * float(A.sum()) if l1 else 0.0)
        + (l2 / 2 * float(np.vdot(A, A)) if l2 else 0.0)
    )
    return half(s.l1_W, s.l2_W, W) + half(s.l1_H, s.l2_H, H)


class NMFData(NamedTuple):
    """X by its products."""

    X: Any
    product: CentredMatrix
    power: float  # |X|^2
    entries: int  # that are not 0, however X is stored

    def sweeps(self, W):
        """Sweeps over a row of W for one product."""
        return int(np.clip(1 + 0.5 * self.entries / W.size, 1, MAX_SWEEPS))

    def times(self, H):
        """X H^T for H^T (d, k)."""
        return self.product.times(H)

    def transpose_times(self, W):
        """X^T W."""
        return self.product.back(W)


def nmf_data(X) -> NMFData:
    values = X.data if sp.issparse(X) else X
    entries = int(np.count_nonzero(values))
    return NMFData(X, CentredMatrix(X), mu.squared_entries(X), entries)


def cd_iteration(state, data, s: NMFPenalties, draw) -> NMFState:
    """W given H, then H given W."""
    W, H = state.W, state.H
    a, b = data.sweeps(W), data.sweeps(H)
    C = data.times(H)
    W, met = nmf_coordinate_descent(W, H.T @ H, C, s.l1_W, s.l2_W, draw(), max_sweeps=a)
    A = data.transpose_times(W)
    G = W.T @ W
    H, more = nmf_coordinate_descent(H, G, A, s.l1_H, s.l2_H, draw(), max_sweeps=b)
    D = 0.5 * data.power - float(np.vdot(A, H)) + 0.5 * float(np.vdot(G, H.T @ H))
    rounding = float(np.finfo(W.dtype).eps) * (float(C.sum()) + float(A.sum()))
    return NMFState(W, H, max(D, 0.0) + nmf_penalty(W, H, s), met + more, rounding)


def mu_iteration(state, X, s: NMFPenalties, b, power) -> NMFState:
    """Eq. (2) of `nmf_multiplicative.py`; J is that before the change of H."""
    W = mu.update_left_factor(X, state.W, state.H, b, s.l1_W, s.l2_W)
    if b < 1:
        W[np.finfo(W.dtype).eps > W] = 0.0
    H, D = mu.update_right_factor(X, W, state.H, b, s.l1_H, s.l2_H, power)
    if b <= 1:
        H[np.finfo(H.dtype).eps > H] = 0.0
    return NMFState(W, H, D + nmf_penalty(W, state.H, s))


class MultiplicativeProgress:
    """The fall of sqrt(2 J) every ten iterations, relative to its initial value."""

    def __init__(self, objective, W, H):
        self.objective = objective  # J of W, H
        self.iterations = 0
        self.initial = self.last = self._size(W, H)

    def _size(self, W, H):
        return float(np.sqrt(2 * max(self.objective(W, H), 0.0)))

    def change(self, W, H) -> float:
        """Change that is compared with `tol`; inf between two checks."""
        self.iterations += 1
        if self.iterations % CHECK_EVERY:
            return np.inf
        size = self._size(W, H)
        fall = self.last - size
        self.last = size
        return fall / self.initial if self.initial > 0 else 0.0


def run_nmf(X, W, H, s, b, solver, rng, *, max_iter, tol, shuffle, task=SILENT):
    """Run a solver from W (n, k) and H^T (d, k) until it converges."""
    k = W.shape[1]
    first = []

    def relative(old, new):
        if solver == "cd":
            first.append(new.violation)
            if tol > 0 and new.violation <= new.rounding:
                return 0.0
            size = max(first[0], 1e-8 * data.power)  # a start may be perfect
            return 2 * new.violation / size if size > 0 else 0.0
        return progress.change(new.W, new.H)

    if solver == "mu":
        total = lambda W, H: mu.total_divergence(X, W, H, b) + nmf_penalty(W, H, s)
        progress = MultiplicativeProgress(total, W, H)
        power = mu.squared_entries(X)
        step = lambda state: mu_iteration(state, X, s, b, power)
    else:
        data = nmf_data(X)
        order = np.arange(k)
        draw = lambda: rng.permutation(k) if shuffle else order
        step = lambda state: cd_iteration(state, data, s, draw)
    return iterate(
        step,
        NMFState(W, H, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=relative,
        task=task,
    )


def initial_nmf_factors(X, k, kind, rng):
    """Initial W (n, k) and H^T (d, k), in the dtype of X.

    "random" draws them. "nndsvd" takes the k leading singular triples; of each pair u,
    v the positive or the negative parts, whichever has more of the product, scaled to
    its length [Boutsidis2008]. Its zeros stay zero under multiplicative updates;
    "nndsvda" fills them with the mean of X, "nndsvdar" with small random numbers.
    """
    n, d = X.shape
    mean = float(X.mean())
    if kind == "random":
        size = np.sqrt(max(mean, 0.0) / k)
        one, two = spawn_rngs(rng, 2)
        W = one.standard_normal((n, k))
        H = two.standard_normal((d, k))
        return tuple(np.abs(size * A).astype(X.dtype) for A in (W, H))
    U, S, Vt = truncated_svd(X, k, rng)
    W, H = np.zeros((n, k)), np.zeros((d, k))
    for j in range(k):
        u = U[:, j].astype(float)
        v = Vt[j].astype(float)
        up, vp, un, vn = (np.maximum(a, 0.0) for a in (u, v, -u, -v))
        plus = np.linalg.norm(up) * np.linalg.norm(vp)
        minus = np.linalg.norm(un) * np.linalg.norm(vn)
        a, b, size = (up, vp, plus) if plus >= minus else (un, vn, minus)
        if size > 0:
            scale = np.sqrt(float(S[j]) * size)
            W[:, j] = scale * a / np.linalg.norm(a)
            H[:, j] = scale * b / np.linalg.norm(b)
    W[W < SVD_ZERO] = 0.0
    H[H < SVD_ZERO] = 0.0
    if kind == "nndsvda":
        W[W == 0] = mean
        H[H == 0] = mean
    elif kind == "nndsvdar":
        for A in (W, H):
            zero = A == 0
            A[zero] = np.abs(mean * rng.standard_normal(int(zero.sum())) / 100)
    return W.astype(X.dtype), H.astype(X.dtype)


def checked_factor(A, shape, dtype, name):
    """A factor to start from, as an array of its own of the dtype of X."""
    A = np.array(A)
    if A.dtype.kind == "f" and A.dtype != dtype:
        raise TypeError(
            f"H and W should have the same dtype as X, {dtype}, got {A.dtype} as "
            f"{name}."
        )
    if A.ndim != 2:
        raise ValueError(f"{name} of NMF must have shape {shape}, got {A.shape}.")
    for which, expected, got in zip(("first", "second"), shape, A.shape, strict=True):
        if got != expected:
            raise ValueError(
                f"Array with wrong {which} dimension passed to NMF (input {name}). "
                f"Expected {expected}, but got {got}."
            )
    A = A.astype(dtype, copy=False)
    check_non_negative(A, f"NMF (input {name})")
    return A


@saved_state(
    n_components_=Whole(low=1),
    components_=NumberArray("n_components_", "n_features_in_"),
)
@dataclass(eq=False, repr=False)
class NMF(PrefixedOutput, Transformer, Estimator):
    """Nonnegative matrix factorisation; the module text gives the method.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        k; "auto" is that of the given W or H, else the number of columns, as None.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        None is "nndsvda" if k is at most rows and columns, else "random". "custom"
        takes W and H from `fit_transform`.
    solver : {"cd", "mu"}, default="cd"
        Coordinate descent, or multiplicative updates.
    beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}
        D; others than "frobenius" need "mu". Default "frobenius".
    tol : float, default=1e-4
        See the module text.
    max_iter : int, default=200
        Most iterations.
    random_state : int, RandomState, Generator or None, default=None
    alpha_W : float, default=0.0
        a_W of eq. (1).
    alpha_H : float or "same", default="same"
        a_H; "same" is alpha_W.
    l1_ratio : float, default=0.0
        r.
    verbose : int, default=0
        1 shows a progress bar.
    shuffle : bool, default=False
        Whether "cd" visits coordinates in random order.

    Attributes
    ----------
    components_ : array of shape (k, d)
        H.
    n_components_ : int
        k.
    reconstruction_err_ : float
        sqrt(2 D), for "frobenius" the Frobenius norm of X - W H.
    n_iter_, history_, converged_, interrupted_
        How the iterations went.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import NMF
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> model = NMF(1).fit(X)
    >>> model.reconstruction_err_ < 1e-6
    True
    >>> model.inverse_transform(model.transform([[5.0, 10.0]])).round(6)
    array([[ 5., 10.]])
    """

    n_components: Count | Literal["auto"] | None = "auto"
    _: KW_ONLY
    init: Literal["random", "nndsvd", "nndsvda", "nndsvdar", "custom"] | None = None
    solver: Literal["cd", "mu"] = "cd"
    beta_loss: Number | Literal["frobenius", "kullback-leibler", "itakura-saito"] = (
        "frobenius"
    )
    tol: NonNegative = 1e-4
    max_iter: Count = 200
    random_state: Seed = None
    alpha_W: NonNegative = 0.0
    alpha_H: NonNegative | Literal["same"] = "same"
    l1_ratio: Fraction = 0.0
    verbose: Verbose = 0
    shuffle: Flag = False

    _tensors = False

    def fit(self, X, y=None, **params):
        """Find H; W and H to start from may be given as keywords."""
        self.fit_transform(X, **params)
        return self

    def fit_transform(self, X, y=None, W=None, H=None):
        """Find H, and W of the same rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), nonnegative
        y : None
            Not used.
        W, H : arrays of shape (n, k) and (k, d)
            Where to start, if init="custom".

        Returns
        -------
        W : array of shape (n, k)
        """
        X, _ = self._check_training_data(X, **SPARSE, order="C")
        refuse_table(X, "NMF")
        X, b = self._checked(X)
        rng = make_rng(self.random_state)
        W0, H0 = self._start(X, W, H, rng)
        s = self._strength(*X.shape)
        result = self._run_driver(
            lambda task: run_nmf(
                X,
                W0,
                H0,
                s,
                b,
                self.solver,
                rng,
                max_iter=self.max_iter,
                tol=self.tol,
                shuffle=self.shuffle,
                task=task,
            ),
            total=self.max_iter,
            X=X,
        )
        W, H = result.state.W, result.state.H
        if self.solver == "cd":
            W = self._rows_given(X, H, W, s)
        self.components_ = np.ascontiguousarray(H.T)
        self.n_components_ = H.shape[1]
        D = mu.total_divergence(X, W, H, b)
        self.reconstruction_err_ = float(np.sqrt(2 * max(D, 0.0)))
        return W

    def transform(self, X):
        """W of new rows, H fixed: each row by itself, until it converges."""
        X = self._check_new_data(X, **SPARSE, order="C")
        X, b = self._checked(X)
        H = np.ascontiguousarray(self.components_.T.astype(X.dtype))
        k = H.shape[1]
        s = self._strength(*X.shape)
        if self.solver == "cd":
            return self._rows_given(X, H, np.zeros((X.shape[0], k), X.dtype), s)
        size = np.sqrt(max(float(X.mean()), 0.0) / k)
        W = np.full((X.shape[0], k), size or 1.0, X.dtype)
        J = lambda W, H: mu.total_divergence(X, W, H, b) + nmf_penalty(W, H, s)
        progress = MultiplicativeProgress(J, W, H)
        for _ in range(self.max_iter):
            W = mu.update_left_factor(X, W, H, b, s.l1_W, s.l2_W)
            if progress.change(W, H) <= self.tol:
                break
        return W

    def _rows_given(self, X, H, W, s):
        """Eq. (2) solved for every row, from W."""
        C = CentredMatrix(X).times(H)
        order = np.arange(H.shape[1])
        return nmf_coordinate_descent(
            W,
            H.T @ H,
            C,
            s.l1_W,
            s.l2_W,
            order,
            max_sweeps=self.max_iter,
            tol=self.tol,
        )[0]

    def inverse_transform(self, X):
        """Rows W H from W."""
        check_is_fitted(self)
        W = np.asarray(X)
        if W.ndim != 2 or W.shape[1] != len(self.components_):
            raise ValueError(
                f"expected {len(self.components_)} columns, got shape {W.shape}."
            )
        return W @ self.components_

    def _checked(self, X):
        """X as CSR if sparse, nonnegative, and beta."""
        X = X.tocsr() if sp.issparse(X) else X
        check_non_negative(X, "NMF (input X)")
        refuse_overflowing_squares(self, X, margin=np.sqrt(X.shape[1]))  # |X|^2
        loss: Any = self.beta_loss
        b = LOSSES.get(loss, loss)
        if self.solver == "cd" and b != 2:
            raise ParameterError(
                "Invalid beta_loss parameter: solver 'cd' does not handle beta_loss = "
                f"{self.beta_loss!r}; take solver='mu'."
            )
        zeros = (
            X.nnz < X.shape[0] * X.shape[1] if sp.issparse(X) else bool((X == 0).any())
        )
        if b <= 0 and zeros:
            raise ValueError(
                "When beta_loss <= 0, X must have no zeros: the divergence from one is "
                "infinite."
            )
        return X, float(b)

    def _warn_if_not_converged(self, reason):
        if reason != "max_iter":
            super()._warn_if_not_converged(reason)
        elif self.tol > 0:  # tol=0 asks for max_iter iterations
            warnings.warn(
                f"NMF did not converge: Maximum number of iterations {self.max_iter} "
                "reached. Increase it to improve convergence.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _strength(self, n, d) -> NMFPenalties:
        a = self.alpha_W
        c = a if self.alpha_H == "same" else float(self.alpha_H)
        r = self.l1_ratio
        return NMFPenalties(a * r * d, a * (1 - r) * d, c * r * n, c * (1 - r) * n)

    def _start(self, X, W, H, rng):
        n, d = X.shape
        k = self.n_components
        if self.init == "custom":
            if W is None or H is None:
                raise ValueError("init='custom' needs W and H.")
            k = len(H) if k in ("auto", None) else k
            H = checked_factor(H, (k, d), X.dtype, "H")
            W = checked_factor(W, (n, k), X.dtype, "W")
            return W, np.ascontiguousarray(H.T)
        if W is not None or H is not None:
            warnings.warn(
                "W and H are used only with init='custom'.",
                RuntimeWarning,
                stacklevel=3,
            )
        k = d if k in ("auto", None) else k
        kind = self.init or ("nndsvda" if k <= min(n, d) else "random")
        if kind != "random" and k > min(n, d):
            raise ValueError(
                f"init = {kind!r} can only be used when n_components <= min(n_samples, "
                f"n_features) = {min(n, d)}, got {k}."
            )
        if kind == "nndsvd" and self.solver == "mu":
            warnings.warn(
                "zeros of init='nndsvd' stay zero under solver='mu'; see 'nndsvda'.",
                UserWarning,
                stacklevel=3,
            )
        return initial_nmf_factors(X, k, kind, rng)

    @property
    def _n_features_out(self):
        return int(self.components_.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
