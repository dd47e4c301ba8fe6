"""Texts of parameters and attributes, written once where they are declared.

An abstract estimator describes its fields in a numpydoc section `Parameters` (without
defaults, which its children may change) and what `fit` learns in `Attributes`. The
decorator `inherits_texts` adds to the docstring of a final class every text that it
does not give itself, with the default that its field has: `help` shows all parameters,
and the source has each text once.
"""

import dataclasses
import re
from typing import TypeVar

Class = TypeVar("Class", bound=type)
SECTION = re.compile(r"^( *)(\w[\w ]*)\n\1-{3,}\n", re.MULTILINE)


def section_of(doc: str, title: str) -> tuple[int, int] | None:
    """Where the body of a section of a docstring begins and ends."""
    found = list(SECTION.finditer(doc))
    for i, match in enumerate(found):
        if match[2] == title:
            end = found[i + 1].start() if i + 1 < len(found) else len(doc)
            return match.end(), end
    return None


def entries_of(doc: str | None, title: str) -> dict[str, str]:
    """Entries of a section by their names; those of one line share their text."""
    place = section_of(doc or "", title)
    if doc is None or place is None:
        return {}
    body = doc[slice(*place)].rstrip("\n ")
    indent = len(body) - len(body.lstrip(" "))
    texts: list[list[str]] = []
    for line in body.split("\n"):
        if line[:indent].strip() == "" and line[indent : indent + 1].strip():
            texts.append([line])
        elif texts:
            texts[-1].append(line)
    entries = {}
    for lines in texts:
        names = lines[0].partition(" : ")[0]
        for name in names.split(","):
            entries[name.strip()] = "\n".join(lines).rstrip()
    return entries


def inherited_entries(cls, title: str, names=None) -> list[str]:
    """Texts of the bases that a class does not give, each once; `names`: only these."""
    own = entries_of(cls.__doc__, title)
    known: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        known |= entries_of(vars(base).get("__doc__"), title)
    wanted = known if names is None else [n for n in names if n in known]
    return list(dict.fromkeys(known[n] for n in wanted if n not in own))


def inherits_texts(cls: Class) -> Class:
    """Class decorator: complete `Parameters` and `Attributes` by texts of the bases.

    Put it above `@dataclass`.
    """
    if cls.__doc__ is None:  # python -OO
        return cls
    fields = {f.name: f for f in dataclasses.fields(cls)}
    with_default = []
    for text in inherited_entries(cls, "Parameters", fields):
        head, *rest = text.split("\n")
        names = [n.strip() for n in head.partition(" : ")[0].split(",")]
        values = [repr(fields[n].default) for n in names if n in fields]
        head = f"{head}, default={' and '.join(dict.fromkeys(values))}"
        with_default.append("\n".join([head.replace("'", '"'), *rest]))
    doc = append_entries(cls.__doc__, "Parameters", with_default)
    learnt = inherited_entries(cls, "Attributes")
    cls.__doc__ = append_entries(doc, "Attributes", learnt)
    return cls


def append_entries(doc: str, title: str, texts: list[str]) -> str:
    """A docstring with further entries at the end of a section."""
    place = section_of(doc, title)
    if not texts or place is None:
        return doc
    begin, end = place
    body = doc[begin:end]
    kept = body.rstrip("\n ")
    joined = "\n".join([kept, *texts]) if kept else "\n".join(texts)
    return doc[:begin] + joined + body[len(kept) :] + doc[end:]
