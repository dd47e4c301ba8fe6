"""TF-IDF: counts of terms weighted by how few documents a term occurs in.

With f the count of term t in document d, N documents and n of them with the term,

    tf    raw  f       relative  f / sum_t f     boolean  [f > 0]
          log  log(1 + f)         sublinear  1 + log f
          augmented  1/2 + f / (2 max_t f)                      (0 where f is 0)  (1)
    idf   plain  log N/n          smooth  log (1 + N)/(1 + n)
          probabilistic  log (N - n + 1/2)/(n + 1/2)
          sklearn  1 + log N/n    sklearn_smooth  1 + log (1 + N)/(1 + n)         (2)
    X_dt = tf idf, rows then of length 1 if asked                                 (3)

With relative tf, plain idf and documents drawn uniformly, the mean over documents of
the row sums of (3) is the mutual information of document and term if every term
occurs in each of its documents with the same relative frequency; in general it is that
of the model in which a term picks one of its documents uniformly [Aizawa2003].

Refs      [SparckJones1972] idf; [Salton1988] (1), (2); [Aizawa2003] information
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_array, check_is_fitted

from ...base import Estimator, Transformer
from ...core.arrays.unreadable import array_of_numbers
from ...params import Flag, ParameterError, Positive, check_argument
from .count_vectorizer import AbstractCountVectorizer, validated_vocabulary

FLOATS = (np.float64, np.float32)


def _raw_frequency(f, of_row):
    """f."""
    return f


def _relative_frequency(f, of_row):
    """f over the length of the document."""
    return f / of_row.sum()


def _boolean_frequency(f, of_row):
    """1 for every term that occurs."""
    return np.ones_like(f)


def _log_frequency(f, of_row):
    """log(1 + f)."""
    return np.log1p(f)


def _sublinear_frequency(f, of_row):
    """1 + log f."""
    return 1 + np.log(f)


def _augmented_frequency(f, of_row):
    """1/2 + f / (2 max f)."""
    return 0.5 + 0.5 * f / of_row.max()


class RowSums:
    """Sum and maximum of the row that each entry of a CSR matrix belongs to."""

    def __init__(self, X):
        self.X = X
        self.rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))

    def sum(self):
        sums = np.bincount(self.rows, weights=self.X.data, minlength=self.X.shape[0])
        return sums[self.rows]

    def max(self):
        top = np.zeros(self.X.shape[0], dtype=self.X.dtype)
        np.maximum.at(top, self.rows, self.X.data)
        return top[self.rows]


TERM_FREQUENCIES = {
    "raw": _raw_frequency,
    "relative": _relative_frequency,
    "boolean": _boolean_frequency,
    "log": _log_frequency,
    "sublinear": _sublinear_frequency,
    "augmented": _augmented_frequency,
}

INVERSE_DOCUMENT_FREQUENCIES = {
    "plain": lambda N, n: np.log(N / n),
    "smooth": lambda N, n: np.log((1 + N) / (1 + n)),
    "probabilistic": lambda N, n: np.log((N - n + 0.5) / (n + 0.5)),
    "sklearn": lambda N, n: 1 + np.log(N / n),
    "sklearn_smooth": lambda N, n: 1 + np.log((1 + N) / (1 + n)),
}


def term_frequency(counts, kind="relative"):
    """Weights (1) of counts of terms in documents.

    Parameters
    ----------
    counts : matrix of shape (documents, terms), dense or sparse
    kind : {"relative", "raw", "boolean", "log", "sublinear", "augmented"}

    Returns
    -------
    X : like counts, float

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import term_frequency
    >>> term_frequency(np.array([[3, 97]]))
    array([[0.03, 0.97]])
    """
    if kind not in TERM_FREQUENCIES:
        raise ParameterError(f"kind must be one of {sorted(TERM_FREQUENCIES)}.")
    counts = counts if sparse.issparse(counts) else array_of_numbers(counts, "counts")
    checked = check_array(counts, accept_sparse="csr", dtype=np.float64)
    X = sparse.csr_array(checked, copy=True)
    X.eliminate_zeros()
    X.data = TERM_FREQUENCIES[kind](X.data, RowSums(X))
    return X if sparse.issparse(checked) else X.toarray()


def inverse_document_frequency(counts, kind="plain", *, base=np.e):
    """Weights (2) of the terms of a matrix of counts.

    Parameters
    ----------
    counts : matrix of shape (documents, terms), dense or sparse
    kind : {"plain", "smooth", "probabilistic", "sklearn", "sklearn_smooth"}
    base : float
        Of the logarithm.

    Returns
    -------
    idf : array of shape (terms,)
        Infinite for a term of no document, if plain.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import inverse_document_frequency
    >>> inverse_document_frequency(np.array([[1, 1], [0, 2]])).round(4)
    array([0.6931, 0.    ])
    """
    if kind not in INVERSE_DOCUMENT_FREQUENCIES:
        known = sorted(INVERSE_DOCUMENT_FREQUENCIES)
        raise ParameterError(f"kind must be one of {known}.")
    check_argument("base", base, Positive)
    counts = counts if sparse.issparse(counts) else array_of_numbers(counts, "counts")
    X = check_array(counts, accept_sparse=("csr", "csc"))
    n = document_frequency(X).astype(np.float64)
    with np.errstate(divide="ignore"):
        idf = INVERSE_DOCUMENT_FREQUENCIES[kind](float(X.shape[0]), n)
    return idf / np.log(base)


def document_frequency(X):
    """Number of rows in which each column is stored (sparse) or not 0 (dense)."""
    if not sparse.issparse(X):
        return np.count_nonzero(X, axis=0)
    if X.format == "csr":
        return np.bincount(X.indices, minlength=X.shape[1])
    return np.diff(X.indptr)


@dataclass(eq=False, repr=False)
class TfidfTransformer(Transformer, Estimator, auto_wrap_output_keys=None):
    """Weights counts of terms by eq. (3).

    Names, defaults and results are those of scikit-learn's class of this name; `tf` and
    `idf` add the other weights of eqs. (1) and (2).

    Parameters
    ----------
    norm : {"l1", "l2"} or None, default="l2"
        Which length of a row becomes 1.
    use_idf : bool, default=True
    smooth_idf : bool, default=True
        Whether idf is "sklearn_smooth" and not "sklearn", where `idf` is None.
    sublinear_tf : bool, default=False
        Whether tf is "sublinear" and not "raw", where `tf` is None.
    tf, idf : str or None, default=None
        A weight of eq. (1), of eq. (2).

    Attributes
    ----------
    idf_ : array of shape (terms,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import TfidfTransformer
    >>> model = TfidfTransformer(tf="relative", idf="plain", norm=None)
    >>> model.fit_transform(np.array([[3, 1], [0, 2]])).toarray().round(4)
    array([[0.5199, 0.    ],
           [0.    , 0.    ]])
    """

    _: KW_ONLY
    norm: Literal["l1", "l2"] | None = "l2"
    use_idf: Flag = True
    smooth_idf: Flag = True
    sublinear_tf: Flag = False
    tf: (
        Literal["raw", "relative", "boolean", "log", "sublinear", "augmented"] | None
    ) = None
    idf: (
        Literal["plain", "smooth", "probabilistic", "sklearn", "sklearn_smooth"] | None
    ) = None

    _tensors = False

    def fit(self, X, y=None):
        """Learn the weights (2) of the terms."""
        X, _ = self._check_training_data(
            X, accept_sparse=("csr", "csc"), dtype="numeric"
        )
        dtype = X.dtype if X.dtype in FLOATS else np.float64
        if self.use_idf:
            kind = self.idf or ("sklearn_smooth" if self.smooth_idf else "sklearn")
            n = document_frequency(X).astype(dtype)
            N = np.asarray(X.shape[0], dtype=dtype)
            self.idf_ = INVERSE_DOCUMENT_FREQUENCIES[kind](N, n).astype(dtype)
        elif hasattr(self, "idf_"):
            del self.idf_
        self._is_fitted = True
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_is_fitted") or hasattr(self, "idf_")

    def transform(self, X, copy=True):
        """Weights (3) of counts, CSR.

        `copy=False` may overwrite X, if it is CSR of floats.
        """
        X = self._check_new_data(X, accept_sparse="csr", dtype=list(FLOATS), copy=copy)
        if not isinstance(X, sparse.csr_matrix):
            X = sparse.csr_matrix(X)  # shares the entries of a CSR array
        kind = self.tf or ("sublinear" if self.sublinear_tf else "raw")
        if kind != "raw":
            X.data = TERM_FREQUENCIES[kind](X.data, RowSums(X)).astype(X.dtype)
        if hasattr(self, "idf_"):
            X.data *= self.idf_[X.indices]
        return X if self.norm is None else normalize(X, norm=self.norm, copy=False)

    def get_feature_names_out(self, input_features=None):
        """The names of the columns of X."""
        check_is_fitted(self)
        fitted_names = getattr(self, "feature_names_in_", None)
        names = fitted_names if input_features is None else input_features
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(eq=False, repr=False)
class TfidfVectorizer(AbstractCountVectorizer, auto_wrap_output_keys=None):
    r"""TF-IDF weights of the terms of documents: counts, then eq. (3).

    Names, defaults and results are those of scikit-learn's class of this name.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, \
stop_words, token_pattern, ngram_range, analyzer, max_df, min_df, max_features, \
vocabulary, binary
        As in `CountVectorizer`.
    dtype : type, default=np.float64
    norm, use_idf, smooth_idf, sublinear_tf
        As in `TfidfTransformer`.

    Attributes
    ----------
    vocabulary_ : dict
        Column of each term.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : array of shape (terms,)

    Examples
    --------
    >>> from pansophy.text import TfidfVectorizer
    >>> model = TfidfVectorizer().fit(["the cat sat", "the dog"])
    >>> model.transform(["the cat"]).toarray().round(4)
    array([[0.8148, 0.    , 0.    , 0.5797]])
    """

    _: KW_ONLY
    dtype: Any = np.float64
    norm: Literal["l1", "l2"] | None = "l2"
    use_idf: Flag = True
    smooth_idf: Flag = True
    sublinear_tf: Flag = False

    def _transformer(self):
        return TfidfTransformer(
            norm=self.norm,
            use_idf=self.use_idf,
            smooth_idf=self.smooth_idf,
            sublinear_tf=self.sublinear_tf,
        )

    @property
    def idf_(self):
        """Weights (2) of the terms."""
        if not hasattr(self, "_tfidf"):
            raise NotFittedError(
                f"{type(self).__name__} is not fitted yet. Call 'fit' with appropriate "
                "arguments before using this attribute."
            )
        return self._tfidf.idf_

    @idf_.setter
    def idf_(self, value):
        if not self.use_idf:
            raise ValueError("`idf_` cannot be set when `user_idf=False`.")
        if not hasattr(self, "_tfidf"):
            self._tfidf = self._transformer()
        vocabulary = validated_vocabulary(self.vocabulary)
        if vocabulary is not None:
            self.vocabulary_ = vocabulary
            self.fixed_vocabulary_ = True
        if hasattr(self, "vocabulary_") and len(self.vocabulary_) != len(value):
            raise ValueError(
                f"idf length = {len(value)} must be equal to vocabulary size = "
                f"{len(self.vocabulary_)}"
            )
        self._tfidf.idf_ = np.asarray(value)
        self._tfidf.n_features_in_ = len(value)

    def fit(self, raw_documents, y=None):
        """Learn the vocabulary and the weights of its terms."""
        self._fit_weights(raw_documents)
        return self

    def fit_transform(self, raw_documents, y=None):
        """Learn vocabulary and weights; the weights (3) of the documents, CSR."""
        return self._tfidf_of(self._fit_weights(raw_documents))

    def transform(self, raw_documents):
        """Weights (3) of the known terms in documents, CSR."""
        check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
        return self._tfidf_of(self._transform_counts(raw_documents))

    def _fit_weights(self, documents):
        if self.dtype not in FLOATS:
            warnings.warn(
                f"Only {FLOATS} 'dtype' should be used. {self.dtype} 'dtype' will be "
                "converted to np.float64.",
                UserWarning,
                stacklevel=3,
            )
        X = self._fit_counts(documents)
        self._tfidf = self._transformer().fit(X)
        return X

    def _tfidf_of(self, X):
        return self._tfidf.transform(X, copy=False)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_tfidf")
