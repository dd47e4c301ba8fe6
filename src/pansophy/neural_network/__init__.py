"""Neural networks as estimators (torch; the nets themselves are in `pansophy.nn`)."""

from ..scikit_learn import share_names
from .bernoulli_rbm import BernoulliRBM
from .conv import ConvClassifier, ConvRegressor
from .ft_transformer import FTTransformerClassifier, FTTransformerRegressor
from .mlp import MLPClassifier, MLPRegressor
from .net import NetClassifier, NetRegressor
from .neural_ode import NeuralODEClassifier, NeuralODEDynamics, NeuralODERegressor
from .sequence import SequenceClassifier, SequenceRegressor, SequenceTagger
from .tabular_resnet import TabularResNetClassifier, TabularResNetRegressor

__all__ = [
    "BernoulliRBM",
    "ConvClassifier",
    "ConvRegressor",
    "FTTransformerClassifier",
    "FTTransformerRegressor",
    "MLPClassifier",
    "MLPRegressor",
    "NetClassifier",
    "NetRegressor",
    "NeuralODEClassifier",
    "NeuralODEDynamics",
    "NeuralODERegressor",
    "SequenceClassifier",
    "SequenceRegressor",
    "SequenceTagger",
    "TabularResNetClassifier",
    "TabularResNetRegressor",
]

__getattr__, __dir__ = share_names(__name__)
