"""Plates: a part of a network declared once and repeated, with shared tables.

A plate stands for copies of its tables. In their names [i] is the number of the copy
and [i-1] that of the one before, so that the same notation holds for independent copies
(a plate) and for chains (a template):

    "x[i] | class"         x[0] | class,  x[1] | class,  ...                       (1)
    "z[t] | z[t-1]"        z[1] | z[0],   z[2] | z[1],   ...   (from t = 1)        (2)

Plates may hold plates: names then carry an index for each, "x[i][j]". All copies share
the table object itself.

Refs      [Buntine1994]
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

INDEX = re.compile(r"\[\s*([A-Za-z_]\w*)\s*(?:([+-])\s*(\d+))?\s*\]")


@dataclass(frozen=True, eq=False)
class Plate:
    """Copies of a part of a network.

    Parameters
    ----------
    index : str
        The letter of the copies in the names.
    size : int
        Number of copies.
    tables : dict, or list of dicts and plates
        Tables by keys such as "x[i] | z[i]".
    start : int, default=0
        Number of the first copy.

    Examples
    --------
    >>> from pansophy.graphical import Plate, unroll_plates
    >>> toss = Plate("i", 3, {"toss[i] | coin": [[0.5, 0.5], [0.9, 0.1]]})
    >>> list(unroll_plates([{"coin": [0.7, 0.3]}, toss]))
    ['coin', 'toss[0] | coin', 'toss[1] | coin', 'toss[2] | coin']
    """

    index: str
    size: int
    tables: Any
    start: int = 0

    def __post_init__(self):
        if not str(self.index).isidentifier():
            raise ValueError(f"index of a plate must be a word, got {self.index!r}.")
        if int(self.size) != self.size or self.size < 0:
            raise ValueError(f"size of a plate must be at least 0, got {self.size!r}.")


def unroll_plates(parts) -> dict[str, Any]:
    """All tables of a list of dicts and plates, by the keys of a `BayesianNetwork`."""
    tables = flatten_parts(parts)
    for key in tables:
        left = INDEX.search(key)
        if left:
            raise ValueError(f"no plate of {key!r} has the index {left.group(1)!r}.")
    return tables


def flatten_parts(parts) -> dict[str, Any]:
    if isinstance(parts, Mapping):
        return dict(parts)
    if isinstance(parts, Plate):
        inner = flatten_parts(parts.tables)
        out: dict[str, Any] = {}
        for k in range(parts.start, parts.start + parts.size):
            for key, table in inner.items():
                add_table(out, fill_index(key, parts.index, k), table)
        return out
    out = {}
    for part in parts:
        for key, table in flatten_parts(part).items():
            add_table(out, key, table)
    return out


def add_table(out, key, table):
    """Add a table; two of the same key are a mistake."""
    if key in out:
        raise ValueError(f"{key!r} is declared twice: does its name lack an index?")
    out[key] = table


def fill_index(key: str, index: str, k: int) -> str:
    """A key with the index put in, eq. (1) and (2)."""

    def number(match):
        word, sign, step = match.groups()
        if word != index:
            return match.group(0)
        at = k + int(f"{sign or '+'}{step or 0}")
        if at < 0:
            raise ValueError(
                f"{key!r} reaches before the first copy: use start= of its plate."
            )
        return f"[{at}]"

    return INDEX.sub(number, key)
