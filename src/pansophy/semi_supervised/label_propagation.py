"""Label propagation and spreading: labels diffuse over a graph of similar rows.

W holds similarities of rows (>= 0), D its row sums, Y the known labels as rows of 0 and
1 (rows without one are 0).

Propagation keeps the known labels and makes every other row the mean of its
neighbours: a walk that ends at the first labelled row, and for a symmetric W the least
energy:

    E(F) = 1/2 sum_ij W_ij |F_i - F_j|^2,    F_l = Y_l                           (1)
    F_u = (D - W)_uu^-1 W_ul Y_l,            F_i = sum_j W_ij F_j / D_i          (2)

Spreading allows labels to be wrong and corrects them by their neighbours. With
S = D^-1/2 W D^-1/2, W without its diagonal,

    F = (1 - a) (I - a S)^-1 Y,  the least of
    1/4 sum_ij W_ij |F_i / D_i^1/2 - F_j / D_j^1/2|^2 + (1/a - 1)/2 |F - Y|^2    (3)

(2) is solved by conjugate gradients, whose objective never rises, and by BiCGSTAB where
W is not symmetric, instead of by repeated averaging: that takes as many iterations as
the longest path to a label, and a change of 1e-3 per iteration is not a distance of
1e-3 to the solution. (3) is iterated, F = a S F + (1 - a) Y: far from a label F is
tiny, only its proportions count, and sums of positive numbers keep these; it ends when
no proportion changes by more than `tol`.
Rows that no label can reach get the proportions of the known labels.

A new row gets the mean of the training rows' labels, weighted by similarity.

"knn" connects a row to its nearest rows, in this direction only, as in scikit-learn: W
is not symmetric, (2) and the iteration of (3) hold as they stand, with the column sums
of W for D in (3). Its memory is O(n k); "rbf" needs the n by n matrix, of which blocks
are computed again in each iteration if it exceeds MAX_KERNEL_BYTES.

Cost      iterations times the edges of W times the classes
Shapes    W (n, n)   F, Y (n, K)
Refs      [Zhu2003] eqs. (1), (2); [Zhou2004] eq. (3); [vanderVorst1992]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from ..base import Classifier, Estimator
from ..core.arrays import rows
from ..core.arrays.labels import class_codes, known_labels
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.drivers.iterate import Result, iterate
from ..core.loops import threads
from ..core.numerics import safe_divide
from ..distances.neighbor_search import build_index, k_nearest
from ..graphs import knn_graph
from ..kernels import RBF
from ..optim import conjugate_gradient
from ..params import Count, Jobs, NonNegative, OpenFraction
from .abstract_semi_supervised import normalize_missing_labels

FINAL_SWEEPS = 50  # means of neighbours after conjugate gradients
MAX_KERNEL_BYTES = 1 << 29  # bytes of a kernel matrix that is kept


class SimilarityGraph(NamedTuple):
    """W by its operations."""

    product: Callable  # F -> W F
    degrees: np.ndarray  # D of eq. (2): row sums
    in_degrees: np.ndarray  # D of eq. (3): column sums
    reached: Callable  # mask of rows -> mask of rows with a way to them
    matrix: Any = None  # W itself where it is sparse, and then not symmetric


def _neighbor_graph(W) -> SimilarityGraph:
    """The graph of a CSR matrix whose row i holds the neighbours of i."""
    n = W.shape[0]

    def reached(mask):
        # one more node with an edge to every row of the mask; edges turned round
        ends = np.flatnonzero(mask)
        first = sp.csr_array((np.ones(len(ends)), (0 * ends, ends)), shape=(1, n))
        last = sp.csr_array((1, 1))
        turned = sp.csr_array(sp.block_array([[W.T, None], [first, last]]))
        result = breadth_first_order(turned, n, return_predecessors=False)
        return np.isin(np.arange(n), result)

    sums = lambda axis: np.asarray(W.sum(axis=axis), float).ravel()
    return SimilarityGraph(lambda F: W @ F, sums(1), sums(0), reached, W)


def _given_graph(W, n, *, loops) -> SimilarityGraph:
    """The graph of a matrix, dense or sparse, that a user's kernel gives."""
    sparse = sp.issparse(W)
    W = sp.csr_array(W, dtype=float) if sparse else np.array(W, float)
    values = W.data if sparse else W
    if W.shape != (n, n) or values.min(initial=0.0) < 0:
        raise ValueError("kernel must give n by n numbers of at least 0.")
    if not loops:
        if sparse:
            W.setdiag(0.0)
            W.eliminate_zeros()
        else:
            np.fill_diagonal(W, 0.0)
    if sparse or not np.allclose(W, W.T, rtol=1e-10, atol=0.0):
        return _neighbor_graph(sp.csr_array(W))
    return _kernel_graph(W, lambda rows, _: rows, loops=True)


def _kernel_graph(X, kernel, *, loops) -> SimilarityGraph:
    """The graph of a kernel; `loops`: whether a row is its own neighbour."""
    n = X.shape[0]
    block = max(1, min(n, (1 << 24) // (8 * n)))
    cuts = [slice(i, min(i + block, n)) for i in range(0, n, block)]

    def part(cut):
        K = np.array(kernel(X[cut], X), float)
        if K.shape != (cut.stop - cut.start, n) or K.min() < 0:
            raise ValueError("kernel must give n by n numbers of at least 0.")
        if not loops:
            K[np.arange(len(K)), np.arange(cut.start, cut.stop)] = 0.0
        return K

    kept = None
    if 8 * n * n <= MAX_KERNEL_BYTES:
        kept = np.concatenate(
            list(threads.run_tasks((lambda c=c: part(c)) for c in cuts))
        )

    def product(F):
        rows_of = part if kept is None else kept.__getitem__
        tasks = ((lambda c=c: rows_of(c) @ F) for c in cuts)
        return np.concatenate(list(threads.run_tasks(tasks, blas=True)))

    def reached(mask):
        while True:  # usually once: a kernel connects all rows at once
            wider = mask | (product(mask[:, None] * 1.0)[:, 0] > 0)
            if np.array_equal(wider, mask):
                return mask
            mask = wider

    degrees = product(np.ones((n, 1)))[:, 0]
    return SimilarityGraph(product, degrees, degrees, reached)


def _normalize_rows(F, prior):
    """Rows scaled to sum 1; `prior` in place of rows of zeros."""
    total = F.sum(axis=1, keepdims=True)
    return np.where(total > 0, F / np.where(total > 0, total, 1.0), prior)


def _solve_positive_definite(product, B, start, *, max_iter, tol, task):
    """A G = B for a positive definite A by conjugate gradients, from `start`."""

    def f(G):
        R = product(G) - B
        return float(np.sum(G * (R - B)) / 2), R

    return conjugate_gradient(
        f, start, product=product, max_iter=max_iter, tol=tol, task=task
    )


class BiCGSTABState(NamedTuple):
    """State carried between iterations of BiCGSTAB; columns are independent."""

    objective: float  # largest entry of the residual
    position: np.ndarray
    residual: np.ndarray
    shadow: np.ndarray  # the residual that later ones are made orthogonal to
    direction: np.ndarray
    image: np.ndarray  # A times the direction
    rho: Any
    step: Any
    smoothing: Any


def _solve_nonsymmetric(product, B, *, max_iter, tol, task):
    """A G = B for any A by BiCGSTAB, from 0, until no residual exceeds `tol`."""
    dot = lambda U, V: np.sum(U * V, axis=0)

    def step(s):
        rho = dot(s.shadow, s.residual)
        beta = safe_divide(rho * s.step, s.rho * s.smoothing)
        P = s.residual + beta * (s.direction - s.smoothing * s.image)
        V = product(P)
        a = safe_divide(rho, dot(s.shadow, V))
        S = s.residual - a * V
        T = product(S)
        w = safe_divide(dot(T, S), dot(T, T))
        R = S - w * T
        G = s.position + a * P + w * S
        stuck = (a == 0) | (w == 0)  # begin again from here
        shadow = np.where(stuck, R, s.shadow)
        P, V = (np.where(stuck, 0.0, part) for part in (P, V))
        rho, a, w = (np.where(stuck, 1.0, part) for part in (rho, a, w))
        worst = float(np.abs(R).max(initial=0.0))
        return BiCGSTABState(worst, G, R, shadow, P, V, rho, a, w)

    unit_scales = np.ones(B.shape[1])
    zero = np.zeros_like(B)
    start = BiCGSTABState(
        float(np.abs(B).max(initial=0.0)),
        zero,
        B,
        B,
        zero,
        zero,
        unit_scales,
        unit_scales,
        unit_scales,
    )
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.objective,
        task=task,
    )


def _directed_harmonic_labels(W: SimilarityGraph, Y, free, *, max_iter, tol, task):
    """Eq. (2) for the free rows of a sparse W that is not symmetric."""
    shares = sp.diags_array(1 / W.degrees[free]) @ W.matrix[free]
    free_shares = sp.csr_array(shares[:, free])
    run = _solve_nonsymmetric(
        lambda G: G - free_shares @ G,
        shares[:, ~free] @ Y[~free],
        max_iter=max_iter,
        tol=tol,
        task=task,
    )
    F = Y.copy()
    F[free] = run.state.position
    return run, F


def _harmonic_labels(W: SimilarityGraph, Y, known, *, max_iter, tol, task):
    """Eq. (2), with G = D^1/2 F so that the matrix is near the identity."""
    free = ~known
    root = np.sqrt(W.degrees)
    root[root == 0] = 1.0
    scaled_product = lambda G: W.product(G / root[:, None]) / root[:, None]
    B = scaled_product(np.where(known[:, None], Y * root[:, None], 0.0))[free]

    def product(G):
        full = np.zeros_like(Y)
        full[free] = G
        return G - scaled_product(full)[free]

    run = _solve_positive_definite(
        product, B, np.zeros_like(B), max_iter=max_iter, tol=tol, task=task
    )
    F = Y.copy()
    F[free] = run.state.position / root[free, None]
    # entries of the gradient are root_i (F_i - mean_i): for rows with tiny similarities
    # they say nothing, and means of neighbours finish what is left
    degrees = np.where(W.degrees > 0, W.degrees, 1.0)[:, None]
    for _ in range(FINAL_SWEEPS):
        means = W.product(F) / degrees
        if np.abs(means - F)[free].max(initial=0.0) <= tol:
            break
        F[free] = means[free]
    return run, F


class SpreadingState(NamedTuple):
    """State carried from one iteration of eq. (3) to the next."""

    objective: (
        float  # 1/2 F'(I - a S) F - (1 - a) F'Y, one part of it one iteration old
    )
    position: np.ndarray  # F


def _spread_labels(W: SimilarityGraph, Y, alpha, *, max_iter, tol, task):
    """Eq. (3)."""
    root = np.sqrt(W.in_degrees)[:, None]
    root[root == 0] = 1.0
    B = (1 - alpha) * Y

    def step(s):
        F = s.position
        new = alpha * W.product(F / root) / root + B
        return SpreadingState(float(np.sum(F * (F - new - B)) / 2), new)

    def change(old, new):
        a, b = (_normalize_rows(s.position, 0.0) for s in (old, new))
        return float(np.max(np.abs(a - b)))

    run = iterate(
        step,
        SpreadingState(np.inf, B),
        change=change,
        max_iter=max_iter,
        tol=tol,
        task=task,
    )
    return run, run.state.position


class AbstractLabelGraph(Classifier, Estimator):
    """The graph, the labels of the training rows, and those of new rows."""

    kernel: Any
    gamma: float
    n_neighbors: int
    max_iter: int
    tol: float
    n_jobs: Any
    loops = False  # a row is not its own neighbour: eq. (2) is the same without
    _tensors = False

    def _solved(self, W, Y, known, unreached, task) -> Result:
        """F as the position of the last state."""
        raise TypeError(f"{type(self).__name__} does not say how to solve for F.")

    def fit(self, X, y):
        """Find the labels of the rows without one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels; -1, or the empty text, where there is none.
        """
        X, y, _ = self._check_training_data(
            X,
            normalize_missing_labels(y),
            y_kind="class",
            accept_sparse="csr",
            order="C",
        )
        if self.kernel == "rbf":
            refuse_overflowing_squares(self, X)
        known = known_labels(y)
        if not known.any():
            raise ValueError("y holds no label at all: at least one must be known.")
        self.classes_, codes = class_codes(np.asarray(y)[known])
        Y = np.zeros((len(y), len(self.classes_)))
        Y[np.flatnonzero(known), codes] = 1.0
        prior = Y[known].mean(axis=0)
        with threads.limit_threads(self.n_jobs):
            W = self._graph(X)
            unreached = np.zeros(len(y), bool)
            if known.sum() < len(y):
                unreached = ~W.reached(known)
            run = lambda task: self._solved(W, Y, known, unreached, task)
            with threads.single_blas():  # sums in one order, whatever the threads
                F = self._run_driver(run, total=self.max_iter, X=X).state.position
        F = np.where(unreached[:, None], prior, np.maximum(F, 0.0))
        self.X_ = X
        self.label_distributions_ = _normalize_rows(F, prior)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def _not_converged_text(self, limit):
        return (
            f"max_iter={self.max_iter} was reached without convergence. Raise max_iter "
            f"or tol of {type(self).__name__}."
        )

    def _graph(self, X) -> SimilarityGraph:
        if self.kernel == "knn":
            n = X.shape[0]
            k = min(self.n_neighbors, n) - 1
            if k == 0:
                return _neighbor_graph(sp.csr_array((n, n)))
            if sp.issparse(X):
                W = NearestNeighbors(n_neighbors=k).fit(X).kneighbors_graph()
                return _neighbor_graph(sp.csr_array(W))
            return _neighbor_graph(knn_graph(X, k, mode="connectivity"))
        if callable(self.kernel):
            return _given_graph(self.kernel(X, X), X.shape[0], loops=self.loops)
        return _kernel_graph(X, self._similarity(X), loops=self.loops)

    def _similarity(self, X):
        if sp.issparse(X):
            return partial(rbf_kernel, gamma=self.gamma)
        return RBF(gamma=self.gamma)

    def _nearest(self, X):
        """The training rows nearest to each row."""
        k = min(self.n_neighbors, self.X_.shape[0])
        if sp.issparse(X):
            index = NearestNeighbors(n_neighbors=k).fit(self.X_)
            return index.kneighbors(X, return_distance=False)
        return k_nearest(build_index(self.X_), X, k)[1]

    def predict_proba(self, X):
        """Means of the training rows' labels, weighted by similarity: (n, K)."""
        X = self._check_new_data(X, accept_sparse="csr")
        if sp.issparse(self.X_) or sp.issparse(X):  # the kind of the training rows
            X = sp.csr_array(X) if sp.issparse(self.X_) else X.toarray()
        F = self.label_distributions_
        prior = self.label_distributions_.mean(axis=0)
        if self.kernel == "knn":
            return F[self._nearest(X)].mean(axis=1)
        if callable(self.kernel):
            weights = self.kernel(self.X_, X)  # training rows first
            if weights.shape != (len(F), X.shape[0]):
                raise ValueError(
                    f"kernel(X, Z) must have shape {(len(F), X.shape[0])} for these "
                    f"rows, got {weights.shape}."
                )
            return _normalize_rows(np.asarray(weights.T @ F, float), prior)
        similarity = self._similarity(X)
        part = lambda X: _normalize_rows(
            np.asarray(similarity(X, self.X_), float) @ F, prior
        )
        return rows.Rows(X, block=max(1, (1 << 24) // (8 * len(F)))).map(part)

    def predict(self, X):
        """The class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class LabelPropagation(AbstractLabelGraph):
    """Labels spread over a graph of rows, the known ones kept: eqs. (1) and (2).

    Parameters
    ----------
    kernel : {"rbf", "knn"} or function, default="rbf"
        Similarity of rows. A function of X and Z gives numbers of at least 0, a row
        for each row of X and a column for each of Z, as an array or a sparse matrix.
    gamma : float, default=20
        Of "rbf": exp(-gamma |x - z|^2).
    n_neighbors : int, default=7
        Of "knn", the row itself counted. A row listens to its neighbours, whether or
        not they count it among theirs.
    max_iter : int, default=1000
        Most iterations of conjugate gradients.
    tol : float, default=1e-3
        Largest entry of the gradient at which they stop (with "knn": largest distance
        of a row from the mean of its neighbours); 1e-10 makes every row the mean of its
        neighbours to about as many digits.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    X_ : array or CSR matrix of shape (n, d)
        The training rows.
    classes_ : array of shape (K,)
        The known labels.
    label_distributions_ : array of shape (n, K)
        F, rows summing to 1.
    transduction_ : array of shape (n,)
        The most probable label of each training row.
    n_iter_ : int
        Iterations.
    history_ : dict of arrays
        "objective" by iteration, with "knn" the largest residual of eq. (2).

    Examples
    --------
    >>> from pansophy.semi_supervised import LabelPropagation
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> model = LabelPropagation("knn", n_neighbors=3).fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    kernel: Literal["knn", "rbf"] | Callable = "rbf"
    _: KW_ONLY
    gamma: NonNegative = 20
    n_neighbors: Count = 7
    max_iter: Count = 1000
    tol: NonNegative = 1e-3
    n_jobs: Jobs = None

    def _solved(self, W, Y, known, unreached, task):
        options = {"max_iter": self.max_iter, "tol": self.tol, "task": task}
        if W.matrix is None:
            run, F = _harmonic_labels(W, Y, known, **options)
        else:
            # rows without a way to a label would make the equations singular
            free = ~(known | unreached)
            run, F = _directed_harmonic_labels(W, Y, free, **options)
        return run._replace(state=run.state._replace(position=F))


@dataclass(eq=False, repr=False)
class LabelSpreading(AbstractLabelGraph):
    """Labels spread over a graph of rows, known ones open to correction: eq. (3).

    Parameters
    ----------
    kernel : {"rbf", "knn"} or function, default="rbf"
        Similarity of rows. A function of X and Z gives numbers of at least 0, a row
        for each row of X and a column for each of Z, as an array or a sparse matrix.
    gamma : float, default=20
        Of "rbf": exp(-gamma |x - z|^2).
    n_neighbors : int, default=7
        Of "knn", the row itself counted. A row listens to its neighbours, whether or
        not they count it among theirs.
    alpha : float, default=0.2
        a: how much a row listens to its neighbours rather than to its own label,
        between 0 and 1.
    max_iter : int, default=30
        Most iterations.
    tol : float, default=1e-3
        Largest change of a row's proportions at which they end.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    X_ : array or CSR matrix of shape (n, d)
        The training rows.
    classes_ : array of shape (K,)
        The known labels.
    label_distributions_ : array of shape (n, K)
        F, rows made to sum to 1.
    transduction_ : array of shape (n,)
        The most probable label of each training row.
    n_iter_ : int
        Iterations.
    history_ : dict of arrays
        "objective" by iteration.

    Examples
    --------
    >>> from pansophy.semi_supervised import LabelSpreading
    >>> X = [[0.0], [0.3], [0.6], [8.0], [8.2], [8.5]]
    >>> LabelSpreading().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    kernel: Literal["knn", "rbf"] | Callable = "rbf"
    _: KW_ONLY
    gamma: NonNegative = 20
    n_neighbors: Count = 7
    alpha: OpenFraction = 0.2
    max_iter: Count = 30
    tol: NonNegative = 1e-3
    n_jobs: Jobs = None

    def _solved(self, W, Y, known, unreached, task):
        run, F = _spread_labels(
            W, Y, self.alpha, max_iter=self.max_iter, tol=self.tol, task=task
        )
        return run._replace(state=run.state._replace(position=F))
