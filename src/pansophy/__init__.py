"""pansophy: all of machine learning behind one `fit`.

Subpackages load on first use, so that `import pansophy` is quick and pulls in
neither torch nor numba nor matplotlib::

    import pansophy as ps
    ps.cluster.KMeans(8).fit(X)
"""

import importlib
import importlib.util
import sys

__version__ = "0.1.0"


def __getattr__(name):
    if name in ("save", "load"):
        return getattr(importlib.import_module(".persist", __name__), name)
    if name == "Ragged":
        return importlib.import_module(".core.ragged", __name__).Ragged
    if not name.startswith("_"):
        try:
            return importlib.import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(missing_name_text(name), name=name, obj=sys.modules[__name__])


def missing_name_text(name) -> str:
    """What to say of a name that is not here: where it is, if that is known."""
    text = f"module {__name__!r} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    from .catalogue import packages_of_class

    places = packages_of_class(name)
    if places:
        return f"{text}: {name} is in {' and '.join(places)}"
    if importlib.util.find_spec("sklearn") and name in SCIKIT_LEARN_ONLY:
        return f"{text}: use sklearn.{name}, which works with these estimators"
    return text


# parts of scikit-learn that are used with these estimators as they are
SCIKIT_LEARN_ONLY = (
    "calibration", "compose", "cross_decomposition", "dummy", "impute", "inspection",
    "isotonic", "metrics", "model_selection", "pipeline", "preprocessing", "utils",
)  # fmt: skip


def __dir__():
    import pkgutil

    modules = {m.name for m in pkgutil.iter_modules(__path__)}
    public = {name for name in modules if not name.startswith("_")}
    return sorted({"Ragged", "save", "load", *public})
