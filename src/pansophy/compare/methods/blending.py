"""An average of several methods, weighted inside `fit` on predictions out of fold.

    p(x) = sum_m a_m p_m(x),   a_m >= 0,  sum_m a_m = 1                          (1)

The weights are found by greedy selection with replacement [Caruana2004]: begin with
the member whose out-of-fold predictions have the lowest loss, and add, R times, the
member (again, perhaps) that lowers the loss of the average most; a_m is the share of
m among those taken, at the length of the list with the lowest loss. It overfits less
than free weights and leaves most of them at zero. Predictions out of fold come from
inner folds of the rows given to `fit`; members with weight are then refitted to all of
them. Outer test rows never reach `fit`, so the blend is judged as any other method.

Which methods are candidates is fixed beforehand (`MEMBERS`), not read off their
scores: that would choose by the rows on which the blend is judged.

Cost      (inner folds + 1) fits of every candidate
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ...base import Estimator
from ...params import Count
from .choice import Method, nothing
from .inner import inner_folds
from .pipelines import fit_pipeline, output
from .tuning import loss_of

MEMBERS = (
    "logistic regression",
    "ridge",
    "poisson regression",
    "extra trees",
    "random forest",
    "gradient boosting",
    "neural network",
)
ROUNDS = 30  # R


def blend_of(methods, task, *, all_of_them=False) -> list[Method]:
    """The blend of those methods that are candidates, if there are two of them."""
    kept = tuple(m._replace(trials=0) for m in methods
                 if all_of_them or m.name in MEMBERS)  # fmt: skip
    if len(kept) < 2:
        return []
    return [Method("blend", task, "", nothing, members=kept)]


def greedy_weights(P, y, loss, w=None, rounds=ROUNDS) -> np.ndarray:
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
    alone = [loss(y, p, w) for p in P]
    counts = np.zeros(len(P))
    counts[int(np.argmin(alone))] = 1
    total = P[int(np.argmin(alone))].astype(float)
    best, kept = min(alone), counts.copy()
    for r in range(2, rounds + 1):
        tried = [loss(y, (total + p) / r, w) for p in P]
        m = int(np.argmin(tried))
        counts[m] += 1
        total += P[m]
        if tried[m] < best * (1 - 1e-9) if best > 0 else tried[m] < best:
            best, kept = tried[m], counts.copy()
    return kept / kept.sum()


@dataclass(eq=False, repr=False)
class Blend(Estimator):
    """Several pipelines, averaged with weights found inside `fit`.

    Parameters
    ----------
    members : list of (str, pipeline)
        Unfitted, taking frames.
    task : str
        Of the schema; its first metric is the loss, unless `metric` names another.
    folds : int
        Inner folds.
    random_state : int

    Attributes
    ----------
    weights_ : dict
        Weight of each member that has one, by name.
    members_ : list of fitted pipelines
        Those members, on all rows.
    failed_ : dict
        Members that failed on an inner fold, with the reason.
    """

    members: Any = None
    _: KW_ONLY
    task: str = "regression"
    folds: Count = 3
    metric: str = ""
    random_state: int = 0

    def fit(self, frame, y, sample_weight=None, groups=None, times=None):
        y = np.asarray(y)
        codes = y.ndim == 1 and self.task == "classification"
        self.n_classes_ = int(y.max()) + 1 if codes else 0
        known = (sample_weight, groups, times)
        cut = inner_folds(
            y, self.folds, group=groups, time=times, seed=self.random_state
        )
        rows = np.concatenate([test for _, test in cut])
        w = None if sample_weight is None else np.asarray(sample_weight)[rows]
        names, P, self.failed_ = [], [], {}
        for name, member in self.members:
            try:
                P.append(self._out_of_fold(member, frame, y, known, cut))
                names.append(name)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
                self.failed_[name] = f"{type(error).__name__}: {error}"
        if not P:
            raise ValueError("every member failed: " + "; ".join(self.failed_.values()))
        a = greedy_weights(np.stack(P), y[rows], loss_of(self.task, self.metric), w)
        self.weights_ = {n: float(v) for n, v in zip(names, a) if v > 0}
        made = dict(self.members)
        self.members_ = [
            fit_pipeline(clone(made[n]), frame, y, *known) for n in self.weights_
        ]
        return self

    def _out_of_fold(self, member, frame, y, known, cut):
        out = []
        for train, test in cut:
            part = [None if v is None else np.asarray(v)[train] for v in known]
            model = fit_pipeline(clone(member), frame[train], y[train], *part)
            out.append(output(model, frame[test], self.task, self.n_classes_))
        return np.concatenate(out)

    def _average(self, frame):
        parts = [
            v * output(m, frame, self.task, self.n_classes_)
            for v, m in zip(self.weights_.values(), self.members_)
        ]
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
