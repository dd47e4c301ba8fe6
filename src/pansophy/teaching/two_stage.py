"""Two-stage prediction through an intermediate variable: P(z | x), then P(y | x', z).

A model of y is split at a variable z that some columns x determine and through which
alone they act on y: speed, for example, between the weather and a crash.

    P(y | x, x') = sum_z P(z | x) P(y | x', z)                                   (1)

Each stage is any classifier and needs its own rows only: rows with x and z, and rows
with x', z and y; these may be different tables of different lengths. At prediction time
z is used where it is known and summed out by (1) where it is not. With tables as
stages, (1) sums z out of the network x -> z -> y <- x'. A regressor as second stage
gives its mean over z; the prediction of a stage without probabilities has probability
1.

Shapes    x (n, d)   x' (n, d')   z, y (n,)
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from ..core.arrays.codes import is_missing
from ..naive_bayes.joint_table import JointTableClassifier


@dataclass(eq=False)
class TwoStage:
    """Classifier (or regressor) through an intermediate variable.

    Parameters
    ----------
    first : classifier of z from x; a table of all combinations by default
    second : classifier or regressor of y from x' and z, likewise
    encoding : {"code", "one_hot"}, default="code"
        How z is appended to x': as the code of its label, or one-hot.

    Attributes
    ----------
    first_, second_ : fitted stages
    intermediates_ : array
        Labels of z.
    classes_ : array
        Labels of y, if the second stage is a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.teaching import TwoStage
    >>> rng = np.random.default_rng(0)
    >>> wet, night = rng.integers(0, 2, (2, 4000))
    >>> fast = rng.random(4000) < 0.8 - 0.6 * wet
    >>> crash = rng.random(4000) < 0.1 + 0.4 * fast + 0.2 * night
    >>> model = TwoStage().fit(wet[:, None], night[:, None], fast, crash)
    >>> model.predict_proba([[1], [0]], [[0], [0]]).round(1)[:, 1]
    array([0.2, 0.4])
    """

    first: Any = None
    second: Any = None
    encoding: Literal["code", "one_hot"] = "code"

    def fit(self, X_first, X_second, z, y):
        """Fit both stages on rows that show everything."""
        return self.fit_first(X_first, z).fit_second(X_second, z, y)

    def fit_first(self, X, z):
        """Fit P(z | x) on rows that show x and z."""
        if self.encoding not in ("code", "one_hot"):
            raise ValueError(
                f"encoding must be 'code' or 'one_hot', got {self.encoding!r}."
            )
        stage = JointTableClassifier() if self.first is None else clone(self.first)
        self.first_ = stage.fit(X, z)
        self.intermediates_ = np.asarray(self.first_.classes_)
        return self

    def fit_second(self, X, z, y):
        """Fit P(y | x', z) on rows that show x', z and y."""
        if not hasattr(self, "first_"):
            raise NotFittedError("fit_first comes first: it learns the labels of z.")
        stage = JointTableClassifier() if self.second is None else clone(self.second)
        self.second_ = stage.fit(self._beside(X, self._codes(z, complete=True)), y)
        if hasattr(self.second_, "classes_"):
            self.classes_ = self.second_.classes_
        return self

    def predict_intermediate(self, X_first) -> np.ndarray:
        """P(z | x): (n, number of labels of z)."""
        if not hasattr(self, "first_"):
            raise NotFittedError("this TwoStage has no first stage yet: call fit.")
        return _class_probabilities(self.first_, X_first, self.intermediates_)

    def predict_proba(self, X_first, X_second, z=None) -> np.ndarray:
        """P(y | x, x'), eq. (1), or P(y | x', z) in rows that show z.

        X_first may be None if z is given in all rows; a z of None or NaN is missing.
        """
        if not is_classifier(self._second()):
            raise AttributeError("the second stage predicts numbers: use predict.")
        predict = lambda X: _class_probabilities(self.second_, X, self.classes_)
        return self._average_over_z(predict, X_first, X_second, z)

    def predict(self, X_first, X_second, z=None) -> np.ndarray:
        """The most probable y, or its mean if the second stage is a regressor."""
        if is_classifier(self._second()):
            p = self.predict_proba(X_first, X_second, z)
            return np.asarray(self.classes_)[p.argmax(axis=1)]
        predict = lambda X: np.asarray(self.second_.predict(X), dtype=float)
        return self._average_over_z(predict, X_first, X_second, z)

    def score(self, X_first, X_second, y, z=None) -> float:
        """Accuracy of the predictions of y."""
        return float(np.mean(self.predict(X_first, X_second, z) == np.asarray(y)))

    def _second(self):
        if not hasattr(self, "second_"):
            raise NotFittedError("this TwoStage has no second stage yet: call fit.")
        return self.second_

    def _average_over_z(self, predict, X_first, X_second, z):
        """sum_z P(z) predict(x', z), row by row."""
        n, k = len(X_second), len(self.intermediates_)
        for rows in (X_first, z):
            if rows is not None and len(rows) != n:
                raise ValueError(f"X_second has {n} rows, but another has {len(rows)}.")
        W = np.zeros((n, k))
        codes = np.full(n, -1) if z is None else self._codes(z)
        known = codes >= 0
        W[known, codes[known]] = 1.0
        if not known.all():
            if X_first is None:
                raise ValueError("rows without z need X_first to predict it from.")
            W[~known] = self.predict_intermediate(X_first)[~known]
        total: Any = 0.0
        for c in range(k):
            if W[:, c].any():
                part = predict(self._beside(X_second, np.full(n, c)))
                total = total + (W[:, c] * part.T).T
        return total

    def _codes(self, z, complete=False) -> np.ndarray:
        """Codes of the labels of z; -1 for missing ones."""
        position = {v: i for i, v in enumerate(self.intermediates_.tolist())}
        values = np.asarray(z).tolist()
        codes = np.array([-1 if is_missing(v) else position.get(v, -2) for v in values])
        if (codes == -2).any():
            unknown = values[int(np.argmax(codes == -2))]
            raise ValueError(
                f"z holds {unknown!r}, which the first stage has not seen: "
                f"{list(position)}."
            )
        if complete and (codes < 0).any():
            raise ValueError("z must be known in all rows that a stage learns from.")
        return codes

    def _beside(self, X, codes) -> np.ndarray:
        """x' with z appended."""
        X = np.asarray(X)
        X = X[:, None] if X.ndim == 1 else X
        if len(X) != len(codes):
            raise ValueError(f"X_second has {len(X)} rows, but z has {len(codes)}.")
        if self.encoding == "code":
            return np.column_stack([X, codes])
        return np.column_stack(
            [X, codes[:, None] == np.arange(len(self.intermediates_))]
        )


def _class_probabilities(stage, X, labels) -> np.ndarray:
    """predict_proba, or 1 for the prediction of a stage without probabilities."""
    if hasattr(stage, "predict_proba"):
        return np.asarray(stage.predict_proba(X))
    answer = np.asarray(stage.predict(X))
    return (answer[:, None] == np.asarray(labels)).astype(float)
