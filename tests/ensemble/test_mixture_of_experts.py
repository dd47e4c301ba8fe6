"""Mixtures of experts: EM climbs, gates sum to 1, regimes are found."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.neighbors import KNeighborsRegressor

from pansophy import persist
from pansophy.ensemble import (
    MixtureOfExperts,
    MixtureOfExpertsClassifier,
    VotingClassifier,
    VotingRegressor,
)
from pansophy.ensemble.mixture_of_experts import (
    ExpertRows,
    gate_newton_step,
    log_gate_weights,
)
from pansophy.linear_model import LinearRegression, LogisticRegression
from pansophy.params import ParameterError
from pansophy.tree import DecisionTreeRegressor


def regimes(n=200, seed=0):
    """Two straight lines, one on each side of x0 = 0.3."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    right = X[:, 0] > 0.3
    y = np.where(right, 3 - 2 * X[:, 1], -1 + 4 * X[:, 1] + X[:, 0])
    return X, y + 0.05 * rng.normal(size=n), right


def test_two_regimes_beat_any_single_expert():
    X, y, right = regimes()
    T, u, _ = regimes(seed=1)
    # 15 seeds gave errors below 0.06, shares above 0.99 and slopes within 0.012
    model = MixtureOfExperts(random_state=0, tol=1e-6).fit(X, y)
    single = LinearRegression().fit(X, y)
    error = np.mean((model.predict(T) - u) ** 2)
    assert error < 0.2 * np.mean((single.predict(T) - u) ** 2)
    for expert in model.estimators_:
        assert error < 0.2 * np.mean((expert.predict(T) - u) ** 2)
    g = model.gate_weights(X)
    side = g[:, 0] > 0.5
    assert max(np.mean(side == right), np.mean(side != right)) > 0.97
    slopes = sorted(e.coef_[1] for e in model.estimators_)
    np.testing.assert_allclose(slopes, [-2, 4], atol=0.1)


@pytest.mark.parametrize("gate", ["softmax", "constant"])
def test_gates_sum_to_one_and_the_likelihood_never_falls(gate):
    X, y, right = regimes(120)
    first = MixtureOfExperts(gate=gate, random_state=0, tol=1e-5).fit(X, y)
    c = np.where(right ^ (X[:, 1] > 0), "a", "b")
    second = MixtureOfExpertsClassifier(gate=gate, random_state=0).fit(X, c)
    for model in (first, second):
        np.testing.assert_allclose(model.gate_weights(X).sum(axis=1), 1)
        assert np.all(np.diff(model.history_["objective"]) <= 1e-12)
        assert model.converged_


def test_any_expert_climbs():
    """Greedy trees do not maximise the likelihood; what would lower it is refused."""
    X, y, _ = regimes(150)
    model = MixtureOfExperts(
        DecisionTreeRegressor(max_depth=2, random_state=0), n_experts=3, random_state=0
    ).fit(X, y)
    assert len(model.estimators_) == 3
    assert np.all(np.diff(model.history_["objective"]) <= 1e-12)


def test_a_constant_gate_is_voting():
    X, y, right = regimes(120)
    model = MixtureOfExperts(gate="constant", random_state=0).fit(X, y)
    g = model.gate_weights(X)
    np.testing.assert_allclose(g, np.broadcast_to(g[0], g.shape))
    vote = VotingRegressor([("a", LinearRegression()), ("b", LinearRegression())])
    vote.set_params(weights=list(g[0])).fit(X, y)
    vote.estimators_ = model.estimators_
    np.testing.assert_allclose(vote.predict(X), model.predict(X))
    c = right.astype(int)
    model = MixtureOfExpertsClassifier(gate="constant", random_state=0).fit(X, c)
    vote = VotingClassifier(
        [("a", LogisticRegression()), ("b", LogisticRegression())],
        voting="soft",
        weights=list(model.gate_weights(X)[0]),
    ).fit(X, c)
    vote.estimators_ = model.estimators_
    np.testing.assert_allclose(vote.predict_proba(X), model.predict_proba(X))


def test_one_expert_is_the_expert():
    X, y, _ = regimes(60)
    model = MixtureOfExperts(n_experts=1).fit(X, y)
    alone = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X))
    np.testing.assert_allclose(model.noise_[0], np.mean((alone.predict(X) - y) ** 2))


def test_exclusive_or_needs_two_logistic_experts():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    c = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), "odd", "even")
    model = MixtureOfExpertsClassifier(random_state=0).fit(X, c)
    alone = LogisticRegression().fit(X, c)
    assert model.score(X, c) > 0.9 > 0.75 > alone.score(X, c)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


def test_gate_steps_end_at_logistic_regression():
    """With hard responsibilities the gate is a logistic regression on them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    z = (X[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    Z = np.hstack([np.ones((150, 1)), X])
    table = ExpertRows(X, z, np.ones(150), Z, 2)
    A = np.zeros((3, 2))
    for _ in range(12):
        A = gate_newton_step(A, np.eye(2)[z], table, 0.0)
    peer = PeerLogistic(C=np.inf, tol=1e-10).fit(X, z)
    np.testing.assert_allclose(
        np.exp(log_gate_weights(Z, A)), peer.predict_proba(X), atol=1e-5
    )


def test_different_experts_and_seeds():
    X, y, _ = regimes(100)
    experts = [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)]
    model = MixtureOfExperts(experts, random_state=3).fit(X, y)
    assert type(model.estimators_[1]) is DecisionTreeRegressor
    again = MixtureOfExperts(experts, random_state=3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


def test_weights_are_repetition():
    X, y, _ = regimes(60)
    w = np.random.default_rng(0).integers(0, 3, 60)
    a = MixtureOfExperts(random_state=0, max_iter=5, tol=0.0)
    b = MixtureOfExperts(random_state=0, max_iter=5, tol=0.0)
    with pytest.warns(UserWarning, match="did not converge"):
        a.fit(X, y, sample_weight=w)
    with pytest.warns(UserWarning, match="did not converge"):
        b.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)


def test_saved_without_pickle(tmp_path):
    X, y, _ = regimes(80)
    model = MixtureOfExperts(random_state=0).fit(X, y)
    persist.save(model, tmp_path / "m")
    np.testing.assert_array_equal(
        persist.load(tmp_path / "m").predict(X), model.predict(X)
    )


def test_what_is_refused():
    X, y, _ = regimes(40)
    with pytest.raises(ParameterError, match="sample_weight"):
        MixtureOfExperts(KNeighborsRegressor()).fit(X, y)
    with pytest.raises(ParameterError, match="gate of MixtureOfExperts must be"):
        MixtureOfExperts(gate="none").fit(X, y)
    with pytest.raises(ValueError, match="class"):
        MixtureOfExpertsClassifier().fit(X, np.zeros(40))
