"""Base class of every estimator, and its roles (classifier, clusterer, ...).

An estimator is a dataclass with its roles left of `Estimator`::

    @dataclass(eq=False, repr=False)
    class KMeans(Clusterer, Estimator):
        n_clusters: Count = 8

Roles carry tags and the methods that scikit-learn expects of them, no fields.
`Estimator` gives three helpers and nothing else: `_check_training_data` checks
parameters and data at the start of `fit`, `_check_new_data` checks data before a
prediction, `_run_driver` runs a driver with callbacks, sets `n_iter_`, `history_` and
`converged_`, and warns if it did not converge. This is the only module that uses
scikit-learn's base classes.
"""

import difflib
import warnings
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    DensityMixin,
    OutlierMixin,
    RegressorMixin,
    TransformerMixin,
    is_classifier,
    is_regressor,
)
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .core.arrays import arrays
from .core.arrays.devices import moved_to_device
from .core.arrays.frames import (
    column_names,
    date_column,
    missing_column,
    object_column,
    text_column,
)
from .core.arrays.labels import plain_numbers, refuse_missing
from .core.arrays.open_rows import columns_by_name, is_table_in_blocks, open_rows
from .core.arrays.unreadable import array_of_rows, is_conversion_error, unreadable_error
from .core.arrays.weighted import check_sample_weight
from .core.drivers.iterate import Result, StopReason, best_of
from .core.drivers.progress import fit_task
from .course import add_reading_line
from .params import ParameterError, PlainSignature, check_keywords, check_params
from .scikit_learn import share_names

FLOATS = (np.float64, np.float32)
DATE_ADVICE = "turn them into numbers first, such as days since the first of them."


class Classifier(ClassifierMixin):
    """Predicts one of `classes_`."""

    def score(self, X, y, sample_weight=None):
        """Accuracy of `predict(X)`; y and weights may be columns of a table X."""
        X, y, sample_weight = columns_by_name(X, y, sample_weight)
        return super().score(X, y, sample_weight)


class Regressor(RegressorMixin):
    """Predicts numbers."""

    def score(self, X, y, sample_weight=None):
        """R squared of `predict(X)`; y and weights may be columns of a table X."""
        X, y, sample_weight = columns_by_name(X, y, sample_weight)
        return super().score(X, y, sample_weight)


class Clusterer(ClusterMixin):
    """Assigns rows to clusters, without labels."""


class Transformer(TransformerMixin):
    """Maps rows to other rows."""


class PrefixedOutput(ClassNamePrefixFeaturesOutMixin):
    """Names the columns it makes after itself (kmeans0, kmeans1, ...).

    Stands left of `Transformer`; `fit` sets `_n_features_out`.
    """


class Density(DensityMixin):
    """Estimates the density of rows."""


class OneClass(OutlierMixin):
    """Learns what is usual: `predict` gives 1, or -1 for an outlier."""


class InterruptedFitWarning(UserWarning):
    """A fit was stopped by hand; the model is usable and can be resumed."""


@contextmanager
def interruptions_raised():
    """Raise KeyboardInterrupt where a fit inside was stopped by hand.

    For what fits many models to answer one question: the next fit would begin, and half
    of a model is no answer.

    Examples
    --------
    >>> import warnings
    >>> from pansophy.base import InterruptedFitWarning, interruptions_raised
    >>> try:
    ...     with interruptions_raised():
    ...         warnings.warn("stopped", InterruptedFitWarning)
    ...         print("not reached")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", InterruptedFitWarning)
            yield
    except InterruptedFitWarning:
        raise KeyboardInterrupt from None


class Estimator(CallbackSupportMixin, BaseEstimator):
    """Base class: checks parameters and data once, runs drivers with callbacks."""

    __signature__ = PlainSignature()
    _tensors = True  # False: tensors in main memory become NumPy, others are refused
    _on_devices = True  # False: answers are tensors, but those of a device are refused

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        add_reading_line(cls)

    def __new__(cls, *args, **keywords):
        check_keywords(cls, keywords)
        return super().__new__(cls)

    def set_params(self, **params):
        """Set parameters, and those of parts by names such as "kernel__length_scale".

        A kernel never changes, since others may hold it too: the model gets another.
        """
        kernels = {}
        own_params = {}
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, rest = key.partition("__")
            part = params.get(name, known.get(name))
            if rest and hasattr(part, "with_params"):
                kernels.setdefault(name, {})[rest] = value
            elif rest and isinstance(part, str):
                raise ParameterError(
                    f"{name}={part!r} of {type(self).__name__} is a name without "
                    f"parameters of its own, got {key}: give an object, not its name."
                )
            else:
                own_params[key] = value
        super().set_params(**own_params)
        for name, values in kernels.items():
            setattr(self, name, getattr(self, name).with_params(**values))
        return self

    def _check_training_data(
        self, X, y=None, sample_weight=None, *, y_kind=None, **checks
    ) -> tuple:
        """Check parameters and training data. Returns X, y (if y_kind) and weights.

        y_kind is "class" (any labels), "labels" (the same, or columns of 0 and 1),
        "number" (one column), "numbers" (one or several columns) or None. Further
        keywords go to scikit-learn's `validate_data` (`accept_sparse`, ...).
        """
        check_params(self)
        if not self._tensors:
            X, y = host_array(self, X), host_array(self, y, "y")
        if is_table_in_blocks(self, X):
            X, y, sample_weight = columns_by_name(X, y, sample_weight)
            X = self._begin_dataset(X)
        elif arrays.is_foreign(X):
            finite = checks.get("ensure_all_finite", True) is not False
            X, y = self._check_foreign(X, y, reset=True, finite=finite)
        else:
            X, y = self._check_numpy(X, y, y_kind, checks)
            if self._computes_on_devices():
                X, y = moved_to_device(X, y, checks)
        w = check_sample_weight(sample_weight, X)
        return (X, w) if y_kind is None else (X, y, w)

    def _check_numpy(self, X, y, y_kind, checks):
        checks = {"dtype": FLOATS, **checks}
        if y_kind is None:
            return validate_rows(self, X, **checks), None
        multi, numeric = y_kind in ("numbers", "labels"), "number" in y_kind
        if y is not None:
            refuse_missing(y)
            y = plain_numbers(y)
        X, y = validate_rows(
            self, X, y, multi_output=multi, y_numeric=numeric, **checks
        )
        if numeric and y.dtype.kind not in "fiub":
            name = type(self).__name__
            raise ValueError(f"y of {name} must hold numbers, got {y.dtype}.")
        if not numeric:
            is_one_column = y_kind == "class" or y.ndim == 1 or y.shape[1] == 1
            y = column_or_1d(y, warn=True) if is_one_column else y
            check_classification_targets(y)
        return X, y

    def _check_foreign(self, X, y=None, *, reset=False, finite=True):
        """Check tensors and other arrays as scikit-learn checks NumPy's.

        Without `finite` the method itself finds entries of X that are not.
        """
        name = type(self).__name__
        xp = arrays.namespace(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead. Reshape your data."
            )
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"{name} needs at least one row and one column, got {tuple(X.shape)}."
            )
        X = arrays.as_float(X)
        if finite and not arrays.all_finite(X):
            raise ValueError(f"Input X of {name} contains NaN or infinity.")
        if reset:
            self.n_features_in_ = int(X.shape[1])
        else:
            self._check_width(X)
        if y is not None:
            text = not arrays.is_foreign(y) and np.asarray(y).dtype.kind in "OSU"
            y = np.asarray(y) if text else xp.asarray(y, device=arrays.device(X))
            if y.shape[0] != X.shape[0]:
                raise ValueError(
                    f"X has {X.shape[0]} rows, but y has {y.shape[0]} entries."
                )
            if text:
                refuse_missing(y)
            elif arrays.is_float(y) and not arrays.all_finite(y):
                raise ValueError(f"Input y of {name} contains NaN or infinity.")
        return X, y

    def _check_width(self, X):
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X

    def _begin_dataset(self, X):
        X = open_rows(X)
        if X.n == 0:
            raise ValueError(f"{type(self).__name__} needs at least one row, got none.")
        self.n_features_in_ = X.d
        self.n_rows_seen_ = X.n
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return X

    def _check_new_data(self, X, **checks):
        """Check that the model is fitted and X fits it."""
        check_is_fitted(self)
        X = X if self._tensors else host_array(self, X)
        if is_table_in_blocks(self, X):
            names = getattr(self, "feature_names_in_", None)
            return self._check_width(open_rows(X, None if names is None else names))
        if arrays.is_foreign(X):
            return self._check_foreign(X)[0]
        X = validate_rows(self, X, reset=False, **{"dtype": FLOATS, **checks})
        on_device = self._computes_on_devices()
        return moved_to_device(X, None, checks)[0] if on_device else X

    @classmethod
    def _computes_on_devices(cls) -> bool:
        """Whether the method computes where a tensor is."""
        return cls._tensors and cls._on_devices

    _divergence_advice = "Scale the data or take smaller steps."

    def _run_driver(
        self, run, *, total, n_init=None, X=None, y=None, snapshot=None
    ) -> Result:
        """Call `run(task) -> Result` and record how it went.

        With `n_init`, `run(i, task)` is called for each start i, and the result of the
        lowest objective is kept. `total` is the number of iterations of one run.
        Sets n_iter_, history_, converged_ and interrupted_, and warns if the run was
        interrupted, diverged or reached max_iter.
        """
        has_several_starts = n_init is not None and n_init > 1
        with fit_task(
            self,
            total=n_init if has_several_starts else total,
            X=X,
            y=y,
            snapshot=snapshot,
            verbose=getattr(self, "verbose", 0),
        ) as task:
            if n_init is None:
                result = run(task)
            else:
                result = best_of(n_init, run, task=task)
            task.end(getattr(result, "state", None))  # agents have none
        self.n_iter_ = result.n_iter
        self.history_ = result.history
        self.converged_ = result.converged
        self.interrupted_ = result.interrupted
        self._warn_if_not_converged(result.reason)
        return result

    def _warn_if_not_converged(self, reason):
        name = type(self).__name__
        limit = "n_iter" if hasattr(self, "n_iter") else "max_iter"
        if reason == StopReason.INTERRUPTED:
            warnings.warn(
                f"{name} was interrupted after {self.n_iter_} iterations; the model "
                "is usable as it stands.",
                InterruptedFitWarning,
                stacklevel=4,
            )
        elif reason == StopReason.DIVERGED:
            warnings.warn(
                f"{name} diverged after {self.n_iter_} iterations; the last finite "
                f"state was kept. {self._divergence_advice}",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif reason == StopReason.MAX_ITER:
            warnings.warn(
                self._not_converged_text(limit), ConvergenceWarning, stacklevel=4
            )

    def _not_converged_text(self, limit) -> str:
        """Warning text of a fit that reached its limit, which is a parameter."""
        return (
            f"{type(self).__name__} did not converge in {self.n_iter_} iterations. "
            f"Raise {limit} or tol, or scale the data."
        )


def fit_stage(model, X, *y, **options):
    """Fit a model that a later stage builds on; Ctrl-C in it ends the whole fit.

    An interrupted model by itself keeps what it has and warns. Where another fit
    follows, that one would go on as if nothing had happened: KeyboardInterrupt is
    raised instead.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            return model.fit(X, *y, **options)
        except InterruptedFitWarning:
            raise KeyboardInterrupt from None


def host_array(model, X, what="X"):
    """A tensor in main memory as a NumPy array; one on a device is refused.

    For models that compute with NumPy. Anything but a tensor stays as it is.
    """
    if not arrays.is_foreign(X):
        return X
    if arrays.is_in_main_memory(X):
        return arrays.to_numpy(X)
    raise TypeError(
        f"{type(model).__name__} computes with NumPy, but {what} is a tensor on "
        f"{arrays.device(X)}: pass {what}.cpu(){_methods_on_devices(model)}."
    )


# methods that compute on the device of X, by role
ON_DEVICES = {
    Classifier: "LogisticRegression, KNeighborsClassifier or MLPClassifier",
    Regressor: "Ridge, KNeighborsRegressor or MLPRegressor",
    Clusterer: "KMeans",
    Density: "GaussianMixture",
    OneClass: "KNNOutlier",
    Transformer: "PCA",
}


def _methods_on_devices(model) -> str:
    """The end of a sentence that names methods of the same role that compute there."""
    names = next((ON_DEVICES[r] for r in ON_DEVICES if isinstance(model, r)), None)
    return "" if names is None else f", or take {names}, which computes there"


def validate_rows(model, X, *y, **checks):
    """scikit-learn's `validate_data`; an error about text names its column.

    Refuses what it lets through: masked entries, and sparse matrices whose index arrays
    lead outside of them.
    """
    X = host_array(model, X)
    if sparse.issparse(X):
        check_sparse_structure(X)
        X = without_duplicate_entries(X)
    elif np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
        raise ValueError(
            f"Input X of {type(model).__name__} has masked entries, which are missing "
            "values: fill them, or give NaN to a method that takes it."
        )
    elif isinstance(X, np.ndarray) and not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))  # compiled loops read no other order
    elif type(X).__name__ == "LazyFrame":
        X = X.collect()
    name = type(model).__name__
    if isinstance(X, (list, tuple)):
        X = array_of_rows(X, f"X of {name}")
    refuse_dates(X)
    if y and y[0] is not None and not arrays.is_foreign(y[0]):
        refuse_unreadable_target(name, y[0], checks.get("y_numeric", False))
    try:
        return validate_data(model, X, *y, **checks)
    except TypeError as error:
        column = object_column(X)
        if column is None:
            if is_conversion_error(error):
                raise unreadable_error(f"X of {name}", X, error) from None
            raise
        raise TypeError(
            f"column {column!r} of X holds objects: an argument must be a string of "
            "digits or a number."
        ) from error
    except ValueError as error:
        text = clearer_text(model, X, y, str(error))
        if text is not None:
            raise ValueError(text) from None
        if str(error).startswith("Complex data not supported"):  # and then all of it
            text = f"Complex data not supported: {name} takes real numbers only."
            raise ValueError(text) from None
        is_conversion = any(part in str(error) for part in ("convert", "cast"))
        column = text_column(X) if is_conversion else None
        if column is None:
            if is_conversion_error(error):
                advice = " Encode text as numbers, or take a pipeline that does."
                raise unreadable_error(f"X of {name}", X, error, advice) from None
            raise
        advice = "name it in categorical_features or encode it as numbers"
        if not hasattr(model, "categorical_features"):
            advice = "encode it as numbers"
        raise ValueError(
            f"column {column!r} of X holds text or categories: {advice}."
        ) from error


def refuse_unreadable_target(name, y, numeric) -> None:
    """Raise an error that names the entry of a target that cannot be read."""
    array = array_of_rows(y, f"y of {name}")
    if array.ndim == 0:
        raise ValueError(
            f"y of {name} must have an entry for each row, got the single value "
            f"{array.item()!r}."
        )
    if numeric and array.dtype == object:
        try:
            array.astype(np.float64)
        except (ValueError, TypeError) as error:
            raise unreadable_error(f"y of {name}", array, error) from None


def refuse_dates(X) -> None:
    """Raise ValueError if X holds dates or durations, whose unit would decide a fit."""
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "mM":
            unit_kind = "dates" if X.dtype.kind == "M" else "durations"
            raise ValueError(f"X holds {unit_kind} ({X.dtype}): {DATE_ADVICE}")
        return
    problem = date_column(X)
    if problem is not None:
        column, unit_kind = problem
        raise ValueError(f"column {column!r} of X holds {unit_kind}: {DATE_ADVICE}")


def clearer_text(model, X, y, text) -> str | None:
    """What scikit-learn says of X, with the column and our estimators; None: as it is.

    The words by which its own tests know a message stay.
    """
    name = type(model).__name__
    if text.startswith("Expected 2D array, got 1D array"):
        return (
            "Expected 2D array, got 1D array instead: X has rows and columns. Reshape "
            "your data with X.reshape(-1, 1) if it is one column or X.reshape(1, -1) "
            "if it is one row; the order is fit(X, y)."
        )
    if text.startswith("Found input variables with inconsistent numbers of samples"):
        counts = text.partition("[")[2].rstrip("]").split(", ")
        if len(counts) == 2:
            return (
                f"X has {counts[0]} rows and y has {counts[1]}: inconsistent numbers "
                "of samples."
            )
    if text.startswith("Input X contains NaN"):
        column = missing_column(X)
        location = "" if column is None else f" in column {column!r}"
        takes = ""
        if is_regressor(model) or is_classifier(model):
            kind = "Regressor" if is_regressor(model) else "Classifier"
            takes = (
                f", or take pansophy.ensemble.HistGradientBoosting{kind}, a forest or "
                "a tree, which need no filling"
            )
        return (
            f"Input X contains NaN{location}, and {name} takes no missing values: fill "
            f"them, for example with sklearn.impute.SimpleImputer{takes}."
        )
    if "Feature names unseen at fit time" in text and "now missing" in text:
        seen = [str(n) for n in getattr(model, "feature_names_in_", ())]
        new = [str(n) for n in column_names(X) or () if str(n) not in seen]
        pairs = [(n, difflib.get_close_matches(n, seen, 1)) for n in new]
        close = [
            f"{close_names[0]!r} for {n!r}" for n, close_names in pairs if close_names
        ]
        if close:
            return f"{text}Did you mean {', '.join(close[:3])}?"
    return None


def without_duplicate_entries(X):
    """A sparse matrix in which an entry that is stored in parts is stored once."""
    if X.format not in ("csr", "csc") or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def check_sparse_structure(X) -> None:
    """Raise ValueError if the index arrays of a sparse matrix lead outside of it."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            sparse.coo_array((X.data, X.coords), shape=X.shape)
        else:
            X.tocoo().tocsr().check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(f"X is not a valid sparse matrix: {error}.") from error


__getattr__, __dir__ = share_names(__name__)
