"""Checks that ship with the library, so that users can test their own parts.

`all_estimators()` finds every estimator; `expected_failures` lists which of
scikit-learn's checks one is known not to pass, with the reason, and `expected_errors`
with what they fail; the batteries under
`tests/common` run over both. `warm_up()` makes the usual calls of every public name,
so that their loops are compiled and on disk.
"""

from .estimators import (
    OPTIONAL,
    ExpectedFailure,
    all_estimators,
    all_generators,
    expected_errors,
    expected_failures,
    panel_estimators,
    quick_instance,
    role_names,
    text_estimators,
)
from .usual_calls import (
    CallReport,
    UsualFit,
    run_usual_calls,
    usual_fits,
    usual_names,
    usual_table,
)
from .warm_up import warm_up

__all__ = [
    "OPTIONAL",
    "CallReport",
    "ExpectedFailure",
    "UsualFit",
    "all_estimators",
    "all_generators",
    "expected_errors",
    "expected_failures",
    "panel_estimators",
    "quick_instance",
    "role_names",
    "run_usual_calls",
    "text_estimators",
    "usual_fits",
    "usual_names",
    "usual_table",
    "warm_up",
]
