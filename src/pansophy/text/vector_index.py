"""Vectors of documents on disk by latent semantic analysis, for search by meaning.

With V_k and idf of `text/lsa.py`, the vector of a text with counts c is

    z = sum over terms t of (1 + log c_t) idf_t V_t,   divided by its length       (1)

and documents are ranked by the cosine z . z_d, for all of them, a block at a time. The
terms, the rows idf_t V_t and the vectors z_d are files that are mapped, so that a query
needs NumPy alone.

Cost      O(documents * k) a query
Refs      [Deerwester1990]
"""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np

from .bm25_index import SortedTerms, encode_term, map_array, query_words

ROWS = 1 << 16  # vectors that are multiplied at a time
TERMS = 30_000  # most terms of the analysis


class VectorIndex:
    """Vectors of documents in a folder.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.terms = SortedTerms(self.folder)
        flat = map_array(self.folder / "projection.bin", np.float32)
        self.size = len(flat) // max(1, len(self.terms))  # k
        self.projection = flat.reshape(len(self.terms), self.size)
        self._map_vectors()

    def _map_vectors(self):
        flat = map_array(self.folder / "vectors.bin", np.float32)
        n = len(flat) // max(1, self.size)
        self.vectors = flat[: n * self.size].reshape(n, self.size)

    def __len__(self):
        return len(self.vectors)

    @classmethod
    def create(cls, folder, texts, n_components=64, random_state=0) -> "VectorIndex":
        """Learn the terms and directions of texts, with no vectors yet."""
        from .lsa import LSA
        from .tfidf import TfidfVectorizer

        folder = Path(folder)
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, max_features=TERMS, min_df=2 if len(texts) > 200 else 1
        )
        model = LSA(n_components, vectorizer=vectorizer, random_state=random_state)
        model.fit(texts)
        names = model.vectorizer_.get_feature_names_out()
        terms = [encode_term(str(name)) for name in names]  # sorted: by code points
        rows = model.components_.T * model.vectorizer_.idf_[:, None]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        SortedTerms.write(folder, terms)
        rows.astype(np.float32).tofile(folder / "projection.bin")
        return cls(folder)

    def append(self, texts) -> None:
        """Add the vectors of the next documents."""
        from .count_vectorizer import CountVectorizer

        names = [t.decode("utf-8", "surrogatepass") for t in self._all_terms()]
        X = CountVectorizer(vocabulary=names, dtype=np.float32).transform(texts)
        X.data = 1 + np.log(X.data)
        Z = rows_of_unit_length(np.asarray(X @ self.projection, dtype=np.float32))
        with open(self.folder / "vectors.bin", "ab") as file:
            # what an interruption left of a row would shift all that follow
            file.truncate(len(self) * self.size * Z.itemsize)
            Z.tofile(file)
        self._map_vectors()

    def _all_terms(self):
        return self.terms.between(0, len(self.terms))

    def vector(self, text) -> np.ndarray:
        """z of a text, eq. (1); zeros if it has no known word."""
        z = np.zeros(self.size, np.float32)
        for word, n in Counter(query_words(text)).items():
            i = self.terms.find(encode_term(word))
            if i >= 0:
                z += np.float32(1 + np.log(n)) * self.projection[i]
        return rows_of_unit_length(z[None])[0]

    def search(self, text, k, is_live=None) -> list[int]:
        """The k documents whose vectors are nearest to that of a text, best first."""
        z = self.vector(text)
        if not z.any() or not len(self):
            return []
        cosines = np.empty(len(self), np.float32)
        for at in range(0, len(self), ROWS):
            np.matmul(self.vectors[at : at + ROWS], z, out=cosines[at : at + ROWS])
        if is_live is not None:
            cosines[~is_live[: len(self)]] = -np.inf
        k = min(k, len(cosines))
        best = np.argpartition(-cosines, k - 1)[:k]
        best = best[np.lexsort((best, -cosines[best]))]
        return [int(i) for i in best if cosines[i] > 0]


def rows_of_unit_length(Z):
    """Rows divided by their lengths; a row of zeros stays."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length > 0, length, 1)
