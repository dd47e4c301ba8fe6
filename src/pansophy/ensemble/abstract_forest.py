"""What all forests share: growing, packing, and reading many trees as one."""

import warnings
from abc import abstractmethod
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core import threads
from ..core.progress import watched
from ..params import ParameterError
from ..tree.abstract import (
    check_forms,
    in_blocks,
    rows_of,
)
from ..tree.packed import cut, join
from . import forest_uncertainty as spread
from .forest_growth import grow_forest_trees, plan_forest
from .members import collect_members
from .resample import ResamplingPlan, member_seeds, number_of_rows_to_draw

TREES_PER_CHUNK = 16  # trees whose leaves are held for all rows at a time


class AbstractForest(Estimator):
    """Trees in `forest_`, packed, and the ways to read them."""

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def _member(self) -> Any:
        """A tree as an estimator of its own, without its arrays."""

    @abstractmethod
    def _set_oob(self, mean, y, covered) -> None:
        """Store predictions out of the bag and their score."""

    def _grow(self, X, y, w, criterion, signs=None):
        """Grow what is not there yet, pack it, and look out of the bag."""
        rows = None if w is None or np.all(w > 0) else np.flatnonzero(w)
        cut_to = lambda a: a if rows is None or a is None else a[rows]
        scheme = self._scheme(cut_to(X), cut_to(w))
        check_forms(self, self.inputs_.forms, False, signs)
        kept = self.warm_start and hasattr(self, "forest_")
        have = len(self.forest_) if kept else 0
        if self.n_estimators < have:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to the "
                f"{have} trees that warm_start keeps."
            )
        if kept and self.n_estimators == have:
            warnings.warn(
                "warm_start without more n_estimators grows no new trees.", stacklevel=3
            )
            return self
        seeds = member_seeds(self.random_state, self.n_estimators, have)
        shown = (cut_to(X), cut_to(y), cut_to(w))  # rows of weight 0 are not there
        recipe = plan_forest(self, *shown, criterion, signs, scheme)
        parts = [cut(self.forest_, t) for t in range(have)]
        gained = [self._gained] if kept else []
        self._n_rows = X.shape[0]
        self._forget()

        run = lambda task: collect_members(
            self, grow_forest_trees(recipe, seeds), task, have=have
        )
        with threads.limited(self.n_jobs):
            verbose = self.verbose
            plants = watched(self, run, total=len(seeds), X=X, y=y, verbose=verbose)
            parts += [plant.part for plant in plants]
            gained += [plant.importance for plant in plants]
            draws = (scheme, seeds[: len(plants)], rows)
            self._draws = [*(self._draws if kept else []), draws]
            shape = (criterion.m, max(criterion.classes, default=1))
            self.forest_ = join(parts, shape, X.shape[1])
            self._gained = np.sum(gained, axis=0)
            if getattr(self, "keep_targets", False):
                self.targets_ = spread.collect_leaf_targets(self, X, y, w)
            if self.oob_score:
                self._score_out_of_bag(X, y)
        return self

    def _scheme(self, X, w) -> ResamplingPlan:
        """How each tree draws its rows."""
        n, d = X.shape
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                "max_samples cannot be set with bootstrap=False: every tree gets all "
                "rows. Use bootstrap=True or max_samples=None."
            )
        if self.oob_score and not self.bootstrap:
            raise ParameterError(
                "oob_score needs bootstrap=True: without it every tree has all rows."
            )
        rows = number_of_rows_to_draw(self.max_samples, n, w)
        p = w / w.sum() if w is not None and self.bootstrap else None
        return ResamplingPlan(n, d, rows, d, bool(self.bootstrap), False, p)

    def _forget(self):
        """Drop what was read off an earlier forest."""
        for name in ("estimators_", "targets_", "oob_score_", "oob_missing_"):
            self.__dict__.pop(name, None)

    @cached_property
    def estimators_(self):
        """The trees as estimators of their own, built when first asked for."""
        check_is_fitted(self, "forest_")
        members, seeds = [], np.concatenate([seeds for _, seeds, _ in self._draws])
        for t in range(len(self.forest_)):
            model = self._member()
            model.tree_ = self.forest_.tree(t)
            model.inputs_, model.n_outputs_ = self.inputs_, self.n_outputs_
            model.n_features_in_ = self.n_features_in_
            model.max_features_ = self.max_features_
            model.random_state = int(seeds[t])
            members.append(model)
        return members

    @property
    def estimator_(self):
        """The kind of tree that the forest is made of."""
        return type(self._member())()

    def _tree_options(self) -> dict[str, Any]:
        """Parameters that the trees share with the forest."""
        names = (
            "criterion splitter max_depth min_samples_split min_samples_leaf "
            "min_weight_fraction_leaf max_features max_leaf_nodes ccp_alpha "
            "min_impurity_decrease monotonic_cst max_bins categorical_features"
        )
        return {name: getattr(self, name, None) for name in names.split()}

    @property
    def splitter(self) -> str:
        """How thresholds are found, as decision trees name it."""
        return "best"

    @property
    def estimators_samples_(self):
        """Rows that each tree drew, in ascending order; drawn again when asked."""
        check_is_fitted(self, "forest_")
        seen = self._counts(self._n_rows)
        return [np.repeat(np.arange(len(c)), c) for c in seen]

    def _counts(self, n):
        """How often each of n rows was drawn, tree by tree."""
        left = len(self.forest_)  # a fit that was stopped has fewer than seeds
        for scheme, seeds, rows in self._draws:
            for seed in seeds[:left]:
                counts = scheme.draw(seed)[1]
                yield counts if rows is None else spread.scatter_counts(rows, counts, n)
            left -= min(left, len(seeds))

    @property
    def feature_importances_(self):
        """Mean over the trees of each feature's share of the fall of impurity."""
        check_is_fitted(self, "forest_")
        total = self._gained.sum()
        return self._gained / total if total > 0 else np.zeros_like(self._gained)

    def apply(self, X):
        """(n, trees) number of the leaf that each row falls into."""
        X = rows_of(self, X)
        with threads.limited(self.n_jobs):
            return in_blocks(X, self.forest_.apply).astype(np.int64)

    def decision_path(self, X):
        """Nodes that rows pass: a sparse matrix over all trees, and their starts."""
        X = rows_of(self, X)
        X = X.toarray() if sp.issparse(X) else X
        paths = [model.tree_.decision_path(X) for model in self.estimators_]
        return sp.hstack(paths).tocsr(), self.forest_.start.copy()

    def proximity(self, X, Z=None, *, dense_output=None):
        """Share of the trees in which two rows fall into the same leaf.

        Parameters
        ----------
        X, Z : arrays of shape (n, d) and (m, d)
            Z=None compares the rows of X with each other.
        dense_output : bool or None
            None: dense up to a quarter of a gigabyte, sparse (CSR) beyond.

        Returns
        -------
        array or CSR matrix of shape (n, m)
        """
        return spread.forest_proximity(self, X, Z, dense_output)

    def _mean(self, X):
        """(n, outputs, classes) mean of the leaf values over the trees."""
        X = rows_of(self, X)
        with threads.limited(self.n_jobs):
            total = in_blocks(X, self.forest_.sum)
        return (total / len(self.forest_)).reshape(len(total), *self.forest_.shape)

    def _score_out_of_bag(self, X, y):
        """Mean of the trees that did not draw a row, for every row."""
        forest, n = self.forest_, X.shape[0]
        total, times = np.zeros((n, forest.value.shape[1])), np.zeros(n, np.int64)
        counts = self._counts(n)
        for a in range(0, len(forest), TREES_PER_CHUNK):
            b = min(a + TREES_PER_CHUNK, len(forest))
            leaf = in_blocks(X, partial(forest.leaves, start=a, stop=b))
            for t, c in zip(range(b - a), counts):
                rows = np.flatnonzero(c == 0)
                total[rows] += forest.value[leaf[rows, t]]
                times[rows] += 1
        self.oob_missing_ = np.flatnonzero(times == 0)
        if len(self.oob_missing_):
            warnings.warn(
                f"{len(self.oob_missing_)} of {n} rows were drawn by every tree and "
                "have no prediction out of the bag; oob_missing_ lists them. Grow more "
                "trees.",
                stacklevel=5,
            )
        mean = total / np.where(times > 0, times, np.nan)[:, None]
        self._set_oob(mean.reshape(n, *forest.shape), y, np.flatnonzero(times))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "forest_")

    def __len__(self):
        return len(self.forest_)

    def __getitem__(self, index):
        return self.estimators_[index]

    def __iter__(self):
        return iter(self.estimators_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = getattr(self, "categorical_features", None) is not None
        return tags

    def __str__(self):
        if not hasattr(self, "forest_"):
            return repr(self)
        f = self.forest_
        return f"{self!r}\n{len(f)} trees, {f.node_count:,} nodes, {f.nbytes:,} bytes"
