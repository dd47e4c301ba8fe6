"""String kernels: counted by hand, the contract, sequences of words."""

from itertools import combinations, product

import numpy as np
import pytest

from pansophy import kernels as K
from pansophy.kernels import check_psd

WORDS = ["banana", "ananas", "pear", "a", "", "panama", "bandana"]


def shared_parts(x, z, p):
    parts = lambda s: [s[i : i + p] for i in range(len(s) - p + 1)]
    return sum(a == b for a in parts(x) for b in parts(z))


def shared_subsequences(x, z, p, decay):
    total = 0.0
    for i, j in product(combinations(range(len(x)), p), combinations(range(len(z)), p)):
        if all(x[a] == z[b] for a, b in zip(i, j, strict=True)):
            total += decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


@pytest.mark.parametrize("p", [1, 2, 3])
def test_string_kernels_count_by_hand(p):
    slow = [[shared_parts(x, z, p) for z in WORDS] for x in WORDS]
    np.testing.assert_allclose(K.Spectrum(p, normalized=False)(WORDS), slow)
    slow = [[shared_subsequences(x, z, p, 0.6) for z in WORDS] for x in WORDS]
    k = K.Subsequence(p, normalized=False, decay=0.6)
    np.testing.assert_allclose(k(WORDS), slow, rtol=1e-12)
    blended = K.Spectrum(p, normalized=False, blended=True)(WORDS, WORDS)
    total = sum(K.Spectrum(q, normalized=False)(WORDS) for q in range(1, p + 1))
    np.testing.assert_allclose(blended, total)


@pytest.mark.parametrize("k", K.STRING_KERNELS, ids=str)
def test_string_kernels_obey_the_contract(k, rng):
    gram = k(WORDS)
    assert check_psd(gram).psd and not k.requires_vector_input
    np.testing.assert_allclose(k.diag(WORDS), np.diagonal(gram))
    np.testing.assert_allclose(k(WORDS, WORDS[:3]), gram[:, :3])
    V = rng.standard_normal((7, 2))
    np.testing.assert_allclose(k.matmul(WORDS, None, V), gram @ V)
    np.testing.assert_allclose(k.matmul(WORDS[:2], WORDS, V), gram[:2] @ V)
    step = k.contract(WORDS, None, np.ones((7, 7)))
    np.testing.assert_allclose(step, k.gradient(WORDS).sum(axis=(1, 2)))


def test_sequences_of_words():
    texts = [["the", "cat", "sat"], ("the", "cat", "ran")]
    assert K.Spectrum(2, normalized=False)(texts)[0, 1] == 1
    with pytest.raises(ValueError, match="list of sequences"):
        K.Spectrum(2)("banana")
