"""Tokens described in words, as rows of a sparse matrix.

A token is a dict of features, or a list of words. A text value makes a yes-or-no
attribute of the pair (name, value), a number an attribute of that name with that
value, True is 1, a word of a list an attribute of its own. A list or set as a value
is several texts, a dict as a value has features "name:key". Attributes are numbered
as they first appear; those that a fitted model does not know are left out.

Shapes    one row a token, one column an attribute
"""

from numbers import Real

import numpy as np
import scipy.sparse

NUMERIC_TYPES = (bool, float, int)
FLAT_TYPES = {str, *NUMERIC_TYPES}
NESTED_TYPES = (dict, list, tuple, set, frozenset)
NUMERIC_VALUE = ""  # the value under which numbers of a name are kept


class AttributeVocabulary:
    """Numbers of attributes, name by name and value by value."""

    def __init__(self, names=(), values=()):
        self.names, self.values = list(names), list(values)
        self.number = {}
        for i, (name, value) in enumerate(zip(self.names, self.values, strict=True)):
            self.number.setdefault(name, {})[value] = i

    def __len__(self):
        return len(self.names)

    def add(self, name, value):
        """Number of a new attribute."""
        self.names.append(name)
        self.values.append(value)
        self.number.setdefault(name, {})[value] = len(self.names) - 1
        return len(self.names) - 1

    def attributes(self) -> list[str]:
        """The attributes in words."""
        return [
            n if v == NUMERIC_VALUE else f"{n}:{v}" for n, v in zip(self.names, self.values)
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
    """Sequences as a list, where they are an iterator, or an array of lists."""
    if hasattr(X, "__next__"):
        return list(X)
    held = getattr(getattr(X, "dtype", None), "kind", "") == "O" and X.ndim == 1
    return X.tolist() if held else X


def check_sequence_list(X) -> None:
    """Raise a sentence about a list that holds neither tokens nor arrays."""
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


def nested_pairs(token):
    """Pairs of a token some of whose features have features of their own."""
    for name, value in token.items():
        yield from flatten_feature(name, value)


def flatten_feature(name, value):
    """Pairs of name and plain value of a feature that is a dict, a list or a set."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from flatten_feature(f"{name}:{key}", part)
    elif isinstance(value, NESTED_TYPES) and all(isinstance(word, str) for word in value):
        for word in sorted(value):
            yield name, word
    else:
        yield name, value


def vectorize_tokens(X, vocabulary=None):
    """CSR matrix of all tokens, where each sequence ends, and the vocabulary.

    Examples
    --------
    >>> from pansophy.graphical.token_features import vectorize_tokens
    >>> M, ends, words = vectorize_tokens([[{"w": "a", "n": 2}, {"w": "b"}], [["up"]]])
    >>> M.toarray().tolist(), ends.tolist(), words.attributes()
    ([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
     [2, 3], ['w:a', 'n', 'w:b', 'up'])
    """
    grow = vocabulary is None
    words = AttributeVocabulary() if grow else vocabulary
    number = words.number
    indices, data, indptr, ends = [], [], [0], []
    keep, weigh = indices.append, data.append
    for sequence in X:
        if not len(sequence):
            raise ValueError("a sequence of X is empty: leave it out.")
        for token in sequence:
            if isinstance(token, dict):
                plain = FLAT_TYPES.issuperset(map(type, token.values()))
                pairs = token.items() if plain else nested_pairs(token)
            else:
                pairs = ((v, 1) for v in token)
            for name, value in pairs:
                if type(value) is str:  # by type first: this line runs for every word
                    kind, x = value, 1.0
                elif type(value) in NUMERIC_TYPES or isinstance(value, (Real, np.bool_)):
                    kind, x = NUMERIC_VALUE, float(value)
                elif isinstance(value, str):
                    kind, x = str(value), 1.0
                else:
                    raise ValueError(
                        f"feature {name!r} of a token must be a text, a number or "
                        f"True or False, got {type(value).__name__}."
                    )
                kinds = number.get(name)
                i = None if kinds is None else kinds.get(kind)
                if i is None:
                    if not grow:
                        continue
                    i = words.add(name, kind)
                keep(i)
                weigh(x)
            indptr.append(len(indices))
        ends.append(len(indptr) - 1)
    shape = (len(indptr) - 1, len(words))
    M = scipy.sparse.csr_array((data, indices, indptr), shape=shape, dtype=float)
    if not np.isfinite(M.data).all():
        raise ValueError("a feature of a token is not a finite number.")
    return M, np.array(ends), words
