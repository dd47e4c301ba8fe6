"""Architectures of a net side by side: size, cost and score on rows held out.

Every candidate is a setting of one estimator's parameters (depth, width, activation,
...). It is fitted to the same training rows and scored on the same validation rows: one
split by default, since nets are dear, or folds. Choice is by the validation score; the
training loss is in the table to be looked at, and never decides: it falls with size
whatever the rows say. With folds, the smallest net within one standard error of the
best is named too.

Parameters are counted as `nn.count_parameters` does, operations are those of a forward
pass for one row.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    KFold,
    ParameterGrid,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from ..core.random import draw_seed, make_rng


class ArchitectureRow(NamedTuple):
    """One candidate."""

    settings: dict  # parameters that were changed
    depth: int  # layers with weights, the output included
    width: int  # of the widest hidden layer: units or filters
    activation: str
    parameters: int
    flops: float  # of a forward pass for one row
    seconds: float  # of a fit, on average
    train_loss: float
    score: float  # on validation rows, averaged over folds
    standard_error: float  # over folds; NaN for one split


class ArchitectureComparison(NamedTuple):
    """Result of `architectures`."""

    table: tuple[ArchitectureRow, ...]  # in the order given
    best: ArchitectureRow  # of the highest validation score
    simplest: ArchitectureRow  # the fewest parameters within one standard error of it

    def __str__(self):
        head = (
            f"{'depth':>5} {'width':>5} {'activation':>10} {'parameters':>10} "
            f"{'flops':>9} {'seconds':>8} {'train loss':>10} {'score':>8}  settings"
        )
        lines = [head]
        for row in sorted(self.table, key=lambda r: -r.score):
            mark = " (best)" if row is self.best else ""
            mark += " (simplest)" if row is self.simplest and mark == "" else ""
            settings = ", ".join(f"{k}={v!r}" for k, v in row.settings.items())
            lines.append(
                f"{row.depth:>5} {row.width:>5} {row.activation:>10} "
                f"{row.parameters:>10,} {row.flops:>9.3g} {row.seconds:>8.2g} "
                f"{row.train_loss:>10.4g} {row.score:>8.4g}  {settings}{mark}"
            )
        return "\n".join(lines)


def architectures(
    estimator, X, y, grid, *, cv=None, validation_fraction=0.25, scoring=None,
    random_state=0,
) -> ArchitectureComparison:  # fmt: skip
    """Compare settings of a net by their score on rows held out.

    Parameters
    ----------
    estimator : estimator of `neural_network`
    X, y : arrays
    grid : dict of lists, or list of dicts
        All combinations of the lists, or the settings themselves.
    cv : int or None, default=None
        Folds; None: one split.
    validation_fraction : float, default=0.25
        Share of the rows that one split holds out.
    scoring : str, function or None, default=None
        As in scikit-learn; None: the estimator's own `score`.
    random_state : int, Generator or None, default=0
        Seed of the split.

    Returns
    -------
    ArchitectureComparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.compare import architectures
    >>> from pansophy.neural_network import MLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier(solver="lbfgs", max_iter=300, random_state=0, tol=1e-2)
    >>> found = architectures(model, X, y, {"hidden_layer_sizes": [(5,), (20, 20)]})
    >>> [(row.depth, row.width, row.parameters) for row in found.table]
    [(2, 5, 43), (3, 20, 583)]
    """
    candidates = _settings_of(grid)
    seed = draw_seed(make_rng(random_state))
    splits = list(_make_splitter(estimator, cv, validation_fraction, seed).split(X, y))
    score = check_scoring(estimator, scoring)
    data = np.asarray(X), np.asarray(y)
    table = tuple(
        _rate_architecture(estimator, settings, data, splits, score)
        for settings in candidates
    )
    # by the score of validation rows alone; of equals the first in the list
    best = max(table, key=lambda row: row.score)
    margin = 0.0 if np.isnan(best.standard_error) else best.standard_error
    close = [row for row in table if row.score >= best.score - margin]
    return ArchitectureComparison(
        table, best, min(close, key=lambda row: (row.parameters, -row.score))
    )


def _settings_of(grid) -> list[dict]:
    """The candidates, as dicts of parameters."""
    if isinstance(grid, Mapping):
        return list(ParameterGrid(dict(grid)))
    if (
        isinstance(grid, Sequence)
        and grid
        and all(isinstance(g, Mapping) for g in grid)
    ):
        return [dict(g) for g in grid]
    raise ValueError("grid must be a dict of lists or a list of dicts, and not empty.")


def _make_splitter(estimator, cv, share, seed):
    classes = is_classifier(estimator)
    if cv is not None:
        return (StratifiedKFold if classes else KFold)(
            cv, shuffle=True, random_state=seed
        )
    splitter_class = StratifiedShuffleSplit if classes else ShuffleSplit
    return splitter_class(1, test_size=share, random_state=seed)


def _rate_architecture(estimator, settings, data, splits, score) -> ArchitectureRow:
    """Fit one candidate to each training part, and score it on the other."""
    X, y = data
    scores, seconds, losses = [], [], []
    for inside, outside in splits:
        model = clone(estimator).set_params(**settings)
        start_time = time.perf_counter()
        model.fit(X[inside], y[inside])
        seconds.append(time.perf_counter() - start_time)
        scores.append(float(score(model, X[outside], y[outside])))
        losses.append(float(getattr(model, "loss_", np.nan)))
    size = net_size(model)
    k = len(scores)
    return ArchitectureRow(
        settings,
        size.depth,
        size.width,
        str(getattr(model, "activation", "relu")),
        size.parameters,
        size.flops,
        float(np.mean(seconds)),
        float(np.mean(losses)),
        float(np.mean(scores)),
        float(np.std(scores, ddof=1) / np.sqrt(k)) if k > 1 else float("nan"),
    )


class NetSize(NamedTuple):
    """Depth, width, number of parameters and operations of a net."""

    depth: int
    width: int
    parameters: int
    flops: float


def net_size(model: Any) -> NetSize:
    """Layers, width, parameters and operations of a fitted estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.model_selection.architecture_comparison import net_size
    >>> from pansophy.neural_network import MLPRegressor
    >>> X = np.arange(20.0).reshape(10, 2) / 20
    >>> model = MLPRegressor(hidden_layer_sizes=3, solver="lbfgs", max_iter=50, tol=0.1)
    >>> net_size(model.fit(X, X[:, 0])).parameters
    13
    """
    if hasattr(model, "coefs_"):
        shapes = [W.shape for W in model.coefs_]
        learnt = sum(W.size for W in (*model.coefs_, *model.intercepts_))
        work = 2.0 * sum(W.size for W in model.coefs_)
    else:
        from ..nn import count_parameters

        net = model.nets_[0]
        layers = [m for m in net.modules() if _is_layer(m)]
        shapes = [(0, m.weight.shape[0]) for m in layers]
        learnt = count_parameters(net)
        work = net.flops(1) / 3
    width = max((shape[1] for shape in shapes[:-1]), default=shapes[-1][1])
    return NetSize(len(shapes), int(width), int(learnt), float(work))


def _is_layer(module) -> bool:
    """Whether a module is a dense layer or a convolution."""
    weight = getattr(module, "weight", None)
    name = type(module).__name__
    return (
        weight is not None and weight.ndim > 1 and name.startswith(("Linear", "Conv"))
    )
