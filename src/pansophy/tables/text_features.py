"""Features of free text: TF-IDF weights reduced to their main directions.

    T_ij = (1 + log count_ij) (1 + log((1 + n) / (1 + df_j))), rows of length 1   (1)
    Z = T V,   V the leading right singular vectors of the training rows          (2)

Vocabulary and V are learned from the training rows: lower-case words of two letters or
more that occur in at least two rows, the `WORDS` most frequent at most. scikit-learn's
truncated SVD finds V; new rows go through plain arrays.

Refs: [Deerwester1990].
"""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

WORDS = 20000
TOPICS = 30  # most directions; one for every 20 rows, but at least 5
ROWS = 50000  # most rows for the singular value decomposition
WORD = re.compile(r"(?u)\b\w\w+\b")


class Words(NamedTuple):
    """Fitted vocabulary and directions of one text column."""

    vocabulary: dict[str, int]
    idf: np.ndarray  # (words,)
    V: np.ndarray  # (words, topics), scaled


def fit_words(texts, scale, seed) -> Words:
    """Fit TF-IDF weights and their main directions, eqs. (1) and (2)."""
    from sklearn.decomposition import TruncatedSVD

    from ..text import TfidfVectorizer

    documents = [t or "" for t in texts.to_pylist()]
    counter = TfidfVectorizer(
        token_pattern=WORD.pattern,
        max_features=WORDS,
        min_df=2 if len(documents) > 2 else 1,
        sublinear_tf=True,
    )
    try:
        T = counter.fit_transform(documents)
    except ValueError:  # no word is left
        return Words({}, np.empty(0), np.empty((0, 0)))
    names = counter.get_feature_names_out().tolist()
    vocabulary = {str(w): i for i, w in enumerate(names)}
    if T.shape[0] > ROWS:
        T = T[np.sort(np.random.default_rng(seed).permutation(T.shape[0])[:ROWS])]
    topics = min(TOPICS, max(5, len(documents) // 20), *T.shape)
    if topics == T.shape[1]:
        V = np.eye(topics)
    else:
        svd = TruncatedSVD(topics, random_state=seed, n_iter=7).fit(T)
        size = svd.singular_values_
        V = svd.components_[size > 1e-6 * size.max()].T
    Z = T @ V
    if scale:  # one factor for all, so that small directions stay small
        largest = Z.std(axis=0).max()
        V = V / (largest if largest > 0 else 1.0)
    return Words(vocabulary, np.asarray(counter.idf_), np.ascontiguousarray(V))


def put_words(block, texts, out):
    """Write the features of texts, eq. (2), into `out`."""
    if not block.vocabulary:
        return
    find = block.vocabulary.get
    start = [0]
    indices: list[int] = []
    counts: list[int] = []
    for text in texts.to_pylist() if isinstance(texts, pa.Array) else texts:
        seen: dict[int, int] = {}
        for word in WORD.findall((text or "").lower()):
            word_index = find(word)
            if word_index is not None:
                seen[word_index] = seen.get(word_index, 0) + 1
        indices += seen.keys()
        counts += seen.values()
        start.append(len(indices))
    word_index = np.asarray(indices, dtype=np.int32)
    weight = (1.0 + np.log(np.asarray(counts, dtype=float))) * block.idf[word_index]
    if len(start) == 2:
        length = np.sqrt(weight @ weight)
        out[0] = weight @ block.V[word_index] / length if length > 0 else 0.0
        return
    T = sparse.csr_array(
        (weight, word_index, np.asarray(start)), shape=(len(out), len(block.idf))
    )
    length = np.sqrt(T.power(2).sum(axis=1))
    out[:] = (T @ block.V) / np.where(length > 0, length, 1.0)[:, None]
