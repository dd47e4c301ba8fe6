"""Reading and writing networks in the Bayesian Interchange Format (BIF).

    network alarm { }
    variable rain { type discrete [ 2 ] { no, yes }; }
    variable wet { type discrete [ 2 ] { no, yes }; }
    probability ( rain ) { table 0.8, 0.2; }
    probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }

A row of a table names the states of the parents in order; `default` fills the other
rows; `table` lists all entries, the states of the node slowest and those of the last
parent fastest. Comments, properties and quotes are allowed anywhere,
commas are optional. Numbers are written so that they are read back exactly; labels
come back as text. Rows whose sum differs from 1 by rounding are rescaled.

Refs      [Cozman1998]
"""

import re
from os import PathLike
from pathlib import Path

import numpy as np

from ...core.files.atomic_files import write_text_file
from .bayesian_network import BayesianNetwork
from .conditional_distributions import ConditionalTable
from .variables import VariableSpace, check_states

COMMENT = r"//[^\n]*|/\*.*?\*/"
WORD = r'(?:(?!//|/\*)[^\s{}()\[\];,|"])+'
TOKEN = re.compile(rf'"[^"]*"|{COMMENT}|[{{}}()\[\];,|]|{WORD}', re.DOTALL)
UNQUOTED = re.compile(WORD)
ROUNDING = 1e-2  # allowed deviation of the sum of a row from 1


class BifTokens:
    """The tokens of a text, one after another."""

    def __init__(self, text: str):
        tokens = TOKEN.findall(text.removeprefix("\ufeff"))
        self.words = [w for w in tokens if not w.startswith(("//", "/*"))]
        self.at = 0

    def __bool__(self):
        return self.at < len(self.words)

    def next(self) -> str:
        if not self:
            raise ValueError("the BIF text ends in the middle of a block.")
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, word: str) -> None:
        """Consume a token; raises if it is another one."""
        got = self.next()
        if got != word:
            raise ValueError(f"the BIF text has {got!r} where {word!r} should stand.")

    def name(self) -> str:
        return self.next().strip('"')

    def until(self, *ends: str) -> list[str]:
        """Tokens without commas up to one of the ends, which is consumed too."""
        words = []
        while (word := self.next()) not in ends:
            if word != ",":
                words.append(word.strip('"'))
        return words


def _skip_bif_block(r: BifTokens) -> None:
    """Skip a block { ... }."""
    while r.next() != "{":
        pass
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(r.next(), 0)


def _read_bif_variable(r: BifTokens):
    """Name and states of a variable block."""
    name = r.name()
    states = None
    r.expect("{")
    while (token := r.next()) != "}":
        if token == "type":
            type_name = r.next()
            if type_name != "discrete":
                raise ValueError(
                    f"variable {name!r} is {type_name}: only discrete is read."
                )
            declared = [w for w in r.until("{") if w not in "[]"]
            states = check_states(r.until("}"), name)
            if declared and declared != [str(len(states))]:
                raise ValueError(
                    f"variable {name!r} lists {len(states)} states, not {declared[0]}."
                )
            r.until(";")
        else:
            r.until(";")
    if not states:
        raise ValueError(f"variable {name!r} has no states.")
    return name, states


def _read_bif_probability(r: BifTokens):
    """Node, parents, and rows of the table: (states of the parents, numbers)."""
    r.expect("(")
    names = r.until(")")
    node = names[0]
    parents = [w for w in names[1:] if w != "|"]
    r.expect("{")
    rows: list[tuple] = []
    while (token := r.next()) != "}":
        if token == "(":
            key = tuple(r.until(")"))
            rows.append((key, _read_bif_numbers(r, node)))
        elif token in ("table", "default"):
            rows.append((token, _read_bif_numbers(r, node)))
        else:
            r.until(";")
    return node, parents, rows


def _read_bif_numbers(r: BifTokens, node) -> list[float]:
    """The numbers of one row."""
    tokens = r.until(";")
    try:
        return [float(w) for w in tokens]
    except ValueError:
        raise ValueError(
            f"the table of {node!r} holds {' '.join(tokens)!r}, which are no numbers."
        ) from None


def _fill_probability_table(node, parents, rows, space: VariableSpace) -> np.ndarray:
    """The table of a node from its rows, checked and scaled to sum to 1."""
    shape = tuple(space.sizes[space.number(v)] for v in (*parents, node))
    table = np.full(shape, np.nan)
    for key, values in sorted(rows, key=lambda row: row[0] != "default"):
        if key == "table":
            if len(values) != table.size:
                raise ValueError(
                    f"the table of {node!r} has {len(values)} entries for {table.size}."
                )
            by_state = np.reshape(values, (shape[-1], *shape[:-1]))
            table[...] = np.moveaxis(by_state, 0, -1)
            continue
        if len(values) != shape[-1]:
            raise ValueError(
                f"a row of {node!r} has {len(values)} entries for {shape[-1]} states."
            )
        if key == "default":
            table[...] = values
        elif len(key) != len(parents):
            raise ValueError(f"row {key} of {node!r} must name {len(parents)} states.")
        else:
            position = [space.code(v, s) for v, s in zip(parents, key, strict=True)]
            table[tuple(position)] = values
    total = table.sum(axis=-1, keepdims=True)
    if np.isnan(table).any():
        raise ValueError(f"the table of {node!r} does not give every row.")
    if (table < 0).any() or np.abs(total - 1).max() > ROUNDING:
        raise ValueError(f"a row of the table of {node!r} does not sum to 1.")
    return np.where(np.abs(total - 1) > 1e-12, table / total, table)


def parse_bif(text: str):
    """Variables, parents and tables of a network in BIF text."""
    tokens = BifTokens(text)
    states = {}
    blocks = []
    while tokens:
        token = tokens.next()
        if token == "network":
            _skip_bif_block(tokens)
        elif token == "variable":
            name, node = _read_bif_variable(tokens)
            if name in states:
                raise ValueError(f"variable {name!r} is defined twice.")
            states[name] = node
        elif token == "probability":
            blocks.append(_read_bif_probability(tokens))
        elif token == "property":
            tokens.until(";")
        else:
            raise ValueError(f"the BIF text has {token!r} where a block should begin.")
    if not states:
        raise ValueError("the BIF text has no variable.")
    space = VariableSpace(tuple(states), tuple(states.values()))
    parents: list[tuple[int, ...]] = [()] * len(states)
    tables: list = [None] * len(states)
    for node, node_parents, rows in blocks:
        j = space.number(node)
        if tables[j] is not None:
            raise ValueError(f"variable {node!r} has two probability blocks.")
        parents[j] = tuple(space.number(v) for v in node_parents)
        tables[j] = _fill_probability_table(node, node_parents, rows, space)
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
    return BayesianNetwork.from_nodes(*parse_bif(_read_bif_text(source)))


def _read_bif_text(source) -> str:
    """The text of a path, file object or string."""
    if hasattr(source, "read"):
        data = source.read()
        return _decode_bif_bytes(data) if isinstance(data, bytes) else data
    if isinstance(source, str) and "{" in source:
        return source
    path = Path(source)
    if path.suffix == ".gz":
        import gzip

        return _decode_bif_bytes(gzip.decompress(path.read_bytes()))
    return _decode_bif_bytes(path.read_bytes())


def _decode_bif_bytes(data: bytes) -> str:
    """Bytes as UTF-8, or as Latin-1 in old files."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _quote_bif_label(label) -> str:
    """A label in quotes if the format needs them."""
    label = str(label)
    if '"' in label:
        raise ValueError(f"the label {label!r} holds a quote, which BIF cannot say.")
    return label if UNQUOTED.fullmatch(label) else f'"{label}"'


def write_bif(network, path: str | PathLike | None = None, *, name="network") -> str:
    """The BIF text of a discrete network, written to a file if a path is given.

    Parameters
    ----------
    network : BayesianNetwork
    path : path, optional
    name : str, default="network"
    """
    space, parents, tables = _discrete_tables(network)
    lines = [f"network {_quote_bif_label(name)} {{\n}}"]
    for variable, states in zip(space.names, space.states, strict=True):
        check_states([str(s) for s in states], variable)  # 1 and "1" have the same text
        listed = ", ".join(_quote_bif_label(s) for s in states)
        kind = f"type discrete [ {len(states)} ] {{ {listed} }};"
        lines.append(f"variable {_quote_bif_label(variable)} {{\n  {kind}\n}}")
    for j, table in enumerate(tables):
        node = _quote_bif_label(space.names[j])
        node_parents = parents[j]
        numbers = lambda row: ", ".join(repr(float(v)) for v in row)
        if not node_parents:
            lines.append(f"probability ( {node} ) {{\n  table {numbers(table)};\n}}")
            continue
        parent_names = ", ".join(_quote_bif_label(space.names[p]) for p in node_parents)
        lines.append(f"probability ( {node} | {parent_names} ) {{")
        for configuration in np.ndindex(table.shape[:-1]):
            pairs = zip(node_parents, configuration, strict=True)
            key = ", ".join(_quote_bif_label(space.states[p][c]) for p, c in pairs)
            lines.append(f"  ({key}) {numbers(table[configuration])};")
        lines.append("}")
    text = "\n".join(lines) + "\n"
    if path is not None:
        write_text_file(path, text)
    return text


def _discrete_tables(network):
    """Variables, parents and tables of a network, if all its nodes are tables."""
    for name, node in zip(network.space.names, network.nodes, strict=True):
        if not isinstance(node, ConditionalTable):
            raise ValueError(f"{name!r} is continuous and has no table.")
    return network.space, network.parents, [node.prob for node in network.nodes]
