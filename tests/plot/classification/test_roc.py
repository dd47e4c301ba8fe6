"""ROC curve."""

import numpy as np
import pytest
from sklearn.metrics import (
    roc_auc_score,
)

from pansophy import plot

W14 = ([1, 1, 0, 1, 1, 1, 0, 0, 1, 0],
       [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505])  # fmt: skip


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def test_roc_of_worked_examples():
    ax = plot.roc(*W14)
    assert labels(ax) == ["model: area 0.750"]
    fpr, tpr = ax.lines[1].get_data()
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(fpr) >= 0) and np.all(np.diff(tpr) >= 0)
    assert roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) == 0.75
    y, s = map(np.array, W14)
    pairs = [(a > b) + (a == b) / 2 for a in s[y == 1] for b in s[y == 0]]
    assert roc_auc_score(y, s) == pytest.approx(np.mean(pairs))
    assert roc_auc_score(y, np.exp(5 * s)) == roc_auc_score(y, s)
    assert roc_auc_score(y, -s) == pytest.approx(1 - roc_auc_score(y, s))
