"""Plates and templates: networks of repeated parts and of fitted models."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.graphical import BayesianNetwork, sum_product, to_factor_graph
from pansophy.mixture import GaussianMixture
from pansophy.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from pansophy.state_space import CategoricalHMM
from pansophy.teaching import Plate, to_bayesian_network, unroll_plates

START, MOVE = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])
EMIT = np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])  # walk, shop, clean


def test_unrolled_equals_hand_written():
    by_hand = BayesianNetwork.from_tables(
        {
            "z[0]": START,
            "z[1] | z[0]": MOVE,
            "z[2] | z[1]": MOVE,
            "x[0] | z[0]": EMIT,
            "x[1] | z[1]": EMIT,
            "x[2] | z[2]": EMIT,
        }
    )
    parts = [
        {"z[0]": START},
        Plate("t", 2, {"z[t] | z[t-1]": MOVE}, start=1),
        Plate("t", 3, {"x[t] | z[t]": EMIT}),
    ]
    made = to_bayesian_network(parts)
    assert made.space == by_hand.space and made.parents == by_hand.parents
    a, b = (to_factor_graph(n).joint() for n in (made, by_hand))
    np.testing.assert_allclose(a, b)
    tables = unroll_plates(parts)
    assert tables["x[0] | z[0]"] is tables["x[2] | z[2]"]  # shared, not copied
    inner = Plate("j", 2, {"x[i][j] | y[i]": MOVE})
    nested = unroll_plates(Plate("i", 2, [{"y[i]": START}, inner]))
    assert list(nested)[:3] == ["y[0]", "x[0][0] | y[0]", "x[0][1] | y[0]"]
    assert len(nested) == 6


def fitted_hmm():
    model = CategoricalHMM(2)
    model.n_features, model.n_features_in_, model.feature_names = 3, 1, None
    model.startprob_, model.transmat_, model.emissionprob_ = START, MOVE, EMIT
    return model


def test_hidden_chain_equals_forward_backward():
    X = np.array([0, 1, 2, 2, 0])
    a = START * EMIT[:, X[0]]
    forward, b, backward = [a], np.ones(2), [np.ones(2)]
    for x in X[1:]:
        a = (a @ MOVE) * EMIT[:, x]
        forward.append(a)
    for x in X[:0:-1]:
        b = MOVE @ (EMIT[:, x] * b)
        backward.insert(0, b)
    smooth = np.array(forward) * backward
    smooth /= smooth.sum(axis=1, keepdims=True)
    network = to_bayesian_network(fitted_hmm(), 5)
    out = sum_product(network, {f"x[{t}]": int(x) for t, x in enumerate(X)})
    for t in range(5):
        np.testing.assert_allclose(out[f"z[{t}]"], smooth[t], atol=1e-12)
    assert np.exp(out.log_z) == pytest.approx(forward[-1].sum())


def test_trained_hmm_keeps_its_smoothing():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (30, 1))
    model = CategoricalHMM(2, n_iter=3, tol=0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    network = to_bayesian_network(model, 6)
    out = sum_product(network, {f"x[{t}]": int(X[t, 0]) for t in range(6)})
    P = model.predict_proba(X[:6])
    np.testing.assert_allclose([out[f"z[{t}]"] for t in range(6)], P, atol=1e-9)


def test_mixture_equals_responsibilities():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(4, 1, (30, 2))])
    model = GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    network = to_bayesian_network(model)
    for row, r in zip(X[:5], model.predict_proba(X[:5]), strict=True):
        seen = {f"x{j}": float(v) for j, v in enumerate(row)}
        np.testing.assert_allclose(network.query("z", seen).prob, r, atol=1e-9)
    with pytest.raises(ValueError, match="diag"):
        to_bayesian_network(GaussianMixture(2, random_state=0).fit(X))
    with pytest.raises(ValueError, match="continuous"):
        to_factor_graph(network)


def test_naive_bayes():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    X = rng.integers(0, 3, (60, 3))
    X[y == "yes", 0] = 2
    for model, rows in ((CategoricalNB(), X), (BernoulliNB(), (X > 1).astype(int))):
        model.fit(rows, y)
        network = to_bayesian_network(model)
        for row, p in zip(rows[:4], model.predict_proba(rows[:4]), strict=True):
            seen = {f"x{j}": int(v) for j, v in enumerate(row)}
            np.testing.assert_allclose(sum_product(network, seen)["class"], p)
    model = GaussianNB().fit(X, y)
    network = to_bayesian_network(model)
    seen = {f"x{j}": float(v) for j, v in enumerate(X[0])}
    p = network.query("class", seen)["yes"]
    assert p == pytest.approx(model.predict_proba(X[:1])[0, 1])


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda: unroll_plates(Plate("i", 2, {"x": START})), ValueError, "twice"),
        (lambda: unroll_plates({"x[i]": START}), ValueError, "no plate"),
        (
            lambda: unroll_plates(Plate("t", 2, {"z[t] | z[t-1]": MOVE})),
            ValueError,
            "start=",
        ),
        (lambda: Plate("i", -1, {}), ValueError, "size"),
        (lambda: Plate("1", 1, {}), ValueError, "index"),
        (lambda: to_bayesian_network(3), TypeError, "no network is known"),
        (lambda: to_bayesian_network(fitted_hmm()), ValueError, "number of steps"),
    ],
)
def test_bad_input(use, error, words):
    with pytest.raises(error, match=words):
        use()
