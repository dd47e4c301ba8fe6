r"""Pretrained networks for tables: classifier and regressor that learn by reading.

The network has been trained on millions of made-up tables to answer one question: here
are rows with targets and rows without, what are the missing targets? Its weights come
with the package and never change. `fit` lets it read the training rows once; a new row
costs one pass. With a prior :math:`p(\phi)` over the processes that may have made a
table, the training has made it approximate

.. math:: p(y \mid x, D) = \int p(y \mid x, \phi)\, p(\phi \mid D)\, d\phi          (1)

the posterior predictive distribution given the training rows D [1]_: there is nothing
to tune, probabilities are near to calibrated, and few rows are enough. What the prior
holds is in `prior_fitted.prior`; no real table was used in the training.

The answers of `n_members` members (`prior_fitted.members`) are averaged: classes by the
mean of log probabilities, numbers by the mean of their distributions, which are masses
on a grid of 64 points, so that quantiles come with the mean.

*Tables.* Numbers are taken relative to the median and the median deviation from it, in
float64, and clipped at 1e9 of these; the network reads ranks beside values. Categories
are codes, a level that training never saw is a missing value. Columns with one value
are left out.

*Limits.* The network was trained on up to 10 classes, and on so many rows and columns
as the file of weights states. More classes are coded, of more rows or columns each
member reads a part of its own; a warning says so.

*Weights.* Rows of weight 0 are left out, and the weights of equal rows are added. If
all are whole numbers then, and the copies are within the limit of rows, a row of weight
k is read k times. Otherwise, unless all weights are equal, each member reads as many
rows as there are (within the limit), each drawn in proportion to its weight, by floor
or ceil of its expected number.

Cost: with n rows, d columns and M members O(M (n d + n^2)) for `fit`, O(M (d + n)) for
a new row, with large factors: 1,000 rows of 20 columns take about 0.9 s a member on one
core.

Shapes    X (n, d)   y (n,)

References
----------
.. [1] Müller et al. (2022). Transformers can do Bayesian inference. ICLR.
.. [2] Hollmann et al. (2025). Accurate predictions on small data with a tabular
   foundation model. Nature 637.
"""

import importlib.util
import math
import shutil
import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Estimator, Regressor
from ..core.arrays.labels import class_codes
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.inherited_docs import inherit_descriptions
from ..core.loops.threads import limit_threads, run_tasks, single_blas
from ..core.random import make_rng, spawn_rngs
from ..params import Count, DeviceName, Flag, Jobs
from ..persist.saved_state import (
    Each,
    IntArray,
    Part,
    saved_state,
)
from ..prior_fitted.members import (
    Member,
    average_classes,
    average_distributions,
    bin_column,
    deal_columns,
    draw_groups,
    draw_view,
    member_outputs,
    read_training_rows,
    stratified_sample,
)
from ..prior_fitted.pretrained import PretrainedNetwork, load_pretrained
from ..prior_fitted.targets import encode_targets, knot_positions, quantiles_on_grid
from ..tree.abstract_decision_tree import ColumnSelection
from ..typing import Seed
from .table_encoding import TableEncoder, check_new_table, check_table

FARTHEST = 1e9  # median deviations from the median at which numbers are clipped
BLOCK_ROWS = 4096  # new rows whose outputs exist at a time


def _low_median(x) -> float:
    """The middle value, or the lower of the two in the middle; of none, 0."""
    return float(np.sort(x)[(len(x) - 1) // 2]) if len(x) else 0.0


def median_and_deviation(x) -> tuple[float, float]:
    """Median of the known values of a column, and a typical distance from it."""
    known = x[~np.isnan(x)]
    centre = _low_median(known)
    with np.errstate(over="ignore"):
        distance = np.minimum(np.abs(known - centre), np.finfo(float).max)
    typical = _low_median(distance) or _low_median(distance[distance > 0])
    return centre, typical or 1.0


def _has_one_value(x) -> bool:
    """Whether a column has the same value in all rows, or none."""
    missing = np.isnan(x)
    return bool(missing.all() or (not missing.any() and (x == x[0]).all()))


def merge_duplicates_by_weight(X, y, w) -> tuple[np.ndarray, np.ndarray]:
    """First places of the distinct rows (X, y) in ascending order, and their weights.

    So the order of rows means nothing to the last bit, and two halves are a row.
    """
    X = np.where(np.isnan(X), np.inf, X)  # equal to itself
    order = np.lexsort((*X.T[::-1], y))
    differs = (X[order[1:]] != X[order[:-1]]).any(axis=1)
    is_new = np.r_[True, differs | (y[order[1:]] != y[order[:-1]])]
    return order[is_new], np.add.reduceat(w[order], np.flatnonzero(is_new))


def rows_by_weight(w, most: int) -> np.ndarray | None:
    """Rows to read, repeated by whole weights; None if rows must be drawn by weight."""
    if (w == np.round(w)).all() and w.sum() <= most:
        return np.repeat(np.arange(len(w)), w.astype(int))
    return np.arange(len(w)) if (w == w[0]).all() and len(w) <= most else None


def _resolve_torch_device(device: str) -> str | None:
    """Device that torch computes on, or None for NumPy.

    "auto" looks for a driver before it imports torch, which takes seconds.
    """
    if device == "cpu":
        return None
    if device == "auto":
        has_driver = shutil.which("nvidia-smi") is not None
        if not has_driver or importlib.util.find_spec("torch") is None:
            return None
        import torch

        return "cuda" if torch.cuda.is_available() else None
    from ..nn.training.devices import resolve_device

    return str(resolve_device(device))


@saved_state(
    table_=Part(TableEncoder),
    columns_=IntArray(None, low=0),
    members_=Each(Part(Member)),
)
@dataclass(eq=False, repr=False)
class AbstractPretrainedTable(Estimator):
    """Pretrained networks for tables: their parameters, and how they read a table.

    Parameters
    ----------
    n_members : int, default=4
        Members whose answers are averaged; more are a little better and cost as much
        each.
    categorical_features : None, "from_dtype", mask, indices or names, \
default="from_dtype"
        Columns of categories; "from_dtype" takes the text and categorical columns of a
        data frame.
    max_rows : int or None, default=None
        Most training rows that a member reads; None: as many as the network was
        trained on.
    max_columns : int or None, default=None
        Most columns that a member reads; None: twice as many as the network was trained
        on.
    keep_rows : bool, default=False
        Keep the training rows instead of what was read of them (keys and values of
        each block, 75 kB a row and member in a saved file). Each prediction then reads
        them again.
    device : {"auto", "cpu", "cuda"}, default="auto"
        "cuda" computes with torch on a GPU; "auto" does so if there is one.
    n_jobs : int or None, default=None
        Most threads; None: all cores.
    random_state : int, RandomState, Generator or None
        Seed of the members.

    Attributes
    ----------
    members_ : list
        What each member has read.
    columns_ : array
        Columns that vary.
    n_rows_ : int
        Training rows of weight above 0.
    weights_digest_ : str
        Of the file of weights that the model goes with.
    """

    n_members: Count = 4
    _: KW_ONLY
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = "from_dtype"
    max_rows: Count | None = None
    max_columns: Count | None = None
    keep_rows: Flag = False
    device: DeviceName = "auto"
    n_jobs: Jobs = None
    random_state: Seed = None

    _tensors = False

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        inherit_descriptions(cls)

    # The two estimators give `_y_kind`.

    def _check_rows(self, X, y, sample_weight):
        """The prepared table, which of its columns are categories, y and weights.

        Equal rows are merged, so weights are those of all their copies.
        """
        (numbers, codes), y, w = check_table(self, X, y, sample_weight)
        w = np.ones(len(y)) if w is None else np.asarray(w, float)
        weighted_rows = np.flatnonzero(w > 0)
        self.n_rows_ = len(weighted_rows)
        numbers = numbers[weighted_rows].astype(np.float64)
        columns = np.hstack([numbers, codes[weighted_rows]])
        places = np.unique(y[weighted_rows], return_inverse=True)[1]
        rows, w = merge_duplicates_by_weight(columns, places, w[weighted_rows])
        numbers, codes, y = (
            numbers[rows],
            codes[weighted_rows[rows]],
            y[weighted_rows[rows]],
        )
        scales = [median_and_deviation(x) for x in numbers.T]
        centre, scale = np.array(scales).reshape(-1, 2).T
        self.table_ = self.table_._replace(centre=centre.copy(), scale=scale.copy())
        prepared = self._prepare((numbers, codes))
        varying = [j for j, x in enumerate(prepared.T) if not _has_one_value(x)]
        self.columns_ = np.array(varying, int)
        is_categorical = self.columns_ >= numbers.shape[1]
        is_categorical = is_categorical if varying else np.zeros(1, bool)
        return self._varying(prepared), is_categorical, y, w

    def _prepare(self, inputs) -> np.ndarray:
        """Numbers and codes as one table of float32, NaN where missing."""
        numbers, codes = inputs
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = self.table_.standardise(numbers.astype(np.float64))
        numbers = np.clip(numbers, -FARTHEST, FARTHEST)
        codes = np.where(codes == 0, np.nan, codes - 1)
        return np.concatenate([numbers, codes], axis=1).astype(np.float32)

    def _varying(self, prepared) -> np.ndarray:
        """The columns that varied in training; one of zeros if none did."""
        if not len(self.columns_):
            return np.zeros((len(prepared), 1), np.float32)
        return np.ascontiguousarray(prepared[:, self.columns_])

    def _read_members(self, X, is_categorical, strata, w, groups, encode):
        """Let each member read its rows and columns; sets `members_`.

        `strata` are codes of classes or numbers, along which rows are sampled, and
        `encode(i, rows)` gives the encoded targets of member i and its grid.
        """
        network = load_pretrained()
        self.weights_digest_ = network.digest
        limits = network.limits
        most_rows = self.max_rows or limits["rows"]
        most_columns = self.max_columns or 2 * limits["columns"]
        rngs = spawn_rngs(make_rng(self.random_state), len(groups) + 1)
        rows = rows_by_weight(w, most_rows)
        if self.n_rows_ > most_rows:
            self._warn_of_limit(f"{self.n_rows_} training rows", f"{most_rows} of them")
        if X.shape[1] > most_columns:
            self._warn_of_limit(f"{X.shape[1]} columns", f"{most_columns} of them")
        shares = deal_columns(
            rngs[-1],
            X,
            bin_column(strata, self._y_kind == "class"),
            is_categorical,
            len(groups),
            most_columns,
        )
        device = _resolve_torch_device(self.device)

        def read(i):
            drawn = rows
            if drawn is None:
                m = min(self.n_rows_, most_rows)
                drawn = stratified_sample(rngs[i], strata, m, w)
            mapped = self._y_kind == "class" and i % 2 == 1
            view = draw_view(
                rngs[i], X[drawn], is_categorical, shares[i], groups[i], mapped
            )
            targets, grid = encode(i, drawn)
            return read_training_rows(
                network,
                view,
                X[drawn],
                targets,
                grid=grid,
                keep_rows=self.keep_rows,
                device=device,
            )

        with limit_threads(self.n_jobs), single_blas():
            tasks = [partial(read, i) for i in range(len(groups))]
            self.members_ = list(run_tasks(tasks, blas=True))

    def _warn_of_limit(self, found: str, limit: str, stacklevel=4) -> None:
        warnings.warn(
            f"{type(self).__name__} got {found}, more than it reads at once: each "
            f"member reads {limit}.",
            UserWarning,
            stacklevel=stacklevel,
        )

    def _network(self) -> PretrainedNetwork:
        """The weights that the members were made with."""
        network = load_pretrained()
        if network.digest != self.weights_digest_:
            raise ValueError(
                f"this {type(self).__name__} was fitted with pretrained weights "
                f"{self.weights_digest_}, and those of this installation are "
                f"{network.digest}: fit it again, or install the version it was "
                "fitted with."
            )
        return network

    def _outputs_by_block(self, X):
        """For each block of new rows the outputs (rows, n_outputs) of the members."""
        inputs = check_new_table(self, X)
        network = self._network()
        device = _resolve_torch_device(self.device)
        for start in range(0, len(inputs[0]), BLOCK_ROWS):
            block = tuple(part[start : start + BLOCK_ROWS] for part in inputs)
            rows = self._varying(self._prepare(block))
            tasks = [
                partial(member_outputs, network, member, rows, device)
                for member in self.members_
            ]
            with limit_threads(self.n_jobs), single_blas():
                yield list(run_tasks(tasks, blas=True))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass(eq=False, repr=False)
class PretrainedTableClassifier(Classifier, AbstractPretrainedTable):
    """Classifier pretrained on made-up tables; the module text gives the method.

    Parameters
    ----------
    n_members : int, default=4
        Members whose answers are averaged.

    Attributes
    ----------
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.neural_network import PretrainedTableClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PretrainedTableClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _y_kind = "class"

    def fit(self, X, y, sample_weight=None):
        """Read the training rows.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            NaN is a missing value.
        y : array of shape (n,)
        sample_weight : array of shape (n,) or None
        """
        X, is_categorical, y, w = self._check_rows(X, y, sample_weight)
        self.classes_, codes = class_codes(y)
        n_classes = len(self.classes_)
        if n_classes == 1:
            self.members_ = []
            return self
        n_outputs = load_pretrained().limits["n_classes"]
        n_members = self.n_members
        if n_classes > n_outputs:
            n_members = max(n_members, math.ceil(2 * (n_classes - 1) / (n_outputs - 1)))
            limit = f"{n_outputs} groups of them"
            self._warn_of_limit(f"{n_classes} classes", limit, stacklevel=3)
        rng = make_rng(self.random_state)
        groups = [draw_groups(rng, n_classes, n_outputs) for _ in range(n_members)]

        def encode(i, rows):
            told = groups[i][codes[rows]][None]
            return encode_targets(told, n_outputs)[0], np.zeros(0)

        self._read_members(X, is_categorical, codes, w, groups, encode)
        return self

    def predict_proba(self, X):
        """Probabilities of the classes for each row, (n, classes)."""
        check_is_fitted(self)
        k = len(self.classes_)
        if k == 1:
            return np.ones((len(check_new_table(self, X)[0]), 1))
        groups = [member.view.groups for member in self.members_]
        n_outputs = self._network().limits["n_classes"]
        blocks = [
            average_classes([z[:, :n_outputs] for z in outputs], groups, k)
            for outputs in self._outputs_by_block(X)
        ]
        return np.concatenate(blocks)

    def predict(self, X):
        """The most probable class of each row."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@dataclass(eq=False, repr=False)
class PretrainedTableRegressor(Regressor, AbstractPretrainedTable):
    """Regressor pretrained on made-up tables; the module text gives the method.

    Parameters
    ----------
    n_members : int, default=4
        Members whose answers are averaged.

    Attributes
    ----------
    y_mean_, y_scale_ : float
        Mean and deviation of the training targets.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import PretrainedTableRegressor
    >>> X = np.random.default_rng(0).uniform(-2, 2, (100, 2))
    >>> y = np.abs(X[:, 0]) + X[:, 1]
    >>> model = PretrainedTableRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.predict_quantiles(X[:3], (0.1, 0.9)).shape
    (3, 2)
    """

    _y_kind = "number"

    def fit(self, X, y, sample_weight=None):
        """Read the training rows.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            NaN is a missing value.
        y : array of shape (n,)
        sample_weight : array of shape (n,) or None
        """
        X, is_categorical, y, w = self._check_rows(X, y, sample_weight)
        y = y.astype(np.float64)
        refuse_overflowing_squares(self, y, "y")
        self.y_mean_ = float(np.average(y, weights=w))
        deviation = math.sqrt(np.average((y - self.y_mean_) ** 2, weights=w))
        self.y_scale_ = deviation or 1.0
        z = ((y - self.y_mean_) / self.y_scale_).astype(np.float32)

        def encode(i, rows):
            targets, mean, scale = encode_targets(z[None, rows], 0)
            grid = mean[0, 0] + scale[0, 0] * knot_positions(z).astype(np.float64)
            return targets, grid

        groups = [np.zeros(0, int)] * self.n_members
        self._read_members(X, is_categorical, z, w, groups, encode)
        return self

    def _distribution_by_block(self, X):
        """For each block of new rows a grid of targets and the masses on it."""
        check_is_fitted(self)
        n_classes = self._network().limits["n_classes"]
        grids = [member.grid for member in self.members_]
        for outputs in self._outputs_by_block(X):
            grid, masses = average_distributions(
                [z[:, n_classes:] for z in outputs], grids
            )
            yield self.y_mean_ + self.y_scale_ * grid, masses

    def predict(self, X):
        """Mean of the distribution of y for each row."""
        return np.concatenate(
            [masses @ grid for grid, masses in self._distribution_by_block(X)]
        )

    def predict_dist(self, X):
        """Mean and variance of the distribution of y for each row."""
        means, variances = [], []
        for grid, masses in self._distribution_by_block(X):
            means.append(masses @ grid)
            variances.append(masses @ grid**2 - means[-1] ** 2)
        return np.concatenate(means), np.clip(np.concatenate(variances), 0, None)

    def predict_quantiles(self, X, q=(0.05, 0.5, 0.95)):
        """Quantiles of y for each row: (n,) for one level, else (n, levels)."""
        levels = np.asarray(q, float)
        if not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"q must hold levels between 0 and 1, got {q}.")
        Q = np.concatenate(
            [
                quantiles_on_grid(grid, masses, np.atleast_1d(levels))
                for grid, masses in self._distribution_by_block(X)
            ]
        )
        return Q[:, 0] if np.ndim(q) == 0 else Q
