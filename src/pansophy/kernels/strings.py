"""String kernels: similarities of texts and other sequences, for every kernel model.

    Spectrum       sum over strings u of p symbols of (times u occurs in x) (in z)   (1)
    Subsequence    sum over u of p symbols of sum over the places i, j where u is a
                   subsequence of x and of z of decay^(span of i + span of j)       (2)

(1) counts contiguous parts; `blended` adds those of 1 to p - 1 symbols. (2) allows gaps
and lowers the weight by the symbols spanned. `normalized` divides by the square root
of k(x, x) k(z, z), so that long strings do not dominate; a string too short to have
any part gets 0, and 0 with itself too.

Rows are strings, or sequences of things that can be compared (words, states). The
kernels work in the algebra with each other and with constants, and in every model that
takes a kernel.

Cost      (1) O(length) a string and one sparse product; (2) O(p |x| |z|) a pair
Refs      [Leslie2002] (1); [Lodhi2002] (2)
"""

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..params import check_count
from .base import AbstractKernel, object_rows


@dataclass(frozen=True)
class SequenceKernel(AbstractKernel):
    """A kernel of sequences, normalised or not: what (1) and (2) share."""

    length: int = 3
    normalized: bool = True

    requires_vector_input = False

    def __post_init__(self):
        check_count(f"length of {type(self).__name__}", self.length)

    def as_rows(self, X, Z=None):
        return object_rows(X, Z)

    def diag(self, X):
        X, _ = self.as_rows(X)
        d = self._self_products(X)
        return np.where(d > 0, 1.0, 0.0) if self.normalized else d

    def _self_products(self, X):
        """k(x, x) before normalising."""
        return np.array(
            [self._products(x, x).item() for x in (X[[i]] for i in range(len(X)))]
        )

    @abstractmethod
    def _products(self, X, Z) -> np.ndarray:
        """k(x, z) before normalising."""

    def block(self, X, Z):
        K = self._products(X, Z)
        if not self.normalized:
            return K
        size = [np.sqrt(self._self_products(A)) for A in (X, Z)]
        inverse = [np.where(s > 0, 1 / np.where(s > 0, s, 1.0), 0.0) for s in size]
        return K * inverse[0][:, None] * inverse[1][None, :]


@dataclass(frozen=True)
class Spectrum(SequenceKernel):
    """Shared contiguous parts of p symbols, eq. (1).

    Parameters
    ----------
    length : int, default=3
        p, the symbols of a part.
    normalized : bool, default=True
        Whether k(x, x) is made 1.
    blended : bool, default=False
        Whether parts of fewer symbols count as well.

    Examples
    --------
    >>> from pansophy.kernels import Spectrum
    >>> Spectrum(2, normalized=False)(["banana"], ["ananas", "pear"])
    array([[8., 0.]])
    """

    blended: bool = False

    def _products(self, X, Z):
        vocabulary: dict = {}
        A = self._counts(X, vocabulary)
        B = A if Z is X else self._counts(Z, vocabulary)
        A.resize((A.shape[0], len(vocabulary)))
        B.resize((B.shape[0], len(vocabulary)))
        return (A @ B.T).toarray()

    def _self_products(self, X):
        counts = self._counts(X, {})
        return np.asarray(counts.multiply(counts).sum(axis=1)).ravel()

    def _counts(self, X, vocabulary):
        """Parts counted, (n, words met so far); new words join the vocabulary."""
        data, columns, ends = [], [], [0]
        sizes = range(1, self.length + 1) if self.blended else (self.length,)
        for x in X:
            x = x if isinstance(x, str) else tuple(x)
            parts = Counter(x[i : i + p] for p in sizes for i in range(len(x) - p + 1))
            for part, count in parts.items():
                columns.append(vocabulary.setdefault(part, len(vocabulary)))
                data.append(float(count))
            ends.append(len(columns))
        shape = (len(X), len(vocabulary))
        return sparse.csr_array((data, columns, ends), shape=shape)


@dataclass(frozen=True)
class Subsequence(SequenceKernel):
    """Shared subsequences of p symbols with gaps, eq. (2).

    Parameters
    ----------
    length : int, default=3
        p, the symbols of a subsequence.
    normalized : bool, default=True
        Whether k(x, x) is made 1.
    decay : float, default=0.5
        Weight of a symbol spanned, above 0 and at most 1.

    Examples
    --------
    >>> from pansophy.kernels import Subsequence
    >>> Subsequence(2, normalized=False)(["cat"], ["car", "cat"])
    array([[0.0625  , 0.140625]])
    """

    decay: float = 0.5

    def __post_init__(self):
        super().__post_init__()
        if not 0 < self.decay <= 1:
            raise ValueError(
                f"decay of Subsequence must be above 0 and at most 1, got {self.decay}."
            )

    def _products(self, X, Z):
        from . import _strings as loops

        symbols: dict = {}
        left, right = _encode_sequences(X, symbols), _encode_sequences(Z, symbols)
        out = np.empty((len(X), len(Z)))
        decay = float(self.decay)
        loops.subsequence_kernel(*left, *right, int(self.length), decay, out)
        return out


def _encode_sequences(X, symbols):
    """All symbols of some sequences as whole numbers, and where each begins."""
    codes = [symbols.setdefault(a, len(symbols)) for x in X for a in x]
    starts = np.cumsum([0, *(len(x) for x in X)])
    return np.array(codes, dtype=np.int64), starts.astype(np.int64)
