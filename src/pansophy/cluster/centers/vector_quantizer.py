"""Vector quantisation: rows stored as the index of the nearest of k codes.

A codebook C of k rows and one code z_i for each row stand for the data; what is lost is

    distortion = sum_i w_i |x_i - c_{z_i}|^2                                    (1)

which is the objective of k-means, so k-means finds the codebook. It falls as k grows
(0 when every distinct row is a code). Storing each row takes

    bits     = ceil(log2 k)                         codes of equal length       (2)
    entropy  = -sum_j p_j log2 p_j <= log2 k        codes of optimal length     (3)

bits, and the codebook is stored once. Colours of an image are rows of three numbers: k
colours and an index for each pixel. Equal pixels are clustered once, with their count
as weight, which gives the same result.

Time that of k-means. Memory O(n).

Shapes    X (n, d)   C (k, d)   z (n,)
Refs      [Gersho1992]; [Lloyd1982]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...base import Estimator, PrefixedOutput, Transformer
from ...core.random import make_rng
from ...params import Count, NonNegative
from ...typing import Seed
from .initialization import check_scale
from .kmeans import KMeans
from .lloyd_iteration import nearest_centers


class CodingRate(NamedTuple):
    """Bits that a coding takes."""

    bits: int  # eq. (2), for each row
    entropy: float  # eq. (3), bits for each row
    codebook_bits: int  # once
    ratio: float  # bits before / bits after, codebook included


def coding_rate(z, k, w, n, item_bits, d) -> CodingRate:
    """Eqs (2) and (3) for n rows of d numbers of `item_bits` each."""
    p = np.bincount(z, w, k)
    p = p[p > 0] / p.sum()
    bits = int(np.ceil(np.log2(k))) if k > 1 else 0
    book = k * d * item_bits
    after = n * bits + book
    return CodingRate(
        bits, float(-(p @ np.log2(p)) + 0.0), book, n * d * item_bits / after
    )


def fit_codebook(X, w, k, **kmeans_params):
    """The k-means model, and its centres that some row uses, sorted."""
    with warnings.catch_warnings():  # fewer distinct rows than codes: nothing is lost
        warnings.filterwarnings("ignore", "Only", ConvergenceWarning)
        model = KMeans(min(k, len(X)), **kmeans_params).fit(X, sample_weight=w)
    used = model.labels_ if w is None else model.labels_[w > 0]
    C = model.cluster_centers_[np.unique(used)]
    return model, np.ascontiguousarray(C[np.lexsort(C.T[::-1])])


@dataclass(eq=False, repr=False)
class VectorQuantizer(PrefixedOutput, Transformer, Estimator):
    """Rows to codes and back; the module text gives the method.

    Parameters
    ----------
    n_codes : int, default 16
        Most codes, k; fewer where there are fewer distinct rows.
    n_init, max_iter, tol
        Of k-means.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Attributes
    ----------
    codebook_ : array of shape (k, d)
        The codes, sorted by their columns.
    labels_ : array of shape (n,)
        The code of each row.
    distortion_ : float
        Eq. (1).
    rate_ : Rate
        Eqs (2) and (3), bits of the codebook and the compression ratio.

    Examples
    --------
    >>> from pansophy.cluster import VectorQuantizer
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> model = VectorQuantizer(2, random_state=0).fit(X)
    >>> model.inverse_transform(model.transform(X)).ravel().tolist()
    [0.5, 0.5, 8.5, 8.5]
    >>> model.distortion_, model.rate_.bits
    (1.0, 1)
    """

    n_codes: Count = 16
    _: KW_ONLY
    n_init: Count = 1
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Find the codebook.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.
        sample_weight : array of length n or None
            Row weights; k is the same as k equal rows.
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, order="C")
        check_scale(self, X)
        model, self.codebook_ = fit_codebook(
            X,
            w,
            self.n_codes,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=make_rng(self.random_state),
        )
        self.n_iter_ = model.n_iter_
        self.history_ = model.history_
        self.labels_ = nearest_centers(X, self.codebook_.astype(np.float64))
        self.distortion_ = model.inertia_
        w = np.ones(len(X)) if w is None else w
        sizes = (len(self.codebook_), w, float(w.sum()), 8 * X.itemsize, X.shape[1])
        self.rate_ = coding_rate(self.labels_, *sizes)
        self._n_features_out = 1
        return self

    def transform(self, X):
        """The code of each row, as one column of whole numbers."""
        X = self._check_new_data(X, order="C")
        return nearest_centers(X, self.codebook_.astype(np.float64))[:, None]

    def inverse_transform(self, X):
        """The rows that codes stand for."""
        z = np.asarray(X)
        z = z[:, 0] if z.ndim == 2 and z.shape[1] == 1 else z
        k = len(self.codebook_)
        if z.ndim != 1 or z.dtype.kind not in "iu" or not ((z >= 0) & (z < k)).all():
            raise ValueError(f"codes must be a column of whole numbers below {k}.")
        return self.codebook_[z]

    def score(self, X, y=None):
        """Minus the distortion of eq. (1) of the rows X."""
        X = self._check_new_data(X, order="C")
        gap = X - self.codebook_[nearest_centers(X, self.codebook_.astype(np.float64))]
        return -float(np.sum(gap * gap, dtype=np.float64))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class QuantizedImage(NamedTuple):
    """An image in few colours, from `quantize_image`."""

    image: np.ndarray  # as given, each pixel in its nearest colour
    colors: np.ndarray  # (k, channels)
    codes: np.ndarray  # (height, width) index of each pixel's colour
    distortion: float  # eq. (1)
    rate: CodingRate


def quantize_image(image, n_colors=16, *, random_state=None) -> QuantizedImage:
    """An image in at most `n_colors` colours.

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, channels)
        Whole numbers (0 to 255) stay whole numbers.
    n_colors : int
        How many colours.
    random_state : None, int, RandomState or Generator
        Seed of the random draws.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.cluster import quantize_image
    >>> image = np.array([[[0, 0, 0], [9, 0, 0]], [[250, 0, 0], [255, 0, 0]]], np.uint8)
    >>> picture = quantize_image(image, 2, random_state=0)
    >>> picture.image[..., 0].tolist()
    [[4, 4], [252, 252]]
    """
    image = np.asarray(image)
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(f"an image has two or three axes, got shape {image.shape}.")
    channels = image.shape[2] if image.ndim == 3 else 1
    pixels = np.ascontiguousarray(image.reshape(-1, channels))
    as_one = pixels.view(np.dtype((np.void, pixels.itemsize * channels))).ravel()
    _, first, back, count = np.unique(
        as_one, return_index=True, return_inverse=True, return_counts=True
    )
    distinct = pixels[first].astype(np.float64)
    model = VectorQuantizer(n_colors, random_state=random_state)
    model.fit(distinct, sample_weight=count)
    codes = model.labels_[back]
    colors = model.codebook_
    if image.dtype.kind in "iu":
        colors = np.rint(colors).astype(image.dtype)
    gap = distinct - colors[model.labels_]
    distortion = float(count @ (gap * gap).sum(axis=1))
    bits = 8 * image.itemsize
    rate = coding_rate(model.labels_, len(colors), count, len(pixels), bits, channels)
    shown = colors[codes].reshape(image.shape)
    return QuantizedImage(
        shown, colors, codes.reshape(image.shape[:2]), distortion, rate
    )
