"""Fusion: one ranking of documents out of several, by their ranks or their scores.

Reciprocal rank fusion needs ranks alone,

    s(d) = sum over rankings r that hold d of w_r / (k + rank of d in r)           (1)

with ranks from 1. Score fusion adds up scores, each divided by the best of its ranking,

    s(d) = sum over rankings r that hold d of w_r s_r(d) / max s_r                 (2)

for scores above 0. A ranking that does not hold d adds nothing to either. (1) does not
ask what scores mean; (2) knows how far ahead the best document is, and that the others
of a flat ranking hardly differ.

Refs      [Cormack2009] (1); [Fox1994], [Bruch2023] (2)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.arrays.unreadable import array_of_numbers
from ...params import Number, ParameterError, check_argument, check_list


class FusedRanking(NamedTuple):
    """Documents by falling score, and the scores."""

    documents: list
    scores: list[float]


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence], *, k: float = 60, weights=None
) -> FusedRanking:
    """Fuse rankings by eq. (1).

    Parameters
    ----------
    rankings : list of lists of documents
        Each best first; documents are anything hashable, and -1 is skipped (an empty
        place of `SearchResult`). A document repeated in a ranking has its first rank.
    k : float, default=60
    weights : list of float or None, default=None
        One for each ranking; None: all 1.

    Returns
    -------
    ranking : FusedRanking
        Ties are in the order of first appearance.

    Examples
    --------
    >>> from pansophy.text import reciprocal_rank_fusion
    >>> fused = reciprocal_rank_fusion([["a", "b", "c"], ["b", "c", "a"]])
    >>> fused.documents
    ['b', 'a', 'c']
    """
    if not check_argument("k", k, Number) > -1:
        raise ParameterError(f"k must be above -1, got {k!r}.")
    rankings = check_list("rankings", rankings, "a list of lists of documents")
    weights = _check_fusion_weights(weights, len(rankings))
    scores: dict = {}
    for i, (weight, ranking) in enumerate(zip(weights, rankings)):
        rank = 0
        ranking = check_list(f"rankings[{i}]", ranking, "a list of documents")
        for document in dict.fromkeys(ranking):  # without repetitions
            if isinstance(document, str) or document != -1:
                rank += 1
                scores[document] = scores.get(document, 0.0) + weight / (k + rank)
    return _by_falling_score(scores)


def score_fusion(rankings: Sequence[tuple], *, weights=None) -> FusedRanking:
    """Fuse rankings by eq. (2).

    Parameters
    ----------
    rankings : list of (documents, scores)
        Documents are anything hashable, and -1 is skipped (an empty place of
        `SearchResult`), as are scores of 0 and less.
    weights : list of float or None, default=None
        One for each ranking; None: all 1.

    Returns
    -------
    ranking : FusedRanking
        Ties are in the order of first appearance.

    Examples
    --------
    >>> from pansophy.text import score_fusion
    >>> fused = score_fusion([(["a", "b"], [8.0, 2.0]), (["b", "c"], [0.5, 0.4])])
    >>> fused.documents, fused.scores
    (['b', 'a', 'c'], [1.25, 1.0, 0.8])
    """
    rankings = check_list("rankings", rankings, "a list of (documents, scores)")
    weights = _check_fusion_weights(weights, len(rankings))
    fused: dict = {}
    for i, (weight, ranking) in enumerate(zip(weights, rankings)):
        result: dict = {}
        pair = check_list(f"rankings[{i}]", ranking, "a pair (documents, scores)")
        if len(pair) != 2:
            raise ParameterError(
                f"rankings[{i}] must be a pair (documents, scores), got {len(pair)} "
                "things."
            )
        documents = check_list(f"documents of rankings[{i}]", pair[0])
        scores = check_list(f"scores of rankings[{i}]", pair[1])
        if scores:
            name = f"scores of rankings[{i}]"  # NaN: an empty place
            scores = array_of_numbers(scores, name, allow_nan=True).tolist()
        if len(documents) != len(scores):
            raise ParameterError(
                f"a ranking has {len(documents)} documents, but {len(scores)} scores."
            )
        for document, score in zip(documents, scores):
            if score > 0 and (isinstance(document, str) or document != -1):
                result.setdefault(document, float(score))
        best = max(result.values(), default=1.0)
        for document, score in result.items():
            fused[document] = fused.get(document, 0.0) + weight * score / best
    return _by_falling_score(fused)


def _check_fusion_weights(weights, n_rankings) -> list[float]:
    """A weight for each ranking."""
    if weights is None:
        return [1.0] * n_rankings
    weights = check_list("weights", weights, "a list of numbers")
    numbers = array_of_numbers(weights, "weights") if weights else np.empty(0)
    if numbers.shape != (n_rankings,):
        raise ParameterError(
            f"weights must hold {n_rankings} numbers, got {len(weights)}."
        )
    return numbers.tolist()


def _by_falling_score(scores: dict) -> FusedRanking:
    """Documents with their scores, in order; ties stay as they are."""
    order = sorted(scores, key=scores.__getitem__, reverse=True)
    return FusedRanking(order, [scores[document] for document in order])
