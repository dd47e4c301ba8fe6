"""Naive Bayes with any family: one for all columns, or one for each group of columns.

    P(y = c | x) ~ pi_c prod_g p_g(x_g | c)       g runs over groups of columns    (1)

NaiveBayes has one family for all columns. MixedNB has groups of columns, so that
numbers, counts and categories can be combined; the likelihood is the product over the
groups. Both are `naive_bayes.py` with the families of `column_families.py`: one pass,
`partial_fit`, missing values, sampling. `columns="auto"` decides by the values: 0 and 1
only are "bernoulli", integers from 0 to 19 "categorical", larger integers "poisson",
others "gaussian".

Shapes    X (n, d)
"""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np

from ..core.arrays import arrays
from ..distributions import Beta, Dirichlet, Gamma
from ..params import Flag, NonNegative, ParameterError, ParameterRule
from ..predictors.abstract_bayes import check_class_prior, class_log_prior, row_blocks
from ..typing import Matrix, NumberList
from .column_families import COLUMN_FAMILIES
from .naive_bayes import AbstractNaiveBayes

ColumnFamilyName = Literal[
    "gaussian", "bernoulli", "categorical", "poisson", "multinomial"
]
FamilyColumns = Annotated[
    Any,
    ParameterRule(
        "'auto', a family for each column, or pairs of a family and its columns",
        lambda v: v == "auto" or isinstance(v, (list, tuple, dict)),
    ),
]
MAX_AUTO_CATEGORIES = 20  # integers below this are categories for "auto"


def detect_families(X):
    """A family for each column, from the values it holds."""

    def look(x):
        x = arrays.to_numpy(x)
        x = np.where(np.isnan(x), 0, x) if x.dtype.kind == "f" else x
        return (
            np.max(x, axis=0, keepdims=True),
            np.all((x >= 0) & (np.floor(x) == x), axis=0, keepdims=True),
        )

    top, whole = row_blocks(X).map(look, blas=False)
    top, whole = top.max(axis=0), whole.all(axis=0)

    def family(j):
        if not whole[j]:
            return "gaussian"
        if top[j] <= 1:
            return "bernoulli"
        return "categorical" if top[j] < MAX_AUTO_CATEGORIES else "poisson"

    return [family(j) for j in range(len(top))]


def group_by_family(names):
    """Pairs of a family and its columns from one name for each column."""
    names = np.asarray(names, dtype=object)
    kinds = dict.fromkeys(names)
    return [(str(kind), np.flatnonzero(names == kind)) for kind in kinds]


def estimate_families(model, sums, groups, conjugate=None):
    """Set the distribution of each group, eq. (1), and the prior of the classes."""
    prior = check_class_prior(model, "class_prior", sums.weight.shape[0])
    distributions = []
    for (name, _), s in zip(groups, sums.parts, strict=True):
        a = model.var_smoothing if name == "gaussian" else model.alpha
        distributions.append(COLUMN_FAMILIES[name].fit(s, sums.weight, a, conjugate))
    model.distribution_ = tuple(distributions)
    model.class_count_ = sums.weight
    model.class_log_prior_ = class_log_prior(
        prior, sums.weight, fit_prior=model.fit_prior
    )


@dataclass(eq=False, repr=False)
class NaiveBayes(AbstractNaiveBayes):
    """Naive Bayes with one family of distributions for all columns.

    Parameters
    ----------
    family : {"gaussian", "bernoulli", "categorical", "poisson", "multinomial"}, \
default="gaussian"
        Distribution of a column given the class.
    alpha : float, default=1.0
        Pseudo-count of every event; for "poisson" the number of rows with the mean
        of all classes that are added to each. 0 for maximum likelihood.
    prior : Beta, Dirichlet, Gamma or None, default=None
        Conjugate prior of the parameters, in place of alpha; its mode is taken.
        "gaussian" has none here.
    var_smoothing : float, default=1e-9
        Share of the largest variance that is added to the variances of "gaussian".
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : arrays of shape (n_classes,)
    distribution_ : tuple of one distribution, a batch over the classes
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import NaiveBayes
    >>> X = np.array([[0, 3], [1, 4], [5, 0], [6, 1]])
    >>> model = NaiveBayes("poisson", alpha=0).fit(X, ["a", "a", "b", "b"])
    >>> model.distribution_[0].rate
    array([[0.5, 3.5], [5.5, 0.5]])
    >>> model.predict([[1, 3], [np.nan, 0]])
    array(['a', 'b'], dtype='<U1')
    """

    family: ColumnFamilyName = "gaussian"
    _: KW_ONLY
    alpha: NonNegative = 1.0
    prior: Beta | Dirichlet | Gamma | None = None
    var_smoothing: NonNegative = 1e-9
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None

    @property
    def _sparse(self) -> Any:  # pyrefly: ignore
        return False if self.family == "categorical" else "csr"

    def _groups(self, X, before):
        kind = {"bernoulli": Beta, "poisson": Gamma, "gaussian": type(None)}
        kind = kind.get(self.family, Dirichlet)
        if self.prior is not None and not isinstance(self.prior, kind):
            raise ParameterError(
                f"prior of NaiveBayes must be None or conjugate to {self.family!r}, "
                f"got {type(self.prior).__name__}."
            )
        return ((self.family, None),)

    def _estimate(self, sums, groups, X):
        estimate_families(self, sums, groups, self.prior)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self.family == "categorical"
        tags.input_tags.positive_only = self.family != "gaussian"
        tags.classifier_tags.poor_score = self.family != "gaussian"
        return tags


@dataclass(eq=False, repr=False)
class MixedNB(AbstractNaiveBayes):
    """Naive Bayes with a family of distributions for each column.

    Parameters
    ----------
    columns : "auto", list or dict, default="auto"
        The family of each column ("gaussian", "bernoulli", "categorical", "poisson",
        "multinomial"), in order; or pairs (or a dict) of a family and its columns, by
        number or by name. Columns of a "multinomial" are one block of counts; pairs
        may name the family twice. "auto" goes by the values, with `partial_fit` those
        of the first rows.
    alpha : float, default=1.0
        Pseudo-count of every event; 0 for maximum likelihood.
    var_smoothing : float, default=1e-9
        Share of the largest variance that is added to the variances of "gaussian".
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : arrays of shape (n_classes,)
    groups_ : tuple of pairs of a family and its columns
    distribution_ : tuple of the distributions of the groups
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import MixedNB
    >>> X = np.array([[0.1, 0], [0.3, 0], [1.2, 1], [1.1, 2]])
    >>> model = MixedNB(["gaussian", "categorical"]).fit(X, [0, 0, 1, 1])
    >>> model.predict([[0.2, 1], [np.nan, 2]])
    array([0, 1])
    """

    columns: FamilyColumns = "auto"
    _: KW_ONLY
    alpha: NonNegative = 1.0
    var_smoothing: NonNegative = 1e-9
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None

    _sparse = False

    def _groups(self, X, before):
        if before is not None:
            return self.groups_
        d, given = self.n_features_in_, self.columns
        if isinstance(given, str):
            pairs = group_by_family(detect_families(X))
        elif isinstance(given, dict):
            pairs = list(given.items())
        elif all(isinstance(v, str) for v in given):
            pairs = group_by_family(given)
            if len(given) != d:
                self._refuse(f"a family for each of {d} columns, got {len(given)}")
        else:
            pairs = list(given)
        is_pair = lambda v: isinstance(v, (list, tuple)) and len(v) == 2
        if not pairs or not all(is_pair(v) for v in pairs):
            self._refuse("a family for each column, or pairs of a family and columns")
        pairs = [(name, self._places(columns)) for name, columns in pairs]
        unknown = [name for name, _ in pairs if name not in COLUMN_FAMILIES]
        if unknown:
            self._refuse(
                f"of families {', '.join(COLUMN_FAMILIES)}, got {unknown[0]!r}"
            )
        every = np.concatenate([places for _, places in pairs])
        if not np.array_equal(np.sort(every), np.arange(d)):
            self._refuse(f"such that each of {d} columns is in one group")
        return tuple((str(name), places) for name, places in pairs)

    def _estimate(self, sums, groups, X):
        estimate_families(self, sums, groups)

    def _refuse(self, what):
        raise ParameterError(f"columns of MixedNB must be {what}.")

    def _places(self, columns):
        """Column numbers from numbers or names."""
        names = list(getattr(self, "feature_names_in_", ()))
        places = []
        for column in [columns] if isinstance(columns, (str, Integral)) else columns:
            if isinstance(column, str):
                if column not in names:
                    self._refuse(f"columns of X, which has none named {column!r}")
                places.append(names.index(column))
            else:
                places.append(int(column))
        return np.asarray(places, dtype=np.intp)
