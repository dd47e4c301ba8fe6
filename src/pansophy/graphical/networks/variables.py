"""Names of variables and of their states, translated to numbers and back.

Internally variables are 0 .. d-1 and their states 0 .. size-1; a `VariableSpace`
translates. A variable without states (an empty tuple) is continuous, of size 0.

Shapes    names (d,)   states: d tuples   sizes (d,)
"""

import difflib
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np


class _VariableSpace(NamedTuple):
    names: tuple[str, ...]
    states: tuple[tuple, ...]


class VariableSpace(_VariableSpace):
    """Names of variables and the states of each.

    Parameters
    ----------
    names : tuple of str
    states : tuple of tuples
        The states of each variable, in the order of their codes; an empty tuple for
        a continuous variable.

    Examples
    --------
    >>> from pansophy.graphical.networks.variables import VariableSpace
    >>> space = VariableSpace(("rain", "grass"), (("no", "yes"), ("dry", "wet")))
    >>> space.number("grass"), space.code("grass", "wet"), space.sizes
    (1, 1, (2, 2))
    """

    @cached_property
    def _numbers(self) -> dict:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _codes(self) -> list[dict]:
        return [{s: c for c, s in enumerate(states)} for states in self.states]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each variable, 0 for a continuous one."""
        return tuple(len(s) for s in self.states)

    @cached_property
    def all_discrete(self) -> bool:
        """Whether every variable has states."""
        return 0 not in self.sizes

    @classmethod
    def of_sizes(cls, sizes: Iterable[int], names=None) -> "VariableSpace":
        """Variables x0, x1, ... (or `names`) with states 0 .. size-1."""
        sizes = tuple(int(s) for s in sizes)
        names = tuple(f"x{i}" for i in range(len(sizes))) if names is None else names
        return cls(tuple(names), tuple(tuple(range(s)) for s in sizes))

    def number(self, name) -> int:
        """The number of a variable given by its name or number."""
        try:
            return self._numbers[name]
        except (KeyError, TypeError):
            is_integer = isinstance(name, (int, np.integer)) and not isinstance(
                name, bool
            )
            if (
                is_integer and str(name) in self._numbers
            ):  # a data frame with numbers as names
                return self._numbers[str(name)]
            if is_integer and 0 <= name < len(self.names):
                return int(name)
        hint = suggest_name(name, self.names, "variables")
        raise ValueError(f"no variable is called {name!r}{hint}.") from None

    def code(self, name, state: Any) -> int:
        """The number of a state of a variable."""
        return self.code_at(self.number(name), state)

    def code_at(self, i: int, state: Any) -> int:
        """The number of a state of variable i."""
        state = state.item() if isinstance(state, np.generic) else state
        try:
            return self._codes[i][state]
        except (KeyError, TypeError):
            hint = suggest_name(state, self.states[i], "states")
            raise ValueError(
                f"variable {self.names[i]!r} has no state {state!r}{hint}."
            ) from None

    def label(self, name, code: int):
        """The state of a variable with this number."""
        return self.states[self.number(name)][int(code)]

    def numbers(self, names) -> tuple[int, ...]:
        """The numbers of one or several variables."""
        if isinstance(names, (str, int, np.integer)):
            names = [names]
        return tuple([self.number(n) for n in names])

    def codes(self, evidence) -> dict[int, int]:
        """Evidence by name as a dict of variable numbers and state codes."""
        items = dict(evidence or {}).items()
        return {self.number(n): self.code(n, s) for n, s in items}

    def is_discrete(self, i: int) -> bool:
        """Whether variable i has states."""
        return len(self.states[i]) > 0


def check_states(states, name) -> tuple:
    """The states of a variable as a tuple; raises if empty or not distinct."""
    labels = tuple(states)
    if not labels or len(set(labels)) < len(labels):
        raise ValueError(
            f"the states of {name!r} must be one label or more, each once: {states!r}."
        )
    return labels


def suggest_name(name, known, kind: str) -> str:
    """The end of an error message about an unknown name: the closest one, or all."""
    by_text = {str(k): k for k in known}
    matches = difflib.get_close_matches(str(name), list(by_text), n=1, cutoff=0.6)
    if matches:
        return f"; did you mean {by_text[matches[0]]!r}?"[:-1]
    listed = [repr(k) for k in list(known)[:12]]
    ellipsis = ", ..." if len(by_text) > 12 else ""
    return (
        f"; its {kind} are {', '.join(listed)}{ellipsis}"
        if by_text
        else f"; it has no {kind}"
    )


class ZeroProbabilityError(ValueError):
    """Evidence that has probability zero under a model."""


def zero_probability_error(evidence) -> ZeroProbabilityError:
    """The error about evidence of probability zero."""
    listed = ", ".join(f"{name}={state!r}" for name, state in dict(evidence).items())
    return ZeroProbabilityError(
        f"the evidence {listed or '(none)'} has probability 0 under this network."
    )
