"""Runs a program, or a module, with the classes of scikit-learn replaced by ours."""

import io
import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from types import ModuleType

from .replacement import set_active

USAGE = """usage: python -m pansophy.accelerate [--quiet] script.py [arguments]
       python -m pansophy.accelerate [--quiet] -m module [arguments]

Runs a program for scikit-learn or hmmlearn on the classes of pansophy. After it, a
report says on standard error what was replaced, what was not and why; --quiet omits
the report."""


def run_script(path, arguments=(), *, show_report=True) -> None:
    """Run a file as the main program, on our classes.

    `sys.argv` and the first place where modules are looked for are as they are under
    `python path arguments`.
    """
    folder = os.path.dirname(os.path.abspath(path))
    _run_main(path, folder, [path, *arguments], show_report)


def _run_main(path, folder, argv, show_report) -> None:
    """Run the file as `__main__`, a module that stays: pickles refer to it."""
    with io.open_code(os.path.abspath(path)) as file:
        code = compile(file.read(), path, "exec")
    main = ModuleType("__main__")
    main.__file__ = path
    main.__loader__ = SourceFileLoader("__main__", path)
    sys.modules["__main__"] = main
    sys.argv[:] = argv
    sys.path[0] = folder
    set_active(True, show_report)
    exec(code, vars(main))


def run_command(arguments) -> None:
    """The command `python -m pansophy.accelerate`."""
    arguments = list(arguments)
    show_report = True
    if arguments[:1] == ["--quiet"]:
        show_report = False
        del arguments[0]
    if arguments[:1] in ([], ["-h"], ["--help"]):
        print(USAGE)
        sys.exit(0 if arguments else 2)
    if arguments[0] == "-m":
        if len(arguments) == 1:
            sys.exit("python -m pansophy.accelerate -m: name a module")
        path = _module_file(arguments[1])
        _run_main(path, os.getcwd(), [path, *arguments[2:]], show_report)
    elif not os.path.isfile(arguments[0]):
        sys.exit(f"python -m pansophy.accelerate: no such file: {arguments[0]}")
    else:
        run_script(arguments[0], arguments[1:], show_report=show_report)


def _module_file(name) -> str:
    """The file that `python -m name` would run."""
    sys.path[0] = os.getcwd()
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = find_spec(f"{name}.__main__")
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        sys.exit(f"python -m pansophy.accelerate: no module named {name}")
    return spec.origin
