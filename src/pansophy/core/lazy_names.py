"""Names of a package that load on first use.

A package whose modules are dear to import, or need a distribution that may be absent,
lists where its names are defined and ends with

    __all__, __getattr__, __dir__ = lazy_names(__name__, HOMES, NEEDS)

`HOMES` maps a module, relative to the package, to its names in one text; a module that
is itself such a name is listed under it. `NEEDS` maps a distribution to the names that
are of no use without it: `dir()` leaves them out where it is missing, and asking for
one says which extra of pansophy installs it.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping

EXTRAS = {"torch": "deep", "gymnasium": "rl"}  # that install a distribution


def lazy_names(
    package: str, homes: Mapping[str, str], needs: Mapping[str, str] | None = None
) -> tuple[list[str], Callable, Callable]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose names load lazily.

    Examples
    --------
    >>> from pansophy.core.lazy_names import lazy_names
    >>> names, load, _ = lazy_names("pansophy.core", {".numerics": "softmax sigmoid"})
    >>> names
    ['sigmoid', 'softmax']
    >>> load("sigmoid").__name__
    'sigmoid'
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    needed = {name: d for d, names in (needs or {}).items() for name in names.split()}

    def load_name(name):
        if name not in home_of:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}",
                name=name,
                obj=sys.modules[package],
            )
        try:
            module = importlib.import_module(home_of[name], package)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise ImportError(
                f"{name} needs {error.name}, which is not installed: pip install "
                f"'pansophy[{EXTRAS[error.name]}]'."
            ) from error
        value = getattr(module, name, module)  # or the module itself
        setattr(sys.modules[package], name, value)
        return value

    def of_use(names):
        missing = {d for d in needed.values() if importlib.util.find_spec(d) is None}
        return sorted(name for name in names if needed.get(name) not in missing)

    def list_names():
        return of_use({*vars(sys.modules[package]), *home_of})

    return of_use(home_of), load_name, list_names
