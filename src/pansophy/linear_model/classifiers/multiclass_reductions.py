"""Reductions of multi-class to binary problems: comparable scores and output codes.

The raw scores of k classifiers "class c or not" depend on the length of each w_c, while

    f_c(x) / |w_c|                                                               (1)

is a distance. Taken as hard votes, they leave rows claimed by no class or by several;
the votes of k (k-1)/2 classifiers of pairs leave rows with no single winner.
`ambiguous_mask` marks both; argmax decides them.

An output code gives class c a word of L bits and learns one classifier per bit; a row
goes to the class with the nearest word. Words that differ in at least D bits pairwise
correct floor((D - 1)/2) wrong bits. With D = 1, L = ceil(log2 k). For larger D a linear
code is built greedily (a lexicode): the smallest number below 2^L that is D bits away
from all words so far joins, with its sum (xor) with each of them. For D = 3 this is
Hamming's code.

Shapes    F (n, k)   words (k, L)
Refs      [Dietterich1995] codes; [Conway1986] lexicodes
"""

from typing import NamedTuple

import numpy as np


def normalize_scores(scores, coef):
    """Eq. (1): scores (n, k) of planes coef (k, d) as distances.

    Examples
    --------
    >>> normalize_scores([[5.0, 4.0]], [[3.0, 4.0], [0.0, 2.0]])
    array([[1., 2.]])
    """
    length = np.linalg.norm(np.atleast_2d(coef), axis=1)
    if not np.all(length > 0):
        raise ValueError("a plane needs a normal other than 0.")
    return np.asarray(scores) / length


def ambiguous_mask(scores, multi_class="ovr"):
    """Mask of the rows whose class is not decided by hard votes.

    Parameters
    ----------
    scores : array of shape (n, k)
        Scores of "class c or not" for "ovr", votes of pairs for "ovo".
    multi_class : {"ovr", "ovo"}, default="ovr"
        "ovr" marks rows without exactly one score above 0, "ovo" those in which several
        classes share the most votes.

    Examples
    --------
    >>> ambiguous_mask([[1.0, -1], [1, 2], [-1, -1]])
    array([False,  True,  True])
    >>> ambiguous_mask([[2, 0, 1], [1, 1, 1]], multi_class="ovo")
    array([False,  True])
    """
    F = np.asarray(scores)
    if multi_class == "ovr":
        return np.sum(F > 0, axis=1) != 1
    if multi_class == "ovo":
        return np.sum(F.max(axis=1, keepdims=True) == F, axis=1) != 1
    raise ValueError(f"multi_class must be 'ovr' or 'ovo', got {multi_class!r}.")


class OutputCodes(NamedTuple):
    """A binary code word for every class."""

    words: np.ndarray  # (k, L) of 0 and 1
    distance: int  # least number of bits in which two words differ

    @property
    def corrects(self) -> int:
        """Number of wrong bits that are always corrected."""
        return max((self.distance - 1) // 2, 0)

    def encode(self, y):
        """The bits of labels 0..k-1."""
        return self.words[np.asarray(y)]

    def decode(self, bits):
        """The class with the nearest word; bits may be probabilities."""
        far = np.abs(np.asarray(bits, dtype=float)[:, None, :] - self.words[None])
        return np.argmin(far.sum(axis=2), axis=1)


def hamming_codes(n_classes, correct=0) -> OutputCodes:
    """The shortest lexicode that corrects `correct` wrong bits.

    Examples
    --------
    >>> hamming_codes(10).words.shape, hamming_codes(1000).words.shape
    ((10, 4), (1000, 10))
    >>> code = hamming_codes(16, correct=1)
    >>> code.words.shape, code.distance
    ((16, 7), 3)
    """
    if n_classes < 2 or correct < 0:
        raise ValueError("a code needs at least 2 classes and correct of at least 0.")
    size = max(int(np.ceil(np.log2(n_classes))), 1)
    length = size
    while (basis := lexicode_basis(size, length, 2 * correct + 1)) is None:
        length += 1
        if length > 24:
            raise ValueError(
                f"no code of at most 24 bits for {n_classes} classes corrects "
                f"{correct} wrong bits."
            )
    words = np.zeros(1, dtype=np.int64)
    for g in basis:
        words = np.concatenate([words, words ^ g])
    words = words[:n_classes]
    bits = (words[:, None] >> np.arange(length)[::-1]) & 1
    return OutputCodes(bits, int(min_hamming_distance(words)))


def lexicode_basis(size, length, distance):
    """`size` numbers whose span has weight at least `distance`, or None."""
    # the Hamming distance of every number to the words so far
    far = np.array([bin(v).count("1") for v in range(1 << min(length, 12))])
    for _ in range(12, length):
        far = np.concatenate([far, far + 1])
    all_ = np.arange(1 << length)
    basis = []
    for _ in range(size):
        free = far >= distance
        if not free.any():
            return None
        g = int(np.argmax(free))
        basis.append(g)
        far = np.minimum(far, far[all_ ^ g])
    return basis


def min_hamming_distance(words):
    """Least number of bits in which two of the numbers differ."""
    best = 64
    for i in range(1, len(words)):
        differ = words[:i] ^ words[i]
        count = np.zeros(i, dtype=int)
        while differ.any():
            count += differ & 1
            differ = differ >> 1
        best = min(best, int(count.min()))
    return best
