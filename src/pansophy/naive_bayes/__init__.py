"""Naive Bayes and other generative classifiers: prior times density, by Bayes' rule."""

from .discrete import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from .generative import ExponentialFamilyClassifier, GenerativeClassifier
from .joint_table import JointTableClassifier
from .mixed import MixedNB, NaiveBayes
from .naive_bayes import GaussianNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "ExponentialFamilyClassifier",
    "GaussianNB",
    "GenerativeClassifier",
    "JointTableClassifier",
    "MixedNB",
    "MultinomialNB",
    "NaiveBayes",
]
