"""The environment that a text on the command line names.

    CartPole-v1          a name in Gymnasium's registry
    module:Name-v0       a name that is registered when the module is imported
    module:Maker         a class or function of a module that makes an environment
    file.py              the one environment class of a file
    file.py:Maker        a class or function of a file

A maker is registered with Gymnasium under its own name, so that from there on there are
only names. Modules are looked for in the working folder too.
"""

import difflib
import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path

VERSIONED = re.compile(r".+-v\d+$")


def name_environment(text) -> str:
    """The registered name of the environment that a text names; see the module text."""
    import gymnasium

    path = text.endswith(".py")
    place, colon, part = (f"{text}:" if path else text).rpartition(":")
    if not colon:
        return _check_registered(text)
    module = load_module(place)
    if VERSIONED.match(part):
        _check_registered(part)
        return part
    maker = find_maker(module, part, text)
    name = f"{maker.__name__}-v0"
    if name in gymnasium.registry:
        if gymnasium.registry[name].entry_point is maker:
            return name
        if not part:  # the file has registered it itself
            return name
        name = f"own/{name}"
    gymnasium.register(name, maker)
    return name


def _check_registered(name) -> str:
    """The name; the clear error if it is not registered."""
    import gymnasium

    try:
        gymnasium.spec(name)
    except gymnasium.error.Error as error:
        near = difflib.get_close_matches(name, list(gymnasium.registry), 1, 0.5)
        hint = f"did you mean {near[0]!r}?" if near else str(error)
        raise ValueError(
            f"there is no environment {name!r}: {hint} An environment of your own is "
            "given as module:Name-v0, module:Class or file.py."
        ) from None
    return name


def load_module(place):
    """The module of a name or of a Python file."""
    if not place.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ValueError(f"there is no module {place!r}: {error}.") from None
        finally:
            sys.path.remove(str(Path.cwd()))
    path = Path(place)
    if not path.is_file():
        raise ValueError(f"there is no file {place!r}.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{place!r} cannot be read as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def find_maker(module, name, text):
    """The class or function of a module that makes an environment."""
    import gymnasium

    if name:
        maker = getattr(module, name, None)
        if not callable(maker):
            raise ValueError(f"{text!r}: the module has no class or function {name!r}.")
        return maker
    makers = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, gymnasium.Env)
        and not issubclass(value, gymnasium.Wrapper)
        and value.__module__ == module.__name__
        and not inspect.isabstract(value)
    ]
    if len(makers) != 1:
        names = ", ".join(kind.__name__ for kind in makers) or "none"
        raise ValueError(
            f"{text!r} must define one environment class, it defines {names}: give "
            f"{text}:Name."
        )
    return makers[0]
