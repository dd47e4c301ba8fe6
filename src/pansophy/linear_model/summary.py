"""Summary tables of fitted models: coefficients, standard errors, tests, intervals.

For coefficients b with standard errors s, and F the t distribution on df degrees of
freedom (the normal where df is infinite),

    t = b / s,   p = 2 (1 - F(|t|)),   b +- s F^-1((1 + level) / 2)              (1)

`wald_table` makes those columns; `Summary` holds them with a title, header pairs and
notes, and renders them as text and HTML. A model of several targets keeps one column of
every array per target and prints one table for each.

Shapes    b, s, t, p (p,), or (p, k) for k targets
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
from scipy import stats

SIGNIFICANT_DIGITS = 6  # significant digits of a printed number
NOTE_WIDTH = 79  # characters of a line of notes


def wald_table(coef, std_error, *, level=0.95, df=np.inf) -> dict[str, np.ndarray]:
    """Estimate, standard error, statistic, p value and interval, eq. (1).

    Examples
    --------
    >>> table = wald_table(np.array([2.0]), np.array([1.0]))
    >>> list(table)
    ['coef', 'std error', 'z', 'p', 'low', 'high']
    >>> table["p"].round(4), table["low"].round(4)
    (array([0.0455]), array([0.04]))
    """
    coef = np.asarray(coef, float)
    std_error = np.asarray(std_error, float)
    normal = bool(np.all(np.isinf(df)))
    distribution = stats.norm() if normal else stats.t(df)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coef / std_error
    half = std_error * distribution.ppf((1 + level) / 2)
    return {
        "coef": coef,
        "std error": std_error,
        "z" if normal else "t": t,
        "p": 2 * distribution.sf(np.abs(t)),
        "low": coef - half,
        "high": coef + half,
    }


def coefficient_names(model, *, intercept=None) -> tuple[str, ...]:
    """Names of the coefficients, the intercept first where the model has one."""
    known = getattr(model, "feature_names_in_", None)
    width = model.n_features_in_
    names = [f"x{j}" for j in range(width)] if known is None else map(str, known)
    first = getattr(model, "fit_intercept", False) if intercept is None else intercept
    return (*(("intercept",) if first else ()), *names)


@dataclass(frozen=True, repr=False)
class Summary:
    """A table about a fitted model; `summary["p"]` and `summary["R2"]` are numbers.

    Parameters
    ----------
    title : str
    header : mapping of str to number, str or array of shape (n_targets,)
        What is said about the model as a whole, in printing order.
    terms : sequence of str
        Names of the rows of the table.
    columns : mapping of str to array of shape (n_terms,) or (n_terms, n_targets)
        The table, in printing order; columns named "p" print as probabilities.
    notes : sequence of str
        Sentences below the table.
    targets : sequence of str
        Names of the targets where there are several: one table for each.

    Examples
    --------
    >>> table = wald_table([1.5, -0.25], [0.5, 0.5])
    >>> s = Summary("Model", {"rows": 10, "R2": 0.5}, ("intercept", "x0"), table)
    >>> print(s)
    Model
    -----
    rows  10    R2  0.5
    <BLANKLINE>
               coef  std error     z      p       low     high
    intercept   1.5        0.5     3  0.003  0.520018  2.47998
    x0        -0.25        0.5  -0.5  0.617  -1.22998  0.729982
    >>> s["R2"], s["coef"]
    (0.5, array([ 1.5 , -0.25]))
    """

    title: str
    header: Mapping[str, Any]
    terms: tuple[str, ...]
    columns: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    targets: tuple[str, ...] = field(default=())

    def __getitem__(self, name):
        """A column of the table, or an entry of the header."""
        for part in (self.columns, self.header):
            if name in part:
                return part[name]
        raise KeyError(
            f"no {name!r} here; there are {', '.join([*self.columns, *self.header])}."
        )

    def __repr__(self):
        return self.to_text()

    def to_frame(self, backend="pandas"):
        """The table as a data frame of pandas, polars or any of narwhals' libraries."""
        import narwhals as nw

        data: dict[str, Any] = {"term": list(self.terms)}
        k = len(self.targets)
        if k:
            data = {
                "target": [name for name in self.targets for _ in self.terms],
                "term": list(self.terms) * k,
            }
        for name, column in self.columns.items():
            data[name] = np.asarray(column).T.ravel() if k else np.asarray(column)
        return nw.from_dict(data, backend=backend).to_native()

    def to_text(self) -> str:
        """The summary as plain text."""
        out = [self.title, "-" * len(self.title)]
        for name, pairs, table in self._parts():
            out += [f"[{name}]"] if name else []
            out += [
                *align_cells(two_pairs_per_row(pairs), left=True),
                "",
                *align_cells(table),
                "",
            ]
        notes = [line for note in self.notes for line in wrap(note, NOTE_WIDTH)]
        return "\n".join(out[:-1] + ([""] if notes else []) + notes)

    def _repr_html_(self) -> str:
        """The summary as an HTML fragment, for notebooks."""
        out = [f"<h4>{escape(self.title)}</h4>"]
        for name, pairs, table in self._parts():
            out += [f"<h5>{escape(name)}</h5>"] if name else []
            out += [html_table(pairs, head=False), html_table(table)]
        out += [f"<p>{escape(note)}</p>" for note in self.notes]
        return "\n".join(out)

    def _parts(self):
        """For each target its name, its header and its table, as rows of strings."""
        for j in range(max(len(self.targets), 1)):
            of = lambda a, j=j: a[..., j] if self.targets and np.ndim(a) else a
            columns = {
                n: np.asarray(of(np.asarray(c))) for n, c in self.columns.items()
            }
            pairs = [
                (label, format_value(of(v), label)) for label, v in self.header.items()
            ]
            table = [("", *columns)]
            for i, term in enumerate(self.terms):
                table.append(
                    (term, *(format_value(c[i], n) for n, c in columns.items()))
                )
            yield (self.targets[j] if self.targets else ""), pairs, table


def two_pairs_per_row(pairs):
    """Header pairs in two columns, read down the left and then down the right."""
    half = -(-len(pairs) // 2)
    right = [*pairs[half:], *[("", "")] * (2 * half - len(pairs))]
    return [(*a, " ", *b) for a, b in zip(pairs[:half], right, strict=True)]


def format_value(value, label="") -> str:
    """A value as it is printed."""
    if isinstance(value, (str, bool, int, np.integer)):
        return str(value)
    if np.ndim(value):
        return " ".join(format_value(v, label) for v in value)
    value = float(value)
    if label == "p" or label.startswith("p ("):
        return "<0.001" if value < 0.0005 else f"{value:.3f}"
    return f"{value:.{SIGNIFICANT_DIGITS}g}"


def align_cells(table, *, left=False):
    """Rows of strings as aligned lines; to the right unless `left`."""
    if not table:
        return []
    widths = [max(len(w) for w in column) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        padded = [
            w.ljust(k) if left or j == 0 else w.rjust(k)
            for j, (w, k) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def html_table(table, *, head=True) -> str:
    """Rows of strings as an HTML table, the first row as its head."""
    out = []
    for i, (first, *rest) in enumerate(table):
        tag = "th" if head and i == 0 else "td"
        cells = "".join(f"<{tag}>{escape(w)}</{tag}>" for w in rest)
        out.append(f"<tr><th>{escape(first)}</th>{cells}</tr>")
    return "<table>" + "".join(out) + "</table>"
