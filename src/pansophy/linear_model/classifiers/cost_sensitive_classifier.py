"""Cost-sensitive decisions: any classifier with probabilities, and a cost matrix.

With p = `predict_proba` and costs L[k, a] of predicting a when the truth is k,

    predict  argmin_a sum_k p_k L[k, a]                                              (1)

and reject the row where even the cheapest answer is expected to cost more than
`reject_cost`. The probabilities stay as they are; only decisions change. For two
classes eq. (1) is the threshold c_FP / (c_FP + c_FN) on the probability of the second,
and with 0/1 costs the most probable class (`losses.decisions`).

Shapes    p (n, k)   L (k, k)
Refs      [Elkan2001] costs; [Chow1970] the reject rule
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ...base import Classifier, Estimator
from ...core.arrays import arrays
from ...losses import bayes_action
from ...params import NonNegative, Number, ParameterError, ParameterRule, check_params
from ...predictors.abstract_linear import classes_from_scores
from ...typing import NumberList
from .logistic import LogisticRegression

ProbabilisticClassifier = Annotated[
    Any,
    ParameterRule(
        "a classifier with predict_proba", lambda m: hasattr(m, "predict_proba")
    ),
]


def checked_cost_matrix(costs, k):
    """The cost matrix as a checked (k, k) array; 0/1 costs if none is given."""
    if costs is None:
        return 1.0 - np.eye(k)
    table = np.asarray(costs, dtype=float)
    if table.shape != (k, k) or not np.isfinite(table).all():
        raise ParameterError(
            f"cost_matrix of CostSensitiveClassifier must be {k} x {k} finite "
            "numbers, a row for each true class and a column for each answer, got "
            f"shape {table.shape}."
        )
    return table


@dataclass(eq=False, repr=False)
class CostSensitiveClassifier(Classifier, Estimator):
    """A classifier whose decisions minimise expected cost.

    Parameters
    ----------
    estimator : classifier with `predict_proba` or None
        Where the probabilities come from; None is `LogisticRegression()`.
    cost_matrix : array of shape (k, k) or None
        Entry [i, j] is the cost of answering class j when class i is true, in the order
        of `classes_`; None costs 1 for every mistake.
    reject_cost : float or None
        Cost of not answering; None always answers.
    reject_label : str or number, default="reject"
        What `predict` says in place of an answer. With numbers as labels give a number
        to get an array of numbers.

    Attributes
    ----------
    classes_ : array of shape (k,)
    estimator_ : the fitted classifier
    costs_ : array of shape (k, k)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import CostSensitiveClassifier
    >>> X, y = np.array([[0.0], [1], [2], [3], [4], [5]]), [0, 0, 1, 0, 1, 1]
    >>> CostSensitiveClassifier().fit(X, y).predict(X)
    array([0, 0, 0, 1, 1, 1])
    >>> dear = CostSensitiveClassifier(cost_matrix=[[0, 1], [3, 0]])  # misses cost 3
    >>> dear.fit(X, y).predict(X)
    array([0, 0, 1, 1, 1, 1])
    >>> wary = CostSensitiveClassifier(reject_cost=0.3, reject_label=-1)
    >>> wary.fit(X, y).predict(X)
    array([ 0,  0, -1, -1,  1,  1])
    """

    estimator: ProbabilisticClassifier | None = None
    _: KW_ONLY
    cost_matrix: NumberList | None = None
    reject_cost: NonNegative | None = None
    reject_label: str | Number = "reject"

    def fit(self, X, y, sample_weight=None):
        """Fit the classifier underneath."""
        check_params(self)
        model = LogisticRegression() if self.estimator is None else self.estimator
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(model).fit(X, y, **extra)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
            elif hasattr(self, name):
                delattr(self, name)  # of an earlier fit
        self.classes_ = self.estimator_.classes_
        self.costs_ = checked_cost_matrix(self.cost_matrix, len(self.classes_))
        if self.reject_cost is not None and self.reject_label in self._labels():
            raise ParameterError(
                f"reject_label={self.reject_label!r} is one of the classes."
            )
        return self

    def _labels(self):
        return arrays.to_numpy(self.classes_).tolist()

    def predict_proba(self, X):
        """Probabilities of the classes, as the classifier gives them."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def expected_costs(self, X):
        """Expected cost of each answer, and last that of none if there is one."""
        check_is_fitted(self)
        return arrays.to_numpy(self.predict_proba(X)) @ self._actions()

    def _actions(self):
        """Costs of every action by class, (k, k) or (k, k + 1)."""
        if self.reject_cost is None:
            return self.costs_
        return np.column_stack(
            [self.costs_, np.full(len(self.costs_), self.reject_cost)]
        )

    def predict(self, X):
        """Eq. (1); the earlier of equally cheap answers, and any rather than none."""
        check_is_fitted(self)
        p = self.predict_proba(X)
        if arrays.is_foreign(p) and self.reject_cost is None:
            costs = p @ arrays.asarray(self._actions(), like=p)
            return classes_from_scores(self.classes_, -costs)
        best = bayes_action(arrays.to_numpy(p), self._actions())
        labels = arrays.to_numpy(self.classes_)
        if self.reject_cost is not None:
            labels = append_label(labels, self.reject_label)
        return labels[best]

    def mean_cost(self, X, y, sample_weight=None):
        """Mean cost of the decisions for X, given the true classes y."""
        check_is_fitted(self)
        p = arrays.to_numpy(self.predict_proba(X))
        best = bayes_action(p, self._actions())
        code = {label: i for i, label in enumerate(self._labels())}
        truth = [code[label] for label in arrays.to_numpy(np.asarray(y)).tolist()]
        costs = self._actions()[truth, best]
        return float(np.average(costs, weights=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = self.estimator is None or tags.input_tags.sparse
        return tags


def append_label(labels, extra):
    """Labels and an extra one: numbers or text if all are, else objects."""
    both = [*labels.tolist(), extra]
    number = lambda a: isinstance(a, (int, float)) and not isinstance(a, bool)
    if all(map(number, both)) or all(isinstance(a, str) for a in both):
        return np.array(both)
    out = np.empty(len(both), dtype=object)
    out[:] = both
    return out
