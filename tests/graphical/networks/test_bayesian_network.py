"""Bayesian networks: definitions, worked numbers, rows, samples, interventions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pansophy import persist
from pansophy.graphical import (
    BayesianNetwork,
    alarm_network,
    enumerate_joint,
    random_network,
    sprinkler_network,
    student_network,
)
from tests.graphical.small_networks import network_of_five, network_of_four

HALF = [[0.5, 0.5], [0.5, 0.5]]


def test_joint_sums_to_one_and_parameters_are_counted():
    network = network_of_five()
    assert np.isclose(enumerate_joint(network).prob.sum(), 1)
    assert network.n_parameters() == (26, 13)
    assert network_of_four().n_parameters() == (16, 8)
    collider = {"a": [0.5, 0.5], "b": [0.5, 0.5], "c | a, b": [HALF, HALF]}
    assert BayesianNetwork.from_tables(collider).n_parameters() == (12, 6)
    fork = {"z": [0.5, 0.5], "x | z": HALF, "y | z": HALF}
    assert BayesianNetwork.from_tables(fork).n_parameters() == (10, 5)
    states = {"1": 0, "2": 1, "3": 0, "4": 0, "5": 1}
    want = 0.3 * 0.8 * 0.5 * 0.7 * 0.6
    assert np.isclose(np.exp(network.log_prob(states)), want)
    rows = np.array(list(np.ndindex(2, 2, 2, 2, 2)))
    assert np.isclose(np.exp(network.score_samples(rows)).sum(), 1)


@pytest.mark.parametrize("method", ["elimination", "junction_tree", "enumeration"])
def test_four_node_posteriors(method):
    ask = lambda v, **seen: network_of_four().query(v, seen, method=method)[0]
    assert np.isclose(network_of_four().probability({"x1": 0, "x2": 0}), 0.01)
    assert np.isclose(network_of_four().probability({"x1": 1, "x2": 0}), 0.0099)
    assert np.isclose(ask("x2"), 0.0199)
    assert np.isclose(ask("x4"), 0.795)
    assert np.isclose(ask("x1", x2=0), 0.50251256)
    assert np.isclose(ask("x3", x2=0), 0.50251256)
    assert np.isclose(ask("x4", x2=0), 0.54874372)
    assert np.isclose(ask("x1", x2=0, x3=0), 0.01)
    assert np.isclose(ask("x1", x2=0, x3=1), 1.0)
    assert np.isclose(ask("x1", x4=0), 0.01)
    assert np.isclose(ask("x1", x2=0, x4=0), 0.72802198)
    for order in (["x1", "x3", "x4"], ["x4", "x3", "x1"]):
        assert np.isclose(network_of_four().query("x2", order=order)[0], 0.0199)


def test_compact_tables_are_completed():
    network = BayesianNetwork.from_tables(
        {"A": 0.5, "B": 0.6, "C | A, B": [[0.3, 0.6], [0.2, 0.3]]}
    )
    assert np.allclose(network.table("C")[..., 1].ravel(), [0.7, 0.4, 0.8, 0.7])
    assert np.isclose(network.query("C")[1], 0.67)
    assert np.isclose(network.query("A", {"C": 1})[1], 0.567164, atol=1e-6)
    three = BayesianNetwork.from_tables({"A": [0.2, 0.3]}, {"A": ["x", "y", "z"]})
    assert np.isclose(three.query("A")["z"], 0.5)
    cause = BayesianNetwork.from_tables({"B": 0.6, "E | B": [0.7, 0.8]})
    assert np.isclose(cause.query("E")[1], 0.26)
    assert np.isclose(cause.query("B", {"E": 1})[1], 0.307692, atol=1e-6)


def test_common_cause_depends_by_the_repaired_amount():
    tables = {
        "Z": [0.7, 0.3],
        "X | Z": [[0.56, 0.44], [0.38, 0.62]],
        "Y | Z": [[0.67, 0.33], [0.15, 0.85]],
    }
    joint = BayesianNetwork.from_tables(tables).query(["X", "Y"])
    assert np.allclose(joint.prob.ravel(), [0.27974, 0.22626, 0.23426, 0.25974])
    verdict = joint.independent("X", "Y")
    assert not verdict and np.isclose(verdict.deviation, 0.019656)
    assert np.isclose(verdict.mutual_information, 0.00309684)
    tables["Y | Z"][0] = [0.67, 0.23]
    with pytest.raises(ValueError, match=r"table of 'Y' sums to 0.9 in row Z=0, not"):
        BayesianNetwork.from_tables(tables)


def test_bad_definitions():
    make = BayesianNetwork.from_tables
    cases = [
        ({"a | c": HALF, "b | a": HALF, "c | b": HALF}, "cycle: a -> b -> c -> a"),
        ({"rain": 0.5, "wet | rian": HALF}, "'rian' of 'wet'.*did you mean 'rain'"),
        ({"a": 0.5, "b | a": [[0.5, 0.5]] * 3}, r"needs shape \(2, 2\), got \(3, 2\)"),
        ({"a": [0.5, 0.6]}, "'a' sums to 1.1, not"),
        ({"a": [1.5, -0.5]}, "'a' has a negative probability"),
        ({"a": 0.5, "a | b": HALF, "b": 0.5}, "two tables"),
    ]
    for tables, words in cases:
        with pytest.raises(ValueError, match=words):
            make(tables)
    with pytest.raises(ValueError, match="states names 'b'"):
        make({"a": 0.5}, {"b": [0, 1]})
    with pytest.raises(ValueError, match=r"needs shape \(3,\)"):
        make({"a": [0.1] * 10}, {"a": "xyz"})


def test_bad_questions():
    network = sprinkler_network()
    with pytest.raises(ValueError, match="'rein'; did you mean 'rain'"):
        network.query("rein")
    with pytest.raises(ValueError, match="'rain' has no state 'maybe'"):
        network.query("wet", {"rain": "maybe"})
    impossible = {"rain": False, "sprinkler": False, "wet": True}
    for method in ("auto", "elimination", "likelihood_weighting"):
        with pytest.raises(ValueError, match=r"wet=True has probability 0"):
            network.query("cloudy", impossible, method=method)
    with pytest.raises(ValueError, match="probability 0"):
        network.most_likely(impossible)
    with pytest.raises(ValueError, match="method must be one of"):
        network.query("rain", method="magic")
    with pytest.raises(ValueError, match="each once"):
        network.query(["rain", "rain"])
    with pytest.raises(ValueError, match="no state"):
        network.query("rain")["perhaps"]
    with pytest.raises(ValueError, match="order must hold"):
        network.query("rain", {"wet": True}, order=["cloudy"])
    rows = {"rain": [True, False], "sprinkler": [False] * 2, "wet": [True] * 2}
    with pytest.raises(ValueError, match="row 1 has probability 0"):
        network.predict(rows)


def test_an_observed_variable_may_be_asked_for():
    p = sprinkler_network().query(["rain", "wet"], {"wet": True})
    assert np.allclose(p.prob, [[0, 0.2920723], [0, 0.7079277]])
    q = sprinkler_network().query(
        "wet", {"wet": True}, order=["cloudy", "sprinkler", "rain"]
    )
    assert q.prob.tolist() == [0.0, 1.0]


def test_rows_are_filled_in_their_own_kind():
    network = student_network()
    frame = pd.DataFrame(
        {"letter": ["weak", "strong", None], "sat": ["high", None, None]}
    )
    filled = network.predict(frame)
    assert list(filled.columns) == list(network.space.names)
    assert isinstance(network.predict(pl.from_pandas(frame)), pl.DataFrame)
    assert filled["letter"].tolist()[:2] == ["weak", "strong"]
    found = network.predict_marginals(frame)
    for r in range(3):
        seen = {c: v for c, v in frame.iloc[r].items() if isinstance(v, str)}
        for name, table in found.items():
            want = network.query(name, seen)
            assert np.allclose(table[r], want.prob)
            assert filled[name][r] == want.best
    assert network.predict_proba(frame, "grade").shape == (3, 3)
    numbers = random_network(8, 10, seed=3)
    X = numbers.sample(50, random_state=0).astype(float)
    X[::3, 2] = np.nan
    got = numbers.predict(X)
    assert got.dtype.kind in "if" and not np.isnan(got).any()
    assert np.array_equal(got[1], X[1])


def test_scores_of_incomplete_rows_are_marginals():
    network = alarm_network()
    rows = {"john": [True, None], "burglary": [None, False]}
    want = [np.log(network.query("john")[True]), np.log(0.999)]
    assert np.allclose(network.score_samples(rows), want)


def test_evidence_roles():
    tables = {"flu": 0.9, "fever | flu": [0.8, 0.1], "test | flu": [0.95, 0.2]}
    both = BayesianNetwork.from_tables(tables)
    roles = BayesianNetwork.from_tables(tables, evidence=["fever"])
    rows = {"fever": [1, 0], "test": [1, 1], "flu": [0, 0]}
    got = roles.predict_proba(rows, "flu")
    want = [both.query("flu", {"fever": s}).prob for s in (1, 0)]
    assert np.allclose(got, want)  # the others are dropped, seen or not
    assert both.predict_proba(rows, "flu")[0].tolist() == [1.0, 0.0]


def test_samples_follow_the_marginals():
    network = student_network()
    rows = network.sample(20_000, random_state=0)
    assert rows.dtype == object and rows.shape == (20_000, 5)
    grade = [np.mean(rows[:, 2] == g) for g in "ABC"]
    assert np.allclose(grade, network.query("grade").prob, atol=0.015)
    assert np.array_equal(rows, network.sample(20_000, random_state=0))
    seen = {"letter": "weak"}
    given = network.sample(20_000, seen, random_state=1)
    assert set(given[:, 4]) == {"weak"}
    assert np.isclose(np.mean(given[:, 1] == "high"), 0.1400222, atol=0.015)
    rows, w = network.weighted_sample(20_000, seen, random_state=2)
    assert np.isclose(w[rows[:, 1] == "high"].sum(), 0.1400222, atol=0.015)
    for method in ("likelihood_weighting", "gibbs"):
        p = network.query(
            "intelligence", seen, method=method, n_samples=20_000, random_state=0
        )
        assert np.isclose(p["high"], 0.1400222, atol=0.03)
    loopy = network.query("intelligence", seen, method="loopy")  # a tree: exact
    assert np.isclose(loopy["high"], 0.1400222, atol=1e-6)


def test_setting_is_not_seeing():
    network = sprinkler_network()
    cut = network.do(sprinkler=True)
    assert np.isclose(cut.query("cloudy")[True], 0.5)
    assert network.query("cloudy", {"sprinkler": True})[True] < 0.2
    assert np.isclose(cut.query("wet")[True], 0.5 * 0.9 + 0.5 * 0.99)
    assert cut.parents[1] == () and network.parents[1] == (0,)
    assert network.query("sprinkler")[True] < 1  # the network itself is as it was


def test_most_likely_of_some_sums_the_others_out():
    found = student_network().most_likely({"letter": "strong"}, ["grade"])
    assert found.states == {"grade": "A"}
    everything = student_network().most_likely()
    assert np.isclose(
        everything.log_prob, student_network().log_prob(everything.states)
    )


def test_fit_learns_tables_and_keeps_labels():
    truth = student_network()
    rows = truth.sample(4000, random_state=0)
    frame = pd.DataFrame(rows, columns=truth.space.names)
    network = BayesianNetwork(truth.edges, prior=1.0).fit(frame)
    assert network.space.states[2] == ("A", "B", "C")
    got = network.query("grade", {"intelligence": "high", "difficulty": "easy"})
    assert np.isclose(got["A"], 0.9, atol=0.04)
    counted = BayesianNetwork([("x0", "x1")]).fit([[0, 0], [0, 1], [1, 0], [1, 1],
                                                   [1, 0], [0, 1], [0, 0]])  # fmt: skip
    assert np.allclose(counted.table("x1"), [[0.5, 0.5], [2 / 3, 1 / 3]])
    gone = frame.copy()
    gone.loc[gone.index[::4], "grade"] = None
    filled = BayesianNetwork(truth.edges, tol=1e-4).fit(gone)
    assert filled.converged_
    assert np.allclose(
        filled.query("grade").prob, network.query("grade").prob, atol=0.03
    )
    with pytest.raises(ValueError, match="cycle"):
        BayesianNetwork([("sat", "grade"), ("grade", "sat")]).fit(frame)
    with pytest.raises(ValueError, match="did you mean 'grade'"):
        BayesianNetwork([("grad", "sat")]).fit(frame)
    with pytest.raises(ValueError, match="pairs"):
        BayesianNetwork(["abc"]).fit(frame)


def test_named_edges_over_columns_without_names_are_refused(rng):
    """With their states given, all would be hidden and no answer would be right."""
    X = rng.integers(0, 2, size=(50, 2))
    network = BayesianNetwork([("rain", "wet")], states={"rain": [0, 1], "wet": [0, 1]})
    with pytest.raises(ValueError, match=r"'wet'.*is a column of X.*'x0', 'x1'"):
        network.fit(X)


def test_hidden_variable_is_fitted_by_em():
    rng = np.random.default_rng(0)
    z = rng.random(600) < 0.4
    flip = lambda p: np.where(rng.random(600) < p, ~z, z).astype(int)
    rows = pd.DataFrame({"a": flip(0.1), "b": flip(0.1), "c": flip(0.1)})
    edges = [("h", "a"), ("h", "b"), ("h", "c")]
    network = BayesianNetwork(
        edges, states={"h": [0, 1]}, random_state=0, tol=1e-5, max_iter=500, n_init=3
    ).fit(rows)
    found = network.predict(rows)["h"].to_numpy()
    assert max(np.mean(found == z), np.mean(found != z)) > 0.93


def test_saved_and_drawn(tmp_path):
    network = student_network()
    persist.save(network, tmp_path / "m.safetensors")
    again = persist.load(tmp_path / "m.safetensors")
    assert again.space == network.space
    assert np.array_equal(again.query("grade").prob, network.query("grade").prob)
    dot, svg = network.to_dot(), network.to_svg(tables=True)
    assert '"grade" -> "letter";' in dot and dot.count("->") == 4
    assert svg.count("<rect") == 5 and svg.count("marker-end") == 4
    assert "easy 60.0%" in svg
    assert "letter | grade" in str(network)
    assert ("difficulty", "intelligence") in network.moral()
    assert network.markov_blanket("sat") == {"intelligence"}
    assert network.is_d_separated("difficulty", "intelligence")
