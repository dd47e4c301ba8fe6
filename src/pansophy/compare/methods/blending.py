"""A blend: the weighted average of several methods.

    p(x) = sum_m a_m p_m(x),   a_m >= 0,  sum_m a_m = 1                          (1)

The weights are found by greedy selection with replacement [Caruana2004]: start with the
member whose predictions have the lowest loss, and add, R times, the member (perhaps
again) that lowers the loss of the average most; a_m is the share of m in the list, at
the length of the list with the lowest loss. This overfits less than free weights and
leaves most of them at zero. After the first few members no others are admitted, since
each has to be fitted, stored and evaluated.

No fit is needed: the methods of a comparison have made out-of-fold predictions anyway.
The blend is still evaluated on held-out rows. Let F be the folds of one repeat and P_g
the predictions for the rows of fold g:

    a(f) = greedy weights on P_g, all g in F but f;    score on f of a(f)        (2)

so that no prediction for fold f affects the weights that are evaluated on it; along
time only folds before f do, and where there are none the members have equal weights.
All methods that finished are candidates: to take those with the best scores would
choose by the rows on which the blend is evaluated. The blend that is kept has weights
found on all folds.

One dependence of a(f) on f remains: the models that predicted for g were trained on f,
so that a method for which f and g happen to agree gains weight. The bias is large for
few rows (figures: `docs/decisions/comparison.md`); so tables of under 1000 rows get
no blend.

Cost      R M evaluations of the loss for each fold, on a sample of its rows
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...base import Estimator
from ...tables import Preparation
from .method import Method, empty_parameters
from .pipelines import fit_pipeline, predict_all_classes, preparation_key

BLEND = "blend"
SELECTION_ROUNDS = 20  # R, so that no member has a share below 5 %
MAX_MEMBERS = 5  # members with weight
MAX_WEIGHT_ROWS = 20_000  # rows on which weights are found


def make_blend(members, weights, task) -> Method:
    """The method that averages others; those without weight are left out."""
    kept = [(m, float(a)) for m, a in zip(members, weights) if a > 0]
    return Method(
        BLEND,
        task,
        "",
        empty_parameters,
        members=tuple(m for m, _ in kept),
        weights=tuple(a for _, a in kept),
    )


def greedy_weights(
    P, y, loss, w=None, rounds=SELECTION_ROUNDS, max_members=MAX_MEMBERS
) -> np.ndarray:
    """a of eq. (1) from predictions P (M, n, ...) of the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.methods.blending import greedy_weights
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> P = np.stack([y + 1, y - 1, y + 9])
    >>> greedy_weights(P, y, lambda y, p, w: np.mean((y - p) ** 2))
    array([0.5, 0.5, 0. ])
    """
    if len(y) > MAX_WEIGHT_ROWS:
        sampled = np.linspace(0, len(y) - 1, MAX_WEIGHT_ROWS).astype(int)
        P, y, w = P[:, sampled], y[sampled], None if w is None else w[sampled]
    single_losses = [loss(y, p, w) for p in P]
    counts = np.zeros(len(P))
    counts[int(np.argmin(single_losses))] = 1
    total = P[int(np.argmin(single_losses))].astype(float)
    best = min(single_losses)
    kept = counts.copy()
    for r in range(2, rounds + 1):
        open_to = (
            range(len(P))
            if np.sum(counts > 0) < max_members
            else np.flatnonzero(counts)
        )
        tried = {int(m): loss(y, (total + P[m]) / r, w) for m in open_to}
        m = min(tried, key=tried.__getitem__)
        counts[m] += 1
        total += P[m]
        if tried[m] < best - 1e-9 * abs(best):
            best = tried[m]
            kept = counts.copy()
    return kept / kept.sum()


def _has_preparation(model) -> bool:
    """Whether a model is a preparation and an estimator."""
    is_pair = isinstance(model, Pipeline) and len(model) == 2
    return is_pair and isinstance(model[0], Preparation)


@dataclass(eq=False, repr=False)
class Blend(Estimator):
    """Several pipelines, averaged; those that prepare rows alike share what they learn.

    Parameters
    ----------
    members : list of (str, pipeline)
        Unfitted, taking frames.
    weights : list of float
        Of the members, adding up to 1.
    task : str
        Of the schema.

    Attributes
    ----------
    weights_ : dict
        Weight of each member, by name.
    members_ : list of fitted pipelines
    """

    members: Any = None
    weights: Any = None
    _: KW_ONLY
    task: str = "regression"

    def fit(self, frame, y, sample_weight=None, groups=None, times=None):
        y = np.asarray(y)
        codes = y.ndim == 1 and self.task == "classification"
        row_information = sample_weight, groups, times
        shelf = {}
        fitted = []
        for _, model in self.members:
            model = clone(model)
            if not _has_preparation(model):
                fitted.append(fit_pipeline(model, frame, y, *row_information))
                continue
            key = preparation_key(model[0])
            if key not in shelf:
                prepared = model[0].fit_transform(frame, y, sample_weight)
                shelf[key] = model[0], prepared
            prepare, X = shelf[key]
            fit_pipeline(
                model[1:], X.copy(), y, *row_information
            )  # one may write on it
            fitted.append(Pipeline([("prepare", prepare), *model.steps[1:]]))
        return self.take(fitted, int(y.max()) + 1 if codes else 0)

    def take(self, fitted, n_classes):
        """The members as they are, fitted elsewhere."""
        self.n_classes_, self.members_ = n_classes, fitted
        self.weights_ = {n: float(a) for (n, _), a in zip(self.members, self.weights)}
        return self

    def _average(self, frame):
        seen = {}
        parts = []
        for a, model in zip(self.weights_.values(), self.members_):
            X = frame
            if _has_preparation(model):  # often one and the same, see `fit`
                prepare, model = model[0], model[1]
                if id(prepare) not in seen:
                    seen[id(prepare)] = prepare.transform(frame)
                X = seen[id(prepare)].copy()
            parts.append(a * predict_all_classes(model, X, self.task, self.n_classes_))
        return np.sum(parts, axis=0)

    @property
    def classes_(self):
        return np.arange(self.n_classes_)

    def predict_proba(self, frame) -> np.ndarray:
        return self._average(frame)

    def predict(self, frame) -> np.ndarray:
        p = self._average(frame)
        if self.task == "classification":
            return p.argmax(1)
        return (p > 0.5).astype(int) if self.task == "multilabel" else p
