"""Words of documents and of questions."""

import numpy as np

from pansophy.text.search.search_analysis import SearchAnalysis
from pansophy.text.search.search_words import indexed_words

POOL = list("aB_9 .-'éßİΣж日本東京都猫ｶﾞカガกำ한국हिन्दी\u0301\u00b2½\t\n\ud800ﬁＡ")


def test_ids_of_documents_are_their_words(rng):
    texts = ["".join(rng.choice(POOL, 15)) for _ in range(300)] + ["", "plain words"]
    analysis = SearchAnalysis()
    found = analysis.known_or_new(texts)
    terms = analysis.terms()
    starts = np.concatenate([[0], found.ends[:-1]])
    for text, start, end in zip(texts, starts, found.ends):
        assert [terms[i] for i in found.ids[start:end]] == indexed_words(text)
