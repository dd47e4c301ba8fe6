"""Basis functions: new columns by formulas, for models that are linear in them.

A model linear in its weights is as curved as its columns phi(x),

    f(x) = sum_k w_k phi_k(x)                                                    (1)

`BasisFeatures` makes phi from formulas ("x**2", "sin(x)", "x0 * x1") or functions. In a
formula x stands for every column in turn, x0, x1, ... for one column, and so does a
column's name where the table has names. A function gets the whole X. All monomials up
to a degree are `PolynomialFeatures`, splines scikit-learn's `SplineTransformer`.

Shapes    X (n, d)   phi (n, m)
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..base import Estimator, Transformer
from ..core.arrays import arrays
from ..params import Flag, ParameterError
from ..typing import ListLike
from .formulas import CONSTANTS, evaluate_formula, names_in_formula, parse_formula


@dataclass(eq=False, repr=False)
class BasisFeatures(Transformer, Estimator):
    """Columns by formulas of the given ones, eq. (1).

    Parameters
    ----------
    formulas : list of str or functions, default=("x",)
        A text makes a column, or one per column of X where it speaks of x. A function
        is called with X, (n, d), and gives a number, a column (n,) or columns (n, m)
        (`np.sin`, `lambda X: X[:, 0] * X[:, 1]`). Functions cannot be saved to a file.
    append : bool, default=False
        Whether to put the made columns after those of X instead of in their place.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
    widths_ : list of int
        Columns that each formula or function makes.

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

    formulas: ListLike | str | Callable = ("x",)
    _: KW_ONLY
    append: Flag = False

    def fit(self, X, y=None):
        """Check the formulas against the columns of X."""
        X, _ = self._check_training_data(X)
        known = {"x", *self._columns(X.shape[1])}
        if not self._texts():
            raise ParameterError("formulas of BasisFeatures must not be empty.")
        for text in self._texts():
            if callable(text):
                continue
            if not isinstance(text, str):
                raise ParameterError(
                    "formulas of BasisFeatures must be text or functions, got "
                    f"{text!r}."
                )
            wrong = names_in_formula(parse_formula(text)) - known
            if wrong:
                raise ValueError(
                    f"formula {text!r} speaks of {min(wrong)!r}, which is no column."
                )
        self.widths_ = [Z.shape[1] for Z in self._parts(X)]
        return self

    def transform(self, X):
        """The columns that the formulas and functions make."""
        X = self._check_new_data(X)
        xp = arrays.namespace(X)
        parts = self._parts(X)
        widths = [Z.shape[1] for Z in parts]
        if widths != self.widths_:
            raise ValueError(
                f"the functions of BasisFeatures made {widths} columns, but "
                f"{self.widths_} at fit."
            )
        Z = xp.concat([X, *parts] if self.append else parts, axis=1)
        self._check_finite(Z)
        return Z

    def _parts(self, X):
        """The columns of each formula or function, (n, m) each."""
        columns = {name: X[:, j] for name, j in self._columns(X.shape[1]).items()}
        return [
            _function_columns(text, X)
            if callable(text)
            else _formula_columns(text, X, columns)
            for text in self._texts()
        ]

    def _check_finite(self, Z):
        if not arrays.all_finite(Z):
            bad = ~np.isfinite(arrays.to_numpy(Z)).all(axis=0)
            text = self.get_feature_names_out()[np.argmax(bad)]
            raise ValueError(f"formula {text!r} is not finite on every row of X.")

    def _texts(self):
        texts = self.formulas
        is_single = isinstance(texts, str) or callable(texts)
        return [texts] if is_single else list(texts)

    def _columns(self, d):
        """Name -> number of the column: x0, x1, ..., and names that are identifiers."""
        places = {f"x{j}": j for j in range(d)}
        for j, name in enumerate(getattr(self, "feature_names_in_", ())):
            if str(name).isidentifier() and str(name) not in {"x", *CONSTANTS}:
                places[str(name)] = j
        return places

    def get_feature_names_out(self, input_features=None):
        """The formulas, with the name of the column where they speak of x.

        The columns of a function are called after it.
        """
        d = self.n_features_in_
        input_names = getattr(self, "feature_names_in_", None)
        input_names = input_names if input_features is None else input_features
        input_names = (
            [f"x{j}" for j in range(d)]
            if input_names is None
            else list(map(str, input_names))
        )
        names = list(input_names) if self.append else []
        for text, width in zip(self._texts(), self.widths_, strict=True):
            if callable(text):
                name = getattr(text, "__name__", type(text).__name__)
                numbered = [f"{name}_{j}" for j in range(width)]
                names += [name] if width == 1 else numbered
                continue
            used = names_in_formula(parse_formula(text)) - set(self._columns(d))
            names += (
                [_formula_of_column(text, name) for name in input_names]
                if "x" in used
                else [text]
            )
        return np.asarray(names, dtype=object)


def _formula_columns(text, X, columns):
    """The columns that a formula makes, (n, m)."""
    xp = arrays.namespace(X)
    tree = parse_formula(text)
    of_each = "x" in names_in_formula(tree) - set(columns)
    formula_values = []
    for j in range(X.shape[1]) if of_each else [None]:
        value = evaluate_formula(
            tree, columns if j is None else {**columns, "x": X[:, j]}
        )
        if isinstance(value, (int, float)):
            value = xp.full_like(X[:, 0], value)
        formula_values.append(value)
    return xp.stack(formula_values, axis=1)


def _function_columns(function, X):
    """The columns that a function of X makes, (n, m)."""
    xp = arrays.namespace(X)
    value = function(X)
    if getattr(value, "ndim", 0) == 0:
        return xp.full_like(X[:, :1], float(value))
    value = arrays.asarray(value, like=X)
    if value.ndim not in (1, 2) or value.shape[0] != X.shape[0]:
        raise ValueError(
            f"function {getattr(function, '__name__', function)!r} of BasisFeatures "
            f"must give a number, or one row for each of {X.shape[0]} rows, got shape "
            f"{tuple(value.shape)}."
        )
    return value[:, None] if value.ndim == 1 else value


def _formula_of_column(text, name):
    """The text of a formula with x replaced by the name of a column."""
    import ast

    tree = parse_formula(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "x":
            node.id = name
    return ast.unparse(tree)
