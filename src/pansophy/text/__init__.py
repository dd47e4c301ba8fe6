"""Text: tokens, counts, search, distances, taggers and language models.

Names are imported at their first use, so that a search in an index on disk does not
wait for compilers and solvers, and what needs torch (the extra `deep`) for nobody else.

Rooms

    tokenizers       tokenizers: byte pairs, unigrams, normalisation, vocabularies,
                     streams of tokens
    vectorizers      texts as rows: counts, hashes, TF-IDF and latent semantic analysis
    search           search: ranking by words and by vectors, indexes on disk, answers
                     with citations
    language_models  language models: n-grams, neural nets, constrained output,
                     preferences
    taggers          taggers of words: hidden Markov, random field, neural; measures of
                     spans
    topics           topics of texts: latent semantic analysis by probabilities,
                     Dirichlet allocation
    embeddings       word vectors: skip-gram, GloVe and the counts they start from
    strings          distances between strings, matching of names, correction of
                     spelling
"""

from ..core.lazy_names import lazy_names

HOMES = {
    ".tokenizers.abstract_byte_tokenizer": "Encoding",
    ".search.bm25": "BM25",
    ".search.bm25_formulas": "SearchResult",
    ".search.bm25_index": "BM25Index IndexSettings",
    ".tokenizers.bpe": "BPE",
    ".search.chunks": "Chunk split_chunks",
    ".language_models.constrained_decoding": "Grammar StringSet allowed_tokens",
    ".embeddings.cooccurrences": """Cooccurrence collocations cooccurrence pmi
        remove_stop_words""",
    ".vectorizers.count_vectorizer": "CountVectorizer",
    ".taggers.crf_tagger": "CRFTagger",
    ".language_models.dpo": "DPOTrainer dpo_loss",
    ".search.folder_index": "FolderIndex IndexReport Passage",
    ".embeddings.glove": "GloVe",
    ".vectorizers.hashing_vectorizer": "HashingVectorizer",
    ".taggers.hmm_tagger": "HMMTagger most_frequent_tags",
    ".language_models.language_model": """LanguageModel bits_per_byte
        token_cross_entropy generate perplexity""",
    ".topics.gibbs_lda": "GibbsLDA sample_topic_corpus top_words topic_coherence",
    ".vectorizers.lsa": "LSA",
    ".strings.name_matching": "NameMatches match_names",
    ".language_models.neural_language_model": "NeuralLanguageModel",
    ".taggers.neural_tagger": "NeuralTagger",
    ".language_models.ngram_model": "NGramModel",
    ".tokenizers.normalizers": "NormalizedText Normalizer",
    ".search.passage_index": "PassageIndex",
    ".topics.plsa": "PLSA",
    ".tokenizers.pre_tokenizers": "Pieces split_text",
    ".search.rag": "CitedAnswer RAG",
    ".search.rank_fusion": "FusedRanking reciprocal_rank_fusion score_fusion",
    ".search.readers": "ExtractedText read_html read_pdf",
    ".search.retrieval_evaluation": """EvaluationSet RetrievalReport
        evaluate_retrieval retrieval_difference title_questions""",
    ".embeddings.skip_gram": "SkipGram",
    ".search.snippets": "Snippet best_snippet",
    ".taggers.span_measures": """Span SpanReport SpanScore span_report
        spans_to_tags tag_report tags_to_spans""",
    ".strings.spell_corrector": "SpellCorrector",
    ".strings.string_distances": """StringAlignment edit_alignment edit_distance
        edit_distances jaro_similarity jaro_winkler_similarity
        longest_common_subsequence""",
    ".vectorizers.subword_lsa": "SubwordLSA",
    ".vectorizers.tfidf": """TfidfTransformer TfidfVectorizer
        inverse_document_frequency term_frequency""",
    ".tokenizers.tokenizer": "Tokenizer",
    ".tokenizers.unigram": "Unigram",
    ".search.vector_index": "VectorIndex",
    ".tokenizers.vocabulary": "PaddedIds Vocabulary",
    ".taggers.word_features": "sentence_features word_shape",
}
NEEDS = {"torch": "DPOTrainer NeuralLanguageModel NeuralTagger dpo_loss"}

__all__, __getattr__, __dir__ = lazy_names(__name__, HOMES, NEEDS)
