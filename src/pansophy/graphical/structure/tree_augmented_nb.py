"""Tree-augmented naive Bayes: each column depends on the class and on one other column.

    P(y = c | x) ~ pi_c prod_j P(x_j | x_p(j), c)                                (1)

Naive Bayes treats the columns as independent given the class; here they form a tree.
The most likely tree is the spanning tree with the largest total of

    I_jk|y = sum_c P(c) I(x_j; x_k | c)                                          (2)

by the same argument as for the Chow-Liu tree, and its tables are relative
frequencies with pseudo-counts a. A missing value (NaN) is left out of counts, and at
prediction is summed out of (1) by messages from the leaves to the root.

Cost      fit: d^2 / 2 contingency tables of (class, x_j, x_k); predict: O(n d k)
Shapes    X (n, d) values 0 .. m_j - 1   tables (k, m_p(j), m_j)
Refs      [Friedman1997]; [ChowLiu1968]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ...core.arrays import arrays
from ...core.arrays.labels import class_codes
from ...core.numerics import safe_log
from ...distributions.categorical import estimated_probabilities, pick_rows
from ...graphs.directed import children_of, topological_order
from ...naive_bayes.column_families import naming_negative_values, raise_bad_category
from ...naive_bayes.joint_table import check_categories
from ...params import Count, Flag, Natural, NonNegative, ParameterError
from ...persist.saved_state import IntArray, saved_state
from ...predictors.abstract_bayes import (
    AbstractBayes,
    check_class_prior,
    class_log_prior,
)
from ...typing import Matrix, NumberList
from ..networks.bayesian_network import BayesianNetwork
from ..networks.variables import VariableSpace
from .chow_liu import maximum_spanning_parents, mutual_information_matrix
from .contingency_tables import ContingencyTables


def _encode_symbols(X, model) -> np.ndarray:
    """Integer codes (n, d) of a table of symbols of a model, -1 for NaN."""
    missing = np.isnan(X) if X.dtype.kind == "f" else np.zeros(X.shape, dtype=bool)
    filled = np.where(missing, 0, X)
    with naming_negative_values(model):
        check_categories(filled)
    return np.where(missing, -1, filled.astype(np.int64))


def _complete_row_scores(codes, parents, log_tables) -> np.ndarray:
    """sum_j log P(x_j | x_p(j), c) of complete rows: (n, k)."""
    scores = np.zeros((len(codes), log_tables[0].shape[0]))
    for j, node_parents in enumerate(parents):
        k, q, m = log_tables[j].shape
        cell = codes[:, j] + (m * codes[:, node_parents[0]] if node_parents else 0)
        scores += np.ascontiguousarray(log_tables[j].reshape(k, q * m).T)[cell]
    return scores


def _marginalised_row_scores(codes, parents, tables) -> np.ndarray:
    """`_complete_row_scores` with missing values summed out, leaves to root: (n, k)."""
    n = len(codes)
    k = tables[0].shape[0]
    children = children_of(parents)
    message = {}
    log_scale = np.zeros((n, k))
    for j in reversed(topological_order(parents)):
        m = tables[j].shape[2]
        matches = codes[:, j][:, None] == np.arange(m)
        likelihood = (matches | (codes[:, j] < 0)[:, None])[:, None, :].astype(
            float
        )  # (n, 1, m)
        likelihood = likelihood * np.ones((1, k, 1))
        for child in children[j]:
            likelihood = likelihood * message.pop(child)
        upward = np.einsum("cqm,ncm->ncq", tables[j], likelihood)
        largest = upward.max(axis=2, keepdims=True)
        log_scale += safe_log(largest[:, :, 0])
        message[j] = upward / np.where(largest > 0, largest, 1.0)
    root = [j for j, parents_of_j in enumerate(parents) if not parents_of_j]
    return log_scale + sum(safe_log(message[j][:, :, 0]) for j in root)


@saved_state(n_categories_=IntArray("n_features_in_", low=1))
@dataclass(eq=False, repr=False)
class TreeAugmentedNB(AbstractBayes):
    """Naive Bayes classifier whose columns form a tree given the class.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every entry of the tables; 0 for maximum likelihood.
    root : int, default=0
        Root of the tree; if `alpha` is 0, it does not change the distribution.
    min_categories : int or None, default=None
        Minimum number of categories of a column, for values that `fit` does not see.
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : arrays of shape (n_classes,)
    parents_ : tuple of tuples of int
        The column that each column depends on; none for the root.
    tables_ : list of arrays of shape (n_classes, m_parent, m)
        P(x_j | x_p(j), c); the root has m_parent = 1.
    information_ : array of shape (n_features, n_features)
        Eq. (2) for all pairs, in nats.
    n_categories_ : array of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import TreeAugmentedNB
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # exclusive or
    >>> TreeAugmentedNB().fit(X, [0, 1, 1, 0]).predict(X)
    array([0, 1, 1, 0])
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    root: Natural = 0
    min_categories: Count | None = None
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None

    _sparse = False

    def fit(self, X, y, sample_weight=None):
        """Find the tree and estimate its tables.

        Parameters
        ----------
        X : array of shape (n, d)
            Values 0, 1, 2, ... of each column; NaN where missing.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.
        """
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", **self._checks(X)
        )
        classes, class_of_row = class_codes(y, X)
        X = X.take(np.arange(X.n)) if hasattr(X, "columns") else arrays.to_numpy(X)
        class_of_row = arrays.to_numpy(class_of_row)
        k = int(classes.shape[0])
        d = X.shape[1]
        if self.root >= d:
            raise ParameterError(f"root must be a column, 0 to {d - 1}: {self.root}.")
        prior = check_class_prior(self, "class_prior", k)
        codes = _encode_symbols(X, self)
        row_weights = None if w is None else arrays.to_numpy(w).astype(np.float64)
        if row_weights is not None:  # rows of weight 0 add no categories
            codes = codes[row_weights > 0]
            class_of_row = class_of_row[row_weights > 0]
            row_weights = row_weights[row_weights > 0]
        sizes = np.maximum(codes.max(axis=0) + 1, self.min_categories or 1)
        counts = ContingencyTables(
            np.column_stack([codes, class_of_row]), (*sizes.tolist(), k), row_weights
        )
        self.information_ = mutual_information_matrix(counts, (d,))[:d, :d]
        self.parents_ = maximum_spanning_parents(self.information_, self.root)
        self.tables_ = [
            estimated_probabilities(self._family_counts(counts, j) + self.alpha)
            for j in range(d)
        ]
        self.n_categories_, self.classes_ = sizes, classes
        self.class_count_ = counts.table((d,))
        self.class_log_prior_ = class_log_prior(
            prior, self.class_count_, fit_prior=self.fit_prior
        )
        return self

    def _family_counts(self, counts: ContingencyTables, j) -> np.ndarray:
        """N(class, parent, x_j): (k, m_parent, m_j)."""
        N = counts.table((counts.d - 1, *self.parents_[j], j))
        return N if self.parents_[j] else N[:, None, :]

    def _scorer(self):
        log_tables = [safe_log(t) for t in self.tables_]

        def score(given):
            codes = _encode_symbols(arrays.to_numpy(given), self)
            is_unknown = (codes >= self.n_categories_).any(axis=0)
            bad = int(np.argmax(is_unknown)) if is_unknown.any() else -1
            raise_bad_category(bad, self.n_categories_)
            gone = (codes < 0).any(axis=1)
            out = np.empty((len(codes), len(self.class_count_)))
            out[~gone] = _complete_row_scores(codes[~gone], self.parents_, log_tables)
            out[gone] = _marginalised_row_scores(
                codes[gone], self.parents_, self.tables_
            )
            foreign = arrays.is_foreign(given)
            return arrays.asarray(out, like=arrays.as_float(given)) if foreign else out

        return score

    def _draw(self, z, rng):
        X = np.zeros((len(z), len(self.tables_)))
        for j in topological_order(self.parents_):
            k, q, m = self.tables_[j].shape
            node_parents = self.parents_[j]
            row = z * q + (
                X[:, node_parents[0]].astype(np.int64) if node_parents else 0
            )
            X[:, j] = pick_rows(self.tables_[j].reshape(k * q, m), row, rng)
        return X

    def network(self, target: str = "class"):
        """This model as a BayesianNetwork, with the class as node `target`."""
        d = len(self.tables_)
        feature_names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(d)])
        states = [tuple(range(int(m))) for m in self.n_categories_]
        labels = tuple(arrays.to_numpy(self.classes_).tolist())
        space = VariableSpace((*map(str, feature_names), target), (*states, labels))
        parents = [(d, *node_parents) for node_parents in self.parents_]
        tables = [
            t if node_parents else t[:, 0, :]
            for t, node_parents in zip(self.tables_, self.parents_, strict=True)
        ]
        prior = np.exp(arrays.to_numpy(self.class_log_prior_))
        return BayesianNetwork.from_nodes(space, (*parents, ()), [*tables, prior])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags
