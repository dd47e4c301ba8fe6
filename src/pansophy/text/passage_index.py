"""Search in texts that are in memory, by words, by meaning and by both.

The same search as `text/folder_index.py` for a few texts: chunks, BM25, latent semantic
analysis over parts of words and score fusion.
"""

from collections.abc import Mapping

import numpy as np

from ..params import ParameterError, check_count
from .bm25 import BM25
from .bm25_index import QUOTED, query_words
from .chunks import ChunkRule, check_chunking, split_chunks
from .folder_index import FUSED, PREFIX, Passage, SearchKind, fuse_rankings
from .rank_fusion import FusedRanking
from .subword_lsa import SubwordLSA


def cut_words(text) -> str:
    """The first letters of the words of a text."""
    return " ".join(word[:PREFIX] for word in query_words(text))


def best_documents(model, query, depth):
    """(documents, scores) of the best documents of a query."""
    found = model.search(query, depth)
    is_there = found.documents[0] >= 0
    return found.documents[0][is_there], found.scores[0][is_there]


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
        self._words = BM25(positions=True).fit(texts) if texts else None
        self._prefixes = BM25().fit(map(cut_words, texts)) if texts else None
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
        phrases = [query_words(p) for p in QUOTED.findall(query) if query_words(p)]
        pairs = {}
        if by != "meaning" and self._words is not None:
            most = len(self) if phrases else depth
            pairs["words"] = best_documents(self._words, query, most)
        if phrases and by != "meaning":
            documents, scores = pairs.get("words", (np.empty(0, int), np.empty(0)))
            kept = [self._holds(number, phrases) for number in documents]
            kept = np.array(kept, dtype=bool)
            return fuse_rankings({"words": (documents[kept], scores[kept])})
        if by == "hybrid" and self._prefixes is not None:
            pairs["prefixes"] = best_documents(self._prefixes, cut_words(query), depth)
        if by != "words" and self._meaning is not None:
            cosines = self._vectors @ self._meaning.transform([query])[0]
            nearest = np.argsort(-cosines, kind="stable")[:depth]
            others = [documents for documents, _ in pairs.values()]
            both = np.unique(np.concatenate([nearest, *others]))
            pairs["meaning"] = both, cosines[both]
        return fuse_rankings(pairs)

    def _holds(self, number, phrases) -> bool:
        """Whether a passage holds all phrases."""
        passage = self.passages[number]
        words = " ".join(query_words(f"{passage.heading} {passage.text}"))
        return all(f" {' '.join(phrase)} " in f" {words} " for phrase in phrases)

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
