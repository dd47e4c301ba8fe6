"""Text: tokens, counts, search, distances and language models."""

from .count_vectorizer import CountVectorizer

__all__ = ["CountVectorizer"]
