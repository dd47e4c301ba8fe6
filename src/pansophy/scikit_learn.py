"""Every public name of scikit-learn, found under `pansophy` at the same path.

Where pansophy has a class or function of the same path and name, that one is served.
Otherwise scikit-learn's own object is, and it is the very same object, so `isinstance`,
`clone` and pickles see no difference. `provider` says who serves a name, and
`docs/scikit_learn.md` lists all of them.

Two parts do it, and neither holds a list of names.

- A module of ours that has a namesake (`pansophy.linear_model`) ends with

      __getattr__, __dir__ = share_names(__name__)

  so that names it lacks are looked up in scikit-learn's module when they are asked for.
- A module that only scikit-learn has (`pansophy.metrics.pairwise`) is made by
  `SharedModuleFinder`. There are about 50 of them, and a statement such as
  `import pansophy.utils.fixes` asks for a module, not for an attribute; the alternative
  would be as many files of one line. The finder stands last in `sys.meta_path`, so
  that a file of ours always comes first. The module that it makes holds nothing: each
  name is looked up when it is asked for, so what scikit-learn adds later is seen as
  well (`enable_iterative_imputer` adds a class to `sklearn.impute`).

A file of ours may have the name of a function of theirs:
`pansophy/cluster/density/dbscan.py` and `sklearn.cluster.dbscan`. Importing the file
would bind the module under that name and hide the function. `share_names` unbinds
public submodules again; they are still imported as usual (`from
pansophy.cluster.density.dbscan import DBSCAN`).

Nothing of scikit-learn is imported before a name of it is asked for.
"""

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

OURS = "pansophy"
THEIRS = "sklearn"
NOT_SHARED = ("conftest", "tests")  # of scikit-learn: its own tests

TEXT_OF_SHARED = """

Names of `{peer}` that are not defined here are found here too, and are scikit-learn's
own: `dir()` lists both, `docs/scikit_learn.md` says which is which."""
TEXT_OF_THEIRS = "The module `{peer}` of scikit-learn; every name in it is theirs."


def peer_name(module: str) -> str:
    """The name of scikit-learn's module at the same path as one of ours.

    Examples
    --------
    >>> from pansophy.scikit_learn import peer_name
    >>> peer_name("pansophy.metrics.pairwise")
    'sklearn.metrics.pairwise'
    """
    return THEIRS + module.removeprefix(OURS)


def public_names(module: ModuleType) -> list[str]:
    """The names that a module offers: its `__all__`, or what has no underscore."""
    names = getattr(module, "__all__", None)
    if names is not None:  # without those that must be enabled first
        return [name for name in names if name in dir(module)]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    ]


def _shared_name(module: str, name: str):
    """What a module of ours shows as `name`, which it does not define itself.

    scikit-learn's object first, then a submodule: ours, or theirs through the finder.
    """
    peer = importlib.import_module(peer_name(module))
    value = getattr(peer, name, None)
    if value is not None and not isinstance(value, ModuleType):
        return value
    submodule = f"{module}.{name}"
    try:
        return importlib.import_module(submodule)
    except ModuleNotFoundError as error:
        if error.name != submodule:
            raise
    raise AttributeError(
        f"module {module!r} has no attribute {name!r}, and neither has {peer.__name__}",
        name=name,
        obj=sys.modules[module],
    )


def share_names(module: str) -> tuple:
    """`__getattr__` and `__dir__` of a module of ours that scikit-learn has too.

    To be called at the end of the module, after its imports.
    """
    own_module = sys.modules[module]
    peer = peer_name(module)
    own_module.__doc__ = (own_module.__doc__ or "").rstrip() + TEXT_OF_SHARED.format(
        peer=peer
    )
    for name, value in list(vars(own_module).items()):
        is_submodule = getattr(value, "__name__", None) == f"{module}.{name}"
        if (
            isinstance(value, ModuleType)
            and is_submodule
            and not name.startswith("_")  # compiled loops, which we import by name
        ):
            delattr(own_module, name)

    def look_up(name: str):
        if name == "__all__":  # of a module that lists none: what a star takes
            return [name for name in list_names() if not name.startswith("_")]
        if name.startswith("_"):
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}",
                name=name,
                obj=own_module,
            )
        return _shared_name(module, name)

    def list_names() -> list[str]:
        return sorted({*vars(own_module), *public_names(importlib.import_module(peer))})

    return look_up, list_names


class SharedModule(ModuleType):
    """A module of scikit-learn's under our name; it holds no names itself."""

    def __getattr__(self, name: str):
        if name == "__all__":
            return public_names(sys.modules[peer_name(self.__name__)])
        if name.startswith("__"):
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r}",
                name=name,
                obj=self,
            )
        return _shared_name(self.__name__, name)

    def __dir__(self) -> list[str]:
        return sorted(
            {*vars(self), *public_names(sys.modules[peer_name(self.__name__)])}
        )


class SharedModuleFinder:
    """Finds the modules of scikit-learn's that have no file of ours.

    Private modules are found below modules that are theirs as a whole
    (those for tests of estimators), never beside files of ours.
    """

    def find_spec(self, name, path=None, target=None) -> ModuleSpec | None:
        """The specification of a module `pansophy.*`; None if theirs has none."""
        parent, _, last = name.rpartition(".")
        if parent.partition(".")[0] != OURS or last in NOT_SHARED:
            return None
        is_theirs = isinstance(sys.modules.get(parent), SharedModule)
        if last.startswith("_") and not is_theirs:
            return None
        try:
            spec = importlib.util.find_spec(peer_name(name))
        except ModuleNotFoundError:
            return None
        if spec is None:
            return None
        is_package = spec.submodule_search_locations is not None
        return ModuleSpec(
            name,
            self,  # pyrefly: ignore  # importlib.abc costs time and gives nothing
            origin=peer_name(name),
            is_package=is_package,
        )

    def create_module(self, spec) -> ModuleType:
        """An empty module."""
        return SharedModule(spec.name)

    def exec_module(self, module) -> None:
        """Import scikit-learn's module, for its names and for its effects."""
        peer = importlib.import_module(peer_name(module.__name__))
        own_text = TEXT_OF_THEIRS.format(peer=peer.__name__)
        module.__doc__ = f"{own_text}\n\n{peer.__doc__ or ''}".rstrip()


def install_finder() -> None:
    """Let modules that only scikit-learn has be imported under our name."""
    if not any(isinstance(finder, SharedModuleFinder) for finder in sys.meta_path):
        sys.meta_path.append(SharedModuleFinder())


def provider(name: str) -> str:
    """Who serves a dotted name: "pansophy" or "sklearn".

    Examples
    --------
    >>> from pansophy.scikit_learn import provider
    >>> provider("pansophy.linear_model.Ridge")
    'pansophy'
    >>> provider("pansophy.metrics.roc_auc_score")
    'sklearn'
    """
    module, _, last = name.rpartition(".")
    own_object = getattr(importlib.import_module(module), last)
    try:
        theirs = getattr(importlib.import_module(peer_name(module)), last)
    except (ImportError, AttributeError):
        return OURS
    return THEIRS if own_object is theirs else OURS
