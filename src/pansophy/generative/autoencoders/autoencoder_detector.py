"""Anomaly detection: rows that models of the usual rows reconstruct badly.

Several models (autoencoders unless said otherwise) are fitted to usual rows from
different seeds. The error of a row is the mean over the models,

    loss(x) = -(1 / M) sum_m score_m(x)                                           (1)

and a row is an outlier if its loss is above a threshold, which the training rows set:

    delta = mean(loss) + k std(loss)        contamination="auto"                  (2)
    delta = quantile(loss, 1 - c)           contamination=c                       (3)

Any estimator with `score_samples` will do: a density, whose loss is then minus the
log-likelihood. Image stacks reach the models as stacks, and mixed tables as tables if
the model takes them (`TableVAE`). If a model is interrupted, no further one is fitted.

Shapes    X (n, d), images (n, h, w[, channels]) or a table
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from ...base import Estimator, InterruptedFitWarning, OneClass
from ...core.arrays.frames import column_names
from ...core.arrays.unreadable import array_of_numbers
from ...core.arrays.weighted import check_sample_weight, weighted_quantile
from ...core.drivers.iterate import Result
from ...core.random import draw_seed, make_rng
from ...params import Count, NonNegative, ParameterRule, check_params
from ...typing import Seed
from ..abstract_generator import pixel_rows
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
    losses = array_of_numbers(losses, "losses")
    if losses.ndim != 1:
        raise ValueError(f"losses must be one a row, got the shape {losses.shape}.")
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
    image_shape_ : tuple or None
        Shape of an image, if stacks of images were given.
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
        X : array of shape (n, d), images, or a table for a model of tables
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        X, w = self._check_rows(X, sample_weight)
        rng = make_rng(self.random_state)
        members = []

        def run(task):
            for i in range(self.n_estimators):
                child = task.child(f"model {i}")
                members.append(self._fit_member(X, w, draw_seed(rng)))
                if getattr(members[-1], "interrupted_", False):
                    return Result(None, len(members), "interrupted", {}, 0.0)
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
        weights = {} if w is None else {"sample_weight": w}
        if weights and not has_fit_parameter(model, "sample_weight"):
            name = type(model).__name__
            raise ValueError(f"sample_weight was given, but {name} takes no weights.")
        with warnings.catch_warnings():  # the detector itself tells it
            warnings.simplefilter("ignore", InterruptedFitWarning)
            return model.fit(X, **weights)

    def _check_rows(self, X, sample_weight):
        """Training rows as the models take them, and weights or None."""
        check_params(self)  # the estimator is asked about its input before rows are
        if self._is_mixed_table(X):
            self.image_shape_ = None
            validate_data(self, X, skip_check_array=True)
            w = check_sample_weight(sample_weight, len(X))
            return X, None if w is None else np.asarray(w)
        flat = pixel_rows(self, X, reset=True)
        flat, w = self._check_training_data(flat, sample_weight=sample_weight)
        return self._as_images(flat), w

    def _check_new_rows(self, X):
        check_is_fitted(self, "estimators_")
        if self._is_mixed_table(X):
            validate_data(self, X, skip_check_array=True, reset=False)
            return X
        return self._as_images(self._check_new_data(pixel_rows(self, X, reset=False)))

    def _as_images(self, X):
        """Rows of pixels as a stack, if stacks were given."""
        shape = self.image_shape_
        return X if shape is None else np.reshape(X, (len(X), *shape))

    def _is_mixed_table(self, X):
        """Whether X is a frame that the models encode themselves."""
        mixed = (
            self.estimator is not None and get_tags(self.estimator).input_tags.string
        )
        return mixed and column_names(X) is not None

    def _losses(self, X):
        """Eq. (1)."""
        return -np.mean([m.score_samples(X) for m in self.estimators_], axis=0)

    def score_samples(self, X):
        """Minus the mean error of each row: higher is more usual."""
        return -self._losses(self._check_new_rows(X))

    def decision_function(self, X):
        """`score_samples` less `offset_`: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """1 for usual rows, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)
