"""Constrained decoding: only texts of a set, or of a grammar, can be generated.

A constraint reads a text byte by byte, state in, state out:

    start             the state before the first byte
    step(state, b)    the state after one more byte, or None if no text goes on so
    is_final(state)   whether the bytes so far are a whole text                    (1)

`StringSet` walks in a tree of its strings. `Grammar` is context free; its state is the
chart of Earley's recogniser: items (rule, dot, origin), which byte i adds to by

    scan       a rule that waits for this byte moves on
    predict    the rules of a name that some rule waits for begin
    complete   a finished rule moves on those that waited for its name             (2)

`allowed_tokens` turns (1) into what `core.chains.decoding.decode` takes: the tokens
whose bytes the constraint reads, found by walking the tree of all tokens along with it,
so that a branch ends at the first byte that does not fit. A text may be cut into tokens
in any way. The end is allowed where the text is whole.

Cost      StringSet O(bytes that fit); Grammar O(n^2) for most grammars of n bytes
Refs      [Earley1970]; [Aycock2002] empty rules
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol


class DecodingConstraint(Protocol):
    """Reads a text byte by byte, eq. (1)."""

    start: Any

    def step(self, state: Any, byte: int) -> Any: ...

    def is_final(self, state: Any) -> bool: ...


class StringSet:
    """The constraint that a text is one of some strings.

    Parameters
    ----------
    strings : iterable of str

    Examples
    --------
    >>> from pansophy.text import StringSet
    >>> colours = StringSet(["red", "rose"])
    >>> colours.accepts("red"), colours.accepts("re")
    (True, False)
    """

    def __init__(self, strings: Iterable[str]):
        if isinstance(strings, str):
            raise ValueError("strings must be a collection of texts, got one text.")
        self.start = 0
        self.children: list[dict[int, int]] = [{}]
        self.ends = set()
        for string in strings:
            node = 0
            for byte in string.encode():
                if byte not in self.children[node]:
                    self.children[node][byte] = len(self.children)
                    self.children.append({})
                node = self.children[node][byte]
            self.ends.add(node)
        if not self.ends:
            raise ValueError("strings must not be empty.")

    def step(self, state, byte):
        return self.children[state].get(byte)

    def is_final(self, state) -> bool:
        return state in self.ends

    def accepts(self, text) -> bool:
        """Whether a text is in the set."""
        return _accepts_text(self, text)


class Rule(NamedTuple):
    """A name and what it may be: names of rules, and sets of bytes."""

    name: str
    symbols: tuple


class Item(NamedTuple):
    """A rule of which `dot` symbols have been read since byte `origin`."""

    rule: int
    dot: int
    origin: int


# a literal, a class of characters, the name of a rule, or a bar
SYMBOL = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|\[((?:[^\]\\]|\\.)+)\]|([A-Za-z_]\w*)|(\|))"""
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Grammar:
    """The constraint that a text follows a context-free grammar.

    Parameters
    ----------
    text : str
        A rule a line: ``name = alternative | alternative``. An alternative is a row
        of literals in double quotes, classes of characters such as ``[0-9a-f]``, and
        names of rules; ``""`` is the empty text, a backslash takes the meaning from
        a character. A text must follow the first rule. A line without ``=`` goes on
        with the rule before; what follows ``#`` at the start of a line is left out.

    Examples
    --------
    >>> from pansophy.text import Grammar
    >>> sums = Grammar('''
    ... sum = number | sum "+" number
    ... number = [0-9] | [1-9] number
    ... ''')
    >>> sums.accepts("12+7"), sums.accepts("12+")
    (True, False)
    """

    def __init__(self, text: str):
        self.rules: list[Rule] = []
        names = _read_rules(text, self.rules)
        self.by_name = {
            name: [i for i, rule in enumerate(self.rules) if rule.name == name]
            for name in dict.fromkeys(rule.name for rule in self.rules)
        }
        for rule in self.rules:
            for symbol in rule.symbols:
                if isinstance(symbol, str) and symbol not in self.by_name:
                    raise ValueError(
                        f"rule {rule.name!r} of the grammar names {symbol!r}, which "
                        "has no rule."
                    )
        self.nullable = _nullable_names(self.rules)
        self.first = names[0]
        begin = {Item(i, 0, 0) for i in self.by_name[self.first]}
        self.start = (self.closure(begin, ()),)

    def closure(self, items, before) -> frozenset:
        """All items of one place: predictions and completions, eq. (2)."""
        place = len(before)
        result = set(items)
        open_items = list(items)
        while open_items:
            item = open_items.pop()
            name, symbols = self.rules[item.rule]
            new = []
            if item.dot == len(symbols):
                # a rule that began here is empty: `nullable` has moved on its waiters
                waiting = () if item.origin == place else before[item.origin]
                new = [
                    item._replace(dot=item.dot + 1)
                    for item in waiting
                    if self.next_symbol(item) == name
                ]
            elif isinstance(symbols[item.dot], str):
                wanted = symbols[item.dot]
                new = [Item(i, 0, place) for i in self.by_name[wanted]]
                if wanted in self.nullable:
                    new.append(item._replace(dot=item.dot + 1))
            for prediction in new:
                if prediction not in result:
                    result.add(prediction)
                    open_items.append(prediction)
        return frozenset(result)

    def next_symbol(self, item):
        """Symbol that an item waits for: a name, a set of bytes, or None at its end."""
        symbols = self.rules[item.rule].symbols
        return symbols[item.dot] if item.dot < len(symbols) else None

    def step(self, state, byte):
        moved = set()
        for item in state[-1]:
            symbol = self.next_symbol(item)
            if isinstance(symbol, frozenset) and byte in symbol:
                moved.add(item._replace(dot=item.dot + 1))
        return (*state, self.closure(moved, state)) if moved else None

    def is_final(self, state) -> bool:
        return any(
            item.origin == 0
            and self.rules[item.rule].name == self.first
            and self.next_symbol(item) is None
            for item in state[-1]
        ) or (len(state) == 1 and self.first in self.nullable)

    def accepts(self, text) -> bool:
        """Whether a text follows the grammar."""
        return _accepts_text(self, text)


def _read_rules(text, rules) -> list[str]:
    """Add the rules of a grammar's text to a list; their names in order."""
    names: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        head = re.match(r"([A-Za-z_]\w*)\s*=", line)
        if head:
            names.append(head[1])
            line = line[head.end() :]
        elif not names:
            raise ValueError(f"line {number} of the grammar has no name before a '='.")
        else:
            line = line.removeprefix("|")
        for symbols in _read_alternatives(line, number, names[-1], rules):
            rules.append(Rule(names[-1], symbols))
    if not names:
        raise ValueError("the grammar has no rules.")
    return list(dict.fromkeys(names))


def _read_alternatives(line, number, name, rules) -> list[tuple]:
    """The alternatives of a line, each a tuple of symbols."""
    results: list[list] = [[]]
    position = 0
    while line[position:].strip():
        match = SYMBOL.match(line, position)
        if match is None:
            raise ValueError(
                f"line {number} of the grammar cannot be read at "
                f"{line[position:].strip()!r}."
            )
        literal, chars, rule_name, _ = match.groups()
        if literal is not None:
            results[-1] += [frozenset([b]) for b in _unescaped(literal).encode()]
        elif chars is not None:
            results[-1].append(
                _character_class(chars, f"{name} {number}:{position}", rules)
            )
        elif rule_name is not None:
            results[-1].append(rule_name)
        else:
            results.append([])
        position = match.end()
    return [tuple(symbols) for symbols in results]


def _unescaped(text) -> str:
    """A text without the backslashes that take the meaning from characters."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), text)


def _character_class(text, name, rules):
    """A set of bytes; beyond ASCII a rule with an alternative for every character."""
    parts = re.findall(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", text)
    chars = []
    for low, high in parts:
        first = ord(_unescaped(low))
        last = ord(_unescaped(high)) if high else first
        if last < first:
            raise ValueError(
                f"[{text}] of the grammar holds no characters from {low} to {high}: "
                "the order is reversed."
            )
        chars += map(chr, range(first, last + 1))
    if all(c.isascii() for c in chars):
        return frozenset(map(ord, chars))
    for c in chars:
        rules.append(Rule(name, tuple(frozenset([b]) for b in c.encode())))
    return name


def _nullable_names(rules) -> set[str]:
    """Names that may be the empty text."""
    result: set[str] = set()
    old_size = -1
    while len(result) > old_size:
        old_size = len(result)
        result |= {r.name for r in rules if all(s in result for s in r.symbols)}
    return result


def _accepts_text(constraint: DecodingConstraint, text: str) -> bool:
    """Whether a constraint reads a whole text."""
    state = constraint.start
    for byte in text.encode():
        state = constraint.step(state, byte)
        if state is None:
            return False
    return constraint.is_final(state)


class TokenTree:
    """Tokens by their bytes: children of a node, and tokens that end at it."""

    def __init__(self, tokens: Iterable[bytes]):
        self.children: list[dict[int, int]] = [{}]
        self.tokens: list[list[int]] = [[]]
        for i, token in enumerate(tokens):
            node = 0
            for byte in token:
                if byte not in self.children[node]:
                    self.children[node][byte] = len(self.children)
                    self.children.append({})
                    self.tokens.append([])
                node = self.children[node][byte]
            if token:
                self.tokens[node].append(i)


def allowed_tokens(
    tokens: Iterable[bytes], constraint: DecodingConstraint, end: int
) -> Callable[[tuple], list[int]]:
    """The tokens that may follow others under a constraint.

    Parameters
    ----------
    tokens : the bytes of each token, in the order of their ids
        `tokens_` of a tokeniser, without its special tokens.
    constraint : StringSet, Grammar, or any object of eq. (1)
    end : int
        The token that ends a text.

    Returns
    -------
    allowed : function of the tokens so far, as `decode` and `beam_search` take it

    Examples
    --------
    >>> from pansophy.text import StringSet, allowed_tokens
    >>> allowed = allowed_tokens([b"a", b"b", b"ab"], StringSet(["ab", "b"]), end=3)
    >>> allowed(()), allowed((0,)), allowed((2,))
    ([0, 1, 2], [1], [3])
    """
    tree = TokenTree(tokens)
    spelled = list(tokens)
    states = {(): constraint.start}

    def state_after(sequence):
        if sequence not in states:
            state = state_after(sequence[:-1])
            for byte in spelled[sequence[-1]]:
                state = None if state is None else constraint.step(state, byte)
            states[sequence] = state
        return states[sequence]

    def allowed(sequence) -> list[int]:
        sequence = tuple(sequence)
        if end in sequence:
            return [end]
        state = state_after(sequence)
        results = []
        branches = [] if state is None else [(0, state)]
        while branches:
            node, grammar_state = branches.pop()
            for byte, child in tree.children[node].items():
                next_state = constraint.step(grammar_state, byte)
                if next_state is not None:
                    results += tree.tokens[child]
                    branches.append((child, next_state))
        if state is not None and constraint.is_final(state):
            results.append(end)
        return sorted(results)

    return allowed
