"""Tokens given as feature dicts or lists of words, as rows of a sparse matrix.

A token is a dict of features, or a list of words. A string value makes a binary
attribute of the pair (name, value), a number an attribute of that name with that value,
True is 1, a word of a list is an attribute of its own. A list or set as a value stands
for several strings, a dict as a value has features "name:key". Attributes are numbered
in the order of their first appearance; those unknown to a fitted model are ignored.

Shapes    one row a token, one column an attribute
"""

from numbers import Real

import numpy as np
import scipy.sparse

from ...core.arrays.ragged import Ragged

NUMERIC_TYPES = (bool, float, int)
FLAT_TYPES = {str, *NUMERIC_TYPES}
NESTED_TYPES = (dict, list, tuple, set, frozenset)
NUMERIC_VALUE = ""  # the value of numeric attributes in the vocabulary


class AttributeVocabulary:
    """Attributes (name, value) and their column numbers."""

    def __init__(self, names=(), values=()):
        self.names, self.values = list(names), list(values)
        self.number = {}
        for i, (name, value) in enumerate(zip(self.names, self.values, strict=True)):
            self.number.setdefault(name, {})[value] = i

    def __len__(self):
        return len(self.names)

    def add(self, name, value):
        """Add an attribute; its number."""
        self.names.append(name)
        self.values.append(value)
        self.number.setdefault(name, {})[value] = len(self.names) - 1
        return len(self.names) - 1

    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return [
            n if v == NUMERIC_VALUE else f"{n}:{v}"
            for n, v in zip(self.names, self.values)
        ]


def is_token_sequences(X) -> bool:
    """Whether X is a list of sequences of dicts or lists of words."""
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    for sequence in X:
        if not isinstance(sequence, (list, tuple)):
            return False
        for token in sequence:
            listed = isinstance(token, (list, tuple, set))
            words = listed and all(isinstance(v, str) for v in token)
            return isinstance(token, dict) or (words and len(token) > 0)
    return False


def as_sequence_list(X):
    """Sequences as a list, if they are a Ragged, an iterator or an array of lists."""
    if isinstance(X, Ragged):
        return X.to_list()
    if hasattr(X, "__next__"):
        return list(X)
    is_object_array = (
        getattr(getattr(X, "dtype", None), "kind", "") == "O" and X.ndim == 1
    )
    return X.tolist() if is_object_array else X


def check_sequence_list(X) -> None:
    """Raise if a list holds neither sequences of tokens nor arrays."""
    if not isinstance(X, (list, tuple)):
        return
    if not len(X):
        raise ValueError("X holds no sequences.")
    if isinstance(X[0], (dict, str)):
        raise ValueError("X must be a list of sequences: put a single one into a list.")
    for sequence in X:
        if isinstance(sequence, (list, tuple)) and not len(sequence):
            raise ValueError("a sequence of X is empty: leave it out.")
        if isinstance(sequence, (list, tuple)) and isinstance(sequence[0], str):
            raise ValueError(
                "a token must be a dict of features or a list of words, got the text "
                f"{sequence[0]!r}."
            )


def _nested_pairs(token):
    """Pairs (name, value) of a token with nested features."""
    for name, value in token.items():
        yield from _flatten_feature(name, value)


def _flatten_feature(name, value):
    """Pairs (name, value) of a feature that may be a dict, a list or a set."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _flatten_feature(f"{name}:{key}", part)
    elif isinstance(value, NESTED_TYPES) and all(
        isinstance(word, str) for word in value
    ):
        for word in sorted(value):
            yield name, word
    else:
        yield name, value


def vectorize_tokens(X, vocabulary=None):
    """CSR matrix of all tokens, the ends of the sequences, and the vocabulary.

    Examples
    --------
    >>> from pansophy.graphical.crf.token_features import vectorize_tokens
    >>> M, ends, words = vectorize_tokens([[{"w": "a", "n": 2}, {"w": "b"}], [["up"]]])
    >>> M.toarray().tolist(), ends.tolist(), words.attributes()
    ([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
     [2, 3], ['w:a', 'n', 'w:b', 'up'])
    """
    learning = vocabulary is None
    vocab = AttributeVocabulary() if learning else vocabulary
    number = vocab.number
    indices, data, indptr, ends = [], [], [0], []
    add_index = indices.append
    add_value = data.append
    for sequence in X:
        if not len(sequence):
            raise ValueError("a sequence of X is empty: leave it out.")
        for token in sequence:
            if isinstance(token, dict):
                is_flat = FLAT_TYPES.issuperset(map(type, token.values()))
                pairs = token.items() if is_flat else _nested_pairs(token)
            else:
                pairs = ((v, 1) for v in token)
            for name, value in pairs:
                if type(value) is str:  # by type first: this line runs for every word
                    kind = value
                    weight = 1.0
                elif type(value) in NUMERIC_TYPES or isinstance(
                    value, (Real, np.bool_)
                ):
                    kind = NUMERIC_VALUE
                    weight = float(value)
                elif isinstance(value, str):
                    kind = str(value)
                    weight = 1.0
                else:
                    raise ValueError(
                        f"feature {name!r} of a token must be a text, a number or "
                        f"True or False, got {type(value).__name__}."
                    )
                kinds = number.get(name)
                i = None if kinds is None else kinds.get(kind)
                if i is None:
                    if not learning:
                        continue
                    i = vocab.add(name, kind)
                add_index(i)
                add_value(weight)
            indptr.append(len(indices))
        ends.append(len(indptr) - 1)
    shape = (len(indptr) - 1, len(vocab))
    M = scipy.sparse.csr_array((data, indices, indptr), shape=shape, dtype=float)
    if not np.isfinite(M.data).all():
        raise ValueError("a feature of a token is not a finite number.")
    return M, np.array(ends), vocab
