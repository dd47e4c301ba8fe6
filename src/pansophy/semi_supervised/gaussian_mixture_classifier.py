"""Gaussian mixture classifier: components belong to classes, learned by EM.

Rows come from p(x, y) = sum over components j of class y of w_j N(x; m_j, S_j). A label
restricts a row to the components of its class; a row without one may be of any class:

    E   r_ij ~ w_j N(x_i; m_j, S_j) [y_i is missing or j belongs to y_i]         (1)
    M   as for any mixture, `mixture.gaussian_em`                                (2)

so the likelihood of rows and labels together never falls, labels stay as they are, and
rows without labels move the densities to where rows are. With every label given and
one component per class, the first iteration gives the Gaussian Bayes classifier of
maximum likelihood; with none it is a Gaussian mixture. Prediction is Bayes' rule,

    P(y | x) = sum_{j of y} w_j N(x; m_j, S_j) / sum_j w_j N(x; m_j, S_j)        (3)

The initialisation takes the means of the labelled rows of each class (k-means among
them for several components), the covariance of all rows, and the label proportions.
Time O(n k d^2) an iteration in one pass over the rows; memory O(block) beyond them.

Shapes    X (n, d)   y (n,)   r (n, k)   w (k,)   m (k, d)   S by covariance_type
Refs      [Nigam2000]; [McLachlan2000]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Estimator
from ..core.arrays import arrays
from ..core.arrays.labels import class_codes, known_labels
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.rows import is_dataset
from ..core.numerics import logsumexp, softmax
from ..core.random import make_rng, spawn_rngs
from ..distributions.gaussian.normal import Normal
from ..mixture.gaussian_em import (
    EMData,
    GaussianMixtureParams,
    data_mean_and_covariance,
    map_log_joint,
    mixture_attributes,
    prepare_em_data,
    run_gaussian_em,
    sample_gaussian_mixture,
    user_initial_params,
)
from ..params import Count, Flag, Natural, NonNegative, ParameterError, Verbosity
from ..persist.saved_state import IntArray, NumberArray, saved_state
from ..typing import ListLike, NumericArray, Seed
from .abstract_semi_supervised import normalize_missing_labels


def _encode_partial_labels(y, X, classes=None):
    """Classes, and the code of each label, -1 where it is not known."""
    labels = np.asarray(arrays.to_numpy(y))
    known = known_labels(labels)
    if classes is None:
        if not known.any():
            raise ValueError("every label is missing: give classes, or fit a mixture.")
        classes = class_codes(labels[known])[0]
    classes = np.asarray(classes)
    if len(np.unique(classes)) != len(classes):
        raise ParameterError("classes must differ.")
    order = np.argsort(classes)
    codes = np.full(len(labels), -1, np.int64)
    codes[known] = order[class_codes(labels[known], None, classes[order])[1]]
    return classes, codes


def _initial_class_means(t: EMData, codes, w, c, per_class, rng):
    """Initial means (c per_class, d): of labelled rows, or random without any."""
    from ..cluster.centers.kmeans import kmeans_labels

    mean, V = (
        data_mean_and_covariance(t, "diag")
        if t.total.scatter.ndim == 1
        else data_mean_and_covariance(t, "full")
    )
    scale = np.sqrt(np.diagonal(V) if V.ndim == 2 else V)
    means = np.empty((c, per_class, len(mean)))
    for y in range(c):
        class_rows = np.flatnonzero(codes == y)
        weights = (
            np.ones(len(class_rows)) if w is None else arrays.to_numpy(w)[class_rows]
        )
        class_rows, weights = class_rows[weights > 0], weights[weights > 0]
        if (
            len(class_rows) == 0
        ):  # a class without labelled rows: anywhere among the rows
            means[y] = mean + scale * rng.standard_normal((per_class, len(mean)))
            continue
        rows = arrays.to_numpy(t.rows.take(class_rows)).astype(float)
        rows = np.where(np.isnan(rows), mean, rows)
        if per_class > 1 and len(np.unique(rows, axis=0)) >= per_class:
            z = np.asarray(kmeans_labels(rows, weights, per_class, rng))
            means[y] = [
                np.average(rows[z == j], 0, weights[z == j]) for j in range(per_class)
            ]
        else:
            centre = np.average(rows, axis=0, weights=weights)
            noise = 0.1 * scale * rng.standard_normal((per_class, len(mean)))
            means[y] = centre + (noise if per_class > 1 else 0.0)
    return means.reshape(c * per_class, -1)


def _repeat_covariance(C, k, shape):
    """One covariance for each of k components, in the storage of a shape."""
    return C if shape == "tied" else np.stack([C] * k)


@saved_state(
    means_=NumberArray("components", "n_features_in_"),
    weights_=NumberArray("components"),
    component_class_=IntArray("components", low=0),
)
@dataclass(eq=False, repr=False)
class GaussianMixtureClassifier(Classifier, Estimator):
    """Gaussian Bayes classifier that also learns from rows without labels.

    Parameters
    ----------
    n_components : int, default=1
        Components of each class.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix each, one for all, a diagonal each, a number each.
    tol : float, default=1e-3
        Stop when an iteration changes the mean log-likelihood by no more than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance.
    max_iter : int, default=100
        Most iterations.
    n_init : int, default=1
        Number of initialisations; the result of highest likelihood is kept.
    hard : bool, default=False
        Assign each row wholly to its most probable component in every iteration.
    classes : list or None, default=None
        All classes, in the order of the components, where some have no labelled row.
        None takes those in y.
    weights_init, means_init, precisions_init : arrays, optional
        Initial parameters of all components, class after class.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initialisations and of `sample`.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (c,)
        Labels.
    component_class_ : array of shape (k,)
        Which of `classes_` each component belongs to.
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : arrays
        The mixture, as in `GaussianMixture`.
    transduction_ : array of shape (n,)
        The class of each training row: its label, or the most probable class.
    lower_bound_ : float
        Mean log-likelihood of rows and labels.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Iterations of the best initialisation.
    history_ : dict of arrays
        What was recorded after each iteration.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.semi_supervised import GaussianMixtureClassifier
    >>> X = np.array([[0.0], [0.2], [0.5], [4.0], [4.3], [4.4]])
    >>> y = [0, -1, -1, 1, -1, -1]  # -1: no label
    >>> model = GaussianMixtureClassifier().fit(X, y)
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    n_components: Count = 1
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    max_iter: Natural = 100
    n_init: Count = 1
    hard: Flag = False
    classes: ListLike | None = None
    weights_init: NumericArray | None = None
    means_init: NumericArray | None = None
    precisions_init: NumericArray | None = None
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit by EM with the labels that there are.

        Parameters
        ----------
        X : array of shape (n, d), tensor, or table on disk
            Rows. NaN is a value that is missing (not in tensors).
        y : array of shape (n,)
            Labels; -1 (for text, the empty text) for a row without one.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : GaussianMixtureClassifier
        """
        X, y, w = self._check_training_data(
            X,
            normalize_missing_labels(y),
            sample_weight,
            y_kind="class",
            ensure_all_finite="allow-nan",
            order="C",
        )
        refuse_overflowing_squares(self, X)
        self.classes_, codes = _encode_partial_labels(y, X, self.classes)
        c = len(self.classes_)
        if c < 2:
            raise ValueError(
                f"a classifier needs 2 classes, got {c} class: name all in classes."
            )
        self.component_class_ = np.repeat(np.arange(c), self.n_components)
        t = prepare_em_data(X, w, self.covariance_type, codes)
        result = self._run_em(t, codes, w, X)
        for name, value in mixture_attributes(result.state.params, X).items():
            setattr(self, name, value)
        self.lower_bound_ = -result.objective
        guess = arrays.to_numpy(self._codes(X))
        self.transduction_ = self.classes_[np.where(codes >= 0, codes, guess)]
        return self

    def _run_em(self, t, codes, w, X):
        """EM from several initialisations; the result of the best."""
        rngs = spawn_rngs(make_rng(self.random_state), self.n_init)

        def one(i, task):
            result = run_gaussian_em(
                t,
                self._initial_params(t, codes, w, rngs[i]),
                floor=self.reg_covar,
                component_class=self.component_class_,
                hard=self.hard,
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )
            return result.as_planned() if self.max_iter == 0 else result

        return self._run_driver(
            one,
            n_init=self.n_init,
            total=self.max_iter,
            X=None if is_dataset(X) else X,
            snapshot=lambda s: mixture_attributes(s.params, X),
        )

    def _initial_params(self, t, codes, w, rng) -> GaussianMixtureParams:
        """The parameters given by the user, else those of the labelled rows."""
        c = len(self.classes_)
        shape = self.covariance_type
        k = c * self.n_components
        W, M, C = user_initial_params(
            self.weights_init, self.means_init, self.precisions_init, k, t.rows.d, shape
        )
        if W is None:
            seen = np.ones(len(codes)) if w is None else arrays.to_numpy(w)
            mass = np.bincount(codes[codes >= 0], seen[codes >= 0], c) + 1e-3
            W = np.repeat(mass / mass.sum(), self.n_components) / self.n_components
        if M is None:
            M = _initial_class_means(t, codes, w, c, self.n_components, rng)
        if C is None:
            total = data_mean_and_covariance(t, shape)[1]
            eye = np.eye(t.rows.d) if total.ndim == 2 else 1.0
            C = _repeat_covariance(total + max(self.reg_covar, 1e-12) * eye, k, shape)
        return GaussianMixtureParams(
            np.maximum(W, np.finfo(float).tiny), Normal(M, C, shape)
        )

    def _params(self) -> GaussianMixtureParams:
        """The fitted parameters as float64 NumPy arrays."""
        double = lambda a: arrays.to_numpy(a).astype(float)
        normal = Normal(
            double(self.means_), double(self.covariances_), self.covariance_type
        )
        return GaussianMixtureParams(double(self.weights_), normal)

    def _by_class(self, L):
        """log-joints of components (n, k) to those of classes (n, c)."""
        n = L.shape[0]
        c = len(self.classes_)
        xp = arrays.namespace(L)
        return logsumexp(xp.reshape(L, (n, c, self.n_components)), axis=2)

    def _codes(self, X):
        best = lambda L: arrays.namespace(L).argmax(self._by_class(L), axis=1)
        return map_log_joint(X, self._params(), best)

    def _map_log_joint(self, X, function):
        """function(log p(x, y)) for all rows, block by block."""
        X = self._check_new_data(X, ensure_all_finite="allow-nan")
        return map_log_joint(X, self._params(), lambda L: function(self._by_class(L)))

    def predict_joint_log_proba(self, X):
        """log p(x, y): (n, c)."""
        return self._map_log_joint(X, lambda L: L)

    def score_samples(self, X):
        """log p(x), whatever the class: (n,)."""
        return self._map_log_joint(X, lambda L: logsumexp(L, axis=1))

    def predict_proba(self, X):
        """Eq. (3): (n, c)."""
        return self._map_log_joint(X, lambda L: softmax(L, axis=1))

    def predict(self, X):
        """The most probable class of each row."""
        X = self._check_new_data(X, ensure_all_finite="allow-nan")
        return self.classes_[arrays.to_numpy(self._codes(X))]

    def sample(self, n_samples=1):
        """Draw rows and their classes."""
        check_is_fitted(self)
        p = self._params()
        rng = make_rng(self.random_state)
        X, z = sample_gaussian_mixture(p.weights, p.normal, n_samples, rng, self.means_)
        return X, self.classes_[self.component_class_[arrays.to_numpy(z)]]
