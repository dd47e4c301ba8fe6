"""Text: tokens, counts, search, distances and language models.

Names of `NEEDS_TORCH` are imported when they are asked for; they need the extra `deep`.
"""

import importlib
import importlib.util
from typing import Any

from .bm25 import BM25, SearchResult
from .bpe import BPE, Encoding
from .constrained_decoding import Grammar, StringSet, allowed_tokens
from .cooccurrence import (
    Cooccurrence,
    collocations,
    cooccurrence,
    pmi,
    remove_stop_words,
)
from .count_vectorizer import CountVectorizer
from .hashing_vectorizer import HashingVectorizer
from .language_model import (
    LanguageModel,
    bits_per_byte,
    cross_entropy,
    generate,
    perplexity,
)
from .latent_dirichlet_allocation import (
    LatentDirichletAllocation,
    sample_topic_corpus,
    top_words,
    topic_coherence,
)
from .lsa import LSA
from .ngram_model import NGramModel
from .plsa import PLSA
from .pre_tokenizers import Pieces, split_text
from .rank_fusion import FusedRanking, reciprocal_rank_fusion
from .spell_corrector import SpellCorrector
from .string_distances import (
    Alignment,
    edit_alignment,
    edit_distance,
    edit_distances,
    jaro_similarity,
    jaro_winkler_similarity,
    longest_common_subsequence,
)
from .tfidf import (
    TfidfTransformer,
    TfidfVectorizer,
    inverse_document_frequency,
    term_frequency,
)

__all__ = [
    "Alignment",
    "BM25",
    "BPE",
    "Cooccurrence",
    "CountVectorizer",
    "Encoding",
    "FusedRanking",
    "Grammar",
    "HashingVectorizer",
    "LSA",
    "LanguageModel",
    "LatentDirichletAllocation",
    "NGramModel",
    "PLSA",
    "Pieces",
    "SearchResult",
    "SpellCorrector",
    "StringSet",
    "TfidfTransformer",
    "TfidfVectorizer",
    "allowed_tokens",
    "bits_per_byte",
    "collocations",
    "cooccurrence",
    "cross_entropy",
    "edit_alignment",
    "edit_distance",
    "edit_distances",
    "generate",
    "inverse_document_frequency",
    "jaro_similarity",
    "jaro_winkler_similarity",
    "longest_common_subsequence",
    "perplexity",
    "pmi",
    "reciprocal_rank_fusion",
    "remove_stop_words",
    "sample_topic_corpus",
    "split_text",
    "term_frequency",
    "top_words",
    "topic_coherence",
]

# names of modules that import torch
NEEDS_TORCH = {
    "DPOTrainer": "dpo",
    "NeuralLanguageModel": "neural_language_model",
    "dpo_loss": "dpo",
}


def __getattr__(name) -> Any:
    if name in NEEDS_TORCH:
        module = importlib.import_module(f".{NEEDS_TORCH[name]}", __name__)
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    has_torch = importlib.util.find_spec("torch") is not None
    return sorted([*globals(), *(NEEDS_TORCH if has_torch else ())])
