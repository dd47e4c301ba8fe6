"""Clusters of errors: repeated errors are grouped, random ones are not."""

import numpy as np

from pansophy.diagnose import (
    group_errors,
)


def test_a_repeated_error_is_one_group(rng):
    table = {"size": rng.normal(size=800), "kind": rng.choice(list("abc"), 800)}
    table |= {"noise": rng.normal(size=800)}
    planted = (table["kind"] == "b") & (table["size"] > 1)
    wrong = planted | (rng.random(800) < 0.03)
    found = group_errors(table, wrong)
    (group,) = found.groups
    assert np.mean(planted[group.rows]) > 0.85
    assert len(group.rows) > 0.7 * planted.sum()
    assert group.rate > 0.6 and group.elsewhere < 0.1
    assert any("'kind' is 'b'" in a for a in group.about)
    residual = np.where(planted, 3.0, 0.1) * rng.choice([-1, 1], 800)
    (again,) = group_errors(table, residual, share=planted.mean()).groups
    assert planted[again.rows].all()


def test_errors_by_luck_form_no_group():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 4)) * (1 + 3 * (rng.random((500, 1)) < 0.3))
        assert group_errors(X, rng.random(500) < 0.1).groups == ()
    assert "none repeat" in str(group_errors(X, np.zeros(500, bool)))
