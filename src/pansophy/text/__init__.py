"""Text: tokens, counts, search, distances and language models.

Names of `HOME` are imported when they are asked for; most need the extra `deep`.
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
from .glove import GloVe
from .hashing_vectorizer import HashingVectorizer
from .hmm_tagger import HMMTagger, most_frequent_tags
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
from .skip_gram import SkipGram
from .span_measures import (
    Span,
    SpanReport,
    SpanScore,
    span_report,
    spans_to_tags,
    tag_report,
    tags_to_spans,
)
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
from .word_features import sentence_features, word_shape

__all__ = [
    "Alignment",
    "BM25",
    "BPE",
    "CRFTagger",
    "Cooccurrence",
    "CountVectorizer",
    "Encoding",
    "FusedRanking",
    "GloVe",
    "Grammar",
    "HMMTagger",
    "HashingVectorizer",
    "LSA",
    "LanguageModel",
    "LatentDirichletAllocation",
    "NGramModel",
    "PLSA",
    "Pieces",
    "SearchResult",
    "SkipGram",
    "Span",
    "SpanReport",
    "SpanScore",
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
    "most_frequent_tags",
    "perplexity",
    "pmi",
    "reciprocal_rank_fusion",
    "remove_stop_words",
    "sample_topic_corpus",
    "sentence_features",
    "span_report",
    "spans_to_tags",
    "split_text",
    "tag_report",
    "tags_to_spans",
    "term_frequency",
    "top_words",
    "topic_coherence",
    "word_shape",
]

# names that are imported when they are asked for, and their modules
HOME = {
    "CRFTagger": "crf_tagger",
    "DPOTrainer": "dpo",
    "NeuralLanguageModel": "neural_language_model",
    "NeuralTagger": "neural_tagger",
    "dpo_loss": "dpo",
}
NEEDS_TORCH = {"DPOTrainer", "NeuralLanguageModel", "NeuralTagger", "dpo_loss"}


def __getattr__(name) -> Any:
    if name in HOME:
        return getattr(importlib.import_module(f".{HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    has_torch = importlib.util.find_spec("torch") is not None
    lazy = [name for name in HOME if has_torch or name not in NEEDS_TORCH]
    return sorted({*globals(), *lazy})
