"""From a frame to the matrix a method wants, learned inside the fold.

Methods come in two kinds. *Native* ones take categories as codes and missing values as
NaN: their categories come first, as columns 0 .. k-1. All others get numbers imputed by
the median, with an indicator where values were missing, categories of few levels as
one column a level and of many levels by their mean target (cross-fitted, so that a row
does not see its own answer), all scaled on request.
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

from ..base import Estimator
from .schema import Column

ONE_HOT = 10  # categories with more levels are encoded by their mean target


@dataclass(eq=False, repr=False)
class Preparation(Estimator):
    """Fill, scale and encode the columns of a frame.

    Parameters
    ----------
    columns : tuple of Column
        The used columns of the schema, in order.
    task : str
        Of the schema.
    n_classes : int
        Classes of a classification.
    scale : bool
        Whether columns are brought to like size.
    full_rank : bool
        Whether one level of each category is left out.
    native : bool
        Whether categories stay codes and missing values stay NaN.
    random_state : int
        Of the parts of cross-fitting.
    """

    columns: tuple[Column, ...] = ()
    _: KW_ONLY
    task: str = "regression"
    n_classes: int = 0
    scale: bool = False
    full_rank: bool = False
    native: bool = False
    random_state: int = 0

    def fit(self, frame, y):
        self.parts_ = self._parts().fit(frame.values, y)
        return self

    def fit_transform(self, frame, y) -> np.ndarray:
        """Not `fit` then `transform`: encodings by the target are cross-fitted."""
        self.parts_ = self._parts()
        return self.parts_.fit_transform(frame.values, y)

    def transform(self, frame) -> np.ndarray:
        return self.parts_.transform(frame.values)

    @property
    def categories(self) -> list[int] | None:
        """Which columns of a native matrix are codes."""
        k = sum(c.role == "category" for c in self.columns)
        return list(range(k)) or None

    def _parts(self):
        plain = [c for c in self.columns if c.role != "text"]
        number = [j for j, c in enumerate(plain) if c.role == "number"]
        category = [j for j, c in enumerate(plain) if c.role == "category"]
        parts = self._native if self.native else self._encoded
        found = [p for p in parts(plain, number, category) if p[2]]
        return ColumnTransformer(found, sparse_threshold=0.0)

    def _native(self, plain, number, category):
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        return [("category", codes, category), ("number", "passthrough", number)]

    def _encoded(self, plain, number, category):
        short = [j for j in category if len(plain[j].levels) <= ONE_HOT]
        long = [j for j in category if len(plain[j].levels) > ONE_HOT]
        scaler = [("scale", StandardScaler())] if self.scale else []
        impute = SimpleImputer(
            strategy="median", add_indicator=True, keep_empty_features=True
        )
        one_hot = OneHotEncoder(
            handle_unknown="ignore",
            drop="first" if self.full_rank else None,
            sparse_output=False,
        )
        kind = "continuous"
        if self.task == "classification":
            kind = "binary" if self.n_classes == 2 else "multiclass"
        parts_of_five = KFold(5, shuffle=True, random_state=self.random_state)
        means = TargetEncoder(target_type=kind, cv=parts_of_five)
        return [
            ("number", Pipeline([("impute", impute), *scaler]), number),
            ("category", one_hot, short),
            ("levels", Pipeline([("means", means), *scaler]), long),
        ]
