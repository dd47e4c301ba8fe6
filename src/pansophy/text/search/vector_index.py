"""Vectors of documents on disk by latent semantic analysis, for search by meaning.

Vectors z are those of `text/vectorizers/subword_lsa.py`, whose eq. (2) gives one for
any text; the words, parts of words and directions that it needs are files that are
mapped, so that a query needs NumPy alone. Documents are ranked by their cosine z . z_d.

Directions come in the order of their singular values, so that the first few decide most
of a cosine: all documents are compared by their first LEADING numbers, and the best of
them by all k, which are kept in half precision.

Cost      O(documents * LEADING + candidates * k) a query
Refs      [Deerwester1990]
"""

from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...core.files.own_files import remove_own_files
from .bm25_index import (
    SortedTerms,
    encode_term,
    kth_largest,
    map_array,
)
from .search_words import indexed_words

ROWS = 1 << 16  # vectors that are multiplied at a time
LEADING = 32  # numbers of a vector that all documents are compared by
CANDIDATES = 4000  # documents that are compared by all numbers


class NearestDocuments(NamedTuple):
    """Documents by falling cosine, and the cosines."""

    documents: np.ndarray
    cosines: np.ndarray


OWN_PATHS = (
    r"(weights|projection|vectors|leading)\.bin|trained\.json"
    r"|(words|grams)/(terms|term_ends)\.bin|\.trained\.json\.[0-9a-f]{8}\.tmp"
)


class VectorIndex:
    """Vectors of documents in a folder.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.words = SortedTerms(self.folder / "words")
        self.grams = SortedTerms(self.folder / "grams")
        weights = map_array(self.folder / "weights.bin", np.float64)
        if len(weights) < 2 or weights[0] < 2 or not np.isfinite(weights).all():
            # a forged size would make endless lists of parts of words
            raise ValueError(f"{self.folder} is damaged; make the index anew.")
        self.word_idf = weights[2:]
        self.ngram_size = int(weights[0])
        self.unknown_idf = float(weights[1])
        flat = map_array(self.folder / "projection.bin", np.float32)
        self.size = len(flat) // max(1, len(self.grams))  # k
        self.projection = flat.reshape(len(self.grams), self.size)
        self.n_leading = min(LEADING, self.size)
        self._map_vectors()

    def _map_vectors(self):
        all_vectors = map_array(self.folder / "vectors.bin", np.float16)
        leading = map_array(self.folder / "leading.bin", np.float32)
        n = min(
            len(all_vectors) // max(1, self.size),
            len(leading) // max(1, self.n_leading),
        )
        self.vectors = all_vectors[: n * self.size].reshape(n, self.size)
        self.leading = leading[: n * self.n_leading].reshape(n, self.n_leading)

    def __len__(self):
        return len(self.vectors)

    @classmethod
    def create(cls, folder, texts, n_components=128, random_state=0) -> "VectorIndex":
        """Learn the parts of words and directions of texts, with no vectors yet."""
        from ..vectorizers.subword_lsa import SubwordLSA

        folder = Path(folder)
        model = SubwordLSA(n_components, random_state=random_state).fit(texts)
        remove_own_files(folder, OWN_PATHS)
        for name, terms in (("words", model.words_), ("grams", model.grams_)):
            (folder / name).mkdir(parents=True, exist_ok=True)
            # sorted by code points, which is the order of their bytes
            SortedTerms.write(folder / name, [encode_term(t) for t in terms.tolist()])
        weights = [model.ngram_size, model.unknown_idf_, *model.word_idf_]
        np.array(weights, dtype=np.float64).tofile(folder / "weights.bin")
        model.projection_.astype(np.float32).tofile(folder / "projection.bin")
        return cls(folder)

    def append(self, texts) -> None:
        """Add the vectors of the next documents."""
        Z = self._encoder.transform(texts)
        for name, part in (
            ("vectors.bin", Z.astype(np.float16)),
            ("leading.bin", np.ascontiguousarray(Z[:, : self.n_leading])),
        ):
            with open(self.folder / name, "ab") as file:
                # what an interruption left of a row would shift all that follow
                file.truncate(len(self) * part.shape[1] * part.itemsize)
                part.tofile(file)
        self._map_vectors()

    @cached_property
    def _encoder(self):
        """Vectors of many texts; the words and their parts are read into memory."""
        from ..vectorizers.subword_lsa import SubwordEncoder, SubwordTable

        words, grams = (
            np.array([t.decode() for t in terms.between(0, len(terms))], dtype=str)
            for terms in (self.words, self.grams)
        )
        table = SubwordTable(
            words,
            self.word_idf,
            self.unknown_idf,
            grams,
            self.projection,
            self.ngram_size,
        )
        return SubwordEncoder(table)

    def vector(self, text) -> np.ndarray:
        """z of a text, of length 1; zeros if it has no known part of a word."""
        z = np.zeros(self.size, np.float32)
        total = 0.0
        for word, n in Counter(indexed_words(text)).items():
            row = self.words.find(encode_term(word))
            idf = self.unknown_idf if row < 0 else float(self.word_idf[row])
            weight = (1 + np.log(n)) * idf
            total += weight
            for gram in parts_of_word(word, self.ngram_size):
                i = self.grams.find(encode_term(gram))
                if i >= 0:
                    z += np.float32(weight) * self.projection[i]
        return unit_vectors(z[None], np.array([total]))[0]

    def cosines(self, z, documents) -> np.ndarray:
        """Cosines of a vector and those of documents; 0 for those without one yet."""
        documents = np.asarray(documents, dtype=np.int64)
        out = np.zeros(len(documents), np.float32)
        has_vector = documents < len(self)
        result = self.vectors[documents[has_vector]].astype(np.float32)
        out[has_vector] = _row_products(result, z)
        return out

    def nearest(self, z, k, is_live=None) -> NearestDocuments:
        """The k documents with the largest cosines above 0 to a vector."""
        if not z.any() or not len(self):
            return NearestDocuments(np.empty(0, np.int64), np.empty(0, np.float32))
        rough = np.empty(len(self), np.float32)
        first = np.ascontiguousarray(z[: self.n_leading])
        for start in range(0, len(self), ROWS):
            rough[start : start + ROWS] = _row_products(
                self.leading[start : start + ROWS], first
            )
        if is_live is not None:
            rough[~is_live[: len(self)]] = -np.inf
        chosen = largest_values(rough, max(CANDIDATES, 5 * k))
        values = self.cosines(z, chosen)
        order = np.lexsort((chosen, -values))[:k]
        order = order[values[order] > 0]
        return NearestDocuments(chosen[order], values[order])


def _row_products(Z, z) -> np.ndarray:
    """Z z, by one thread.

    It is bound by memory: threads of BLAS gain little, and where other programs run
    they wait for each other most of the time.
    """
    return np.einsum("ij,j->i", Z, z)


def largest_values(values, m) -> np.ndarray:
    """Places of the m largest values above -inf and ties with the last, ascending."""
    limit = max(kth_largest(values, m), np.finfo(values.dtype).min)
    return np.flatnonzero(values >= limit)


def parts_of_word(word, size) -> list[str]:
    """Runs of so many letters of a word between blanks.

    Examples
    --------
    >>> from pansophy.text.search.vector_index import parts_of_word
    >>> parts_of_word("cats", 4)
    [' cat', 'cats', 'ats ']
    """
    padded = f" {word} "
    return [padded[i : i + size] for i in range(max(1, len(padded) - size + 1))]


def unit_vectors(Z, total_weights):
    """Vectors of length 1; one that is but rounding, given the weights of words, is 0.

    A text that has nothing to do with any direction would get a random one.
    """
    length = np.linalg.norm(Z, axis=1)
    is_rounding = length <= 1e-5 * total_weights
    return rows_of_unit_length(np.where(is_rounding[:, None], 0, Z))


def rows_of_unit_length(Z):
    """Rows divided by their lengths; a row of zeros stays."""
    length = np.linalg.norm(Z, axis=-1, keepdims=True)
    return Z / np.where(length > 0, length, 1)
