"""The checker of metric axioms finds each fault."""

import numpy as np
import pytest

from pansophy.teaching import check_metric, mutual_neighbour

FIVE = np.array([[9, 7], [3, 8], [3, 1], [5, 8], [6, 3]])


def test_mutual_neighbour_breaks_the_triangle():
    D = mutual_neighbour(FIVE)
    assert D[0, 1] == 6 and D[0, 3] == 3 and D[3, 1] == 2
    report = check_metric(D, FIVE)
    assert not report.is_metric and report.triangle is not None
    assert report._replace(triangle=None).is_metric
    assert "triangle" in str(report)
    assert check_metric("euclidean", FIVE).is_metric
    assert (D == D.T).all() and (np.diagonal(D) == 0).all()
    assert (D[~np.eye(5, dtype=bool)] >= 2).all()


def test_checker_finds_each_fault():
    X = np.array([[0.0], [1.0], [2.0]])
    D = np.abs(X - X.T)
    cases = {
        "negative": [[0, -1, 2], [-1, 0, 1], [2, 1, 0]],
        "self_distance": D + np.diag([0, 1, 0]),
        "asymmetric": D + [[0, 0.5, 0], [0, 0, 0], [0, 0, 0]],
        "indiscernible": [[0, 0, 1], [0, 0, 1], [1, 1, 0]],
    }
    for fault, matrix in cases.items():
        assert getattr(check_metric(np.asarray(matrix, float), X), fault) is not None
    assert check_metric(D, X).is_metric
    with pytest.raises(ValueError, match="3 x 3"):
        check_metric(D[:2], X)
