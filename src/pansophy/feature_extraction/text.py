"""Vectorizers of text, where scikit-learn keeps them; they live in `pansophy.text`."""

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from ..scikit_learn import share_names
from ..text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)

__all__ = [
    "ENGLISH_STOP_WORDS",
    "CountVectorizer",
    "HashingVectorizer",
    "TfidfTransformer",
    "TfidfVectorizer",
]

__getattr__, __dir__ = share_names(__name__)
