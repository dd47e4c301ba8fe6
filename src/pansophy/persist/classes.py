"""Allow-list of the classes and functions that a model file may name.

A name is either ours (`pansophy.<package>.<Class>`: an estimator, a NamedTuple, a
dataclass or a torch module defined anywhere in that package, so that files outlive a
module that moves), scikit-learn's (a public module of the list below and an estimator,
splitter or kernel in it), one of the few helpers listed by name, or something the user
has registered in this process. Nothing else is imported, and no attribute is followed
beyond the one class name.
"""

import dataclasses
import importlib
import importlib.util
import inspect
import re
from collections import defaultdict
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType, MemberDescriptorType

import numpy as np


class PersistError(ValueError):
    """A model cannot be written, or a file cannot be trusted or understood."""


def _qualified_names(prefix, names) -> frozenset[str]:
    return frozenset(f"{prefix}.{name}" for name in names.split())


SKLEARN_MODULES = _qualified_names(
    "sklearn",
    """calibration cluster compose covariance cross_decomposition
    decomposition discriminant_analysis dummy ensemble feature_extraction
    feature_extraction.text feature_selection frozen gaussian_process
    gaussian_process.kernels impute isotonic kernel_approximation kernel_ridge
    linear_model manifold mixture model_selection multiclass multioutput naive_bayes
    neighbors neural_network pipeline preprocessing random_projection semi_supervised
    svm tree""",
)
# Plain-data helpers that appear inside fitted scikit-learn estimators.
SKLEARN_HELPERS = frozenset(
    {
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer._RemainderColsList",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.impute._iterative._ImputerTriplet",
        "sklearn.metrics._scorer._CurveScorer",
        "sklearn.metrics._scorer._MultimetricScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)
# Estimators that scikit-learn shows only after a switch has been imported.
SKLEARN_SWITCHES = {
    "IterativeImputer": "enable_iterative_imputer",
    "HalvingGridSearchCV": "enable_halving_search_cv",
    "HalvingRandomSearchCV": "enable_halving_search_cv",
}
FUNCTIONS = (
    _qualified_names(
        "numpy", "mean median max min sum prod std var nanmean nanmedian nan_to_num"
    )
    | _qualified_names(
        "sklearn.feature_selection",
        """chi2 f_classif f_regression mutual_info_classif mutual_info_regression
        r_regression""",
    )
    | _qualified_names(
        "sklearn.metrics",
        """accuracy_score adjusted_mutual_info_score adjusted_rand_score
        average_precision_score balanced_accuracy_score brier_score_loss
        cohen_kappa_score completeness_score d2_absolute_error_score d2_brier_score
        d2_log_loss_score d2_pinball_score d2_tweedie_score explained_variance_score
        f1_score fbeta_score fowlkes_mallows_score hamming_loss homogeneity_score
        jaccard_score log_loss matthews_corrcoef max_error mean_absolute_error
        mean_absolute_percentage_error mean_gamma_deviance mean_pinball_loss
        mean_poisson_deviance mean_squared_error mean_squared_log_error
        mean_tweedie_deviance median_absolute_error mutual_info_score
        normalized_mutual_info_score precision_score r2_score rand_score recall_score
        roc_auc_score root_mean_squared_error root_mean_squared_log_error
        top_k_accuracy_score v_measure_score zero_one_loss""",
    )
    | _qualified_names(
        "sklearn.metrics.pairwise",
        """chi2_kernel cosine_similarity euclidean_distances laplacian_kernel
        linear_kernel polynomial_kernel rbf_kernel sigmoid_kernel""",
    )
)
# Functions of ours that make values of functions again, such as a loss: `core.recipes`.
MAKERS = (
    _qualified_names("pansophy.links", "get_link")
    | _qualified_names(
        "pansophy.losses",
        """class_weighted_loss epsilon_insensitive get_family get_loss glm_loss huber lp
        quantile squared_epsilon_insensitive student_t tukey tweedie""",
    )
    | _qualified_names(
        "pansophy.penalties",
        """affine ball box elastic_net from_prior group_l2 half_space l1 l2 lq
        nonnegative simplex""",
    )
)
BUILTINS = {t.__name__: t for t in (bool, int, float, complex, str, bytes, object)}
# Packages that classes have left, to where they are today.
MOVED = {
    ("compare", "model_selection"): """ArchitectureRow ArchitectureComparison NetSize
        ClusteringRow ClusteringComparison CurveDominance FriedmanTest MethodPair
        MultiDatasetResult NestedResult LockedRows LeakGuard PresetAndFitted
        ThreeWaySplit CandidateLoss SelectionResult TuningResult ScaledResiduals
        ConformalRegressor ConformalClassifier""",
    ("nn", "teaching"): """Neuron BackwardPass TimeGradients Approximation
        ApproximationCurve GraphReport""",
    ("optim", "teaching"): "Convexity CriticalPoint ConvexState StepReport",
    ("graphical", "teaching"): "ExplainingAway TwoStage ProbabilityRule Plate",
    ("tree", "teaching"): "GrowthCurve",
    ("diagnose", "teaching"): """MeasurementRisk Attribution SimulatedRisk SampleError
        Optimism""",
    ("distances", "teaching"): "MetricReport",
    ("kernel_model", "teaching"): "KernelExpansion",
    ("kernel_model", "kernels"): "KernelTestResult Discrepancy",
    ("recommend", "metrics"): "Hits",
}
# Names that classes had in older releases, to their names of today.
RENAMED: dict[str, str] = {
    f"pansophy.{old_package}.{name}": f"pansophy.{new_package}.{name}"
    for (old_package, new_package), names in MOVED.items()
    for name in names.split()
}
CLASS_LINE = re.compile(r"^class (\w+)", flags=re.MULTILINE)
_registered: dict[str, type] = {}
_registered_functions: dict[str, FunctionType] = {}


def register(cls):
    """Let `save` and `load` handle a class or function of yours (also a decorator).

    A class, a torch module for instance, must keep its state in its attributes; of a
    function, such as a loss, the name is written. Register it in every process that
    loads such a file: a file by itself can never add to the list.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, TransformerMixin
    >>> from pansophy import persist
    >>> @persist.register
    ... class Halve(TransformerMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         return self
    ...     def transform(self, X):
    ...         return X / 2
    """
    if isinstance(cls, FunctionType):
        _registered_functions[f"{cls.__module__}.{cls.__qualname__}"] = cls
    elif isinstance(cls, type):
        _registered[f"{cls.__module__}.{cls.__qualname__}"] = cls
    else:
        raise TypeError(f"register takes a class or a function, got {cls!r}.")
    name_of.cache_clear()  # it may have been asked for the name before
    return cls


@cache
def _sklearn_kinds():
    """The public base classes of what may be taken from scikit-learn."""
    from sklearn.base import BaseEstimator
    from sklearn.gaussian_process.kernels import Kernel
    from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

    return BaseEstimator, BaseCrossValidator, BaseShuffleSplit, Kernel


@cache
def is_module(cls) -> bool:
    """A torch module (torch is imported by whoever made one)."""
    return any(
        c.__module__ == "torch.nn.modules.module" and c.__name__ == "Module"
        for c in cls.__mro__
    )


@cache
def is_record(cls) -> bool:
    """A NamedTuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _is_ours(cls) -> bool:
    """An estimator, NamedTuple, dataclass or torch module of pansophy."""
    from sklearn.base import BaseEstimator

    kind = (
        issubclass(cls, BaseEstimator)
        or is_record(cls)
        or dataclasses.is_dataclass(cls)
        or is_module(cls)
    )
    return kind and cls.__module__.startswith("pansophy.")


@cache
def name_of(cls) -> str | None:
    """The name under which a class may be written, or None if it may not."""
    full = f"{cls.__module__}.{cls.__qualname__}"
    if _registered.get(full) is cls:
        return full
    root = cls.__module__.split(".")[0]
    if root == "pansophy":
        full = public_name(full)
    elif root == "sklearn" and full not in SKLEARN_HELPERS:
        public = []
        for part in cls.__module__.split("."):
            if part.startswith("_"):
                break
            public.append(part)
        full = f"{'.'.join(public)}.{cls.__qualname__}"
    elif root == "torch" and is_module(cls):
        full = f"torch.nn.{cls.__qualname__}"
    try:
        return full if class_of(full) is cls else None
    except PersistError:
        return None


def public_name(path) -> str:
    """`pansophy.<package>.<Class>` of the full path of a class of ours.

    Examples
    --------
    >>> from pansophy.persist.classes import public_name
    >>> public_name("pansophy.cluster.centers.kmeans.KMeans")
    'pansophy.cluster.KMeans'
    """
    root, package, *_, last = path.split(".")
    return f"{root}.{package}.{last}"


@cache
def defining_modules(package) -> dict[str, list[str]]:
    """Modules of a package of ours that define each class, read from their sources."""
    spec = importlib.util.find_spec(package)
    homes = defaultdict(list)
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or []:
        for path in sorted(Path(folder).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            module = ".".join((package, *parts)).removesuffix(".__init__")
            for match in re.finditer(CLASS_LINE, path.read_text(encoding="utf-8")):
                homes[match.group(1)].append(module)
    return homes


def class_of(name) -> type:
    """The class of a name in a manifest; PersistError if it is not on the list."""
    if not isinstance(name, str):
        raise PersistError("the file names a class by something other than text")
    name = RENAMED.get(name, name)
    if name in _registered:
        return _registered[name]
    return _listed_class(name)


@cache
def _listed_class(name) -> type:
    """The class of a name, if it is ours, scikit-learn's or torch's and on the list."""
    refused = PersistError(f"the file asks for {name!r}, which is not an allowed class")
    module, _, last = name.rpartition(".")
    parts = name.split(".")
    if not all(p.isidentifier() and not p.startswith("__") for p in parts):
        raise refused
    if parts[0] == "pansophy" and len(parts) == 3:
        modules = defining_modules(module).get(last, [])
        if len(modules) == 1:
            result = _fetch(modules[0], last, refused)
            if _is_ours(result):
                return result
    elif module in SKLEARN_MODULES and not last.startswith("_"):
        if last in SKLEARN_SWITCHES:
            importlib.import_module(f"sklearn.experimental.{SKLEARN_SWITCHES[last]}")
        result = _fetch(module, last, refused)
        inside = result.__module__.startswith("sklearn.")
        if inside and issubclass(result, _sklearn_kinds()):
            return result
    elif name in SKLEARN_HELPERS:
        return _fetch(module, last, refused)
    elif module == "torch.nn":
        result = _fetch(module, last, refused)
        if result.__module__.startswith("torch.nn.modules.") and is_module(result):
            return result
    raise refused


def _fetch(module, last, refused) -> type:
    try:
        result = vars(importlib.import_module(module)).get(last)
        if result is None and module.startswith("sklearn"):  # shown lazily
            result = getattr(importlib.import_module(module), last, None)
    except ImportError as error:
        raise PersistError(
            f"the file needs {module}, which cannot be imported here: {error}"
        ) from error
    if not isinstance(result, type):
        raise refused
    return result


def function_name(function) -> str | None:
    """The name under which a function may be written, or None."""
    if isinstance(function, FunctionType):
        full = f"{function.__module__}.{function.__qualname__}"
        if _registered_functions.get(full) is function:
            return full
    module = "numpy"  # ufuncs do not always say so
    if not isinstance(function, np.ufunc):
        module = (getattr(function, "__module__", None) or "").split("._")[0]
        module = module.removesuffix(".cluster")  # metrics are public one level up
    name = f"{module}.{getattr(function, '__name__', '')}"
    try:
        return name if function_of(name) is function else None
    except PersistError:
        return None


def function_of(name):
    """The function of a name in a manifest: registered, a ufunc, or in `FUNCTIONS`."""
    if name in _registered_functions:
        return _registered_functions[name]
    module, _, last = str(name).rpartition(".")
    if name in FUNCTIONS:
        return getattr(importlib.import_module(module), last)
    if module == "numpy" and isinstance(vars(np).get(last), np.ufunc):
        return vars(np)[last]
    raise PersistError(f"the file asks for {name!r}, which is not an allowed function")


def maker_name(make) -> str | None:
    """The name under which a recipe's function may be written, or None."""
    package = ".".join(make.__module__.split(".")[:2])
    name = f"{package}.{make.__name__}"
    return name if name in MAKERS and maker_of(name) is make else None


def maker_of(name):
    """The function of a recipe in a manifest: one of `MAKERS`."""
    if name not in MAKERS:
        raise PersistError(f"the file asks for {name!r}, which makes no values")
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


@cache
def is_cached(cls, name) -> bool:
    """Whether an attribute is the remembered value of a cached property."""
    return isinstance(inspect.getattr_static(cls, name, None), cached_property)


@cache
def may_hold(cls, name) -> bool:
    """Whether `name` is data of an object: a field, or one that hides no method."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        return False
    if dataclasses.is_dataclass(cls) and name in cls.__dataclass_fields__:
        return True  # a parameter whose default is a function looks like a method
    held = inspect.getattr_static(cls, name, None)
    return isinstance(held, MemberDescriptorType) or not hasattr(held, "__get__")
