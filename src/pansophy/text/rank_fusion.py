"""Reciprocal rank fusion: one ranking out of several, by ranks alone.

    s(d) = sum over rankings r that hold d of w_r / (k + rank of d in r)           (1)

Ranks begin at 1, and a ranking that does not hold d adds nothing. Scores of different
scales need not be compared, which is why it joins a search by words with one by
vectors.

Refs      [Cormack2009]
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..params import ParameterError


class FusedRanking(NamedTuple):
    """Documents by falling score (1), and the scores."""

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
    if not k > -1:
        raise ParameterError(f"k must be above -1, got {k!r}.")
    weights = [1.0] * len(rankings) if weights is None else list(weights)
    if len(weights) != len(rankings):
        raise ParameterError(
            f"weights must hold {len(rankings)} numbers, got {len(weights)}."
        )
    scores: dict = {}
    for weight, ranking in zip(weights, rankings):
        rank = 0
        for document in dict.fromkeys(ranking):  # without repetitions
            if isinstance(document, str) or document != -1:
                rank += 1
                scores[document] = scores.get(document, 0.0) + weight / (k + rank)
    order = sorted(scores, key=scores.__getitem__, reverse=True)
    return FusedRanking(order, [scores[document] for document in order])
