"""Neural networks as estimators (the nets themselves are in `pansophy.nn`).

All but the pretrained networks for tables need torch. Names load on first use.
"""

from ..core.lazy_names import lazy_names
from ..scikit_learn import share_names

_NETS = {
    ".bernoulli_rbm": "BernoulliRBM",
    ".conv": "ConvClassifier ConvRegressor",
    ".ft_transformer": "FTTransformerClassifier FTTransformerRegressor",
    ".mlp": "MLPClassifier MLPRegressor",
    ".net": "NetClassifier NetRegressor",
    ".neural_ode": "NeuralODEClassifier NeuralODEDynamics NeuralODERegressor",
    ".sequence": "SequenceClassifier SequenceRegressor SequenceTagger",
    ".tabular_resnet": "TabularResNetClassifier TabularResNetRegressor",
}
_PRETRAINED = {
    ".pretrained_table": "PretrainedTableClassifier PretrainedTableRegressor",
}
_NEEDS = {"torch": " ".join(_NETS.values())}

_HOMES = {**_NETS, **_PRETRAINED}
_OURS = frozenset(" ".join(_HOMES.values()).split())

__all__, _load_name, _list_ours = lazy_names(__name__, _HOMES, _NEEDS)
_share_name, _list_shared = share_names(__name__)


def __getattr__(name):
    return _load_name(name) if name in _OURS else _share_name(name)


def __dir__() -> list[str]:
    own_names = _list_ours()
    unusable = _OURS.difference(own_names)
    return sorted({*own_names, *_list_shared()} - unusable)
