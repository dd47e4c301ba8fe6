"""The flags of `pansophy compare`, one for each field of `compare.options.Options`."""

import inspect
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from ..compare.options import Options
from .app import split_names

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


def command_line_parameter(f) -> inspect.Parameter:
    """One option as a parameter that typer turns into a flag."""
    flag = f.metadata["flag"]
    info = typer.Option(
        *flag.declarations,
        help=flag.help,
        rich_help_panel=flag.panel,
        **({} if flag.minimum is None else {"min": flag.minimum}),
    )
    return inspect.Parameter(
        flag.name or f.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if f.default is MISSING else f.default,
        annotation=Annotated[flag.type, info],
    )


def takes_options(command):
    """Give a command `(table, as_json, **options)` a flag for every option."""
    own = inspect.signature(command).parameters
    flags = [command_line_parameter(f) for f in fields(Options)]
    flags.sort(key=lambda p: p.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(
        [own["table"], *flags, own["as_json"].replace(kind=own["as_json"].KEYWORD_ONLY)]
    )
    return command


def options_from_flags(given) -> dict[str, Any]:
    """Values of flags as keyword arguments of `compare`."""
    out = {}
    for f in fields(Options):
        flag = f.metadata["flag"]
        out[f.name] = PARSERS[flag.form](given[flag.name or f.name])
    return out
