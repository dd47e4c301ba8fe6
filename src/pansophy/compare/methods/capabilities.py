"""Capabilities of every estimator of the library: input it takes, output it gives.

Read off the estimators: their tags (missing values, sparse rows, several outputs), the
signature of `fit` (weights), their parameters (`categorical_features`) and methods
(`predict_proba`, `partial_fit`). One thing cannot be read off, which of them fit rows
that stay in a file larger than memory: `core.arrays.block_readers` declares it. A test
tries what is claimed on small data, for every estimator.
"""

import inspect
from functools import cache
from typing import NamedTuple

from sklearn.utils import get_tags

from ...base import (
    Classifier,
    Clusterer,
    Density,
    Estimator,
    OneClass,
    Regressor,
    Transformer,
)
from ...catalogue import read_catalogue, resolve_name
from ...core.arrays.block_readers import BLOCK_READERS, name_set
from .excluded import CLASS, COUNT, LABELS, NUMBER

# regressors whose loss or criterion can be that of counts
COUNT_REGRESSORS = name_set(
    """
    PoissonRegressor TweedieRegressor GeneralizedLinearModel MLPRegressor
    NegativeBinomialRegressor
    HistGradientBoostingRegressor GradientBoostingRegressor DecisionTreeRegressor
    ExtraTreeRegressor RandomForestRegressor ExtraTreesRegressor
    """
)


class Capability(NamedTuple):
    """One estimator."""

    name: str  # of the class
    path: str  # dotted
    kind: str  # "classifier", "regressor", "clusterer", "transformer", ...
    tasks: tuple[str, ...]  # of a comparison that it can do by itself
    missing: bool  # NaN in the rows
    categories: bool  # columns of codes
    sparse: bool
    weights: bool
    outputs: bool  # several numbers at once
    labels: bool  # several labels at once
    probabilities: bool
    batches: bool  # partial_fit
    files: bool  # rows that stay in a file larger than memory
    positive: bool  # refuses negative numbers


FLAGS = (
    "missing",
    "categories",
    "sparse",
    "weights",
    "outputs",
    "labels",
    "probabilities",
    "batches",
    "files",
)


def capability_of(cls) -> Capability:
    """Capabilities of one class.

    Examples
    --------
    >>> from pansophy.compare.methods.capabilities import capability_of
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> c = capability_of(DecisionTreeClassifier)
    >>> c.missing, c.categories, c.labels, c.files
    (True, True, True, False)
    """
    model = cls()
    tags = get_tags(model)
    classifier_tags = tags.classifier_tags
    is_multi_output = tags.target_tags.multi_output
    kind = tags.estimator_type or ("transformer" if tags.transformer_tags else "other")
    labels = bool(classifier_tags and classifier_tags.multi_label)
    return Capability(
        cls.__name__,
        f"{'.'.join(cls.__module__.split('.')[:2])}.{cls.__name__}",
        kind,
        _tasks_of(cls.__name__, kind, labels),
        bool(tags.input_tags.allow_nan),
        "categorical_features" in model.get_params(deep=False),
        bool(tags.input_tags.sparse),
        "sample_weight" in inspect.signature(cls.fit).parameters,
        bool(is_multi_output and kind == "regressor"),
        labels,
        hasattr(model, "predict_proba"),
        hasattr(cls, "partial_fit"),
        cls.__name__ in BLOCK_READERS,
        bool(tags.input_tags.positive_only),
    )


def _tasks_of(name, kind, labels) -> tuple[str, ...]:
    if kind == "classifier":
        return (CLASS, LABELS) if labels else (CLASS,)
    if kind == "regressor":
        return (NUMBER, COUNT) if name in COUNT_REGRESSORS else (NUMBER,)
    return ()


ROLES = (Classifier, Regressor, Clusterer, Transformer, Density, OneClass)
# parts of the package that hold no estimators of a domain
NOT_DOMAINS = {
    "base",
    "core",
    "tables",
    "datasets",
    "diagnose",
    "plot",
    "compare",
    "serve",
    "cli",
    "losses",
    "penalties",
    "kernels",
    "distances",
    "distributions",
    "optim",
    "graphs",
}


@cache
def estimator_classes() -> dict[str, type]:
    """Every estimator class of the catalogue that can be imported here, by name."""
    result = {}
    for name in sorted({n for entry in read_catalogue() for n in entry.names}):
        parts = name.split(".")
        if len(parts) != 3 or not parts[2][:1].isupper() or parts[1] in NOT_DOMAINS:
            continue
        try:
            cls = resolve_name(name)
        except ImportError:  # an extra that is not installed
            continue
        if (
            inspect.isclass(cls)
            and issubclass(cls, Estimator)
            and issubclass(cls, ROLES)
        ):
            result[cls.__name__] = cls
    return result


@cache
def capabilities() -> tuple[Capability, ...]:
    """All of them, sorted by name. Imports the whole library (seconds)."""
    return tuple(capability_of(cls) for _, cls in sorted(estimator_classes().items()))


def find_estimators(task=None, **needs) -> list[Capability]:
    """Estimators that do a task and have every capability asked for.

    Examples
    --------
    >>> from pansophy.compare.methods.capabilities import find_estimators
    >>> found = find_estimators("classification", labels=True, categories=True)
    >>> [c.name for c in found]
    ['DecisionTreeClassifier', 'ExtraTreeClassifier', 'ExtraTreesClassifier',
     'RandomForestClassifier']
    """
    unknown = set(needs) - set(Capability._fields)
    if unknown:
        raise ValueError(f"there is no capability {sorted(unknown)[0]!r}.")
    return [
        c
        for c in capabilities()
        if (task is None or task in c.tasks)
        and all(getattr(c, k) == v for k, v in needs.items())
    ]
