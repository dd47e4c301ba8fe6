"""Names of metrics as they are called elsewhere."""

import pytest

from pansophy.compare.metric_names import ALIASES, METRIC_NAMES, metric_name


@pytest.mark.parametrize(("theirs", "ours"), [
    ("AUC", "roc auc"), ("neg_log_loss", "log loss"), ("qwk", "quadratic kappa"),
    ("log-loss", "log loss"), ("  MAE ", "mae"), ("my own", "my own"),
])  # fmt: skip
def test_names_of_others_are_ours(theirs, ours):
    assert metric_name(theirs) == ours


def test_every_alias_leads_to_a_metric():
    assert set(ALIASES.values()) <= set(METRIC_NAMES)
    assert not set(ALIASES) & set(METRIC_NAMES)
