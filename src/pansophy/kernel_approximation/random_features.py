"""Random features: explicit maps whose inner products approximate a kernel.

    RBFSampler              phi(x) = sqrt(2 / D) cos(W^T x + u), columns of W drawn
                            from N(0, 2 gamma I), u uniform: exp(-gamma |x - z|^2)  (1)
    PolynomialCountSketch   the product, in Fourier space, of `degree` count sketches
                            of x: (gamma x.z + coef0)^degree                        (2)

The error of an inner product falls as D^(-1/2). With `orthogonal`, the columns of W in
(1) are orthogonal in blocks of d with the lengths of independent ones: unbiased, and
with less variance [Yu2016].

Cost      O(n d D) for (1); O(n (d + D log D) degree) for (2)
Shapes    X (n, d)   W (d, D)   phi (n, D)
Refs      [Rahimi2007] (1); [Pham2013] (2)
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.random import make_rng
from ..params import Count, Flag, NonNegative
from ..persist.saved_state import IntArray, NumberArray, Whole, saved_state
from ..typing import Seed

SPARSE = {"accept_sparse": "csr"}
MAX_SKETCH = 1 << 24  # features of a model file: nothing else in it bounds them


def _cosine_features(X, W, u):
    """sqrt(2 / D) cos(X W + u), eq. (1)."""
    projected = X @ W
    xp = namespace(projected)
    return math.sqrt(2 / W.shape[1]) * xp.cos(projected + u)


def _gaussian_directions(d, count, rng, *, orthogonal):
    """Columns of N(0, I), (d, count), orthogonal in blocks of d if asked for."""
    if not orthogonal:
        return rng.standard_normal((d, count))
    blocks = []
    for _ in range(-(-count // d)):
        Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        blocks.append(Q * np.sqrt(rng.chisquare(d, d)))
    return np.hstack(blocks)[:, :count]


@saved_state(
    random_weights_=NumberArray("n_features_in_", "D"), random_offset_=NumberArray("D")
)
@dataclass(eq=False, repr=False)
class RBFSampler(PrefixedOutput, Transformer, Estimator):
    """Random Fourier features of the Gaussian kernel, eq. (1).

    Parameters
    ----------
    gamma : float or "scale", default=1.0
        Of exp(-gamma |x - z|^2); "scale" is 1 / (d var(X)).
    n_components : int, default=100
        D.
    random_state : int, RandomState, Generator or None
    orthogonal : bool, default=False
        Whether the directions are orthogonal in blocks of d.

    Attributes
    ----------
    random_weights_ : array of shape (d, D)
        W.
    random_offset_ : array of shape (D,)
        u.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_approximation import RBFSampler
    >>> sampler = RBFSampler(n_components=5000, random_state=0)
    >>> phi = sampler.fit_transform([[0.0], [1.0]])
    >>> bool(abs(phi[0] @ phi[1] - np.exp(-1)) < 0.03)
    True
    """

    _: KW_ONLY
    gamma: NonNegative | Literal["scale"] = 1.0
    n_components: Count = 100
    random_state: Seed = None
    orthogonal: Flag = False

    def fit(self, X, y=None):
        """Draw W and u; y is not used."""
        X, _ = self._check_training_data(X, **SPARSE)
        refuse_overflowing_squares(self, X)
        gamma = _scale_gamma(X) if self.gamma == "scale" else float(self.gamma)
        rng = make_rng(self.random_state)
        d = int(X.shape[1])
        W = _gaussian_directions(d, self.n_components, rng, orthogonal=self.orthogonal)
        u = rng.uniform(0, 2 * math.pi, self.n_components)
        dtype = np.float32 if str(X.dtype).endswith("float32") else np.float64
        self.random_weights_ = (math.sqrt(2 * gamma) * W).astype(dtype)
        self.random_offset_ = u.astype(dtype)
        self._n_features_out = self.n_components
        return self

    def transform(self, X):
        """The features, (n, D)."""
        X = self._check_new_data(X, **SPARSE)
        refuse_overflowing_squares(self, X)
        W, u = self.random_weights_, self.random_offset_
        if is_foreign(X):
            W, u = asarray(W, like=X), asarray(u, like=X)
        return _cosine_features(X, W, u)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _scale_gamma(X) -> float:
    """1 / (d var(X)) over all entries, zeros of a sparse X included; 1 for var 0."""
    if sparse.issparse(X):
        mean = X.sum() / (X.shape[0] * X.shape[1])
        variance = float(X.multiply(X).sum() / (X.shape[0] * X.shape[1]) - mean**2)
    else:
        variance = float(np.asarray(to_numpy(X), np.float64).var())
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


@saved_state(
    n_components=Whole(low=1, high=MAX_SKETCH),
    indexHash_=IntArray("degree", "columns", low=0),
    bitHash_=IntArray("degree", "columns"),
)
@dataclass(eq=False, repr=False)
class PolynomialCountSketch(PrefixedOutput, Transformer, Estimator):
    """Tensor sketch of the polynomial kernel, eq. (2).

    Parameters
    ----------
    gamma : float, default=1.0
    degree : int, default=2
    coef0 : int or float, default=0
        Of (gamma x.z + coef0)^degree.
    n_components : int, default=100
        D.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    indexHash_ : array of shape (degree, d)
        The place of each column in each sketch; d + 1 columns if coef0 is not 0.
    bitHash_ : array of shape (degree, d)
        Its sign.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_approximation import PolynomialCountSketch
    >>> X = np.array([[1.0, 2.0], [3.0, 1.0]])
    >>> phi = PolynomialCountSketch(n_components=500, random_state=0).fit_transform(X)
    >>> bool(abs(phi[0] @ phi[1] - 25) < 2)
    True
    """

    _: KW_ONLY
    gamma: NonNegative = 1.0
    degree: Count = 2
    coef0: NonNegative = 0
    n_components: Count = 100
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None):
        """Draw places and signs; y is not used."""
        X, _ = self._check_training_data(X, **SPARSE)
        refuse_overflowing_squares(self, X)
        rng = make_rng(self.random_state)
        shape = (self.degree, X.shape[1] + (self.coef0 != 0))
        self.indexHash_ = rng.integers(0, self.n_components, shape)
        self.bitHash_ = 2 * rng.integers(0, 2, shape) - 1
        self._n_features_out = self.n_components
        return self

    def transform(self, X):
        """The features, (n, D)."""
        X = self._check_new_data(X, **SPARSE)
        refuse_overflowing_squares(self, X)
        A = X * math.sqrt(self.gamma)
        if self.coef0 != 0:
            constant = np.full((A.shape[0], 1), math.sqrt(self.coef0), A.dtype)
            join = sparse.hstack if sparse.issparse(A) else np.hstack
            A = join([A, constant])
        total = None
        width = A.shape[1]
        for hashed_index, signs in zip(self.indexHash_, self.bitHash_, strict=True):
            S = sparse.csr_array(
                (signs.astype(A.dtype), (np.arange(width), hashed_index)),
                shape=(width, self.n_components),
            )
            sketch = A @ S
            sketch = sketch.toarray() if sparse.issparse(sketch) else np.asarray(sketch)
            spectrum = np.fft.rfft(sketch, axis=1)
            total = spectrum if total is None else total * spectrum
        result = np.fft.irfft(total, n=self.n_components, axis=1)
        return result.astype(X.dtype, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
