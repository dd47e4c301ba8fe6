"""Compare methods on a table: `compare(table, target)`.

Every method sees the same folds, and preparation is fitted inside them. Scores carry
intervals that allow for overlapping training sets, ties are called ties, and methods
that were not run are listed with the reason. The package can be called itself:
`pansophy.compare(table, target)`.

Modules, each importing only from those above it:

nouns         `options`, `samples`, `metrics`, `splits`, `resource_limits`
`evaluation`  intervals, tests, ranking, calibration, conformal prediction: arithmetic
`methods`     the portfolio, what each method costs, and how it becomes a pipeline
`execution`   fits in worker processes, within limits, recorded in a run folder
`model`       the model that is kept: predictions, explanations, files of any size
`report`      sentences, tables, figures, the HTML page
drivers       `loading`, `holdout`, `comparison`, `run_comparison`, `saved_runs`

Public names load on first use: a worker that fits needs no statistics, and a model that
predicts needs no engine.

Cost          the package itself takes 0.02 s of processor time; the first `compare`
              about 1.6 s, of which 1.2 s is scikit-learn with SciPy and pandas
"""

import inspect
import sys
import types
from typing import TYPE_CHECKING

from ..core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .comparison import Comparison
    from .model.table_model import TableModel as TableModel
    from .run_comparison import compare as compare

HOMES = {
    "..tables": "Column Schema TableError infer_schema read_table",
    ".comparison": "Comparison",
    "..model_selection.architecture_comparison": "ArchitectureComparison architectures",
    ".evaluation.bayesian_tests": """ComparisonProbabilities bayesian_correlated_t
        bayesian_signed_rank default_rope""",
    ".evaluation.calibration": """CalibrationMap ReliabilityCurve
        brier_decomposition calibrate_folds calibration_error fit_calibration
        reliability_curve""",
    "..model_selection.clustering_comparison": """ClusteringComparison
        compare_clusterings""",
    ".evaluation.conformal": """PredictionSetRule cv_plus_interval cv_plus_sets
        fit_prediction_sets interval_offsets interval_quantile prediction_sets
        score_quantile""",
    "..model_selection.conformal_estimators": "ConformalClassifier ConformalRegressor",
    "..model_selection.dominance": "CurveDominance curve_dominance",
    ".evaluation.decision_threshold": """DecisionThreshold choose_threshold
        cost_curve decide_by_cost""",
    ".evaluation.holdout_comparison": "HoldoutComparison compare_on_test_set",
    "..model_selection.leak_guard": "LeakError LeakGuard parameters_of",
    "..model_selection.multi_dataset": """MultiDatasetResult compare_over_datasets
        friedman_test""",
    "..model_selection.nested_cv": "NestedResult nested_cross_validation",
    ".evaluation.row_tests": """McNemarTest mcnemar_test paired_bootstrap
        row_interval""",
    ".evaluation.statistics": """Interval adjust_against_best bootstrap_statistic
        corrected_interval corrected_t_test error_interval expected_loss_of_best
        holm_adjust""",
    "..model_selection.validation_selection": """SelectionResult ThreeWaySplit
        TuningResult select_on_validation train_validation_test_split
        tune_hyperparameters""",
    ".evaluation.wording": "describe_probabilities",
    ".metrics": "METRICS",
    ".model.streaming": "StreamResult predict_stream",
    ".model.table_model": "TableModel",
    ".run_comparison": "compare",
    ".saved_runs": "Rerun reopen rerun",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, HOMES)


PACKAGE_TEXT = __doc__


class CallablePackage(types.ModuleType):
    # A package that is also the function of its name: `help` and `inspect.signature`
    # show the function, and the text of the package after it.

    def __call__(self, table, target=None, **options) -> "Comparison":
        return self.compare(table, target, **options)

    @property
    def __doc__(self):  # pyrefly: ignore
        return f"{inspect.getdoc(self.compare)}\n\nThe package\n\n{PACKAGE_TEXT}"

    @property
    def __signature__(self):
        return inspect.signature(self.compare)


sys.modules[__name__].__class__ = CallablePackage
