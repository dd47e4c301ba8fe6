"""Models of hidden states that change over time."""

from .categorical_hmm import CategoricalHMM

__all__ = ["CategoricalHMM"]
