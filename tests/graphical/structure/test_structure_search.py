"""Searches for graphs: recovery, optimality, rules, invariances, drivers."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.base import InterruptedFitWarning
from pansophy.core.drivers.iterate import iterate
from pansophy.graphical import (
    PC,
    StructureSearch,
    all_dags,
    bic_score,
    markov_equivalent,
    structure_score,
)
from pansophy.graphical.structure import hill_climbing
from pansophy.graphical.structure.contingency_tables import ContingencyTables
from pansophy.graphical.structure.structure_scores import (
    CachedFamilyScores,
    DiscreteFamilyScores,
)
from pansophy.params import ParameterError
from tests.graphical.small_tables import correlated_bits

STRONG = [(), (), (0, 1), (2,), (2,)]  # a, b -> c -> d, e


def strong(n=3000, seed=0):
    """Rows of a network of five nodes whose edges all show."""
    rng = np.random.default_rng(seed)
    noise = lambda share: rng.random(n) < share
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    c = np.where(noise(0.15), rng.integers(0, 2, n), (a > 0) & (b > 0)).astype(int)
    d = np.where(noise(0.2), rng.integers(0, 3, n), 2 * c)
    e = np.where(noise(0.2), rng.integers(0, 2, n), 1 - c)
    return np.column_stack([a, b, c, d, e])


@pytest.mark.parametrize("method", ["tabu", "hill_climbing", "exact"])
@pytest.mark.parametrize("scoring", ["bic", "bdeu", "k2"])
def test_a_strong_network_is_recovered_up_to_its_class(method, scoring):
    X = strong()
    search = StructureSearch(scoring, method=method).fit(X)
    if (method, scoring) != ("hill_climbing", "k2"):  # K2 has more local optima
        assert markov_equivalent(search.parents_, STRONG)
    assert search.score_ == pytest.approx(structure_score(X, search.parents_, scoring))
    assert search.converged_
    assert search.network_.score_samples(X[:50]).mean() > -5


def test_worked_example_prefers_no_edge():
    rows = [[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
    search = StructureSearch(method="exact").fit(rows)
    assert search.parents_ == ((), ())
    assert search.score_ == pytest.approx(-11.5066236, abs=1e-7)


@given(st.integers(0, 10**6))
@settings(max_examples=6)
def test_exact_is_the_best_of_all_graphs_and_no_walk_is_better(seed):
    X = correlated_bits(seed)
    families = CachedFamilyScores(
        DiscreteFamilyScores(ContingencyTables(X, (2,) * 4), "bic")
    )
    best = max(
        sum(families.score(j, above) for j, above in enumerate(g)) for g in all_dags(4)
    )
    found = StructureSearch(method="exact").fit(X)
    assert found.score_ == pytest.approx(best, abs=1e-9)
    climbed = StructureSearch(method="hill_climbing").fit(X).score_
    walked = StructureSearch(method="tabu").fit(X).score_
    again = StructureSearch(n_restarts=3, random_state=0).fit(X).score_
    assert climbed <= walked + 1e-9 <= again + 2e-9 <= best + 3e-9


def test_rules_are_kept():
    X = dict(zip("abcde", strong().T, strict=True))
    for method in ("tabu", "hill_climbing", "exact"):
        search = StructureSearch(
            method=method, max_parents=1, required=[("e", "a")],
            forbidden=[("c", "d"), ("d", "c")],
        ).fit(X)  # fmt: skip
        assert ("e", "a") in search.edges_
        assert not {("c", "d"), ("d", "c")} & set(search.edges_)
        assert max(map(len, search.parents_)) == 1
    start = StructureSearch(start=[("d", "e")], max_iter=1, method="hill_climbing")
    with pytest.warns(UserWarning, match="did not converge"):
        assert ("d", "e") in start.fit(X).edges_
    ordered = StructureSearch("k2", method="k2", order=list("abcde")).fit(X)
    assert markov_equivalent(ordered.parents_, STRONG)


def test_order_of_columns_and_rows_and_names_of_states_do_not_matter():
    X = dict(zip("abcde", strong(600).T, strict=True))
    base = StructureSearch().fit(X)
    mixed = {k: X[k][::-1] for k in "dbeca"}
    words = {k: np.array(["z", "m", "b"])[v] for k, v in X.items()}
    for other in (mixed, words):
        found = StructureSearch().fit(other)
        assert sorted(found.edges_) == sorted(base.edges_)
        assert found.score_ == pytest.approx(base.score_)


def test_weights_are_repetitions():
    X, w = strong(400), np.random.default_rng(0).integers(0, 3, 400)
    a = StructureSearch().fit(X, sample_weight=w)
    b = StructureSearch().fit(np.repeat(X, w, axis=0))
    assert a.parents_ == b.parents_ and a.score_ == pytest.approx(b.score_)
    np.testing.assert_allclose(a.network_.nodes[2].prob, b.network_.nodes[2].prob)


def test_columns_of_numbers():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    c = a - b + 0.5 * rng.normal(size=500)
    X = np.column_stack([a, b, c, 2 * c + rng.normal(size=500)])
    for scoring in ("gaussian_bic", "bge"):
        search = StructureSearch(scoring).fit(X)
        assert markov_equivalent(search.parents_, [(), (), (0, 1), (2,)])
        assert search.network_.nodes[3].coef == pytest.approx([2.0], abs=0.2)


def test_an_interrupted_search_leaves_a_network(monkeypatch):
    calls = []

    def stopped(step, *rest, **how):
        def one(state):
            calls.append(state)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return step(state)

        return iterate(one, *rest, **how)

    monkeypatch.setattr(hill_climbing, "iterate", stopped)
    with pytest.warns(InterruptedFitWarning):
        search = StructureSearch().fit(strong(300))
    assert search.n_iter_ == 2 and len(search.edges_) == 2
    assert len(search.history_["score"]) == 2


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"method": "k2"}, "needs an order"),
        ({"method": "k2", "order": ["x0"]}, "every column once"),
        ({"required": [("x0", "x1")], "forbidden": [("x0", "x1")]}, "both required"),
        ({"required": [("x0", "x9")]}, "no variable is called 'x9'"),
        ({"required": [("x0", "x1"), ("x1", "x0")]}, "cycle"),
        ({"required": [("x0", "x2"), ("x1", "x2")], "max_parents": 1}, "max_parents"),
        ({"scoring": "best"}, "scoring of StructureSearch must be"),
    ],
)
def test_bad_parameters_are_told(params, words):
    with pytest.raises((ParameterError, ValueError), match=words):
        StructureSearch(**params).fit(strong(50))


def test_exact_is_limited_and_missing_values_are_refused():
    with pytest.raises(ParameterError, match="at most 15"):
        StructureSearch(method="exact").fit(correlated_bits(0, d=16))
    with pytest.raises(ValueError, match="'b' contains NaN or None"):
        StructureSearch().fit({"a": [0, 1], "b": ["x", None]})


def test_no_worse_than_pgmpy():
    discovery = pytest.importorskip("pgmpy.causal_discovery")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(correlated_bits(7, d=6, n=400), columns=list("abcdef"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = discovery.HillClimbSearch(
            scoring_method="bic-d", show_progress=False, return_type="dag"
        ).fit(frame)
    ours = StructureSearch().fit(frame)
    assert ours.score_ >= bic_score(frame, list(peer.causal_graph_.edges())) - 1e-8


def test_columns_say_whether_they_are_numbers_or_states():
    """A chain of real numbers is found by default; a table of both is refused."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    b = a + rng.normal(size=500)
    X = {"a": a, "b": b, "c": b + rng.normal(size=500)}
    for search in (StructureSearch(), PC()):
        assert {frozenset(e) for e in search.fit(X).edges_} == {
            frozenset("ab"),
            frozenset("bc"),
        }
        with pytest.raises(ValueError, match="'a' holds real numbers and 'd' states"):
            search.fit(X | {"d": (a > 0).astype(int)})
    assert (
        StructureSearch().fit(X).score_ == StructureSearch("gaussian_bic").fit(X).score_
    )
    halves = {name: np.round(column) / 2 for name, column in X.items()}  # few values
    assert (
        StructureSearch().fit(halves).score_
        == StructureSearch("bic").fit(halves).score_
    )


@pytest.mark.parametrize("scoring", ["gaussian_bic", "gaussian_aic"])
def test_search_among_constant_and_equal_columns(scoring):
    x = np.random.default_rng(0).normal(size=(40, 2))
    X = np.column_stack([x, x[:, 0], np.ones(40)])
    joined = {frozenset(e) for e in StructureSearch(scoring).fit(X).edges_}
    assert frozenset(("x0", "x2")) in joined
    assert not any("x3" in pair for pair in joined)
