"""Search in texts that are in memory, by words, by meaning and by both.

The same search as `text/search/folder_index.py` for a few texts: chunks, BM25, latent
semantic analysis over parts of words and score fusion.
"""

from collections.abc import Mapping

import numpy as np

from ...params import ParameterError, check_count
from ..vectorizers.subword_lsa import SubwordLSA
from .bm25 import BM25
from .bm25_index import QUOTED, encode_term
from .chunks import ChunkRule, check_chunking, split_chunks
from .folder_index import FUSED, PREFIX, Passage, SearchKind, fuse_rankings
from .rank_fusion import FusedRanking
from .search_words import begins_terms, indexed_words, is_unspaced, query_words


def spaced_words(words, size=None) -> str:
    """Words, or their first letters, between blanks, as `CountVectorizer` takes them.

    It would split words with combining marks and leave out single characters, so that
    words of other letters than ASCII are written by their numbers.
    """
    cut = (word[:size] for word in words)
    return " ".join(w if w.isascii() else f"u{encode_term(w).hex()}" for w in cut)


def best_documents(model, query, depth):
    """(documents, scores) of the best documents of a query."""
    result = model.search(query, depth)
    is_there = result.documents[0] >= 0
    return result.documents[0][is_there], result.scores[0][is_there]


class PassageIndex:
    """Passages of texts, found by words and by meaning.

    Parameters
    ----------
    documents : mapping of names to texts, or list of texts
    by, size, overlap
        What chunks are, as in `split_chunks`.
    n_components : int, default=128
        Numbers of a vector; 0: no search by meaning.
    random_state : int, Generator or None, default=0

    Attributes
    ----------
    passages : list of Passage

    Examples
    --------
    >>> from pansophy.text import PassageIndex
    >>> index = PassageIndex({"a.md": "# Limes\\nGreen, sour.", "b.md": "Red plums."})
    >>> index.search("sour fruit")[0].citation
    'a.md:1'
    """

    def __init__(
        self, documents, *, by: ChunkRule = "headings", size=200, overlap=0,
        n_components=128, random_state=0,
    ):  # fmt: skip
        check_chunking(by, size, overlap)
        check_count("n_components", n_components, 0)
        if isinstance(documents, str):
            raise ValueError("documents must be a list or a mapping, not one text.")
        if not isinstance(documents, Mapping):
            documents = {f"document {i + 1}": t for i, t in enumerate(documents)}
        self.passages: list[Passage] = []
        for name, text in documents.items():
            if not isinstance(text, str):
                raise ValueError(f"{name} must be a text, got {text!r}.")
            for chunk in split_chunks(text, by=by, size=size, overlap=overlap):
                heading = " > ".join(chunk.headings)
                number = len(self.passages)
                self.passages.append(
                    Passage(number, name, chunk.line, heading, chunk.text, np.nan)
                )
        texts = [f"{p.heading} {p.text}" for p in self.passages]
        words = [indexed_words(text) for text in texts]
        distinct = {word for result in words for word in result}
        self._characters = sorted(filter(is_unspaced, distinct))
        self._words = self._prefixes = None
        if texts:
            self._words = BM25(positions=True).fit([spaced_words(w) for w in words])
            self._prefixes = BM25().fit([spaced_words(w, PREFIX) for w in words])
        self._meaning = None
        if n_components and texts:
            try:
                self._meaning = SubwordLSA(n_components, random_state=random_state)
                self._meaning.fit(texts)
                self._vectors = self._meaning.transform(texts)
            except ValueError:  # no word of two letters
                self._meaning = None

    def __len__(self):
        return len(self.passages)

    def rank(self, query, k=10, *, by: SearchKind = "hybrid") -> FusedRanking:
        """Numbers of passages by rank; see `search`."""
        if by not in ("hybrid", "words", "meaning"):
            raise ParameterError(
                f'by must be "hybrid", "words" or "meaning", got {by!r}.'
            )
        depth = max(check_count("k", k), FUSED)
        phrases = [w for w in map(indexed_words, QUOTED.findall(query)) if w]
        pairs = {}
        if by != "meaning" and self._words is not None:
            depth_by_words = len(self) if phrases else depth
            pairs["words"] = best_documents(
                self._words, self._query_by_words(query, phrases), depth_by_words
            )
        if phrases and by != "meaning":
            documents, scores = pairs.get("words", (np.empty(0, int), np.empty(0)))
            kept = [self._holds(number, phrases) for number in documents]
            kept = np.array(kept, dtype=bool)
            return fuse_rankings({"words": (documents[kept], scores[kept])})
        if by == "hybrid" and self._words is not None and self._prefixes is not None:
            cut = spaced_words(self._terms_of_query(query), PREFIX)
            prefix_documents, _ = best_documents(self._prefixes, cut, depth)
            numbers = list(
                dict.fromkeys([*pairs["words"][0].tolist(), *prefix_documents.tolist()])
            )
            candidates = np.array(numbers, dtype=np.int64)
            by_words = self._words.scores(self._query_by_words(query, phrases))
            pairs["words"] = candidates, by_words[candidates]
            pairs["prefixes"] = candidates, self._prefixes.scores(cut)[candidates]
        if by != "words" and self._meaning is not None:
            cosines = self._vectors @ self._meaning.transform([query])[0]
            nearest = np.argsort(-cosines, kind="stable")[:depth]
            document_lists = [documents for documents, _ in pairs.values()]
            candidates = np.unique(np.concatenate([nearest, *document_lists]))
            pairs["meaning"] = candidates, cosines[candidates]
        return fuse_rankings(pairs)

    def _terms_of_query(self, query) -> list[str]:
        """Words of a query; a single character stands for all that begin with it."""
        terms = []
        for word in query_words(query):
            if begins_terms(word):
                terms += [w for w in self._characters if w.startswith(word)]
            else:
                terms.append(word)
        return terms

    def _query_by_words(self, query, phrases) -> str:
        """Words and phrases of a query as `_words` has them."""
        parts = [spaced_words(self._terms_of_query(QUOTED.sub(" ", query)))]
        for phrase in phrases:
            if not begins_terms(phrase[-1]):
                parts.append(f'"{spaced_words(phrase)}"')
            elif len(phrase) > 1:  # its last character may go on behind the phrase
                parts.append(f'"{spaced_words(phrase[:-1])}"')
            else:
                parts.append(spaced_words(self._terms_of_query(phrase[0])))
        return " ".join(parts)

    def _holds(self, number, phrases) -> bool:
        """Whether a passage holds all phrases."""
        passage = self.passages[number]
        words = " ".join(indexed_words(f"{passage.heading} {passage.text}"))
        runs = [
            f" {' '.join(phrase)}{'' if begins_terms(phrase[-1]) else ' '}"
            for phrase in phrases
        ]
        return all(run in f" {words} " for run in runs)

    def search(self, query, k=10, *, by: SearchKind = "hybrid") -> list[Passage]:
        """The k passages that fit a query best.

        Parameters
        ----------
        query : str
            Words, and phrases in quotation marks. Passages must hold the phrases,
            unless they are ranked by meaning alone.
        k : int, default=10
        by : {"hybrid", "words", "meaning"}, default="hybrid"
        """
        ranked = self.rank(query, k, by=by)
        pairs = zip(ranked.documents[:k], ranked.scores)
        return [self.passages[n]._replace(score=s) for n, s in pairs]
