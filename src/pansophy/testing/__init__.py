"""Checks that ship with the library, so that users can test their own parts.

`all_estimators()` finds every estimator; `expected_failures` lists which of
scikit-learn's checks one is known not to pass, with the reason; the batteries under
`tests/common` run over both.
"""

from .estimators import (
    OPTIONAL,
    all_estimators,
    expected_failures,
    quick_instance,
    role_names,
)

__all__ = [
    "OPTIONAL",
    "all_estimators",
    "expected_failures",
    "quick_instance",
    "role_names",
]
