"""Write `docs/scikit_learn.md`: which names of scikit-learn are ours."""

import importlib
import pkgutil
import warnings
from pathlib import Path
from types import ModuleType

import sklearn
from sklearn.experimental import (  # noqa: F401  # to list what they enable
    enable_halving_search_cv,
    enable_iterative_imputer,
)

from pansophy.scikit_learn import NOT_SHARED, provider, public_names

PAGE = Path(__file__).parents[1] / "docs" / "scikit_learn.md"
# others' packages, modules that do something when imported, folders of files
LEFT_OUT = ("sklearn.externals", "sklearn.experimental.", "sklearn.datasets.")
NOT_LISTED = "sklearn.utils."  # tools for writing estimators, all of them theirs
HEAD = """# Names of scikit-learn

Every public module, class and function of scikit-learn is found under `pansophy` at
the same path, so that a script needs no more than another word in its import lines.
**Ours** are written here; all others are scikit-learn's own objects, looked up when
they are asked for. `pansophy.scikit_learn.provider("pansophy.linear_model.Lars")`
answers the same question for one name. The modules below `pansophy.utils` are theirs.

Made by `make docs` with scikit-learn {version}.

| module | ours | scikit-learn's |
|---|---|---|
"""


def public_modules() -> list[str]:
    """Names of all public modules of scikit-learn, read from its files."""
    found = ["sklearn"]
    for info in pkgutil.walk_packages(sklearn.__path__, "sklearn."):
        parts = info.name.split(".")
        if not any(p.startswith("_") or p in NOT_SHARED for p in parts):
            found.append(info.name)
    return [name for name in found if not name.startswith(LEFT_OUT)]


def documented_names(module: ModuleType) -> list[str]:
    """What a module offers: `__all__`, or the functions and classes defined in it."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    home = lambda value: str(getattr(value, "__module__", ""))
    return [n for n in public_names(module) if home(vars(module)[n]) == module.__name__]


def row_of(peer: str) -> str:
    """The line of one module."""
    theirs = importlib.import_module(peer)
    path = peer.replace("sklearn", "pansophy", 1)
    ours = importlib.import_module(path)
    names = {"pansophy": [], "sklearn": []}
    for name in sorted(set(documented_names(theirs))):
        is_module = isinstance(getattr(ours, name), ModuleType)
        if not is_module and not name.startswith("_"):
            names[provider(f"{path}.{name}")].append(f"`{name}`")
    cells = [", ".join(names[who]) for who in ("pansophy", "sklearn")]
    return f"| `{path}` | {cells[0]} | {cells[1]} |\n" if any(cells) else ""


def page_text() -> str:
    """The whole page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # names that are to go
        rows = "".join(
            row_of(name) for name in public_modules() if not name.startswith(NOT_LISTED)
        )
    return HEAD.format(version=sklearn.__version__) + rows


if __name__ == "__main__":
    PAGE.write_text(page_text(), "utf-8")
    print(f"wrote {PAGE.name}")
