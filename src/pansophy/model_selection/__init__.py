"""Tools that choose a model and are no part of `compare`, beside scikit-learn's own.

`nested_cv` and `validation_selection` choose parameters without deceiving themselves,
`leak_guard` refuses a second look at test rows, `multi_dataset` compares methods over
many tables, `clustering_comparison` and `architecture_comparison` clusterings and nets;
`dominance` says whether one curve is above another, `conformal_estimators` wrap a model
so that it predicts sets or intervals. Splitters and searches are scikit-learn's.
"""

from ..core.lazy_names import lazy_names
from ..scikit_learn import share_names

HOMES = {
    ".architecture_comparison": "ArchitectureComparison architectures",
    ".clustering_comparison": """ClusteringComparison
        compare_clusterings""",
    ".conformal_estimators": "ConformalClassifier ConformalRegressor",
    ".dominance": "CurveDominance curve_dominance",
    ".leak_guard": "LeakError LeakGuard parameters_of",
    ".multi_dataset": """MultiDatasetResult compare_over_datasets
        friedman_test""",
    ".nested_cv": "NestedResult nested_cross_validation",
    ".validation_selection": """SelectionResult ThreeWaySplit
        TuningResult select_on_validation train_validation_test_split
        tune_hyperparameters""",
}

OURS, load_ours, list_ours = lazy_names(__name__, HOMES)
load_theirs, list_theirs = share_names(__name__)


def __getattr__(name):
    if name == "__all__":
        return sorted({*OURS, *load_theirs("__all__")})
    return load_ours(name) if name in OURS else load_theirs(name)


def __dir__():
    return sorted({*list_ours(), *list_theirs()})
