"""Text: tokens, counts, search, distances, taggers and language models.

Names are imported at their first use, so that a search in an index on disk does not
wait for compilers and solvers, and what needs torch (the extra `deep`) for nobody else.
"""

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .abstract_byte_tokenizer import (
        Encoding,
    )
    from .bm25 import (
        BM25,
    )
    from .bm25_formulas import (
        SearchResult,
    )
    from .bm25_index import (
        BM25Index,
        IndexSettings,
    )
    from .bpe import (
        BPE,
    )
    from .chunks import (
        Chunk,
        split_chunks,
    )
    from .constrained_decoding import (
        Grammar,
        StringSet,
        allowed_tokens,
    )
    from .cooccurrences import (
        Cooccurrence,
        collocations,
        cooccurrence,
        pmi,
        remove_stop_words,
    )
    from .count_vectorizer import (
        CountVectorizer,
    )
    from .crf_tagger import (
        CRFTagger,
    )
    from .folder_index import (
        FolderIndex,
        IndexReport,
        Passage,
    )
    from .gibbs_lda import (
        GibbsLDA,
        sample_topic_corpus,
        top_words,
        topic_coherence,
    )
    from .glove import (
        GloVe,
    )
    from .hashing_vectorizer import (
        HashingVectorizer,
    )
    from .hmm_tagger import (
        HMMTagger,
        most_frequent_tags,
    )
    from .language_model import (
        LanguageModel,
        bits_per_byte,
        generate,
        perplexity,
        token_cross_entropy,
    )
    from .lsa import (
        LSA,
    )
    from .name_matching import (
        NameMatches,
        match_names,
    )
    from .ngram_model import (
        NGramModel,
    )
    from .normalizers import (
        NormalizedText,
        Normalizer,
    )
    from .passage_index import (
        PassageIndex,
    )
    from .plsa import (
        PLSA,
    )
    from .pre_tokenizers import (
        Pieces,
        split_text,
    )
    from .rag import (
        RAG,
        CitedAnswer,
    )
    from .rank_fusion import (
        FusedRanking,
        reciprocal_rank_fusion,
        score_fusion,
    )
    from .readers import (
        ExtractedText,
        read_html,
        read_pdf,
    )
    from .retrieval_evaluation import (
        EvaluationSet,
        RetrievalReport,
        evaluate_retrieval,
        retrieval_difference,
        title_questions,
    )
    from .skip_gram import (
        SkipGram,
    )
    from .snippets import (
        Snippet,
        best_snippet,
    )
    from .span_measures import (
        Span,
        SpanReport,
        SpanScore,
        span_report,
        spans_to_tags,
        tag_report,
        tags_to_spans,
    )
    from .spell_corrector import (
        SpellCorrector,
    )
    from .string_distances import (
        StringAlignment,
        edit_alignment,
        edit_distance,
        edit_distances,
        jaro_similarity,
        jaro_winkler_similarity,
        longest_common_subsequence,
    )
    from .subword_lsa import (
        SubwordLSA,
    )
    from .tfidf import (
        TfidfTransformer,
        TfidfVectorizer,
        inverse_document_frequency,
        term_frequency,
    )
    from .tokenizer import (
        Tokenizer,
    )
    from .unigram import (
        Unigram,
    )
    from .vector_index import (
        VectorIndex,
    )
    from .vocabulary import (
        PaddedIds,
        Vocabulary,
    )
    from .word_features import (
        sentence_features,
        word_shape,
    )

__all__ = [
    "BM25",
    "BM25Index",
    "BPE",
    "CRFTagger",
    "Chunk",
    "CitedAnswer",
    "Cooccurrence",
    "CountVectorizer",
    "Encoding",
    "EvaluationSet",
    "ExtractedText",
    "FolderIndex",
    "FusedRanking",
    "GibbsLDA",
    "GloVe",
    "Grammar",
    "HMMTagger",
    "HashingVectorizer",
    "IndexReport",
    "IndexSettings",
    "LSA",
    "LanguageModel",
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
    "SkipGram",
    "Snippet",
    "Span",
    "SpanReport",
    "SpanScore",
    "SpellCorrector",
    "StringAlignment",
    "StringSet",
    "SubwordLSA",
    "TfidfTransformer",
    "TfidfVectorizer",
    "Tokenizer",
    "Unigram",
    "VectorIndex",
    "Vocabulary",
    "allowed_tokens",
    "best_snippet",
    "bits_per_byte",
    "collocations",
    "cooccurrence",
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
    "most_frequent_tags",
    "perplexity",
    "pmi",
    "read_html",
    "read_pdf",
    "reciprocal_rank_fusion",
    "remove_stop_words",
    "retrieval_difference",
    "sample_topic_corpus",
    "score_fusion",
    "sentence_features",
    "span_report",
    "spans_to_tags",
    "split_chunks",
    "split_text",
    "tag_report",
    "tags_to_spans",
    "term_frequency",
    "title_questions",
    "token_cross_entropy",
    "top_words",
    "topic_coherence",
    "word_shape",
]

# names by the module they are in
HOMES = {
    "abstract_byte_tokenizer": ("Encoding",),
    "bm25": ("BM25",),
    "bm25_formulas": ("SearchResult",),
    "bm25_index": (
        "BM25Index",
        "IndexSettings",
    ),
    "bpe": ("BPE",),
    "chunks": (
        "Chunk",
        "split_chunks",
    ),
    "constrained_decoding": (
        "Grammar",
        "StringSet",
        "allowed_tokens",
    ),
    "cooccurrences": (
        "Cooccurrence",
        "collocations",
        "cooccurrence",
        "pmi",
        "remove_stop_words",
    ),
    "count_vectorizer": ("CountVectorizer",),
    "crf_tagger": ("CRFTagger",),
    "dpo": (
        "DPOTrainer",
        "dpo_loss",
    ),
    "folder_index": (
        "FolderIndex",
        "IndexReport",
        "Passage",
    ),
    "glove": ("GloVe",),
    "hashing_vectorizer": ("HashingVectorizer",),
    "hmm_tagger": (
        "HMMTagger",
        "most_frequent_tags",
    ),
    "language_model": (
        "LanguageModel",
        "bits_per_byte",
        "token_cross_entropy",
        "generate",
        "perplexity",
    ),
    "gibbs_lda": (
        "GibbsLDA",
        "sample_topic_corpus",
        "top_words",
        "topic_coherence",
    ),
    "lsa": ("LSA",),
    "name_matching": (
        "NameMatches",
        "match_names",
    ),
    "neural_language_model": ("NeuralLanguageModel",),
    "neural_tagger": ("NeuralTagger",),
    "ngram_model": ("NGramModel",),
    "normalizers": (
        "NormalizedText",
        "Normalizer",
    ),
    "passage_index": ("PassageIndex",),
    "plsa": ("PLSA",),
    "pre_tokenizers": (
        "Pieces",
        "split_text",
    ),
    "rag": (
        "CitedAnswer",
        "RAG",
    ),
    "rank_fusion": (
        "FusedRanking",
        "reciprocal_rank_fusion",
        "score_fusion",
    ),
    "readers": (
        "ExtractedText",
        "read_html",
        "read_pdf",
    ),
    "retrieval_evaluation": (
        "EvaluationSet",
        "RetrievalReport",
        "evaluate_retrieval",
        "retrieval_difference",
        "title_questions",
    ),
    "skip_gram": ("SkipGram",),
    "snippets": (
        "Snippet",
        "best_snippet",
    ),
    "span_measures": (
        "Span",
        "SpanReport",
        "SpanScore",
        "span_report",
        "spans_to_tags",
        "tag_report",
        "tags_to_spans",
    ),
    "spell_corrector": ("SpellCorrector",),
    "string_distances": (
        "StringAlignment",
        "edit_alignment",
        "edit_distance",
        "edit_distances",
        "jaro_similarity",
        "jaro_winkler_similarity",
        "longest_common_subsequence",
    ),
    "subword_lsa": ("SubwordLSA",),
    "tfidf": (
        "TfidfTransformer",
        "TfidfVectorizer",
        "inverse_document_frequency",
        "term_frequency",
    ),
    "tokenizer": ("Tokenizer",),
    "unigram": ("Unigram",),
    "vector_index": ("VectorIndex",),
    "vocabulary": (
        "PaddedIds",
        "Vocabulary",
    ),
    "word_features": (
        "sentence_features",
        "word_shape",
    ),
}
MODULES = {name: module for module, names in HOMES.items() for name in names}
NEEDS_TORCH = {"DPOTrainer", "NeuralLanguageModel", "NeuralTagger", "dpo_loss"}


def __getattr__(name) -> Any:
    if name not in MODULES:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}",
            name=name,
            obj=sys.modules[__name__],
        )
    value = getattr(importlib.import_module(f".{MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    has_torch = importlib.util.find_spec("torch") is not None
    return sorted({*globals(), *__all__, *(NEEDS_TORCH if has_torch else ())})
