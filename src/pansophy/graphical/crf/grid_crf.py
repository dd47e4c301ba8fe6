"""Grid conditional random field: labels of the pixels of images.

    P(y | x) in proportion to exp(sum_i U_i(y_i) + sum_{i ~ j} a_ij [y_i = y_j])   (1)
    U_i(l) = b_l + w_l . x_i,    a_ij = v_0 + v_1 exp(-|x_i - x_j|^2 / (2 s^2))    (2)

over pairs of neighbours i ~ j, vertical and horizontal. The second term of a_ij lets
neighbours differ at the edges of an image. The weights minimise the penalised negative
log-likelihood

    J = log Z(x) - (score of y in (1)) + c2 |w|^2 + c n |v|^2                      (3)

over n pixels, with c = `coupling_penalty`. The second penalty grows with the images,
unlike a usual prior: the neighbours in drawn or labelled regions agree far more often
than (1) can explain without freezing, that is, without one label taking over whatever
the pixels say, and no number of images makes that weaker [Kumar2006]. The search starts
from independent pixels (v = 0), since J has poor local minima where w is near 0.

The gradient of J is expected minus observed counts: of labels by pixel, and of pairs
that agree. Z is intractable, so log Z is the Bethe approximation, and the counts are
those of belief propagation, whose messages between Potts neighbours cost O(k),

    m_ij(l) in proportion to 1 + (exp a_ij - 1) c_ij(l)                            (4)
    c_ij(l) in proportion to exp U_i(l) prod over other neighbours n of m_ni(l)

which is exact if the pixels form a tree; one pixel is logistic regression. Each step
starts from the messages of the last. The pseudo-likelihood, in which each pixel is
conditioned on the true labels of its neighbours,

    J = -sum_i log softmax_l(U_i(l) + sum_j a_ij [y_j = l]) at y_i + penalty       (5)

is quicker and convex, but overestimates the coupling where labels form large regions.
A field whose labels of the training images are worse than those of independent pixels,
or than a constant, is frozen: `fit` warns.

`predict` gives each pixel its most probable label, or all pixels the most probable
labelling: by a graph cut if no a_ij is negative, exact for two labels and within a
factor 2 of the minimum energy for more; otherwise by iterated conditional modes (ICM).
The most probable labelling tends to lose small regions.

Cost      O(pixels (d + k iterations of messages)) a step; memory O(pixels k)
Shapes    x (h, w, d)   U (n, k)   pairs (m, 2)   a (m,)   messages (2 m, k)
Refs      [Yedidia2005] (4); [Besag1975] (5); [Kumar2006]; [Boykov2001]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...params import Count, Flag, NonNegative, Positive, Verbosity, check_params
from ..fields.graph_cuts import alpha_expansion
from ..fields.transfer_matrix import neighbor_pairs

MAX_BP_ROUNDS = 100
BP_TOL = 1e-6  # change of a message at convergence
BP_DAMPING = 0.3  # weight of the old message


class PixelGrid(NamedTuple):
    """An image as rows of pixels, and its pairs of neighbours."""

    X: np.ndarray  # (n, d)
    pairs: np.ndarray  # (m, 2)
    similarity: np.ndarray  # (m, 1 or 2), the factors of v in eq. (2)
    incidence: scipy.sparse.csr_array  # (n, 2 m), messages that reach each pixel
    shape: tuple

    def agree(self, y):
        """Mask of the pairs that have equal labels, (m,)."""
        return y[self.pairs[:, 0]] == y[self.pairs[:, 1]]


def make_pixel_grid(x, scale) -> PixelGrid:
    """Pixels, pairs and their similarity; `scale` is s, or None without contrast."""
    h, w, d = x.shape
    X = x.reshape(-1, d)
    pairs = np.asarray(neighbor_pairs(h, w)).reshape(-1, 2)
    similarity = np.ones((len(pairs), 1))
    if scale is not None:
        squared_gap = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
        similarity = np.column_stack(
            [similarity, np.exp(-squared_gap / (2 * scale**2))]
        )
    receiver = np.r_[pairs[:, 1], pairs[:, 0]]  # messages i -> j, then j -> i
    shape = len(X), len(receiver)
    incidence = scipy.sparse.csr_array(
        (np.ones(len(receiver)), (receiver, np.arange(len(receiver)))), shape
    )
    return PixelGrid(X, pairs, similarity, incidence, (h, w))


class PixelBeliefs(NamedTuple):
    """Marginals and Bethe log Z of converged messages."""

    messages: np.ndarray  # (2 m, k)
    marginals: np.ndarray  # (n, k)
    agree: np.ndarray  # (m,) probability that a pair has equal labels
    log_z: float


def _normalise_log_rows(L):
    """exp L with rows that sum to 1, and the logarithms of the sums."""
    top = L.max(axis=1, keepdims=True)
    P = np.exp(L - top)
    total = P.sum(axis=1, keepdims=True)
    return P / total, (top + np.log(total))[:, 0]


def propagate_beliefs(p: PixelGrid, U, a, messages=None) -> PixelBeliefs:
    """Belief propagation for eq. (1), by eq. (4)."""
    n, k = U.shape
    m = len(a)
    i, j = p.pairs.T
    sender, reverse = np.r_[i, j], np.r_[np.arange(m, 2 * m), np.arange(m)]
    attraction = np.expm1(np.r_[a, a])[:, None]
    M = np.full((2 * m, k), 1 / k) if messages is None else messages
    for _ in range(MAX_BP_ROUNDS if m else 0):
        log_b = U + p.incidence @ np.log(M)
        c, _ = _normalise_log_rows(log_b[sender] - np.log(M[reverse]))
        new = (1 - BP_DAMPING) * (1 + attraction * c) / (
            k + attraction
        ) + BP_DAMPING * M
        converged = np.abs(new - M).max() <= BP_TOL
        M = new
        if converged:
            break
    log_b = U + p.incidence @ np.log(M)
    P, log_n = _normalise_log_rows(log_b)
    if not m:
        return PixelBeliefs(M, P, np.zeros(0), float(log_n.sum()))
    c, log_c = _normalise_log_rows(log_b[sender] - np.log(M[reverse]))
    agreement = (c[:m] * c[m:]).sum(axis=1)
    pair_sum = 1 + np.expm1(a) * agreement  # sums of c_ij exp(a [l = l']) c_ji
    degree = np.bincount(np.r_[i, j], minlength=n)
    log_z = (np.log(pair_sum) + log_c[:m] + log_c[m:]).sum() - (
        (degree - 1) * log_n
    ).sum()
    return PixelBeliefs(M, P, np.exp(a) * agreement / pair_sum, float(log_z))


def _neighbor_votes(p: PixelGrid, y, weight, k):
    """sum over neighbours j of weight_ij [y_j = l]: (n, k)."""
    i, j = p.pairs.T
    cell = np.r_[i * k + y[j], j * k + y[i]]
    total = np.bincount(cell, np.r_[weight, weight], minlength=len(p.X) * k)
    return total.reshape(-1, k)


class GridObjective:
    """J of eq. (3) or (5) and its gradient, at weights w (d, k), b (k,), v (e,)."""

    def __init__(self, grids, codes, k, c2, coupling_penalty, pseudo):
        self.grids = grids
        self.codes = codes
        self.k = k
        d, e = grids[0].X.shape[1], grids[0].similarity.shape[1]
        n = sum(len(p.X) for p in grids)
        self.penalty = np.repeat([c2, 0.0, coupling_penalty * n], [d * k, k, e])
        self.image_objective = self.pseudo if pseudo else self.bethe
        self.messages: list = [None] * len(grids)

    @property
    def size(self):
        return len(self.penalty)

    def split(self, theta):
        """w (d, k), b (k,) and v (e,)."""
        k = self.k
        cut = self.grids[0].X.shape[1] * self.k
        return theta[:cut].reshape(-1, k), theta[cut : cut + k], theta[cut + k :]

    def __call__(self, theta):
        W, b, v = self.split(theta)
        gradient = 2 * self.penalty * theta
        value = gradient @ theta / 2
        for t, (p, y) in enumerate(zip(self.grids, self.codes, strict=True)):
            cost, R, slope = self.image_objective(t, p, y, p.X @ W + b, v)
            value += cost
            gradient += np.r_[(p.X.T @ R).ravel(), R.sum(axis=0), slope]
        return value, gradient

    def bethe(self, t, p, y, U, v):
        """Eq. (3) of one image: value, gradient by pixel and label, and by v."""
        a = p.similarity @ v
        pixels = np.arange(len(y))
        result = propagate_beliefs(p, U, a, self.messages[t])
        self.messages[t] = result.messages
        agrees = p.agree(y)
        value = result.log_z - U[pixels, y].sum() - a[agrees].sum()
        R = result.marginals.copy()
        R[pixels, y] -= 1
        return value, R, p.similarity.T @ (result.agree - agrees)

    def pseudo(self, t, p, y, U, v):
        """Eq. (5) of one image: value, gradient by pixel and label, and by v."""
        seen = np.stack(
            [_neighbor_votes(p, y, near, self.k) for near in p.similarity.T]
        )
        pixels = np.arange(len(y))
        Z = U + np.tensordot(v, seen, axes=1)
        R, log_n = _normalise_log_rows(Z)
        value = (log_n - Z[pixels, y]).sum()
        R[pixels, y] -= 1
        return value, R, np.tensordot(seen, R, axes=([1, 2], [0, 1]))


def _independent_pixels(problem: GridObjective, max_iter, tol) -> np.ndarray:
    """The weights that minimise J with v = 0: logistic regression of the pixels."""
    from ...optim.nonsmooth.orthant_wise import orthant_lbfgs  # imported when needed

    e = problem.grids[0].similarity.shape[1]

    def without_coupling(theta):
        value, gradient = problem(np.r_[theta, np.zeros(e)])
        return value, gradient[:-e]

    start = np.zeros(problem.size - e)
    result = orthant_lbfgs(without_coupling, start, max_iter=max_iter, tol=tol)
    return np.r_[result.state.position, np.zeros(e)]


@dataclass(eq=False, repr=False)
class GridCRF(Estimator):
    """Conditional random field for labelling the pixels of images.

    Parameters
    ----------
    c2 : float, default=1.0
        Strength of the L2 penalty of the weights of the features.
    coupling_penalty : float, default=0.1
        c of eq. (3), the L2 penalty of the coupling per pixel. Raise it if the field
        freezes; 0 gives the coupling of greatest likelihood.
    contrast : bool, default=False
        Whether similar neighbours are coupled more strongly, eq. (2).
    contrast_scale : float or None, default=None
        s of eq. (2); None is the root mean square difference of neighbours.
    max_iter : int, default=300
    tol : float, default=1e-4
        Stop when no entry of the gradient, per pixel, is larger.
    objective : {"bethe", "pseudo"}, default="bethe"
        Eq. (3) or (5).
    decode : {"marginal", "map"}, default="marginal"
        What `predict` gives: the most probable label of each pixel, or the most
        probable labelling.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (k, d)
    intercept_ : array of shape (k,)
    coupling_ : array of shape (1,) or (2,)
        v of eq. (2).
    contrast_scale_ : float
        s of eq. (2), 0 without contrast.
    frozen_ : bool
        Whether the coupling outweighs the pixels of the training images.
    n_iter_, converged_, history_ : int, bool, dict

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import GridCRF
    >>> rng = np.random.default_rng(0)
    >>> y = np.zeros((20, 20), int)
    >>> y[5:15, 5:15] = 1
    >>> images = y + 0.5 * rng.normal(size=(8, 20, 20))
    >>> model = GridCRF().fit(images[:4], [y] * 4)
    >>> unseen = images[4:]
    >>> alone = ((unseen > 0.5) == y).mean()  # each pixel by itself
    >>> print(f"{alone:.2f} {model.score(unseen, [y] * 4):.2f}")
    0.84 0.97
    """

    c2: NonNegative = 1.0
    _: KW_ONLY
    coupling_penalty: NonNegative = 0.1
    contrast: Flag = False
    contrast_scale: Positive | None = None
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    objective: Literal["bethe", "pseudo"] = "bethe"
    decode: Literal["marginal", "map"] = "marginal"
    verbose: Verbosity = 0

    def fit(self, X, y):
        """Fit the weights to images and the labels of their pixels.

        Parameters
        ----------
        X : list of arrays of shape (h, w) or (h, w, d)
        y : list of arrays of shape (h, w)

        Returns
        -------
        self : object
        """
        from ...optim.nonsmooth.orthant_wise import (
            orthant_lbfgs,  # imported when needed
        )

        check_params(self)
        images = _check_images(X)
        labels = [np.asarray(v) for v in y]
        if [v.shape for v in labels] != [x.shape[:2] for x in images]:
            raise ValueError("y must hold a label for each pixel of each image of X.")
        self.classes_, flat = np.unique(
            np.concatenate([v.ravel() for v in labels]), return_inverse=True
        )
        self.n_features_in_ = images[0].shape[2]
        self.contrast_scale_ = self._scale(images)
        grids = [make_pixel_grid(x, self.contrast_scale_ or None) for x in images]
        cuts = np.cumsum([len(p.X) for p in grids])[:-1]
        problem = GridObjective(
            grids,
            np.split(flat, cuts),
            len(self.classes_),
            self.c2,
            self.coupling_penalty,
            self.objective == "pseudo",
        )
        tol = self.tol * len(flat)
        independent = _independent_pixels(problem, self.max_iter, tol)
        run = lambda task: orthant_lbfgs(
            problem, independent, max_iter=self.max_iter, tol=tol, task=task
        )
        W, b, v = problem.split(
            self._run_driver(run, total=self.max_iter).state.position
        )
        self.coef_ = W.T.copy()
        self.intercept_ = b.copy()
        self.coupling_ = v.copy()
        self.frozen_ = self._is_frozen(problem, independent)
        if self.frozen_:
            warnings.warn(
                f"The learnt coupling ({v.round(2).tolist()}) freezes the field: its "
                "labels of the training images are worse than those of each pixel by "
                "itself, or than one label for all. Raise coupling_penalty.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _is_frozen(self, problem, independent) -> bool:
        """Whether labels of the training images are worse than those without v."""
        W, b, _ = problem.split(independent)
        images = [p.X.reshape(*p.shape, -1) for p in problem.grids]
        y = np.concatenate(problem.codes)
        labels_alone = np.concatenate(
            [(p.X @ W + b).argmax(axis=1) for p in problem.grids]
        )
        coupled = np.concatenate([v.ravel() for v in self.predict(images)])
        right = np.mean(coupled == self.classes_[y])
        plain = max(np.mean(labels_alone == y), np.bincount(y).max() / len(y))
        error = np.sqrt(plain * (1 - plain) / len(y))  # one standard error of a share
        return bool(right < plain - error)

    def _scale(self, images) -> float:
        if not self.contrast:
            return 0.0
        if self.contrast_scale is not None:
            return float(self.contrast_scale)
        gaps = [
            ((a - b) ** 2).sum(axis=-1).ravel()
            for x in images
            for a, b in ((x[1:], x[:-1]), (x[:, 1:], x[:, :-1]))
        ]
        joined = np.concatenate(gaps)
        return float(np.sqrt(joined.mean())) if joined.any() else 1.0

    def _potentials(self, X):
        """Images with U (n, k) and a (m,) of eq. (2)."""
        check_is_fitted(self, "coef_")
        for x in _check_images(X):
            if x.shape[2] != self.n_features_in_:
                raise ValueError(
                    f"images must have {self.n_features_in_} numbers a pixel, got "
                    f"{x.shape[2]}."
                )
            p = make_pixel_grid(x, self.contrast_scale_ or None)
            yield p, p.X @ self.coef_.T + self.intercept_, p.similarity @ self.coupling_

    def predict(self, X):
        """Labels of every image, see `decode`: list of arrays (h, w)."""
        label_images = []
        for p, U, a in self._potentials(X):
            if self.decode == "marginal":
                labels = propagate_beliefs(p, U, a).marginals.argmax(axis=1)
            elif len(a) and a.min() < 0:
                labels = _iterated_conditional_modes(p, U, a)
            else:
                labels = alpha_expansion(-U, p.pairs, a).labels
            label_images.append(self.classes_[labels].reshape(p.shape))
        return label_images

    def predict_proba(self, X):
        """Marginals of the labels of every pixel: list of arrays (h, w, k)."""
        return [
            propagate_beliefs(p, U, a).marginals.reshape(*p.shape, -1)
            for p, U, a in self._potentials(X)
        ]

    def score(self, X, y) -> float:
        """Accuracy over pixels."""
        right = [
            np.ravel(a == np.asarray(b))
            for a, b in zip(self.predict(X), y, strict=True)
        ]
        return float(np.concatenate(right).mean())


def _check_images(X):
    """Images as arrays (h, w, d) of finite numbers."""
    images = [np.asarray(x, dtype=float) for x in X]
    images = [x[:, :, None] if x.ndim == 2 else x for x in images]
    if not images or any(x.ndim != 3 or not x.size for x in images):
        raise ValueError("X must be a list of images of shape (h, w) or (h, w, d).")
    if len({x.shape[2] for x in images}) > 1:
        raise ValueError("every image must have the same numbers a pixel.")
    if not all(np.isfinite(x).all() for x in images):
        raise ValueError("an image contains NaN or infinity.")
    return images


def _iterated_conditional_modes(p, U, a, rounds=100):
    """Set each colour of a checkerboard to its best labels until nothing changes."""
    h, w = p.shape
    color = np.add.outer(np.arange(h), np.arange(w)).ravel() % 2
    y = U.argmax(axis=1)
    for _ in range(rounds):
        previous = y
        for parity in (0, 1):
            best = (U + _neighbor_votes(p, y, a, U.shape[1])).argmax(axis=1)
            y = np.where(color == parity, best, y)
        if (y == previous).all():
            break
    return y
