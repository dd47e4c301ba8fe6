"""pansophy: all of machine learning behind one `fit`.

Subpackages load on first use, so that `import pansophy` is quick and pulls in
neither torch nor numba nor matplotlib::

    import pansophy as ps
    ps.cluster.KMeans(8).fit(X)
"""

import importlib

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
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    import pkgutil

    modules = {m.name for m in pkgutil.iter_modules(__path__)}
    public = {name for name in modules if not name.startswith("_")}
    return sorted({"Ragged", "save", "load", *public})
