"""Designs by formula: "y ~ x + C(g) + x:z" and a data frame make X and y.

The grammar is that of R and statsmodels, read by formulaic: `+`, `:`, `*`, `C()`,
`I()`, and functions of NumPy as `np.log(x)`. Text columns become levels, the first
level being the one that the others are compared with. The design has no column of ones:
the model's intercept is its own.

New rows are coded by the levels of the training rows. Where a term has learnt more than
levels (`center(x)`, `bs(x)`), the reader of formulaic is kept; such a model can be
pickled, but not saved by `pansophy.save`.
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

EXTRA = "a formula needs formulaic: pip install 'pansophy[formula]'."


class DesignTerm(NamedTuple):
    """A term of a formula and its columns in X."""

    name: str
    columns: list[int]


@dataclass
class DesignFormula:
    """What a formula has learnt from the training rows.

    Attributes
    ----------
    formula : str
    right_side : str
        What makes X.
    levels : dict
        Levels of each column of categories.
    columns : list of str
        Names of the columns of X.
    terms : list of DesignTerm
    spec : object or None
        The reader of formulaic, where terms have learnt more than levels.
    """

    formula: str
    right_side: str
    levels: dict[str, list]
    columns: list[str]
    terms: list[DesignTerm]
    spec: Any = None

    def rows(self, frame):
        """X for new rows of a data frame."""
        if self.spec is not None:
            return without_ones(read_design(self.spec, frame))
        return without_ones(read_design(self.right_side, self.coded(frame)))

    def coded(self, frame):
        """The frame with its categories coded by the levels of the training rows."""
        import pandas as pd

        frame = as_pandas(frame)
        coded = {}
        for name, levels in self.levels.items():
            values = frame[name]
            unknown = sorted(set(values) - set(levels), key=str)
            if unknown:
                raise ValueError(
                    f"column {name!r} has the level {unknown[0]!r}, which the training "
                    "rows did not have."
                )
            coded[name] = pd.Categorical(values, categories=levels)
        return frame.assign(**coded)


def is_formula(X) -> bool:
    """Whether X is a formula and not a path.

    Examples
    --------
    >>> from pansophy.core.arrays.formulas import is_formula
    >>> is_formula("y ~ x"), is_formula("rows.parquet")
    (True, False)
    """
    return isinstance(X, str) and "~" in X and not X.lstrip().startswith("~")


def design_of_training_rows(formula, frame, fit_intercept) -> tuple:
    """The DesignFormula, X as a data frame and y, from a formula and training rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from pansophy.core.arrays.formulas import design_of_training_rows
    >>> frame = pd.DataFrame({"x": [1.0, 2, 3], "g": ["a", "b", "a"], "y": [1, 2, 3]})
    >>> _, X, y = design_of_training_rows("y ~ x + g", frame, True)
    >>> X.columns.tolist(), X["g[T.b]"].tolist(), y.tolist()
    (['x', 'g[T.b]'], [0, 1, 0], [1, 2, 3])
    """
    if not hasattr(frame, "columns"):
        raise TypeError(
            f"the formula {formula!r} needs a data frame in the place of y, got "
            f"{type(frame).__name__}: fit(formula, frame)."
        )
    frame = as_pandas(frame)
    left, _, right = (part.strip() for part in formula.partition("~"))
    matrix = read_design(right, frame)
    spec: Any = matrix.model_spec
    check_intercept(formula, spec, fit_intercept)
    levels = levels_of_columns(spec, frame)
    X = without_ones(matrix)
    names = [str(c) for c in matrix.columns]
    kept = [str(c) for c in X.columns]
    place = {name: j for j, name in enumerate(kept)}
    terms = [
        DesignTerm(str(term), [place[n] for n in names[cut]])
        for term, cut in spec.term_slices.items()
        if str(term) != "1"
    ]
    keeps_spec = bool(spec.transform_state) or levels is None
    design = DesignFormula(
        formula, right, levels or {}, kept, terms, spec if keeps_spec else None
    )
    return design, X, left_side(left, frame)


def left_side(left, frame):
    """y: a column as it is, or an expression of columns."""
    if left in frame.columns:
        return frame[left].to_numpy()
    values = read_design(f"0 + {left}", frame)
    return values.to_numpy()[:, 0] if values.shape[1] == 1 else values.to_numpy()


def read_design(formula, frame):
    """The design matrix of formulaic, as a data frame with `model_spec`."""
    try:
        import formulaic
    except ImportError as error:
        raise ImportError(EXTRA) from error
    try:
        return formulaic.model_matrix(
            formula, as_pandas(frame), context={"np": np}, na_action="raise"
        )
    except formulaic.errors.FormulaicError as error:
        text = str(error).splitlines()[0]
        raise ValueError(f"the formula {formula!r} cannot be read: {text}") from error
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise ValueError(
            f"columns of the formula {formula!r} have missing values: leave out such "
            "rows, of weights and offsets too."
        ) from error


def as_pandas(frame):
    """A data frame of any library as one of pandas."""
    if type(frame).__module__.startswith("pandas"):
        return frame
    import narwhals as nw

    return nw.from_native(frame, eager_only=True).to_pandas()


def check_intercept(formula, spec, fit_intercept) -> None:
    """Refuse a formula that says otherwise of the intercept than the model."""
    has_ones = any(str(term) == "1" for term in spec.term_slices)
    if has_ones and not fit_intercept:
        raise ValueError(
            f"the formula {formula!r} has an intercept, but fit_intercept is False: "
            "write '- 1' at its end."
        )
    if not has_ones and fit_intercept:
        raise ValueError(
            f"the formula {formula!r} has no intercept, but fit_intercept is True: set "
            "it to False."
        )


def without_ones(matrix):
    """The design without its column of ones, as a plain data frame."""
    import pandas as pd

    frame = pd.DataFrame(matrix)
    return frame.drop(columns="Intercept", errors="ignore")


def levels_of_columns(spec, frame) -> dict[str, list] | None:
    """Levels of the columns of categories; None where a column is used as both."""
    categories, numbers = set(), set()
    for factor, (kind, _) in spec.encoder_state.items():
        words = set(re.findall(r"[A-Za-z_]\w*", factor)) & set(frame.columns)
        is_categories = "categorical" in str(kind).lower()
        (categories if is_categories else numbers).update(words)
    if categories & numbers:
        return None
    return {str(n): levels_of(frame[n]) for n in sorted(categories)}


def levels_of(column) -> list:
    """The levels of a column in the order in which formulaic has them."""
    if hasattr(column.dtype, "categories"):
        used = set(column)
        return [level for level in column.cat.categories.tolist() if level in used]
    return sorted(set(column.tolist()))
