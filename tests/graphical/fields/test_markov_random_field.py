"""Markov random fields: moments, pseudo-likelihood and gradients."""

import numpy as np
import pytest

from pansophy.graphical import (
    MarkovRandomField,
)

T = np.array([[2.0, 1.0], [1.0, 2.0]])
LOOP = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}


@pytest.mark.parametrize("small", [1 << 14, 1])
def test_moments_match_at_the_optimum(small, monkeypatch):
    monkeypatch.setattr(
        "pansophy.graphical.fields.markov_random_field.MAX_ENUMERATED_STATES", small
    )
    data = MarkovRandomField(LOOP, {"a": [3, 1]}).sample(400, random_state=0)
    data = {v: column.astype(int) for v, column in data.items()}
    field = MarkovRandomField(list(LOOP)).fit(data)
    assert field.run_.converged
    p, place = field.joint(), field.space.number
    for i, j in LOOP:
        at = (place(i), place(j))
        rest = tuple(k for k in range(4) if k not in at)
        seen = np.zeros((2, 2))
        np.add.at(seen, tuple(data[field.space.names[k]] for k in sorted(at)), 1 / 400)
        np.testing.assert_allclose(p.sum(axis=rest), seen, atol=1e-5)


def test_pseudo_likelihood_and_weights():
    truth = MarkovRandomField(LOOP, {"a": [3, 1]})
    data = truth.sample(20000, random_state=0)
    order = [truth.space.number(v) for v in sorted("abcd")]
    data = {v: data[v].astype(int) for v in "abcd"}
    for method in ("exact", "pseudo"):
        field = MarkovRandomField(list(LOOP), method=method).fit(data)
        gap = field.joint() - truth.joint().transpose(order)
        assert np.abs(gap).max() < 0.01
    rows = np.column_stack([data[v][:50] for v in "abcd"])
    k = np.random.default_rng(0).integers(1, 4, 50)
    cliques = [("x0", "x1"), ("x1", "x2")]
    a = MarkovRandomField(cliques, alpha=0.1).fit(rows, sample_weight=k)
    b = MarkovRandomField(cliques, alpha=0.1).fit(np.repeat(rows, k, axis=0))
    np.testing.assert_allclose(a.joint(), b.joint(), atol=1e-9)
    total = np.exp(a.score_samples(np.array(list(np.ndindex(2, 2, 2, 2))))).sum()
    assert total == pytest.approx(1)
    with pytest.raises(ValueError, match="missing"):
        MarkovRandomField(cliques).fit(np.array([[0, np.nan, 1], [1, 0, 1]]))


def test_gradients():
    from pansophy.graphical.fields.markov_random_field import FieldLikelihood

    rng = np.random.default_rng(0)
    rows = rng.integers(0, [2, 3, 2], (20, 3))
    scopes = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]
    problem = FieldLikelihood(scopes, (2, 3, 2), rows, rng.dirichlet(np.ones(20)), 0.2)
    t = rng.normal(size=problem.start[-1])
    for loss in (problem.exact, problem.pseudo):
        _, grad = loss(t)
        for k in range(0, len(t), 3):
            e = np.eye(len(t))[k] * 1e-6
            slope = (loss(t + e)[0] - loss(t - e)[0]) / 2e-6
            assert grad[k] == pytest.approx(slope, abs=1e-7)


def test_transposed_edge_changes_nothing():
    W = np.array([[2.0, 1.0, 4.0], [1.0, 3.0, 0.5]])
    a = MarkovRandomField({("a", "b"): W}, {"a": [3, 1]}).joint()
    b = MarkovRandomField({("b", "a"): W.T}, {"a": [3, 1]})
    order = [b.space.number(v) for v in "ab"]
    np.testing.assert_allclose(a, b.joint().transpose(order))
