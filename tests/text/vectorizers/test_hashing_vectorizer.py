"""Hashed counts: scikit-learn's columns, signs and lengths."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer as Peer

from pansophy.text import HashingVectorizer

DOCUMENTS = ["the cat sat on the mat", "Straße 日本語 naïve", "", "dog " * 5]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_features": 7},
        {"n_features": 7, "alternate_sign": False, "norm": None},
        {"n_features": 16, "binary": True},
        {"analyzer": "char", "ngram_range": (1, 3), "norm": "l1"},
        {"tokenizer": str.split, "token_pattern": None, "dtype": np.float32},
    ],
    ids=str,
)
def test_equal_to_scikit_learn(options):
    A = HashingVectorizer(**options).fit_transform(DOCUMENTS)
    B = Peer(**options).fit_transform(DOCUMENTS)
    assert A.shape == B.shape
    assert A.dtype == B.dtype
    np.testing.assert_array_equal(A.indices, B.indices)
    np.testing.assert_array_equal(A.data, B.data)
