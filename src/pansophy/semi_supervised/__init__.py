"""Semi-supervised and weakly supervised learning: few, noisy or coarse labels."""

from ..scikit_learn import share_names
from .attribute_classifier import AttributeClassifier
from .co_training import CoTraining
from .feature_then_classify import FeatureThenClassify
from .gaussian_mixture_classifier import GaussianMixtureClassifier
from .label_model import LabelModel
from .label_propagation import LabelPropagation, LabelSpreading
from .multiple_instance import MultipleInstance
from .seeded_kmeans import SeededKMeans
from .self_training import SelfTrainingClassifier
from .transductive_svm import TransductiveSVM

__all__ = [
    "AttributeClassifier",
    "CoTraining",
    "FeatureThenClassify",
    "GaussianMixtureClassifier",
    "LabelModel",
    "LabelPropagation",
    "LabelSpreading",
    "MultipleInstance",
    "SeededKMeans",
    "SelfTrainingClassifier",
    "TransductiveSVM",
]

__getattr__, __dir__ = share_names(__name__)
