"""Latent semantic analysis: documents as vectors of topics, by a truncated SVD.

    T = U S V^T,   z = V_k^T t  for a document with TF-IDF weights t              (1)

The k leading right singular vectors V_k are the topics; among all matrices of rank k
U_k S_k V_k^T is nearest to T, with squared distance the sum of the squares of the other
singular values. Words that occur in the same contexts get nearly parallel vectors, so
that documents are found which share no word with a query.

Refs      [Deerwester1990]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator, Transformer
from ...decomposition import TruncatedSVD
from ...params import Count, Flag, check_params
from ...persist.saved_state import FloatArray, Part, saved_state
from ...typing import Seed
from .abstract_vectorizer import AbstractVectorizer, TextInput, check_documents
from .tfidf import TfidfVectorizer


def leading_directions(T, k, random_state, n_iter=5):
    """k right singular vectors of a sparse matrix as rows, and the singular values."""
    if T.shape[1] == 1:  # a vocabulary of one term
        return np.ones((1, 1)), np.sqrt([float((T.data**2).sum())])
    svd = TruncatedSVD(k, random_state=random_state, n_iter=n_iter).fit(T)
    return svd.components_, svd.singular_values_


@saved_state(
    components_=FloatArray("topics", "terms"),
    singular_values_=FloatArray("topics"),
    vectorizer_=Part(AbstractVectorizer),
)
@dataclass(eq=False, repr=False)
class LSA(TextInput, Transformer, Estimator, auto_wrap_output_keys=None):
    """Vectors of texts by TF-IDF and a truncated SVD, eq. (1).

    Parameters
    ----------
    n_components : int, default=100
        k; no more than there are documents or terms.
    vectorizer : CountVectorizer, TfidfVectorizer or None, default=None
        What gives T; None: TfidfVectorizer(sublinear_tf=True).
    normalize : bool, default=True
        Whether vectors of documents have length 1, so that products are cosines.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    components_ : array of shape (k, terms)
        V_k^T.
    singular_values_ : array of shape (k,)
    vectorizer_ : fitted vectorizer

    Examples
    --------
    >>> from pansophy.text import LSA
    >>> texts = ["car engine", "auto engine", "car road", "auto road"]
    >>> model = LSA(2, random_state=0).fit([*texts, "sweet cake", "cake tea"])
    >>> Z = model.transform(["car", "auto", "cake"])
    >>> abs(Z @ Z.T).round(2)[0].tolist()
    [1.0, 1.0, 0.0]
    """

    n_components: Count = 100
    _: KW_ONLY
    vectorizer: AbstractVectorizer | None = None
    normalize: Flag = True
    random_state: Seed = None

    def fit(self, raw_documents, y=None):
        """Learn the topics of texts."""
        check_documents(raw_documents)
        check_params(self)
        own_vectorizer = self.vectorizer
        vectorizer = (
            TfidfVectorizer(sublinear_tf=True)
            if own_vectorizer is None
            else clone(own_vectorizer)
        )
        T = vectorizer.fit_transform(raw_documents)
        k = min(self.n_components, min(T.shape))
        self.vectorizer_ = vectorizer
        self.components_, self.singular_values_ = leading_directions(
            T, k, self.random_state
        )
        return self

    def transform(self, raw_documents):
        """Vectors z of texts; one without a known word is 0."""
        check_is_fitted(self)
        check_documents(raw_documents)
        Z = self.vectorizer_.transform(raw_documents) @ self.components_.T
        Z = np.where(np.abs(Z) > 1e-12, Z, 0.0)
        return normalize(Z) if self.normalize else Z

    def word_vectors(self):
        """Vectors of the terms, rows of V_k S_k."""
        check_is_fitted(self)
        return self.components_.T * self.singular_values_

    def get_feature_names_out(self, input_features=None):
        """lsa0, lsa1, ..."""
        check_is_fitted(self)
        return np.array([f"lsa{i}" for i in range(len(self.components_))], dtype=object)
