"""Chow-Liu trees, tree-augmented naive Bayes, and the PC algorithm."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chi2

from pansophy.graphical import (
    PC,
    TreeAugmentedNB,
    chow_liu,
    log_likelihood_score,
    markov_equivalent,
)
from pansophy.graphical.pc import orient_edges
from pansophy.naive_bayes import CategoricalNB

from ..oracles import network_learning as oracle
from .test_structure import STRONG, strong


def trees(d):
    """Parents of every tree rooted at 0."""
    for choice in product(range(d), repeat=d - 1):
        parents = [(), *((p,) for p in choice)]
        reached = {0}
        for _ in range(d):
            reached |= {j for j in range(1, d) if parents[j][0] in reached}
        if len(reached) == d:
            yield parents


def test_chow_liu_is_the_likeliest_of_all_trees():
    X = strong(300)
    best = max(log_likelihood_score(X, t) for t in trees(5))
    for root in (None, 3):
        found = chow_liu(X, root=root)
        assert log_likelihood_score(X, found.parents) == pytest.approx(best)
        assert found.score_samples(X).sum() == pytest.approx(best)
    assert found.parents[3] == ()
    w = np.arange(300) % 3
    a, b = chow_liu(X, sample_weight=w), chow_liu(np.repeat(X, w, axis=0))
    assert a.parents == b.parents


def test_chow_liu_reads_frames_with_holes():
    pd = pytest.importorskip("pandas")
    X = strong(2000).astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    found = chow_liu(pd.DataFrame(X, columns=list("abcde")), root="a")
    assert ("c", "e") in found.edges and ("c", "d") in found.edges


def test_chow_liu_refuses_columns_of_real_numbers():
    real = np.random.default_rng(0).normal(size=80)
    real[3] = np.nan
    for rows in ({"a": ["x", "y"] * 40, "b": real}, {"b": real, "c": real}):
        with pytest.raises(ValueError, match=r"^column 'b' holds real numbers, and ch"):
            chow_liu(rows)


# --- tree-augmented naive Bayes ---


def classes(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.integers(0, 3, (n, 4))
    X[:, 1] = np.where(rng.random(n) < 0.7, (X[:, 0] + y) % 3, X[:, 1])
    X[:, 2] = np.where(rng.random(n) < 0.5, y, X[:, 2])
    X[:, 3] = np.where(rng.random(n) < 0.6, X[:, 1], X[:, 3])
    return X, np.array(["p", "q", "r"])[y]


def test_tan_finds_what_naive_bayes_cannot_see():
    X, y = classes()
    model = TreeAugmentedNB().fit(X, y)
    edges = {frozenset((j, p[0])) for j, p in enumerate(model.parents_) if p}
    assert {frozenset((0, 1)), frozenset((1, 3))} <= edges
    assert model.score(X, y) > CategoricalNB().fit(X, y).score(X, y) + 0.1
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_tan_is_its_network():
    X, y = classes(200)
    model = TreeAugmentedNB(alpha=0.5).fit(X, y)
    network = model.network("y")
    rows = {f"x{j}": X[:5, j] for j in range(4)}
    np.testing.assert_allclose(
        network.predict_proba(rows, "y"), model.predict_proba(X[:5])
    )
    X = X[:5].astype(float)
    X[0, 1] = X[1, 0] = X[1, 3] = X[2] = np.nan
    rows = {f"x{j}": X[:, j] for j in range(4)}
    np.testing.assert_allclose(
        network.predict_proba(rows, "y"), model.predict_proba(X), atol=1e-12
    )
    np.testing.assert_allclose(
        model.score_samples(X)[3:], network.score_samples(rows)[3:]
    )


def test_tan_weights_roots_and_samples():
    X, y = classes(300)
    w = np.random.default_rng(9).integers(0, 3, 300)
    a = TreeAugmentedNB().fit(X, y, sample_weight=w)
    b = TreeAugmentedNB().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X))
    c, d = (TreeAugmentedNB(alpha=0, root=r).fit(X, y) for r in (0, 2))
    np.testing.assert_allclose(c.score_samples(X), d.score_samples(X))
    drawn, labels = a.sample(4000, random_state=0)
    again = TreeAugmentedNB().fit(drawn, labels)
    assert again.parents_ == a.parents_
    with pytest.raises(ValueError, match="not seen in fit"):
        a.predict([[9, 0, 0, 0]])
    with pytest.raises(ValueError, match="root must be a column"):
        TreeAugmentedNB(root=7).fit(X, y)
    TreeAugmentedNB(min_categories=10).fit(X, y).predict([[9, 0, 0, 0]])


# --- PC ---


def test_pc_recovers_a_strong_network():
    X = strong(4000)
    model = PC(alpha=0.001).fit(X)
    assert markov_equivalent(model.parents_, STRONG)
    assert ("x0", "x2") in model.class_.directed
    assert model.separators_["x0", "x1"] == ()
    assert model.separators_["x3", "x4"] == ("x2",)
    p = model.p_values_["x3", "x4"]
    assert p == pytest.approx(chi2.sf(*oracle.g_statistic(X, 3, 4, (2,), (3,) * 5)))
    assert model.network_.parents == model.parents_ and model.converged_


def test_pc_does_not_depend_on_the_order_of_columns():
    X = strong(300, seed=3)
    base = PC().fit(dict(zip("abcde", X.T, strict=True)))
    other = PC().fit({k: X[:, "abcde".index(k)] for k in "edbca"})
    assert sorted(base.class_.directed) == sorted(other.class_.directed)
    lines = lambda m: {frozenset(e) for e in m.class_.undirected}
    assert lines(base) == lines(other)


def test_pc_for_numbers_and_weights():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    c = a - b + 0.5 * rng.normal(size=500)
    X = np.column_stack([a, b, c, 2 * c + rng.normal(size=500)])
    model = PC(alpha=0.01, test="fisher_z").fit(X)
    assert model.parents_ == ((), (), (0, 1), (2,))
    Y, w = strong(300), np.arange(300) % 3
    one, two = PC().fit(Y, sample_weight=w), PC().fit(np.repeat(Y, w, axis=0))
    np.testing.assert_array_equal(one.class_.pattern, two.class_.pattern)


def test_pc_limits_and_contradictions():
    model = PC(max_given=0).fit(strong(500))
    assert model.n_iter_ == 1 and all(s == () for s in model.separators_.values())
    joined = np.zeros((4, 4), dtype=bool)  # a path whose ends both want the middle edge
    for a, b in ((0, 1), (1, 2), (2, 3)):
        joined[a, b] = joined[b, a] = True
    apart = dict.fromkeys(combinations(range(4), 2), (1.0, ()))
    pattern = orient_edges(joined, apart)
    assert pattern[1, 2] and pattern[2, 1]  # turned both ways: no arrow
