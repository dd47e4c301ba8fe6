"""Compare methods on a table, honestly: `compare(table, target)`.

Every method sees the same folds, preparation is fitted inside them, scores carry
intervals that allow for overlapping training sets, ties are called ties, and what was
not run is listed with the reason. The package may be called itself:
`pansophy.compare(table, target)`.

Where things are, each importing only from what stands above it:

nouns      `data`, `metrics`, `splits`, `limits`
`judging`  intervals, tests, ties, probabilities, decisions: arithmetic alone
`methods`  the portfolio, what it costs, and how a method becomes a pipeline
`running`  fits in workers, within limits, kept in a run folder
`keeping`  the model that is left: predictions, explanations, files of any size
`telling`  the report, pictures, words
drivers    `arguments`, `intake`, `unseen`, `result`, `experiment`, `again`

Public names load on first use: a worker that fits needs no statistics, and a model that
answers needs no engine.

Cost      the package itself 0.02 s of processor time; the first `compare` about 1.6 s,
          of which 1.2 s is scikit-learn with SciPy and pandas, which every fit needs
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .experiment import compare as compare
    from .keeping.model import TableModel as TableModel
    from .result import Comparison

# where the public names live
HOME = {
    name: home
    for home, names in {
        "..tables": "Column Schema TableError infer_schema read_table",
        ".again": "Rerun reopen rerun",
        ".experiment": "compare",
        ".judging.bayes": "Probabilities correlated_t in_words rope_for signed_rank",
        ".judging.calibration": """Calibration Reliability brier_decomposition
            calibrate_folds calibration_error fit_calibration reliability""",
        ".judging.clusterings": "Clusterings clusterings",
        ".judging.conformal": """SetRule conformal_sets cv_plus_interval cv_plus_sets
            fit_sets interval_offsets interval_quantile score_quantile""",
        ".judging.conformal_models": "ConformalClassifier ConformalRegressor",
        ".judging.decision": "Threshold choose_threshold cost_curve decide_by_cost",
        ".judging.dominance": "Dominance dominates",
        ".judging.held_out": "McNemar mcnemar paired_bootstrap row_interval",
        ".judging.leak_guard": "LeakError LeakGuard parameters_of",
        ".judging.many_tables": "Several friedman several",
        ".judging.nested": "Nested nested_cv",
        ".judging.on_test": "OnTest compare_on_test",
        ".judging.selection": "Selection Split Tuning select three_way tune",
        ".judging.statistics": """Interval against_best bootstrap corrected_interval
            corrected_t error_interval expected_of_best holm""",
        ".keeping.model": "TableModel",
        ".keeping.streaming": "Streamed predict_stream",
        ".metrics": "METRICS",
        ".result": "Comparison",
    }.items()
    for name in names.split()
}

__all__ = sorted(HOME)  # pyrefly: ignore


def __getattr__(name) -> Any:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(HOME[name], __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *HOME})


class Callable(types.ModuleType):
    """A package that is also the function of its name."""

    def __call__(self, table, target, **settings) -> "Comparison":
        return self.compare(table, target, **settings)


sys.modules[__name__].__class__ = Callable
