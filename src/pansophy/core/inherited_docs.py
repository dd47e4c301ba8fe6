"""Docstrings of classes whose parameters are described where they are defined.

Sibling estimators inherit most parameters of an abstract class. Its docstring describes
them, once; `inherit_descriptions` adds to the docstring of a class what it leaves out,
so that `help` and documentation pages show all of them, with the defaults of the class.
"""

import inspect
import re

SECTIONS = ("Parameters", "Attributes")
HEADER = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def _section_bounds(text: str, name: str) -> tuple[int, int] | None:
    """Start and end of the entries of a numpydoc section in a cleaned docstring."""
    headers = list(HEADER.finditer(text))
    for i, header in enumerate(headers):
        if header[1] == name:
            end = headers[i + 1].start() if i + 1 < len(headers) else len(text)
            return header.end(), end
    return None


def section_entries(text: str, name: str) -> dict[str, str]:
    """The entries of a section, "a, b : kind" with the lines below, by their names."""
    bounds = _section_bounds(text, name)
    if bounds is None:
        return {}
    entries: dict[str, str] = {}
    lines: list[str] = []
    for line in [*text[slice(*bounds)].splitlines(), "end"]:
        if line[:1] not in ("", " ", "\t") and lines:
            if lines[-1].endswith("\\"):
                lines.append(line)
                continue
            entry = "\n".join(lines).strip()
            if entry:
                entries[entry.split(" :")[0].split("\n")[0]] = entry
            lines = []
        lines.append(line)
    return entries


def _shown_default(value) -> str:
    """A default as docstrings show it: texts in double quotes."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _own_default(cls, entry: str) -> str:
    """An entry with the default that this class has."""
    head, *rest = entry.split("\n")
    names = head.partition(" :")[0].split(", ")
    values = [_shown_default(_vars_of(cls)[n]) for n in names if n in _vars_of(cls)]
    if not values:
        return entry
    shown = f"default={' and '.join(dict.fromkeys(values))}"
    if "default=" in entry:
        return re.sub(r"default=[^\n]*$", lambda _: shown, entry, count=1, flags=re.M)
    return "\n".join([f"{head}, {shown}", *rest])


def _vars_of(cls) -> dict:
    """Attributes of a class and its bases, those of the class first."""
    attributes: dict = {}
    for base in reversed(cls.__mro__):
        attributes |= vars(base)
    return attributes


def inherit_descriptions(cls) -> None:
    """Add entries of the bases' docstrings that the docstring of a class leaves out.

    A class without a section "Parameters" of its own is left as it is.
    """
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    if _section_bounds(text, "Parameters") is None:
        return
    for section in SECTIONS:
        bounds = _section_bounds(text, section)
        if bounds is None:
            continue
        named = section_entries(text, section)
        known = {n for names in named for n in names.split(", ")}
        added = []
        for base in cls.__mro__[1:]:
            inherited = inspect.cleandoc(base.__dict__.get("__doc__") or "")
            for names, entry in section_entries(inherited, section).items():
                if known.isdisjoint(names.split(", ")):
                    known.update(names.split(", "))
                    added.append(_own_default(cls, entry))
        if added:
            begin, end = bounds
            body = "\n".join([text[begin:end].rstrip(), *added]).lstrip("\n")
            rest = text[end:]
            text = text[:begin] + body + ("\n\n" + rest if rest else "")
    cls.__doc__ = text
