"""Many classes from two: scores made comparable, doubtful rows, binary codes.

Of k scorers "class c or not" the raw scores depend on the length of each w_c, while

    f_c(x) / |w_c|                                                               (1)

is a distance. Taken as hard votes, they leave rows claimed by none or by several; of
k (k-1)/2 voters on pairs, rows with no single winner. `ambiguous_mask` marks both;
argmax decides them.

A code gives class c a word of L bits and learns one classifier per bit; a row goes to
the class with the nearest word. Words that differ in at least D bits pairwise bear
floor((D - 1)/2) wrong bits. With D = 1, L = ceil(log2 k). For larger D a linear code is
grown: of the numbers below 2^L the least that is D bits away from all words so far
joins, with its sum (xor) with each of them. For D = 3 this is Hamming's code.

Shapes    F (n, k)   words (k, L)
Refs      [Dietterich1995] codes; [Conway1986] least words
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


def ambiguous_mask(scores, multi_class="rest"):
    """Rows whose class hard votes do not settle.

    Parameters
    ----------
    scores : array of shape (n, k)
        Scores of "class c or not" for `how="rest"`, votes of pairs for "pairs".
    how : {"rest", "pairs"}
        "rest" marks rows without exactly one score above 0, "pairs" those whose most
        votes are shared.

    Examples
    --------
    >>> ambiguous_mask([[1.0, -1], [1, 2], [-1, -1]])
    array([False,  True,  True])
    >>> ambiguous_mask([[2, 0, 1], [1, 1, 1]], how="pairs")
    array([False,  True])
    """
    F = np.asarray(scores)
    if multi_class == "rest":
        return np.sum(F > 0, axis=1) != 1
    if multi_class == "pairs":
        return np.sum(F.max(axis=1, keepdims=True) == F, axis=1) != 1
    raise ValueError(f"how must be 'rest' or 'pairs', got {multi_class!r}.")


class OutputCodes(NamedTuple):
    """A word of bits for every class."""

    words: np.ndarray  # (k, L) of 0 and 1
    distance: int  # least number of bits in which two words differ

    @property
    def corrects(self) -> int:
        """How many wrong bits are always made good."""
        return max((self.distance - 1) // 2, 0)

    def encode(self, y):
        """The bits of labels 0..k-1."""
        return self.words[np.asarray(y)]

    def decode(self, bits):
        """The class with the nearest word; bits may be probabilities."""
        far = np.abs(np.asarray(bits, dtype=float)[:, None, :] - self.words[None])
        return np.argmin(far.sum(axis=2), axis=1)


def hamming_codes(n_classes, correct=0) -> OutputCodes:
    """The shortest linear code of least words that bears `correct` wrong bits.

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
                f"no code of at most 24 bits for {n_classes} classes bears {correct} "
                "wrong bits."
            )
    words = np.zeros(1, dtype=np.int64)
    for g in basis:
        words = np.concatenate([words, words ^ g])
    words = words[:n_classes]
    bits = (words[:, None] >> np.arange(length)[::-1]) & 1
    return OutputCodes(bits, int(min_hamming_distance(words)))


def lexicode_basis(size, length, distance):
    """`size` numbers whose span has weight at least `distance`, or None."""
    # the distance of every number from the words so far
    far = np.array([bin(v).count("1") for v in range(1 << min(length, 12))])
    for _ in range(12, length):
        far = np.concatenate([far, far + 1])
    all_, basis = np.arange(1 << length), []
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
