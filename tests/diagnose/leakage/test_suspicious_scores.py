"""Scores that are too good are said."""

import pytest

from pansophy.diagnose.leakage.suspicious_scores import too_good_score


@pytest.mark.parametrize(
    ("scores", "how", "severity"),
    [
        ({"r2": 0.9997}, {"task": "regression"}, "warning"),
        ({"r2": 0.996}, {"task": "regression"}, "note"),
        ({"r2": 0.97}, {"task": "regression"}, None),
        ({"balanced accuracy": 1.0}, {"task": "classification"}, "warning"),
        ({"balanced accuracy": 0.97}, {"task": "classification"}, None),
        ({"r2": 0.999}, {"task": "regression", "rows": 40}, None),
        # along time a slow series is explained by its last value
        ({"r2": 0.999}, {"errors": {"ridge": 1.0, "last value": 1.5}}, None),
        ({"r2": 0.999}, {"errors": {"ridge": 0.1, "last value": 1.5}}, "note"),
    ],
)
def test_scores_that_are_too_good_are_said(scores, how, severity):
    how = {"task": "regression", "rows": 300} | how
    found = too_good_score(scores, method="ridge", **how)
    assert [f.severity for f in found] == ([severity] if severity else [])
