"""Snippets: the part of a text that answers a query best, with its words marked.

Among the windows of about `width` characters that begin at a word of the query, the one
with the largest sum of weights of distinct words is taken, then the one with the most
words, then the first.

Cost      O(characters + words of the query in the text)
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ...params import check_count, check_string
from .bm25_index import QUOTED
from .search_words import query_words, word_spans

COMMON_WORDS = {
    "an", "and", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for",
    "from", "has", "have", "how", "in", "is", "it", "its", "of", "on", "or", "that",
    "the", "their", "there", "this", "to", "was", "were", "what", "when", "where",
    "which", "who", "why", "will", "with", "you", "your",
}  # fmt: skip


class Snippet(NamedTuple):
    """A part of a text and where words of the query are in it."""

    text: str
    start: int  # in the whole text
    marks: list[tuple[int, int]]  # (start, end) in the snippet

    def highlighted(self, before="**", after="**") -> str:
        """The snippet with marks around the words of the query."""
        pieces = []
        position = 0
        for start, end in self.marks:
            pieces += [self.text[position:start], before, self.text[start:end], after]
            position = end
        return "".join([*pieces, self.text[position:]])


def words_to_mark(query) -> set[str]:
    """The words of a query; common ones only if there are no others."""
    words = set(query_words(QUOTED.sub(r" \1 ", query)))
    return words - COMMON_WORDS or words


def best_snippet(text, query, *, width=240, weights: Mapping | None = None) -> Snippet:
    """The part of a text that has most of the words of a query.

    Parameters
    ----------
    text, query : str
    width : int, default=240
        About so many characters.
    weights : mapping of words to numbers or None
        How much each word counts, such as its idf; None: all 1.

    Examples
    --------
    >>> from pansophy.text import best_snippet
    >>> text = "A long preface. The cat sat on the mat, and the cat slept."
    >>> best_snippet(text, "cat mat", width=30).highlighted()
    '... The **cat** sat on the **mat**, ...'
    """
    check_count("width", width)
    words = words_to_mark(check_string("query", query))
    hits = list(word_spans(check_string("text", text), words))
    start = _best_snippet_window(hits, width, weights or {})
    return _cut_snippet(text, start, width, hits)


def _best_snippet_window(hits, width, weights):
    """The position of the first hit of the best window; 0 without hits."""
    best = (0.0, 0, 0)
    place = 0
    for i, (start, _, _) in enumerate(hits):
        inside = []
        for hit in hits[i:]:
            if hit[1] - start > width:
                break
            inside.append(hit[2])
        value = (sum(weights.get(w, 1.0) for w in set(inside)), len(inside), -start)
        if value > best or i == 0:
            best = value
            place = start
    return place


def _cut_snippet(text, place, width, hits) -> Snippet:
    """About `width` characters around a place, cut between words."""
    if len(text) <= width:
        start = 0
        end = len(text)
    else:
        start = max(0, min(place - width // 6, len(text) - width))
        end = min(len(text), start + width)
        if start > 0:
            gap = re.compile(r"\s").search(text, start, max(start + 1, place + 1))
            start = gap.end() if gap else min(start, place)
        if end < len(text):
            gap = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
            end = gap if gap > place else end
    lead = "... " if start > 0 else ""
    tail = " ..." if end < len(text) else ""
    body = re.sub(r"\s", " ", text[start:end])  # as long as before
    shift = len(lead) - start
    marks: list[tuple[int, int]] = []
    for a, b, _ in hits:
        if not start <= a <= b <= end:
            continue
        if marks and a + shift < marks[-1][1]:  # pairs of characters overlap
            marks[-1] = (marks[-1][0], max(b + shift, marks[-1][1]))
        else:
            marks.append((a + shift, b + shift))
    return Snippet(lead + body + tail, start, marks)
