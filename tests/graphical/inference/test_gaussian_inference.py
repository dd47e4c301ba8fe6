"""Continuous nodes: joint Normals, mixtures, and numerical integration."""

import numpy as np
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    LinearGaussian,
)
from tests.graphical.small_networks import mixed_network


def chain():
    return BayesianNetwork.from_tables(
        {
            "a": LinearGaussian(1.0, (), 2.0),
            "b | a": LinearGaussian(-1.0, [0.5], 1.0),
            "c | b, a": LinearGaussian(0.0, [2.0, -1.0], 0.5),
        }
    )


def test_gaussian_network_is_one_normal():
    normal = chain().joint_normal()
    B = np.array([[0, 0, 0], [0.5, 0, 0], [-1, 2, 0]])
    inverse = np.linalg.inv(np.eye(3) - B)
    assert np.allclose(normal.cov, inverse @ np.diag([2, 1, 0.5]) @ inverse.T)
    assert np.allclose(normal.mean, inverse @ [1, -1, 0])
    want = normal.condition([2], [0.7])
    got = chain().query(["b", "a"], {"c": 0.7})
    assert np.allclose(got.mean, want.mean[::-1])
    assert np.allclose(got.cov, want.cov[::-1, ::-1])
    X = normal.sample(5, np.random.default_rng(0))
    assert np.allclose(chain().score_samples(X), normal.log_prob(X))
    X[2, 1] = X[3, 0] = X[3, 2] = np.nan
    assert np.allclose(chain().predict(X), normal.impute(X))
    part = normal.marginal([0, 2]).log_prob(X[2:3, [0, 2]])
    assert np.isclose(chain().score_samples(X)[2], part[0])
    best = chain().most_likely({"c": 0.7})
    assert np.isclose(best.states["a"], want.mean[0])


def test_mixed_rows_samples_and_fit():
    network = mixed_network()
    rows = network.sample(3000, random_state=0)
    assert rows.shape == (3000, 5) and np.isclose(rows[:, 2].mean(), 1.0, atol=0.1)
    edges = network.edges
    fitted = BayesianNetwork(edges, kinds={"k": "discrete"}).fit(
        dict(zip("kmabc", rows.T, strict=True))
    )
    node = fitted.nodes[3]
    assert np.allclose(node.coef.ravel(), [1, 2], atol=0.15)
    assert np.allclose(node.variance, [1, 2], rtol=0.2)
    assert fitted.score(dict(zip("kmabc", rows.T, strict=True))) >= network.score(rows)
    hole = rows[:4].copy()
    hole[0, 2] = hole[1, 0] = np.nan
    filled = network.predict(hole)
    want = network.query(
        "a", {"k": hole[0, 0], "m": hole[0, 1], "b": hole[0, 3], "c": hole[0, 4]}
    )
    assert np.isclose(filled[0, 2], want.mean[0])
    cut = network.do(b=2.0)
    assert np.isclose(cut.query("c").mean[0], 3.5)
    assert np.isclose(cut.query("k")[0], 0.3)


def test_repeated_rows_are_weights():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 2, 30), rng.normal(size=(30, 2))])
    w = rng.integers(0, 3, 30)
    edges = [("x0", "x1"), ("x1", "x2")]
    a = BayesianNetwork(edges).fit(X, sample_weight=w)
    b = BayesianNetwork(edges).fit(np.repeat(X, w, axis=0))
    assert np.allclose(a.score_samples(X), b.score_samples(X))


def test_bad_continuous_questions():
    make = BayesianNetwork.from_tables
    with pytest.raises(
        ValueError, match="discrete 'k' cannot have the continuous parent"
    ):
        make({"a": LinearGaussian(0.0), "k | a": [[0.5, 0.5], [0.5, 0.5]]})
    with pytest.raises(ValueError, match="needs a ConditionalLinear"):
        make({"k": 0.5, "a | k": LinearGaussian(0.0, [1.0])})
    with pytest.raises(ValueError, match="does not fit its 1 parents"):
        make({"a": LinearGaussian(0.0), "b | a": LinearGaussian(0.0, [1.0, 2.0])})
    with pytest.raises(ValueError, match="variance of 'a' is negative"):
        make({"a": LinearGaussian(0.0, (), -1.0)})
    with pytest.raises(ValueError, match="'a' is continuous and needs a number"):
        mixed_network().query("k", {"a": "high"})
    with pytest.raises(ValueError, match="separately"):
        mixed_network().query(["k", "a"])
    with pytest.raises(ValueError, match="both asked for and observed"):
        mixed_network().query("a", {"a": 1.0})
    with pytest.raises(ValueError, match="only tables are factors"):
        mixed_network().factors()
    small = mixed_network()
    small.max_table = 4
    with pytest.raises(MemoryError, match="max_table=4"):
        small.query("c")
