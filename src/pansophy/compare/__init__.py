"""Compare methods on a table, honestly: `compare(table, target)`.

Every method sees the same folds, preparation is fitted inside them, scores carry
intervals that allow for overlapping training sets, ties are called ties, and what was
not run is listed with the reason. See `statistics` for the arithmetic. The package may
be called itself: `pansophy.compare(table, target)`.
"""

import sys
import types

from ..tables import Column, Schema, TableError, infer, read_table
from .again import Rerun, reopen, rerun
from .bayes import Probabilities, correlated_t, in_words, rope_for, signed_rank
from .calibration import (
    Calibration,
    Reliability,
    brier_decomposition,
    calibrate_folds,
    calibration_error,
    fit_calibration,
    reliability,
)
from .clusterings import Clusterings, clusterings
from .conformal import (
    SetRule,
    conformal_sets,
    cv_plus_interval,
    cv_plus_sets,
    fit_sets,
    interval_offsets,
    interval_quantile,
    score_quantile,
)
from .conformal_models import ConformalClassifier, ConformalRegressor
from .decision import Threshold, choose_threshold, cost_curve, decide_by_cost
from .dominance import Dominance, dominates
from .experiment import compare
from .held_out import McNemar, mcnemar, paired_bootstrap, row_interval
from .leak_guard import LeakError, LeakGuard, parameters_of
from .many_tables import Several, friedman, several
from .metrics import METRICS
from .model import TableModel
from .nested import Nested, nested_cv
from .on_test import OnTest, compare_on_test
from .result import Comparison
from .selection import Selection, Split, Tuning, select, three_way, tune
from .statistics import (
    Interval,
    against_best,
    bootstrap,
    corrected_interval,
    corrected_t,
    error_interval,
    expected_of_best,
    holm,
)
from .streaming import Streamed, predict_stream

__all__ = [
    "METRICS",
    "Calibration",
    "Clusterings",
    "Column",
    "Comparison",
    "ConformalClassifier",
    "ConformalRegressor",
    "Dominance",
    "Interval",
    "LeakError",
    "LeakGuard",
    "McNemar",
    "Nested",
    "OnTest",
    "Probabilities",
    "Reliability",
    "Rerun",
    "Schema",
    "Selection",
    "SetRule",
    "Several",
    "Split",
    "Streamed",
    "TableError",
    "TableModel",
    "Threshold",
    "Tuning",
    "against_best",
    "bootstrap",
    "brier_decomposition",
    "calibrate_folds",
    "calibration_error",
    "choose_threshold",
    "clusterings",
    "compare",
    "compare_on_test",
    "conformal_sets",
    "corrected_interval",
    "corrected_t",
    "correlated_t",
    "cost_curve",
    "cv_plus_interval",
    "cv_plus_sets",
    "decide_by_cost",
    "dominates",
    "error_interval",
    "expected_of_best",
    "fit_calibration",
    "fit_sets",
    "friedman",
    "holm",
    "in_words",
    "infer",
    "interval_offsets",
    "interval_quantile",
    "mcnemar",
    "nested_cv",
    "paired_bootstrap",
    "parameters_of",
    "predict_stream",
    "read_table",
    "reliability",
    "reopen",
    "rerun",
    "rope_for",
    "row_interval",
    "score_quantile",
    "select",
    "several",
    "signed_rank",
    "three_way",
    "tune",
]


class Callable(types.ModuleType):
    """A package that is also the function of its name."""

    def __call__(self, table, target, **settings) -> Comparison:
        return compare(table, target, **settings)


sys.modules[__name__].__class__ = Callable
