"""Unigram segmentation as it is told: all segmentations, one by one."""

import math


def all_segmentations(piece, tokens):
    """Every way to cut bytes into tokens."""
    if not piece:
        yield []
        return
    for n in range(1, len(piece) + 1):
        if piece[:n] in tokens:
            for rest in all_segmentations(piece[n:], tokens):
                yield [piece[:n], *rest]


def best_segmentation(piece, scores):
    """The segmentation of the largest sum of scores (a dict)."""
    return max(
        all_segmentations(piece, scores), key=lambda x: sum(scores[t] for t in x)
    )


def log_likelihood(piece, scores):
    """log of the summed probability of all segmentations."""
    sums = [
        math.exp(sum(scores[t] for t in x)) for x in all_segmentations(piece, scores)
    ]
    return math.log(sum(sums))


def expected_counts(piece, scores):
    """Expected uses of each token."""
    weights = {}
    total = 0.0
    for x in all_segmentations(piece, scores):
        p = math.exp(sum(scores[t] for t in x))
        total += p
        for t in x:
            weights[t] = weights.get(t, 0.0) + p
    return {t: w / total for t, w in weights.items()}
