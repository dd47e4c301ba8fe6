"""The public signatures: what users' code relies on, in one text file.

`docs/signatures.txt` holds a line for each public name of each package (its `__all__`):
the parameters with their defaults, and for a class the methods that it or a base class
of ours defines. `tests/test_signatures.py` and `make release-check` compare the code
with it: a name, a method or a parameter that is gone, moved or has got another default
is a break, which `docs/stability.md` says how to make; new ones are none.

    python tools/signatures.py            writes the file (at a release)
    python tools/signatures.py --check    prints breaks; exit code 1 if there are any
"""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import pansophy

FILE = Path(__file__).parents[1] / "docs" / "signatures.txt"
LISTED = ("rl.envs",)  # packages inside packages that users import
HEAD = "# Public signatures of pansophy {version}; made by tools/signatures.py"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
Lines = dict[str, str]  # name -> parameters


def public_packages() -> list[str]:
    """Names of all packages that list what is public, below `pansophy`."""
    names = [m.name for m in pkgutil.iter_modules(pansophy.__path__)]
    return [n for n in [*names, *LISTED] if not n.startswith("_") and n != "cli"]


def current_signatures() -> Lines:
    """Every public name with its parameters; methods as `package.Class.method`."""
    out: Lines = {}
    for package in public_packages():
        module = importlib.import_module(f"pansophy.{package}")
        for name in getattr(module, "__all__", ()):
            place = f"{package}.{name}"
            value = getattr(module, name)
            out[place] = parameters_text(value)
            if inspect.isclass(value):
                out |= {
                    f"{place}.{method}": parameters_text(function)
                    for method, function in public_methods(value).items()
                }
    return dict(sorted(out.items()))


def public_methods(cls) -> dict:
    """Methods that the class or one of our base classes defines."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pansophy."):
            for name, value in vars(base).items():
                plain = getattr(value, "__func__", value)
                if not name.startswith("_") and inspect.isfunction(plain):
                    found[name] = plain
    return found


def parameters_text(value) -> str:
    """`(a, b=1, *, c=None)`; empty for what is not called or has no signature."""
    if not callable(value):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [
        p.replace(annotation=p.empty, default=stable_default(p.default, p.empty))
        for p in signature.parameters.values()
    ]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


class Default:
    """A default as text that is the same in every process."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def stable_default(value, empty):
    """A default whose text has no addresses and no objects of other libraries."""
    if value is empty:
        return empty
    if inspect.isfunction(value) or inspect.isclass(value):
        return Default(value.__name__)
    return Default(" ".join(ADDRESS.sub("", repr(value)).split()))


def read_signatures(text) -> Lines:
    """The lines of the file."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    pairs = (re.fullmatch(r"([\w.]+)(.*)", line) for line in lines)
    return {m[1]: m[2] for m in pairs if m}


def parameters(text) -> list[str]:
    """Parameters of a signature's text, cut at commas outside brackets."""
    parts, depth, start = [], 0, 1
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        at_end = i == len(text) - 1
        if (letter == "," and depth == 1) or at_end:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in parts if p]


def breaks(recorded: Lines, current: Lines) -> list[str]:
    """What code written for the recorded signatures may stumble over, in sentences."""
    out = []
    for name, old in recorded.items():
        if name not in current:
            out.append(f"{name} is gone")
        elif old != current[name]:
            out += [f"{name}: {text}" for text in changes(old, current[name])]
    return out


def changes(old, new) -> list[str]:
    """Breaks between two texts of parameters."""
    before, after = parameters(old), parameters(new)
    names = lambda parts: [p.partition("=")[0] for p in parts]
    if "**" in "".join(names(after)):
        after_names = set(names(before)) | set(names(after))
    else:
        after_names = set(names(after))
    out = [f"{n} is gone" for n in names(before) if n not in after_names]
    defaults = dict(p.partition("=")[::2] for p in after)
    for part in before:
        name, _, default = part.partition("=")
        if name in defaults and defaults[name] != default:
            out.append(
                f"{name} had the default {default}, now {defaults[name] or 'none'}"
                if default
                else f"{name} had no default"
            )
    keyword = [n for n in positional(before) if n in names(after)]
    keyword = [n for n in keyword if n not in positional(after)]
    out += [f"{n} is no longer taken by position" for n in keyword]
    ordered = [n for n in positional(after) if n in positional(before)]
    if ordered != [n for n in positional(before) if n in ordered]:
        out.append("the order of parameters has changed")
    known = set(names(before))
    out += [
        f"{p} is new and has no default"
        for p in after
        if "=" not in p and p[0] != "*" and p != "/" and p not in known
    ]
    return [text for text in out if not text.startswith(("*", "/"))]


def positional(parts) -> list[str]:
    """Names of parameters that may be given by position."""
    names = [p.partition("=")[0] for p in parts]
    stop = next((i for i, n in enumerate(names) if n.startswith("*")), len(names))
    return [n for n in names[:stop] if n != "/"]


def main(words) -> int:
    now = current_signatures()
    if "--check" in words:
        found = breaks(read_signatures(FILE.read_text("utf-8")), now)
        print("\n".join(found) or f"{len(now)} signatures, no break")
        return bool(found)
    head = HEAD.format(version=pansophy.__version__)
    lines = [head, "", *(f"{name}{text}" for name, text in now.items())]
    FILE.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"wrote {len(now)} signatures to {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
