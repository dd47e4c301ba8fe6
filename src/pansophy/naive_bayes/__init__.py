"""Naive Bayes and other generative classifiers: prior times density, by Bayes' rule."""

from ..scikit_learn import share_names
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

__getattr__, __dir__ = share_names(__name__)
