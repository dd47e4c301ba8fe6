"""The hashing trick: counts of tokens in columns chosen by a hash, no vocabulary.

With h a signed 32-bit hash of a token t (MurmurHash3 of its UTF-8 bytes),

    X_dj = sum of s(t) over the tokens t of document d with |h(t)| mod m = j,
    s(t) = sign of h(t), or 1                                                     (1)

Tokens that share a column add up; with signs their mean effect is 0. Nothing is
learned, so documents may come in any number of parts.

Refs      [Weinberger2009]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils import murmurhash3_32

from ...params import Count, Flag, check_params
from .abstract_vectorizer import AbstractVectorizer, check_documents
from .count_vectorizer import count_by_python, document_matrix
from .token_table import IdCounter

LEAST = -(2**31)  # has no absolute value of 32 bits


def _hashed_columns(terms, n_features):
    """Column and sign of each term, eq. (1)."""
    h = np.fromiter((murmurhash3_32(t) for t in terms), np.int64, len(terms))
    size = np.where(h == LEAST, 2**31 - n_features, np.abs(h))
    return size % n_features, np.where(h >= 0, 1.0, -1.0)


@dataclass(eq=False, repr=False)
class HashingVectorizer(AbstractVectorizer, auto_wrap_output_keys=None):
    r"""Counts of tokens in columns chosen by a hash, eq. (1).

    Names, defaults and results are those of scikit-learn's class of this name.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, \
stop_words, token_pattern, ngram_range, analyzer
        As in `CountVectorizer`.
    n_features : int, default=2**20
        m of eq. (1).
    binary : bool, default=False
        1 for every column that occurs.
    norm : {"l1", "l2"} or None, default="l2"
        Which length of a row becomes 1.
    alternate_sign : bool, default=True
        Whether s of eq. (1) is a sign.
    dtype : type, default=np.float64

    Examples
    --------
    >>> from pansophy.text import HashingVectorizer
    >>> HashingVectorizer(n_features=8).transform(["the cat sat"]).shape
    (1, 8)
    """

    _: KW_ONLY
    n_features: Count = 2**20
    binary: Flag = False
    norm: Literal["l1", "l2"] | None = "l2"
    alternate_sign: Flag = True
    dtype: Any = np.float64

    def fit(self, X, y=None):
        """Check the parameters; nothing is learned."""
        check_documents(X)
        check_params(self)
        self._check_analysis()
        return self

    def partial_fit(self, X, y=None):
        """Check the parameters, as `fit` does; there is nothing to learn."""
        return self.fit(X, y)

    def fit_transform(self, X, y=None):
        """Check the parameters and transform X."""
        return self.fit(X, y).transform(X)

    def transform(self, X):
        """Hashed counts of documents, CSR."""
        check_documents(X)
        check_params(self)
        self._check_analysis()
        if self._is_compiled():
            self.build_analyzer()  # checks stop words
            analysis = self._analysis()
            counter = IdCounter()
            for block in analysis.blocks(X):
                counter.add(block, analysis.size)
            counts = counter.result()
            terms = analysis.terms()
        else:
            counts, ids = count_by_python(self.build_analyzer(), X)
            terms = list(ids)
        columns, signs = _hashed_columns(terms, self.n_features)
        values = counts.counts
        if self.alternate_sign:
            values = values * signs[counts.indices]
        hashed = counts._replace(indices=columns[counts.indices], counts=values)
        X = document_matrix(hashed, self.n_features, self.dtype)
        X.sum_duplicates()
        if self.binary:
            X.data.fill(1)
        return X if self.norm is None else normalize(X, norm=self.norm, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def __sklearn_is_fitted__(self):
        return True
