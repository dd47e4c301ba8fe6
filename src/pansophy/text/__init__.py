"""Text: tokens, counts, search, distances and language models.

Names are imported at their first use, so that a search in an index on disk does not
wait for compilers and solvers.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .abstract_byte_tokenizer import Encoding
    from .bm25 import BM25
    from .bm25_formulas import SearchResult
    from .bm25_index import BM25Index, IndexSettings
    from .bpe import BPE
    from .chunks import Chunk, split_chunks
    from .cooccurrence import (
        Cooccurrence,
        collocations,
        cooccurrence,
        pmi,
        remove_stop_words,
    )
    from .count_vectorizer import CountVectorizer
    from .folder_index import FolderIndex, IndexReport, Passage
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
    from .name_matching import NameMatches, match_names
    from .ngram_model import NGramModel
    from .normalizers import NormalizedText, Normalizer
    from .passage_index import PassageIndex
    from .plsa import PLSA
    from .pre_tokenizers import Pieces, split_text
    from .rag import RAG, Answer
    from .rank_fusion import FusedRanking, reciprocal_rank_fusion
    from .readers import ExtractedText, read_html, read_pdf
    from .retrieval_evaluation import (
        EvaluationSet,
        RetrievalReport,
        evaluate_retrieval,
        retrieval_difference,
        title_questions,
    )
    from .snippets import Snippet, best_snippet
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
    from .tokenizer import Tokenizer
    from .unigram import Unigram
    from .vector_index import VectorIndex
    from .vocabulary import PaddedIds, Vocabulary

__all__ = [
    "Alignment",
    "Answer",
    "BM25",
    "BM25Index",
    "BPE",
    "Chunk",
    "Cooccurrence",
    "CountVectorizer",
    "Encoding",
    "EvaluationSet",
    "ExtractedText",
    "FolderIndex",
    "FusedRanking",
    "HashingVectorizer",
    "IndexReport",
    "IndexSettings",
    "LSA",
    "LanguageModel",
    "LatentDirichletAllocation",
    "NGramModel",
    "NameMatches",
    "NormalizedText",
    "Normalizer",
    "PLSA",
    "PaddedIds",
    "Passage",
    "PassageIndex",
    "Pieces",
    "RAG",
    "RetrievalReport",
    "SearchResult",
    "Snippet",
    "SpellCorrector",
    "TfidfTransformer",
    "TfidfVectorizer",
    "Tokenizer",
    "Unigram",
    "VectorIndex",
    "Vocabulary",
    "best_snippet",
    "bits_per_byte",
    "collocations",
    "cooccurrence",
    "cross_entropy",
    "edit_alignment",
    "edit_distance",
    "edit_distances",
    "evaluate_retrieval",
    "generate",
    "inverse_document_frequency",
    "jaro_similarity",
    "jaro_winkler_similarity",
    "longest_common_subsequence",
    "match_names",
    "perplexity",
    "pmi",
    "read_html",
    "read_pdf",
    "reciprocal_rank_fusion",
    "remove_stop_words",
    "retrieval_difference",
    "sample_topic_corpus",
    "split_chunks",
    "split_text",
    "term_frequency",
    "title_questions",
    "top_words",
    "topic_coherence",
]

# names by the module they are in
HOMES = {
    "abstract_byte_tokenizer": ("Encoding",),
    "bm25": ("BM25",),
    "bm25_formulas": ("SearchResult",),
    "bm25_index": ("BM25Index", "IndexSettings"),
    "bpe": ("BPE",),
    "chunks": ("Chunk", "split_chunks"),
    "cooccurrence": (
        "Cooccurrence",
        "collocations",
        "cooccurrence",
        "pmi",
        "remove_stop_words",
    ),
    "count_vectorizer": ("CountVectorizer",),
    "folder_index": ("FolderIndex", "IndexReport", "Passage"),
    "hashing_vectorizer": ("HashingVectorizer",),
    "language_model": (
        "LanguageModel",
        "bits_per_byte",
        "cross_entropy",
        "generate",
        "perplexity",
    ),
    "latent_dirichlet_allocation": (
        "LatentDirichletAllocation",
        "sample_topic_corpus",
        "top_words",
        "topic_coherence",
    ),
    "lsa": ("LSA",),
    "name_matching": ("NameMatches", "match_names"),
    "ngram_model": ("NGramModel",),
    "normalizers": ("NormalizedText", "Normalizer"),
    "passage_index": ("PassageIndex",),
    "plsa": ("PLSA",),
    "pre_tokenizers": ("Pieces", "split_text"),
    "rag": ("Answer", "RAG"),
    "rank_fusion": ("FusedRanking", "reciprocal_rank_fusion"),
    "readers": ("ExtractedText", "read_html", "read_pdf"),
    "retrieval_evaluation": (
        "EvaluationSet",
        "RetrievalReport",
        "evaluate_retrieval",
        "retrieval_difference",
        "title_questions",
    ),
    "snippets": ("Snippet", "best_snippet"),
    "spell_corrector": ("SpellCorrector",),
    "string_distances": (
        "Alignment",
        "edit_alignment",
        "edit_distance",
        "edit_distances",
        "jaro_similarity",
        "jaro_winkler_similarity",
        "longest_common_subsequence",
    ),
    "tfidf": (
        "TfidfTransformer",
        "TfidfVectorizer",
        "inverse_document_frequency",
        "term_frequency",
    ),
    "tokenizer": ("Tokenizer",),
    "unigram": ("Unigram",),
    "vector_index": ("VectorIndex",),
    "vocabulary": ("PaddedIds", "Vocabulary"),
}
MODULES = {name: module for module, names in HOMES.items() for name in names}


def __getattr__(name):
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
