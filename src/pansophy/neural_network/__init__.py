"""Neural networks as estimators (the nets themselves are in `pansophy.nn`).

All but the pretrained networks for tables need torch. Names load on first use.
"""

import importlib
import importlib.util
from typing import Any

from ..scikit_learn import share_names

HOMES = {
    "bernoulli_rbm": ("BernoulliRBM",),
    "conv": ("ConvClassifier", "ConvRegressor"),
    "ft_transformer": ("FTTransformerClassifier", "FTTransformerRegressor"),
    "mlp": ("MLPClassifier", "MLPRegressor"),
    "neural_ode": ("NeuralODEClassifier", "NeuralODEDynamics", "NeuralODERegressor"),
    "pretrained_table": ("PretrainedTableClassifier", "PretrainedTableRegressor"),
    "sequence": ("SequenceClassifier", "SequenceRegressor", "SequenceTagger"),
    "tabular_resnet": ("TabularResNetClassifier", "TabularResNetRegressor"),
}
MODULES = {name: module for module, names in HOMES.items() for name in names}
WITHOUT_TORCH = HOMES["pretrained_table"]

__all__ = sorted(MODULES)

_look_up, _list_names = share_names(__name__)


def __getattr__(name) -> Any:
    if name not in MODULES:
        return _look_up(name)
    value = getattr(importlib.import_module(f".{MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    names = {*_list_names(), *MODULES}
    if importlib.util.find_spec("torch") is None:
        names -= set(MODULES) - set(WITHOUT_TORCH)
    return sorted(names)
