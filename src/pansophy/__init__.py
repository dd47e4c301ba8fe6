"""pansophy: all of machine learning behind one `fit`.

Subpackages load on first use, so that `import pansophy` is quick and pulls in
neither torch nor numba nor matplotlib::

    import pansophy as ps
    ps.cluster.KMeans(8).fit(X)

Whatever scikit-learn offers is found here at the same path (`pansophy.metrics`,
`pansophy.set_config`): ours where we have it, else theirs. `pansophy.scikit_learn` says
how, `docs/scikit_learn.md` which is which.
"""

import importlib
import sys

from .scikit_learn import install_finder

__version__ = "0.1.0"

install_finder()


def __getattr__(name):
    if name in ("save", "load"):
        return getattr(importlib.import_module(".persist", __name__), name)
    if name in ("from_sklearn", "to_onnx", "to_script"):
        return getattr(importlib.import_module(".interchange", __name__), name)
    if name == "forecast":
        return importlib.import_module(".forecasting", __name__).forecast
    if name == "Ragged":
        return importlib.import_module(".core.arrays.ragged", __name__).Ragged
    if not name.startswith("_"):
        try:
            return importlib.import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
        import sklearn

        if name in sklearn.__all__:
            return getattr(sklearn, name)
    raise AttributeError(_missing_name_text(name), name=name, obj=sys.modules[__name__])


def _missing_name_text(name) -> str:
    """What to say of a name that is not here: where it is, if that is known."""
    text = f"module {__name__!r} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    from .catalogue import packages_of_class

    places = packages_of_class(name)
    return f"{text}: {name} is in {' and '.join(places)}" if places else text


def __dir__():
    import pkgutil

    import sklearn

    modules = {m.name for m in pkgutil.iter_modules(__path__)}
    public = {name for name in modules if not name.startswith("_")}
    own_names = {
        "Ragged",
        "forecast",
        "save",
        "load",
        "from_sklearn",
        "to_onnx",
        "to_script",
    }
    return sorted({*own_names, *public, *sklearn.__all__})
