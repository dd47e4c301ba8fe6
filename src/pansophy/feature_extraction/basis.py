"""Basis functions: new columns by formulas, for models that are linear in them.

A model linear in its weights is as curved as its columns phi(x),

    f(x) = sum_k w_k phi_k(x)                                                    (1)

`BasisFeatures` makes phi from formulas ("x**2", "sin(x)", "x0 * x1"). In a formula x
stands for every column in turn, x0, x1, ... for one column, and so does a column's
name where the table has names. Polynomials and splines are scikit-learn's
`PolynomialFeatures` and `SplineTransformer`; `polynomial_size` says how many columns
the former will make before it tries.

Shapes    X (n, d)   phi (n, m)
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..base import Estimator, Transformer
from ..core import arrays
from ..params import Flag, ParameterError
from ..typing import ListLike
from .formulas import CONSTANTS, evaluate_formula, names_in_formula, parse_formula

MANY_COLUMNS = 1_000_000  # columns beyond which an expansion is worth a warning


def polynomial_size(d: int, degree: int) -> int:
    """Columns of all monomials of d variables up to a degree: C(d + degree, degree).

    Warns beyond a million.

    Examples
    --------
    >>> from pansophy.feature_extraction import polynomial_size
    >>> polynomial_size(3, 2)
    10
    """
    count = math.comb(d + degree, degree)
    if count > MANY_COLUMNS:
        warnings.warn(
            f"a polynomial of degree {degree} in {d} columns has {count} terms; a "
            "kernel of that degree needs none of them.",
            UserWarning,
            stacklevel=2,
        )
    return count


@dataclass(eq=False, repr=False)
class BasisFeatures(Transformer, Estimator):
    """Columns by formulas of the given ones, eq. (1).

    Parameters
    ----------
    formulas : list of str, default=("x",)
        Each makes a column, or one per column of X where it speaks of x.
    append : bool, default=False
        Whether to put the made columns after those of X instead of in their place.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_extraction import BasisFeatures
    >>> basis = BasisFeatures(["1", "x", "x0 * x1"])
    >>> basis.fit_transform(np.array([[2.0, 3.0], [1.0, -1.0]]))
    array([[ 1.,  2.,  3.,  6.],
           [ 1.,  1., -1., -1.]])
    >>> basis.get_feature_names_out().tolist()
    ['1', 'x0', 'x1', 'x0 * x1']
    """

    formulas: ListLike = ("x",)
    _: KW_ONLY
    append: Flag = False

    def fit(self, X, y=None):
        """Check the formulas against the columns of X."""
        X, _ = self._check_training_data(X)
        known = {"x", *self._columns(X.shape[1])}
        if not self._texts():
            raise ParameterError("formulas of BasisFeatures must not be empty.")
        for text in self._texts():
            if not isinstance(text, str):
                raise ParameterError(
                    f"formulas of BasisFeatures must be text, got {text!r}."
                )
            wrong = names_in_formula(parse_formula(text)) - known
            if wrong:
                raise ValueError(
                    f"formula {text!r} speaks of {min(wrong)!r}, which is no column."
                )
        return self

    def transform(self, X):
        """The columns that the formulas make."""
        X = self._check_new_data(X)
        xp = arrays.namespace(X)
        d = X.shape[1]
        columns = {name: X[:, j] for name, j in self._columns(d).items()}
        out = [X] if self.append else []
        for text in self._texts():
            tree = parse_formula(text)
            each = range(d) if "x" in names_in_formula(tree) - set(columns) else [None]
            for j in each:
                value = evaluate_formula(
                    tree, columns if j is None else {**columns, "x": X[:, j]}
                )
                if isinstance(value, (int, float)):
                    value = xp.full_like(X[:, 0], value)
                out.append(value[:, None])
        Z = xp.concat(out, axis=1)
        self._check_finite(Z)
        return Z

    def _check_finite(self, Z):
        if not arrays.all_finite(Z):
            bad = ~np.isfinite(arrays.to_numpy(Z)).all(axis=0)
            text = self.get_feature_names_out()[np.argmax(bad)]
            raise ValueError(f"formula {text!r} is not finite on every row of X.")

    def _texts(self):
        texts = self.formulas
        return [texts] if isinstance(texts, str) else list(texts)

    def _columns(self, d):
        """Name -> number of the column: x0, x1, ..., and names that are identifiers."""
        places = {f"x{j}": j for j in range(d)}
        for j, name in enumerate(getattr(self, "feature_names_in_", ())):
            if str(name).isidentifier() and str(name) not in {"x", *CONSTANTS}:
                places[str(name)] = j
        return places

    def get_feature_names_out(self, input_features=None):
        """The formulas, with the name of the column where they speak of x."""
        d = self.n_features_in_
        given = getattr(self, "feature_names_in_", None)
        given = given if input_features is None else input_features
        given = [f"x{j}" for j in range(d)] if given is None else list(map(str, given))
        out = list(given) if self.append else []
        for text in self._texts():
            used = names_in_formula(parse_formula(text)) - set(self._columns(d))
            out += (
                [formula_of_column(text, name) for name in given]
                if "x" in used
                else [text]
            )
        return np.asarray(out, dtype=object)


def formula_of_column(text, name):
    """The text of a formula with x replaced by the name of a column."""
    import ast

    tree = parse_formula(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "x":
            node.id = name
    return ast.unparse(tree)
