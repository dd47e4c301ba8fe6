"""Text: tokens, counts, search, distances and language models."""

from .bm25 import BM25
from .count_vectorizer import CountVectorizer
from .hashing_vectorizer import HashingVectorizer
from .tfidf import (
    TfidfTransformer,
    TfidfVectorizer,
    inverse_document_frequency,
    term_frequency,
)

__all__ = [
    "BM25",
    "CountVectorizer",
    "HashingVectorizer",
    "TfidfTransformer",
    "TfidfVectorizer",
    "inverse_document_frequency",
    "term_frequency",
]
