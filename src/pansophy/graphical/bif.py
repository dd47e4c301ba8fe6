"""Networks as text: the Bayesian interchange format, read and written.

    network alarm { }
    variable rain { type discrete [ 2 ] { no, yes }; }
    variable wet { type discrete [ 2 ] { no, yes }; }
    probability ( rain ) { table 0.8, 0.2; }
    probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }

A row of a table names states of the parents in their order; `default` fills the rows
not named; `table` lists all entries with the states of the node changing slowest and
those of the last parent fastest. Comments, properties and quotes are allowed anywhere,
commas are optional. Numbers are written so that they are read back exactly; labels
come back as text. Rows that miss 1 by rounding in the file are scaled to it.

Refs      [Cozman1998]
"""

import re
from os import PathLike
from pathlib import Path

import numpy as np

from .bayesian_network import BayesianNetwork
from .structure_learning import discrete_tables
from .variables import VariableSpace, check_states

COMMENT = r"//[^\n]*|/\*.*?\*/"
WORD = r'(?:(?!//|/\*)[^\s{}()\[\];,|"])+'
TOKEN = re.compile(rf'"[^"]*"|{COMMENT}|[{{}}()\[\];,|]|{WORD}', re.DOTALL)
UNQUOTED = re.compile(WORD)
ROUNDING = 1e-2  # how far a row of a file may be from summing to 1


class BifTokens:
    """The words of a text, one after another."""

    def __init__(self, text: str):
        found = TOKEN.findall(text.removeprefix("\ufeff"))
        self.words = [w for w in found if not w.startswith(("//", "/*"))]
        self.at = 0

    def __bool__(self):
        return self.at < len(self.words)

    def next(self) -> str:
        if not self:
            raise ValueError("the BIF text ends in the middle of a block.")
        self.at += 1
        return self.words[self.at - 1]

    def want(self, word: str) -> None:
        got = self.next()
        if got != word:
            raise ValueError(f"the BIF text has {got!r} where {word!r} should stand.")

    def name(self) -> str:
        return self.next().strip('"')

    def until(self, *ends: str) -> list[str]:
        """Words up to one of the ends, which is taken too, without commas."""
        out = []
        while (word := self.next()) not in ends:
            if word != ",":
                out.append(word.strip('"'))
        return out


def skip_bif_block(r: BifTokens) -> None:
    """Pass over { ... }."""
    while r.next() != "{":
        pass
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(r.next(), 0)


def read_bif_variable(r: BifTokens):
    """Name and states."""
    name, states = r.name(), None
    r.want("{")
    while (word := r.next()) != "}":
        if word == "type":
            kind = r.next()
            if kind != "discrete":
                raise ValueError(f"variable {name!r} is {kind}: only discrete is read.")
            told = [w for w in r.until("{") if w not in "[]"]
            states = check_states(r.until("}"), name)
            if told and told != [str(len(states))]:
                raise ValueError(
                    f"variable {name!r} lists {len(states)} states, not {told[0]}."
                )
            r.until(";")
        else:
            r.until(";")
    if not states:
        raise ValueError(f"variable {name!r} has no states.")
    return name, states


def read_bif_probability(r: BifTokens):
    """Node, its parents, and the rows of its table: (parents' states, numbers)."""
    r.want("(")
    words = r.until(")")
    own, above = words[0], [w for w in words[1:] if w != "|"]
    r.want("{")
    rows: list[tuple] = []
    while (word := r.next()) != "}":
        if word == "(":
            key = tuple(r.until(")"))
            rows.append((key, read_bif_numbers(r, own)))
        elif word in ("table", "default"):
            rows.append((word, read_bif_numbers(r, own)))
        else:
            r.until(";")
    return own, above, rows


def read_bif_numbers(r: BifTokens, own) -> list[float]:
    words = r.until(";")
    try:
        return [float(w) for w in words]
    except ValueError:
        raise ValueError(
            f"the table of {own!r} holds {' '.join(words)!r}, which are no numbers."
        ) from None


def fill_probability_table(own, above, rows, space: VariableSpace) -> np.ndarray:
    """The table of a node, its rows checked and scaled to sum to 1."""
    shape = tuple(space.sizes[space.number(v)] for v in (*above, own))
    table = np.full(shape, np.nan)
    for key, values in sorted(rows, key=lambda row: row[0] != "default"):
        if key == "table":
            if len(values) != table.size:
                raise ValueError(
                    f"the table of {own!r} has {len(values)} entries for {table.size}."
                )
            turned = np.reshape(values, (shape[-1], *shape[:-1]))
            table[...] = np.moveaxis(turned, 0, -1)
            continue
        if len(values) != shape[-1]:
            raise ValueError(
                f"a row of {own!r} has {len(values)} entries for {shape[-1]} states."
            )
        if key == "default":
            table[...] = values
        elif len(key) != len(above):
            raise ValueError(f"row {key} of {own!r} must name {len(above)} states.")
        else:
            at = [space.code(v, s) for v, s in zip(above, key, strict=True)]
            table[tuple(at)] = values
    total = table.sum(axis=-1, keepdims=True)
    if np.isnan(table).any():
        raise ValueError(f"the table of {own!r} does not give every row.")
    if (table < 0).any() or np.abs(total - 1).max() > ROUNDING:
        raise ValueError(f"a row of the table of {own!r} does not sum to 1.")
    return np.where(np.abs(total - 1) > 1e-12, table / total, table)


def parse_bif(text: str):
    """Space, parents and tables of a network in BIF text."""
    r, states, parts = BifTokens(text), {}, []
    while r:
        word = r.next()
        if word == "network":
            skip_bif_block(r)
        elif word == "variable":
            name, own = read_bif_variable(r)
            if name in states:
                raise ValueError(f"variable {name!r} is defined twice.")
            states[name] = own
        elif word == "probability":
            parts.append(read_bif_probability(r))
        elif word == "property":
            r.until(";")
        else:
            raise ValueError(f"the BIF text has {word!r} where a block should begin.")
    if not states:
        raise ValueError("the BIF text has no variable.")
    space = VariableSpace(tuple(states), tuple(states.values()))
    parents: list[tuple[int, ...]] = [()] * len(states)
    tables: list = [None] * len(states)
    for own, above, rows in parts:
        j = space.number(own)
        if tables[j] is not None:
            raise ValueError(f"variable {own!r} has two probability blocks.")
        parents[j] = tuple(space.number(v) for v in above)
        tables[j] = fill_probability_table(own, above, rows, space)
    for name, table in zip(space.names, tables, strict=True):
        if table is None:
            raise ValueError(f"variable {name!r} has no probability block.")
    return space, tuple(parents), tables


def read_bif(source):
    """A Bayesian network from a BIF file or from BIF text.

    Parameters
    ----------
    source : path, file object or str
        A str with a brace in it is the text itself. A name that ends in .gz is
        unpacked.

    Returns
    -------
    network : BayesianNetwork

    Examples
    --------
    >>> from pansophy.graphical import read_bif
    >>> network = read_bif('''
    ...     network weather { }
    ...     variable rain { type discrete [ 2 ] { no, yes }; }
    ...     variable wet { type discrete [ 2 ] { no, yes }; }
    ...     probability ( rain ) { table 0.8, 0.2; }
    ...     probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
    ... ''')
    >>> network.space.names, network.parents
    (('rain', 'wet'), ((), (0,)))
    """
    return BayesianNetwork.from_nodes(*parse_bif(read_bif_text(source)))


def read_bif_text(source) -> str:
    if hasattr(source, "read"):
        data = source.read()
        return decode_bif_bytes(data) if isinstance(data, bytes) else data
    if isinstance(source, str) and "{" in source:
        return source
    path = Path(source)
    if path.suffix == ".gz":
        import gzip

        return decode_bif_bytes(gzip.decompress(path.read_bytes()))
    return decode_bif_bytes(path.read_bytes())


def decode_bif_bytes(data: bytes) -> str:
    """Text in UTF-8, or in the Latin alphabet of old files."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def quote_bif_label(word) -> str:
    """A label as the format takes it."""
    word = str(word)
    if '"' in word:
        raise ValueError(f"the label {word!r} holds a quote, which BIF cannot say.")
    return word if UNQUOTED.fullmatch(word) else f'"{word}"'


def write_bif(network, path: str | PathLike | None = None, *, name="network") -> str:
    """The BIF text of a discrete network, written to a file if a path is given.

    Parameters
    ----------
    network : BayesianNetwork
    path : path, optional
    name : str, default="network"
    """
    space, parents, tables = discrete_tables(network)
    lines = [f"network {quote_bif_label(name)} {{\n}}"]
    for variable, states in zip(space.names, space.states, strict=True):
        check_states([str(s) for s in states], variable)  # 1 and "1" look alike
        listed = ", ".join(quote_bif_label(s) for s in states)
        kind = f"type discrete [ {len(states)} ] {{ {listed} }};"
        lines.append(f"variable {quote_bif_label(variable)} {{\n  {kind}\n}}")
    for j, table in enumerate(tables):
        own, above = quote_bif_label(space.names[j]), parents[j]
        numbers = lambda row: ", ".join(repr(float(v)) for v in row)
        if not above:
            lines.append(f"probability ( {own} ) {{\n  table {numbers(table)};\n}}")
            continue
        given = ", ".join(quote_bif_label(space.names[p]) for p in above)
        lines.append(f"probability ( {own} | {given} ) {{")
        for at in np.ndindex(table.shape[:-1]):
            pairs = zip(above, at, strict=True)
            key = ", ".join(quote_bif_label(space.states[p][c]) for p, c in pairs)
            lines.append(f"  ({key}) {numbers(table[at])};")
        lines.append("}")
    text = "\n".join(lines) + "\n"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
