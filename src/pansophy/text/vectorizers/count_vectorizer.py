"""Counts of tokens in documents: the bag of words.

    X_dj = how often term j occurs in document d                                  (1)

Terms are in alphabetic order. `min_df` and `max_df` leave out terms that occur in too
few or too many documents, `max_features` keeps the most frequent ones.

Cost      O(characters); memory of the result, the distinct terms and a block of text
Shapes    X (documents, terms), CSR
"""

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array

from ...params import Count, Flag, Fraction, Natural, check_params
from .abstract_vectorizer import AbstractVectorizer, check_documents
from .token_table import DocumentCounts, IdCounter


def count_by_python(analyze, documents, vocabulary=None):
    """`DocumentCounts` and {term: id} of documents analysed in Python."""
    ids = {} if vocabulary is None else vocabulary
    indptr = [0]
    indices = []
    counts = []
    for document in documents:
        result = {}
        for term in analyze(document):
            if vocabulary is None:
                i = ids.setdefault(term, len(ids))
            else:
                i = ids.get(term, -1)
            if i >= 0:
                result[i] = result.get(i, 0) + 1
        indices.extend(result)
        counts.extend(result.values())
        indptr.append(len(indices))
    arrays = (np.asarray(a, dtype=np.int64) for a in (indptr, indices, counts))
    return DocumentCounts(*arrays), ids


def _select_terms(counts, columns) -> DocumentCounts:
    """Counts with ids replaced by columns[id], without those of -1, sorted in a row."""
    new = columns[counts.indices]
    is_selected = new >= 0
    kept = np.concatenate([[0], np.cumsum(is_selected)])
    matrix = sparse.csr_array(
        (counts.counts[is_selected], new[is_selected], kept[counts.indptr]),
        shape=(len(counts.indptr) - 1, int(columns.max(initial=-1)) + 1),
    )
    matrix.sort_indices()
    return DocumentCounts(matrix.indptr, matrix.indices, matrix.data)


def document_matrix(counts, n_columns, dtype):
    """CSR matrix (1) of counts whose ids are columns."""
    size = len(counts.indices)
    index = np.int32 if max(size, n_columns) <= np.iinfo(np.int32).max else np.int64
    return sparse.csr_matrix(
        (
            counts.counts.astype(dtype, copy=False),
            counts.indices.astype(index, copy=False),
            counts.indptr.astype(index, copy=False),
        ),
        shape=(len(counts.indptr) - 1, n_columns),
    )


def validated_vocabulary(vocabulary):
    """A given vocabulary as {term: column}, or None if there is none."""
    if vocabulary is None:
        return None
    if isinstance(vocabulary, Mapping):
        columns = set(vocabulary.values())
        if len(columns) != len(vocabulary):
            raise ValueError("Vocabulary contains repeated indices.")
        missing = next((i for i in range(len(vocabulary)) if i not in columns), None)
        if missing is not None:
            raise ValueError(
                f"Vocabulary of size {len(vocabulary)} doesn't contain index {missing}."
            )
        column_of_term = dict(vocabulary)
    else:
        terms = sorted(vocabulary) if isinstance(vocabulary, set) else vocabulary
        column_of_term = {}
        for term in terms:
            if term in column_of_term:
                raise ValueError(f"Duplicate term in vocabulary: {term!r}")
            column_of_term[term] = len(column_of_term)
    if not column_of_term:
        raise ValueError("empty vocabulary passed to fit")
    return column_of_term


def _documents_of_limit(limit, n_documents):
    """A number or share of documents as a number of them."""
    return limit if isinstance(limit, Integral) else limit * n_documents


@dataclass(eq=False, repr=False)
class AbstractCountVectorizer(AbstractVectorizer, auto_wrap_output_keys=None):
    """Counts of terms and their vocabulary."""

    _: KW_ONLY
    max_df: Natural | Fraction = 1.0
    min_df: Natural | Fraction = 1
    max_features: Count | None = None
    vocabulary: Mapping | Any = None
    binary: Flag = False

    def _fit_counts(self, documents):
        """Learn the vocabulary; the matrix of counts."""
        check_documents(documents)
        check_params(self)
        self._check_analysis()
        vocabulary = validated_vocabulary(self.vocabulary)
        self.fixed_vocabulary_ = vocabulary is not None
        if vocabulary is None:
            counts, terms = self._count_new(documents)
            return self._keep_terms(counts, terms)
        if self.lowercase and any(any(map(str.isupper, str(t))) for t in vocabulary):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. "
                "These entries will not be matched with any documents",
                stacklevel=3,
            )
        self.vocabulary_ = vocabulary
        return self._count_known(documents)

    def _count_new(self, documents):
        """Counts of all terms, and the terms by id."""
        if not self._is_compiled():
            counts, ids = count_by_python(self.build_analyzer(), documents)
            return counts, list(ids)
        self.build_analyzer()  # checks stop words
        analysis = self._analysis()
        counter = IdCounter()
        for block in analysis.blocks(documents):
            counter.add(block, analysis.size)
        return counter.result(), analysis.terms()

    def _keep_terms(self, counts, terms):
        """Choose, sort and number the terms; sets `vocabulary_`."""
        n_documents = len(counts.indptr) - 1
        frequency = np.bincount(counts.indices, minlength=len(terms))
        occurs = frequency > 0  # n-grams have prefixes that are not counted
        if not occurs.any():
            raise ValueError(
                "empty vocabulary; perhaps the documents only contain stop words"
            )
        max_documents = _documents_of_limit(self.max_df, n_documents)
        min_documents = _documents_of_limit(self.min_df, n_documents)
        if max_documents < min_documents:
            raise ValueError("max_df corresponds to < documents than min_df")
        kept = np.flatnonzero(
            occurs & (frequency <= max_documents) & (frequency >= min_documents)
        )
        if len(kept) == 0:
            raise ValueError(
                "After pruning, no terms remain. Try a lower min_df or a higher max_df."
            )
        ordered = sorted((terms[i], i) for i in kept.tolist())
        if self.max_features is not None and len(ordered) > self.max_features:
            weight = frequency
            if not self.binary:
                weight = np.bincount(
                    counts.indices, weights=counts.counts, minlength=len(terms)
                )
            totals = weight[[i for _, i in ordered]].astype(np.int64)
            first = np.sort((-totals).argsort()[: self.max_features])
            ordered = [ordered[i] for i in first.tolist()]
        self.vocabulary_ = {term: j for j, (term, _) in enumerate(ordered)}
        columns = np.full(len(terms), -1, np.int64)
        columns[[i for _, i in ordered]] = np.arange(len(ordered))
        return self._matrix(_select_terms(counts, columns))

    def _count_known(self, documents):
        """Matrix of counts of the terms of `vocabulary_`."""
        if not self._is_compiled():
            analyze = self.build_analyzer()
            counts, _ = count_by_python(analyze, documents, self.vocabulary_)
            all_columns = np.arange(len(self.vocabulary_))
            return self._matrix(_select_terms(counts, all_columns))
        analysis = self._analysis()
        analysis.fix_vocabulary(self._terms_by_column())
        counter = IdCounter()
        for block in analysis.blocks(documents):
            counter.add(block, analysis.size)
        return self._matrix(_select_terms(counter.result(), analysis.columns))

    def _matrix(self, counts):
        if self.binary:
            counts = counts._replace(counts=np.ones_like(counts.counts))
        return document_matrix(counts, len(self.vocabulary_), self.dtype)

    def _terms_by_column(self):
        columns = list(self.vocabulary_.values())
        if columns == list(range(len(columns))):  # the order of a learned one
            return list(self.vocabulary_)
        return sorted(self.vocabulary_, key=self.vocabulary_.__getitem__)

    def _transform_counts(self, documents):
        """Counts of new documents."""
        check_documents(documents)
        self._check_vocabulary()
        return self._count_known(documents)

    def _check_vocabulary(self):
        """Make sure that there is a vocabulary, learned or given."""
        if not hasattr(self, "vocabulary_"):
            check_params(self)
            vocabulary = validated_vocabulary(self.vocabulary)
            self.fixed_vocabulary_ = vocabulary is not None
            if vocabulary is None:
                raise NotFittedError("Vocabulary not fitted or provided")
            self.vocabulary_ = vocabulary

    def inverse_transform(self, X):
        """The terms with entries other than 0 in each row of X, a list of arrays."""
        self._check_vocabulary()
        X = check_array(X, accept_sparse="csr")
        terms = np.array(self._terms_by_column())
        rows = sparse.csr_array(X)
        rows.eliminate_zeros()
        rows.sort_indices()
        return [terms[rows.indices[i:j]] for i, j in zip(rows.indptr, rows.indptr[1:])]

    def get_feature_names_out(self, input_features=None):
        """The terms, by column."""
        self._check_vocabulary()
        return np.asarray(self._terms_by_column(), dtype=object)


@dataclass(eq=False, repr=False)
class CountVectorizer(AbstractCountVectorizer, auto_wrap_output_keys=None):
    r"""Counts of words or of runs of characters in documents, eq. (1).

    Names, defaults and results are those of scikit-learn's class of this name.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What a document is given as.
    encoding : str, default="utf-8"
        Of documents given as bytes.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What to do with bytes that do not follow the encoding.
    strip_accents : {"ascii", "unicode"}, callable or None, default=None
    lowercase : bool, default=True
    preprocessor : callable or None, default=None
        In place of `strip_accents` and `lowercase`.
    tokenizer : callable or None, default=None
        In place of `token_pattern`.
    stop_words : "english", list of str or None, default=None
        Words that are left out before n-grams are made.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        What a word is. Runs of word characters of any least length are compiled.
    ngram_range : (int, int), default=(1, 1)
        Least and largest number of tokens in a term.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        What tokens are: words, characters, or characters inside " word ".
    max_df, min_df : int or float, default=1.0 and 1
        Largest and least number (int) or share (float) of documents of a term.
    max_features : int or None, default=None
        Keep the most frequent terms.
    vocabulary : mapping, iterable of str or None, default=None
        Terms, with their columns if a mapping; None: they are learned.
    binary : bool, default=False
        1 for every term that occurs.
    dtype : type, default=np.int64

    Attributes
    ----------
    vocabulary_ : dict
        Column of each term.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Examples
    --------
    >>> from pansophy.text import CountVectorizer
    >>> model = CountVectorizer().fit(["The cat sat.", "The cat saw the dog."])
    >>> model.get_feature_names_out().tolist()
    ['cat', 'dog', 'sat', 'saw', 'the']
    >>> model.transform(["the cat and the dog"]).toarray()
    array([[1, 1, 0, 0, 2]])
    """

    _: KW_ONLY
    dtype: Any = np.int64

    def fit(self, raw_documents, y=None):
        """Learn the vocabulary of documents."""
        self._fit_counts(raw_documents)
        return self

    def fit_transform(self, raw_documents, y=None):
        """Learn the vocabulary; the counts of its terms, CSR."""
        return self._fit_counts(raw_documents)

    def transform(self, raw_documents):
        """Counts of the known terms in documents, CSR."""
        return self._transform_counts(raw_documents)
