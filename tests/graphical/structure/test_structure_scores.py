"""Counts and scores of structures against worked numbers, oracles and pgmpy."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from pansophy.graphical import (
    ContingencyTables,
    all_dags,
    bdeu_score,
    bic_score,
    k2_score,
    log_likelihood_score,
    markov_equivalent,
    structure_score,
)
from pansophy.graphical.structure.structure_scores import (
    DiscreteFamilyScores,
    GaussianFamilyScores,
)
from tests.graphical.small_tables import correlated_codes
from tests.oracles import network_learning as oracle

ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]])
KINDS = ("log_likelihood", "bic", "aic", "bdeu", "k2")


def test_worked_numbers():
    alone, right, left = [(), ()], [(), (0,)], [(1,), ()]
    assert log_likelihood_score(ROWS, alone) == pytest.approx(-9.5607135, abs=1e-7)
    assert bic_score(ROWS, alone) == pytest.approx(-11.5066236, abs=1e-7)
    for graph in (right, left):
        assert log_likelihood_score(ROWS, graph) == pytest.approx(-9.4624880, abs=1e-7)
        assert bic_score(ROWS, graph) == pytest.approx(-12.3813532, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_families_are_scored_as_the_formulas_say(kind):
    X, sizes = correlated_codes(1)
    families = DiscreteFamilyScores(ContingencyTables(X, sizes), kind)
    for y, parents in ((0, ()), (1, (3,)), (2, (0, 4)), (3, (0, 1, 2))):
        want = oracle.family_score(X, y, parents, sizes, kind)
        assert families.score(y, parents) == pytest.approx(want, rel=1e-12)
    found = families.adds(1, (0,), (2, 3, 4))
    want = [oracle.family_score(X, 1, (0, z), sizes, kind) for z in (2, 3, 4)]
    np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("kind", ["log_likelihood", "bic", "aic", "bdeu", "bge"])
def test_equivalent_graphs_have_equal_scores(kind):
    X, _ = correlated_codes(2, n=80, sizes=(2, 3, 2))
    graphs = list(all_dags(3))
    scores = [structure_score(X, g, kind) for g in graphs]
    for a, s in zip(graphs, scores, strict=True):
        for b, t in zip(graphs, scores, strict=True):
            if markov_equivalent(a, b):
                assert s == pytest.approx(t, abs=1e-9)


def test_weights_are_repetitions_and_labels_do_not_matter():
    X, _ = correlated_codes(3)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    graph = [(), (0,), (0, 1), (), (3,)]
    words = {f"v{j}": np.array(["x", "c", "q", "b"])[X[:, j]] for j in range(5)}
    for score in (bic_score, k2_score, bdeu_score):
        kept = score(np.repeat(X, w, axis=0), graph)
        assert score(X, graph, weights=w) == pytest.approx(kept, rel=1e-12)
        assert score(words, graph) == pytest.approx(score(X, graph), rel=1e-12)
        assert score(X[::-1], graph) == pytest.approx(score(X, graph), rel=1e-12)


def test_gaussian_scores_by_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    A = np.column_stack([np.ones(60), X[:, :2]])
    left = X[:, 2] - A @ np.linalg.lstsq(A, X[:, 2], rcond=None)[0]
    s = left @ left / 60
    own = -30 * (np.log(2 * np.pi * s) + 1) - 0.5 * np.log(60) * 4
    rest = [structure_score(X[:, [j]], [()], "gaussian_bic") for j in (0, 1)]
    total = structure_score(X, [(), (), (0, 1)], "gaussian_bic")
    assert total == pytest.approx(own + sum(rest))


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_pgmpy(kind):
    scores = pytest.importorskip("pgmpy.structure_score")
    pd = pytest.importorskip("pandas")
    X, _ = correlated_codes(5)
    frame = pd.DataFrame(X, columns=list("abcde"))
    names = {"log_likelihood": "LogLikelihood", "bdeu": "BDeu"}
    peer = getattr(scores, names.get(kind, kind.upper()))(frame)
    graph = {"b": ["a"], "c": ["a", "b"], "e": ["d"]}
    want = sum(peer.local_score(v, tuple(graph.get(v, ()))) for v in "abcde")
    assert structure_score(frame, graph, kind) == pytest.approx(want, rel=1e-10)


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="column 'a' has missing values"):
        bic_score({"a": [0, None, 1], "b": [0, 1, 1]}, [(), ()])
    with pytest.raises(ValueError, match="cycle: "):
        bic_score(ROWS, [(1,), (0,)])
    with pytest.raises(ValueError, match="score must be one of bic"):
        structure_score(ROWS, [(), ()], "best")
    with pytest.raises(ValueError, match="did you mean 'rain'"):
        bic_score({"rain": [0, 1], "wet": [0, 1]}, [("rian", "wet")])
    with pytest.raises(ValueError, match="'b' must hold numbers"):
        structure_score({"a": [0.5, 1], "b": ["x", "y"]}, [(), ()], "bge")


def test_bge_is_a_product_of_predictive_densities():
    """Row by row, rows have Student densities under a Normal-Wishart prior.

    The prior mean is the mean of the rows and counts as one row; the prior of the
    precision is Wishart with d + 2 degrees of freedom and scatter I / 2. The row after
    i rows is then Student t with 3 + i degrees of freedom, and any columns of it are,
    with their part of the scatter.
    """
    rng = np.random.default_rng(4)
    X = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 3)) + [1.0, -2.0, 0.5]
    center = X.mean(axis=0)

    def evidence(columns):
        Z = X[:, columns] - center[columns]
        scatter, mean, total = 0.5 * np.eye(len(columns)), np.zeros(len(columns)), 0.0
        for i, z in enumerate(Z):
            shape = scatter * (i + 2) / ((i + 1) * (i + 3))
            total += multivariate_t(mean, shape, df=i + 3).logpdf(z)
            scatter = scatter + (i + 1) / (i + 2) * np.outer(z - mean, z - mean)
            mean = mean + (z - mean) / (i + 2)
        return total

    scores = GaussianFamilyScores(X, "bge")
    assert scores.score(0, ()) == pytest.approx(evidence([0]), rel=1e-10)
    want = evidence([0, 2]) - evidence([2])
    assert scores.score(0, (2,)) == pytest.approx(want, rel=1e-10)
    want = evidence([0, 1, 2]) - evidence([0, 2])
    assert scores.score(1, (0, 2)) == pytest.approx(want, rel=1e-10)
    graph = [(), (0,), (0, 1)]
    assert structure_score(X, graph, "bge") == pytest.approx(evidence([0, 1, 2]))
