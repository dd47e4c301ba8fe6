"""Continuous nodes: joint Normals, mixtures, and numerical integration."""

import numpy as np
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalLinearGaussian,
    LinearGaussian,
    NormalMixture,
)


def chain():
    return BayesianNetwork.from_tables(
        {
            "a": LinearGaussian(1.0, (), 2.0),
            "b | a": LinearGaussian(-1.0, [0.5], 1.0),
            "c | b, a": LinearGaussian(0.0, [2.0, -1.0], 0.5),
        }
    )


def mixed():
    return BayesianNetwork.from_tables(
        {
            "k": [0.3, 0.7],
            "m | k": [[0.9, 0.1], [0.4, 0.6]],
            "a": LinearGaussian(1.0, (), 2.0),
            "b | k, a": ConditionalLinearGaussian(
                [0.0, 1.0], [[1.0], [2.0]], [1.0, 2.0], (0,)
            ),
            "c | b": LinearGaussian(0.5, [1.5], 1.0),
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


def test_mixed_network_against_a_grid():
    network = mixed()
    a, b = np.meshgrid(
        np.linspace(-9, 11, 401), np.linspace(-25, 35, 801), indexing="ij"
    )
    cell = (20 / 400) * (60 / 800)
    normal = lambda x, m, v: np.exp(-((x - m) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v)
    weight = []
    for k, (p, i, s, v) in enumerate([(0.3, 0.0, 1.0, 1.0), (0.7, 1.0, 2.0, 2.0)]):
        told = [0.1, 0.6][k]  # m = 1
        density = (
            normal(a, 1, 2) * normal(b, i + s * a, v) * normal(4.0, 0.5 + 1.5 * b, 1)
        )
        weight.append(p * told * density * cell)
    total = sum(w.sum() for w in weight)
    seen = {"c": 4.0, "m": 1}
    assert np.isclose(network.query("k", seen)[1], weight[1].sum() / total, atol=1e-6)
    found = network.query("a", seen)
    assert isinstance(found, NormalMixture) and len(found.weights) == 2
    mean = sum((w * a).sum() for w in weight) / total
    assert np.isclose(found.mean[0], mean, atol=1e-5)
    spread = sum((w * a**2).sum() for w in weight) / total - mean**2
    assert np.isclose(found.variance[0], spread, atol=1e-4)
    assert np.isclose(network.log_prob(seen), np.log(total), atol=1e-6)
    alone = network.query("a", {**seen, "k": 1})
    assert np.isclose(alone.mean[0], (weight[1] * a).sum() / weight[1].sum(), atol=1e-5)


def test_mixed_rows_samples_and_fit():
    network = mixed()
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
        mixed().query("k", {"a": "high"})
    with pytest.raises(ValueError, match="separately"):
        mixed().query(["k", "a"])
    with pytest.raises(ValueError, match="both asked for and observed"):
        mixed().query("a", {"a": 1.0})
    with pytest.raises(ValueError, match="only tables are factors"):
        mixed().factors()
    small = mixed()
    small.max_table = 4
    with pytest.raises(MemoryError, match="max_table=4"):
        small.query("c")


def test_values_without_noise_are_point_masses():
    nodes = {
        "k": [0.5, 0.5],
        "x | k": ConditionalLinearGaussian(
            [0.0, 5.0], np.zeros((2, 0)), [1.0, 0.0], (0,)
        ),
        "y | x": LinearGaussian(0.0, [2.0], 0.0),
    }
    network = BayesianNetwork.from_tables(nodes)
    assert network.query("k", {"x": 5.0})[1] == 1.0  # a mass outweighs a density
    assert network.query("k", {"y": 10.0})[1] == 1.0
    assert network.query("k", {"x": 4.0, "y": 8.0})[0] == 1.0
    found = network.query("x", {"y": 8.0})
    assert found.mean[0] == 4.0 and found.cov[0, 0] == 0.0
    with pytest.raises(ValueError, match="probability 0"):
        network.query("k", {"x": 4.0, "y": 9.0})
    rows = {"x": np.random.default_rng(0).normal(size=9), "one": np.full(9, 1.5)}
    fitted = BayesianNetwork([("one", "x")]).fit(rows)
    assert np.isclose(fitted.query("x", {"one": 1.5}).mean[0], rows["x"].mean())
