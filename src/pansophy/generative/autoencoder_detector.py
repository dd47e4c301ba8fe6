"""Anomaly detection: rows that models of the usual rows reconstruct badly.

Several models (autoencoders unless said otherwise) are fitted to usual rows from
different seeds. The error of a row is the mean over the models,

    loss(x) = -(1 / M) sum_m score_m(x)                                           (1)

and a row is an outlier if its loss is above a threshold, which the training rows set:

    delta = mean(loss) + k std(loss)        contamination="auto"                  (2)
    delta = quantile(loss, 1 - c)           contamination=c                       (3)

Any estimator with `score_samples` will do: a density, whose loss is then minus the
log-likelihood.

Shapes    X (n, d)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..base import Estimator, OneClass
from ..core.iterate import Result
from ..core.random import draw_seed, make_rng
from ..core.weighted import weighted_quantile
from ..params import Count, NonNegative, ParameterRule
from ..typing import Seed
from .autoencoder import Autoencoder

Contamination = Annotated[
    float, ParameterRule("a number in (0, 0.5]", lambda v: 0 < v <= 0.5)
]
ScoringEstimator = Annotated[
    Any,
    ParameterRule(
        "an estimator with score_samples", lambda v: hasattr(v, "score_samples")
    ),
]


def error_threshold(losses, sample_weight=None, *, n_std=1.0, ddof=0) -> float:
    """Threshold mean + n_std standard deviations of the losses of usual rows, eq. (2).

    Parameters
    ----------
    losses : array of shape (n,)
    sample_weight : array of shape (n,) or None
    n_std : float, default=1
    ddof : {0, 1}, default=0
        0: the deviation of these rows; 1: that of the population they are drawn from.

    Examples
    --------
    >>> from pansophy.generative import error_threshold
    >>> losses = [0.1, 0.2, 0.3, 0.4]
    >>> round(error_threshold(losses), 6), round(error_threshold(losses, ddof=1), 6)
    (0.361803, 0.379099)
    """
    losses = np.asarray(losses, float)
    w = np.ones(len(losses)) if sample_weight is None else np.asarray(sample_weight)
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 or 1, got {ddof!r}.")
    if not w.sum() > ddof:
        raise ValueError(f"the losses of more than {ddof} rows are needed.")
    mean = np.average(losses, weights=w)
    variance = w @ (losses - mean) ** 2 / (w.sum() - ddof)
    return float(mean + n_std * np.sqrt(variance))


@dataclass(eq=False, repr=False)
class AutoencoderDetector(OneClass, Estimator):
    """Outliers by reconstruction error, of one autoencoder or an ensemble.

    Parameters
    ----------
    estimator : estimator with `score_samples` or None, default=None
        The model of usual rows; None: an `Autoencoder`.
    n_estimators : int, default=1
        Models from different seeds, whose errors are averaged.
    contamination : "auto" or float in (0, 0.5], default="auto"
        Share of the training rows that lie above the threshold; "auto": the threshold
        is the mean of their errors plus `n_std` standard deviations.
    n_std : float, default=1
        How many.
    ddof : {0, 1}, default=0
        1: the standard deviation divides by n - 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the models.

    Attributes
    ----------
    estimators_ : list of fitted estimators
    threshold_ : float
        delta: rows with a larger error are outliers.
    offset_ : float
        Minus the threshold, which `decision_function` subtracts from the scores.
    n_iter_ : int
        Models that were fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import AutoencoderDetector
    >>> t = np.random.default_rng(0).uniform(-2, 2, (300, 1))
    >>> usual = np.hstack([t, t**2])
    >>> model = AutoencoderDetector(contamination=0.01, random_state=0)
    >>> model.fit(usual).predict([[1.0, 1.0], [0.0, 4.0]])
    array([ 1, -1])
    """

    estimator: ScoringEstimator | None = None
    _: KW_ONLY
    n_estimators: Count = 1
    contamination: Literal["auto"] | Contamination = "auto"
    n_std: NonNegative = 1.0
    ddof: Literal[0, 1] = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Fit the models to usual rows and set the threshold.

        Parameters
        ----------
        X : array of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight)
        rng = make_rng(self.random_state)
        members = []

        def run(task):
            for i in range(self.n_estimators):
                child = task.child(f"model {i}")
                members.append(self._fit_member(X, w, draw_seed(rng)))
                if child.end(None):
                    return Result(None, len(members), "callback", {}, 0.0)
            return Result(None, len(members), "finished", {}, 0.0)

        self._run_driver(run, total=self.n_estimators, X=X)
        self.estimators_ = members
        losses = self._losses(X)
        if self.contamination == "auto":
            self.threshold_ = error_threshold(
                losses, w, n_std=self.n_std, ddof=self.ddof
            )
        else:
            level = 1 - self.contamination
            self.threshold_ = float(weighted_quantile(losses, w, level))
        self.offset_ = -self.threshold_
        return self

    def _fit_member(self, X, w, seed):
        default = Autoencoder() if self.estimator is None else self.estimator
        model = clone(default)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        if w is None:
            return model.fit(X)
        if not has_fit_parameter(model, "sample_weight"):
            name = type(model).__name__
            raise ValueError(f"sample_weight was given, but {name} takes no weights.")
        return model.fit(X, sample_weight=w)

    def _losses(self, X):
        """Eq. (1)."""
        return -np.mean([m.score_samples(X) for m in self.estimators_], axis=0)

    def score_samples(self, X):
        """Minus the mean error of each row: higher is more usual."""
        return -self._losses(self._check_new_data(X))

    def decision_function(self, X):
        """`score_samples` less `offset_`: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """1 for usual rows, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)
