"""Turns a table into the matrix that a method needs; fitted inside each fold.

Methods come in two kinds. *Native* ones take categories as codes and missing values as
NaN: their categories come first, as columns 0 .. k-1. All others get numbers imputed by
the median, with an indicator where values were missing; ordinals as numbers; dates and
angles by `date_features`; categories of few levels one-hot and of many levels by their
mean target (`target_encoding`); texts by `text_features`; all scaled on request. All
parameters are learned from the rows given to `fit`; `transform` only applies them.

Output columns stand in blocks: numbers, dates, angles | indicators | levels | mean
targets | texts; for native methods codes | numbers, dates, angles | texts.
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from ..base import Estimator
from ..core.arrays.weighted import weighted_median
from . import date_features, target_encoding, text_features
from .roles import Column

ONE_HOT = 10  # categories with more levels are encoded by their mean target
ROWS = 4096  # rows transformed at a time, so that a block stays in the cache


class DenseColumns(NamedTuple):
    """Imputation and scaling of numbers, date parts and angles."""

    number: np.ndarray  # columns of the frame
    ordinal: np.ndarray  # which of these numbers are codes in order
    date: np.ndarray  # columns of the frame
    part: np.ndarray  # which parts of the dates are kept
    angle: np.ndarray  # columns of the frame
    period: np.ndarray
    gap: np.ndarray  # columns of the frame with an indicator
    fill: np.ndarray  # instead of a missing value
    shift: np.ndarray
    scale: np.ndarray


@dataclass(eq=False, repr=False)
class Preparation(Estimator):
    """Impute, scale and encode the columns of a MixedFrame.

    Parameters
    ----------
    columns : tuple of Column
        The used columns of the schema, in order.
    task : str
        Of the schema.
    n_classes : int
        Classes of a classification.
    scale : bool
        Whether columns are standardised.
    full_rank : bool
        Whether one level of each category is left out.
    native : bool
        Whether categories stay integer codes and missing values stay NaN.
    random_state : int
        Of the parts of cross-fitting.

    Attributes
    ----------
    columns_of_ : array of shape (n_features_out,)
        Which of `columns` each output column was made from.
    n_features_in_ : int
        The number of `columns`.
    """

    columns: tuple[Column, ...] = ()
    _: KW_ONLY
    task: str = "regression"
    n_classes: int = 0
    scale: bool = False
    full_rank: bool = False
    native: bool = False
    random_state: int = 0

    def fit(self, frame, y=None, sample_weight=None):
        """Fit to the rows of a frame; a row of weight k counts as k rows."""
        self._fit(frame, y, sample_weight)
        return self

    def fit_transform(self, frame, y=None, sample_weight=None) -> np.ndarray:
        """Fit and transform; unlike `transform`, mean targets are cross-fitted."""
        Y, w = self._fit(frame, y, sample_weight)
        prepared = self.transform(frame)
        if self.means_ is not None:
            part = target_encoding.cross_fitted(
                frame.values, self.means_.where, self.long_, Y, w, self.random_state
            )
            a, b = self.edges_[2:4]
            prepared[:, a:b] = (part - self.mean_shift_) / self.mean_scale_
        return prepared

    def _fit(self, frame, y, w):
        plain = [c for c in self.columns if c.role != "text"]
        if frame.shape[1] != len(self.columns):
            raise ValueError(
                f"The frame has {frame.shape[1]} columns, but Preparation is told of "
                f"{len(self.columns)}."
            )
        w = None if w is None else np.asarray(w, dtype=float)
        if w is not None and not w.all():  # rows of weight 0 are not there
            kept = w > 0
            self._fit(frame[kept], None if y is None else np.asarray(y)[kept], w[kept])
            Y = _target_matrix(y, self.task, self.n_classes) if self.long_ else None
            return Y, w
        V = frame.values
        self.n_features_in_ = len(self.columns)
        names = Names(self.columns)
        category = [j for j, c in enumerate(plain) if c.role == "category"]
        if self.native:
            sizes = [len(plain[j].levels) for j in category]
            self.one_hot_ = target_encoding.fit_codes(V, category, sizes, w)
            names.add(category, [""] * len(category))
        self.dense_ = _fit_dense(V, plain, w, self.native, self.scale, names)
        a = b = c = d = len(names)
        self.means_ = None
        self.long_ = ()
        Y = None
        if not self.native:
            names.add(self.dense_.gap, [" missing"] * len(self.dense_.gap))
            b = len(names)
            self._fit_levels(V, plain, category, w, names)
            c = len(names)
            Y = self._fit_means(V, plain, category, y, w, names)
            d = len(names)
        self.edges_ = (a, b, c, d)
        seed = self.random_state
        self.words_ = tuple(
            text_features.fit_words(t, self.scale, seed) for t in frame.texts
        )
        names.add_texts(self.words_)
        self.columns_of_ = np.asarray(names.of, dtype=np.intp)
        self.names_ = names.names
        return Y, w

    def _fit_levels(self, V, plain, category, w, names):
        short = [j for j in category if len(plain[j].levels) <= ONE_HOT]
        sizes = [len(plain[j].levels) for j in short]
        self.one_hot_, column_slots = target_encoding.fit_one_hot(
            V, short, sizes, w, self.full_rank
        )
        level_name = lambda j, slot: (
            f"({slot})" if isinstance(slot, str) else plain[short[j]].levels[slot - 1]
        )
        names.add(
            [short[j] for j, _ in column_slots],
            [f"={level_name(j, s)}" for j, s in column_slots],
        )

    def _fit_means(self, V, plain, category, y, w, names):
        long = [j for j in category if len(plain[j].levels) > ONE_HOT]
        if not long:
            return None
        if y is None:
            raise ValueError("Preparation needs y for categories of many levels.")
        Y = _target_matrix(y, self.task, self.n_classes)
        self.long_ = tuple(len(plain[j].levels) for j in long)
        self.means_ = target_encoding.fit_means(V, long, self.long_, Y, w)
        K = Y.shape[1]
        self.mean_shift_ = np.zeros(len(long) * K)
        self.mean_scale_ = np.ones(len(long) * K)
        if self.scale:
            E = np.empty((len(V), len(long) * K))
            target_encoding.put_means(self.means_, V, E)
            self.mean_shift_, size = _means_and_scales(E, w)
            self.mean_scale_ = np.maximum(
                size, np.tile(_mean_standard_errors(Y, w), len(long))
            )
        endings = [f" mean {k}" for k in range(K)] if K > 1 else [" mean"]
        names.add(np.repeat(long, K), endings * len(long))
        return Y

    def transform(self, frame) -> np.ndarray:
        """The float64 matrix of a frame, with as many rows."""
        n = len(frame)
        (a, b, c, d) = self.edges_
        V = frame.values
        out = np.zeros((n, len(self.columns_of_)))
        for i in range(0, n, ROWS):
            v = V[i : i + ROWS]
            o = out[i : i + ROWS]
            if self.native:
                k = len(self.one_hot_.where)
                if k:
                    h = self.one_hot_
                    slots = target_encoding.slots_of(v, h.where, h.gone, h.start)
                    o[:, :k] = h.hit[slots]
                o[:, k:d] = _dense_values(self.dense_, v, plain=True)
                continue
            self._put(v, o, a, b, c, d)
        for text, block in zip(frame.texts, self.words_):
            width = block.V.shape[1]
            if width:
                word_columns = out[:, d : d + width]
                text_features.put_words(block, text, word_columns)
            d += width
        return out

    def _put(self, v, o, a, b, c, d):
        """Writes all columns except texts, for methods that are not native."""
        dense = self.dense_
        if a:
            X = _dense_values(dense, v, plain=False)
            gone = np.isnan(X)
            if gone.any():
                np.copyto(X, dense.fill, where=gone)
            if self.scale:
                X -= dense.shift
                X *= dense.scale
            o[:, :a] = X
        if b > a:
            o[:, a:b] = np.isnan(v[:, dense.gap])
        if c > b:
            target_encoding.put_one_hot(self.one_hot_, v, o[:, b:c])
        if d > c:
            target_encoding.put_means(self.means_, v, o[:, c:d])
            if self.scale:
                o[:, c:d] -= self.mean_shift_
                o[:, c:d] /= self.mean_scale_

    @property
    def categories(self) -> list[int] | None:
        """Columns of a native matrix that are category codes; None without any."""
        k = sum(c.role == "category" for c in self.columns)
        return list(range(k)) or None

    @property
    def columns_of(self) -> np.ndarray:
        """Source, among `columns`, of each output column."""
        return self.columns_of_

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """A name for each output column."""
        return np.asarray(self.names_, dtype=object)


class Names:
    """Collects the output columns: positions of their sources, and their names."""

    def __init__(self, columns):
        self.columns = columns
        self.plain = [i for i, c in enumerate(columns) if c.role != "text"]
        self.text = [i for i, c in enumerate(columns) if c.role == "text"]
        self.of: list[int] = []
        self.names: list[str] = []

    def __len__(self):
        return len(self.of)

    def add(self, frame_columns, endings):
        for j, ending in zip(frame_columns, endings, strict=True):
            self.of.append(self.plain[j])
            self.names.append(self.columns[self.plain[j]].name + ending)

    def add_texts(self, blocks):
        for i, block in zip(self.text, blocks, strict=True):
            for k in range(block.V.shape[1]):
                self.of.append(i)
                self.names.append(f"{self.columns[i].name} topic {k + 1}")


def _target_matrix(y, task, n_classes) -> np.ndarray:
    """y as a matrix (n, K): one column, or one for each class or label."""
    y = np.asarray(y)
    if y.ndim == 2:
        return y.astype(float)
    if task == "classification" and n_classes > 2:
        return (y[:, None] == np.arange(n_classes)).astype(float)
    return y.astype(float)[:, None]


def _mean_standard_errors(Y, w) -> np.ndarray:
    """Standard errors of the column means of Y (n, K), the least scale of encodings.

    Uninformative levels have nearly equal mean targets; scaling by their tiny spread
    would blow up the noise of cross-fitted encodings.
    """
    m = np.average(Y, axis=0, weights=w)
    n = len(Y) if w is None else target_encoding.as_counts(w).sum()
    return np.sqrt(np.average((Y - m) ** 2, axis=0, weights=w) / n)


def _fit_dense(V, plain, w, native, scale, names) -> DenseColumns:
    """Fits the dense columns: the varying date parts, imputed values and scales."""
    columns_of = lambda *roles: np.asarray(
        [j for j, c in enumerate(plain) if c.role in roles], dtype=np.intp
    )
    number, date, angle = (
        columns_of("number", "ordinal"),
        columns_of("date"),
        columns_of("angle"),
    )
    parts = date_features.PLAIN if native else date_features.CIRCLES
    kept = date_features.varying_date_parts(V[:, date], native) if len(date) else []
    part = np.asarray([i * len(date) + j for i, j in kept], dtype=np.intp)
    names.add(number, [""] * len(number))
    names.add([date[j] for _, j in kept], [" " + parts[i] for i, _ in kept])
    names.add([*angle, *angle], [" sin"] * len(angle) + [" cos"] * len(angle))
    used = np.r_[number, date, angle].astype(np.intp)
    gap = used[np.isnan(V).any(axis=0)[used]]
    width = len(number) + len(part) + 2 * len(angle)
    block = DenseColumns(
        number=number,
        ordinal=np.asarray([plain[j].role == "ordinal" for j in number], dtype=bool),
        date=date,
        part=part,
        angle=angle,
        period=np.asarray([plain[j].period for j in angle], dtype=float),
        gap=gap,
        fill=np.zeros(width),
        shift=np.zeros(width),
        scale=np.ones(width),
    )
    if native or width == 0:
        return block
    comes_round = [0.0 if "sin" in p or "cos" in p else np.nan for p in parts]
    fixed = [comes_round[i] for i, _ in kept]
    fixed = np.r_[[np.nan] * len(number), fixed, [0.0] * (2 * len(angle))]
    return _fill_and_size(block, V, w, fixed, scale)


def _fill_and_size(block, V, w, fixed, scale) -> DenseColumns:
    """Fits imputed values (medians where `fixed` is NaN), means and scales."""
    X = np.empty((len(fixed), len(V)))  # one row a column: they are read one by one
    for i in range(0, len(V), ROWS):
        X[:, i : i + ROWS] = _dense_values(block, V[i : i + ROWS], plain=False).T
    for j, x in enumerate(X):
        gone = np.isnan(x)
        block.fill[j] = _known_median(x, w) if np.isnan(fixed[j]) else fixed[j]
        if scale:
            x[gone] = block.fill[j]
            shift, size = _means_and_scales(x[:, None], w)
            block.shift[j] = shift[0]
            block.scale[j] = 1.0 / size[0]
    return block


def _dense_values(block, v, plain) -> np.ndarray:
    """Matrix of numbers, date parts and angles; NaN where missing."""
    X = v[:, block.number]
    if block.ordinal.any():
        X = np.where(block.ordinal & (X < 0), np.nan, X)  # levels never seen
    results = [X]
    if len(block.part):
        results.append(date_features.date_parts(v[:, block.date], plain)[:, block.part])
    if len(block.angle):
        results.append(date_features.cyclic_features(v[:, block.angle], block.period))
    return np.concatenate(results, axis=1) if len(results) > 1 else X


def _known_median(x, w) -> float:
    """Median of the values that are not missing; 0 if there are none."""
    known = ~np.isnan(x) if w is None else ~np.isnan(x) & (w > 0)
    if not known.any():
        return 0.0
    if w is None:
        return float(np.median(x[known]))  # selects, where weights need a sort
    return float(weighted_median(x[known], w[known]))


def _means_and_scales(X, w) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations; 1 for a column that does not vary."""
    m = np.average(X, axis=0, weights=w)
    s = np.sqrt(np.average((X - m) ** 2, axis=0, weights=w))
    flat = s <= 1e-12 * np.maximum(np.abs(m), 1e-300)
    return m, np.where(flat, 1.0, s)
