"""The flags of `pansophy compare`, one for each field of `compare.options.Options`."""

import inspect
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_args

import typer

from ..compare.metric_names import METRIC_NAMES
from ..compare.options import Options
from .app import split_names
from .early_checks import method_names

TASK_HELP = next(f for f in fields(Options) if f.name == "task").metadata["flag"].help
AnyTask = Annotated[str, typer.Option(help=TASK_HELP)]


def parse_pairs(texts, what, example) -> dict[str, str]:
    """`name=value` texts as a dict; a name may hold `=` itself."""
    pairs = {}
    for text in texts:
        name, mark, value = text.rpartition("=")
        if not (mark and name.strip() and value.strip()):
            raise ValueError(f"{what} must look like `{example}`, got {text!r}.")
        pairs[name.strip()] = value.strip()
    return pairs


def parse_costs(text) -> dict | None:
    """`"yes=5,no=1"` as a dict."""
    if text is None:
        return None
    pairs = parse_pairs(split_names(text) or (), "costs", "yes=5,no=1")
    try:
        return {name: float(cost) for name, cost in pairs.items()}
    except ValueError:
        raise ValueError(
            f"costs must look like `yes=5,no=1`, one number a class, got {text!r}."
        ) from None


PARSERS = {
    "": lambda value: value,
    "names": split_names,
    "pairs": lambda texts: parse_pairs(texts or (), "role", "zip=category") or None,
    "numbers": parse_costs,
}


METAVARS = {  # what a value looks like, by the form of an option
    "names": "A,B",
    "pairs": "NAME=ROLE",
    "numbers": "CLASS=COST,...",
}


def task_names() -> list[str]:
    from ..compare import option_types

    return list(get_args(option_types.Task))


def metric_help(text) -> str:
    """The help of `--metric`, with the metrics of each task."""
    from ..compare.metrics import METRICS

    tasks: dict[str, list[str]] = {}
    for m in METRICS:
        tasks.setdefault(m.task, []).append(m.name)
    listed = "; ".join(f"{task}: {', '.join(own)}" for task, own in tasks.items())
    return f"{text} {listed}. The first of each is the default."


def methods_help(text) -> str:
    """The help of `--methods`, with the names of all of them."""
    return f"{text} There are {', '.join(method_names())}."


def completion_of(name):
    """A function that completes the value of an option, or None."""
    sources = {
        "metric": lambda: METRIC_NAMES,
        "methods": method_names,
        "exclude": method_names,
        "task": task_names,
        "keep": lambda: ["simplest", "best"],
    }
    if name not in sources:
        return None

    def complete(incomplete: str) -> list[str]:
        done, comma, last = incomplete.rpartition(",")
        names = (n.replace(" ", "-") for n in sources[name]())
        return [f"{done}{comma}{n}" for n in names if n.startswith(last.lower())]

    return complete


def command_line_parameter(f) -> inspect.Parameter:
    """One option as a parameter that typer turns into a flag."""
    flag = f.metadata["flag"]
    info = typer.Option(
        *flag.declarations,
        help=flag.help,
        rich_help_panel=flag.panel,
        metavar=METAVARS.get(flag.form, "NAME" if flag.type == list[str] else None),
        autocompletion=completion_of(f.name),
        **({} if flag.minimum is None else {"min": flag.minimum}),
    )
    return inspect.Parameter(
        flag.name or f.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if f.default is MISSING else f.default,
        annotation=Annotated[flag.type, info],
    )


def takes_options(command):
    """Give a command `(table, ..., **options)` a flag for every option."""
    first, *own = inspect.signature(command).parameters.values()
    own = [p.replace(kind=p.KEYWORD_ONLY) for p in own if p.kind is not p.VAR_KEYWORD]
    flags = [command_line_parameter(f) for f in fields(Options)]
    flags.sort(key=lambda p: p.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature([first, *flags, *own])
    return command


def options_from_flags(given) -> dict[str, Any]:
    """Values of flags as keyword arguments of `compare`."""
    out = {}
    for f in fields(Options):
        flag = f.metadata["flag"]
        out[f.name] = PARSERS[flag.form](given[flag.name or f.name])
    return out
