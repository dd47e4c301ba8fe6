"""Terms of documents as ids: `text/search/search_words.py`, compiled where it can be.

Documents whose words are runs of letters, digits and underscores go through the loops
of `text/vectorizers/token_table.py`, a block at a time; others through Python, word by
word.
"""

import itertools

import numpy as np

from ..tokenizers.tokenizer import check_text
from ..vectorizers.token_table import (
    DocumentIds,
    TokenTable,
    blocks_of_texts,
    concatenate_documents,
    join_texts,
)
from .search_words import has_plain_words, normalized, terms_of

MIN_LENGTH = 1  # characters of a word


class SearchAnalysis:
    """Terms of documents as ids, in order of first appearance."""

    has_phrases = False

    def __init__(self):
        self.tokens = TokenTable()

    @property
    def size(self):
        """Number of distinct terms."""
        return len(self.tokens)

    def terms(self) -> list[str]:
        """The terms, by id."""
        return self.tokens.texts()

    def known_or_new(self, documents) -> DocumentIds:
        """Ids of the terms of documents; new terms get the next ids."""
        return concatenate_documents(list(self.blocks(documents)))

    def blocks(self, documents):
        """`DocumentIds` of documents, block by block."""
        texts = (normalized(check_text(d)) for d in documents)
        for block in blocks_of_texts(texts):
            yield self._ids(block)

    def known(self, queries) -> DocumentIds:
        """Ids of the terms of queries, -1 where they are not known."""
        texts = [normalized(check_text(q)) for q in queries]
        return self._ids(texts, as_query=True)

    def _ids(self, texts, *, as_query=False) -> DocumentIds:
        parts = []
        for is_plain, group in itertools.groupby(texts, has_plain_words):
            if is_plain:
                result = self.tokens.words(
                    join_texts(list(group)),
                    min_length=MIN_LENGTH,
                    insert=not as_query,
                )
            else:
                words = [terms_of(text, as_query=as_query) for text in group]
                ends = np.cumsum([len(w) for w in words], dtype=np.int64)
                lookup = self.tokens.find if as_query else self.tokens.add
                ids = lookup(list(itertools.chain.from_iterable(words)))
                result = DocumentIds(ids, ends)
            parts.append(result)
        return concatenate_documents(parts)
