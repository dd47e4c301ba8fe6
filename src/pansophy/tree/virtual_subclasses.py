"""Our trees and forests as virtual subclasses of scikit-learn's of the same name.

scikit-learn's `export_text`, `plot_tree` and `partial_dependence(method="recursion")`
and shap's `TreeExplainer` take a model only if it is an instance of scikit-learn's
class. Those classes are abstract base classes, which accept others by `register`, so
that `isinstance` holds without a line of their code. Ours have the attributes that the
tools read.

To import scikit-learn's trees costs 0.1 s, which few programs need. So a class is not
registered when it is made, but when `isinstance` asks for the `__class__` of a model
and somebody has imported scikit-learn's class by then.
"""

import sys
from abc import ABCMeta

REGISTERED: set = set()


class VirtualSubclass:
    """A model that is an instance of scikit-learn's class of its name as well."""

    @property
    def __class__(self):
        for cls in type(self).__mro__:
            if cls not in REGISTERED and cls.__module__.startswith("pansophy."):
                register_with_scikit_learn(cls)
        return type(self)


def register_with_scikit_learn(cls):
    """Make a class a virtual subclass of scikit-learn's of the same name, if there."""
    package = f"sklearn.{cls.__module__.split('.')[1]}"
    if package not in sys.modules:
        return
    REGISTERED.add(cls)
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            peer = vars(module).get(cls.__name__)
            if isinstance(peer, ABCMeta) and peer.__module__.startswith(package):
                peer.register(cls)
                return
