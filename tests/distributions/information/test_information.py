"""Entropy, mutual information and divergences: worked numbers and their laws."""

import math

import array_api_strict as strict
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from pansophy.distributions import (
    Categorical,
    Poisson,
    conditional_entropy,
    cross_entropy,
    entropy,
    f_divergence,
    joint_entropy,
    js,
    kl,
    kl_gaussian,
    mutual_information,
    total_variation,
)
from tests.oracles import information as oracle

torch = pytest.importorskip("torch")
quick = settings(max_examples=25, deadline=None)
weights = st.lists(st.floats(0.01, 1.0), min_size=5, max_size=5)
simplexes = weights.map(lambda w: np.array(w) / sum(w))

REPAIRED = np.array([[0.27974, 0.22626], [0.23426, 0.25974]])
OTHER = np.array([[0.31894, 0.18706], [0.26506, 0.22894]])


@pytest.mark.parametrize(
    ("p", "bits"),
    [([9, 5], 0.9402859587), ([0.1, 0.9], 0.468996), ([0.25, 0.75], 0.811278)],
)
def test_worked_entropies(p, bits):
    assert entropy(p, base=2) == pytest.approx(bits, abs=5e-7)
    assert entropy(p) == pytest.approx(bits * math.log(2), abs=5e-7)


@pytest.mark.parametrize(
    ("table", "nats"), [(REPAIRED, 0.00309684), (OTHER, 0.00452870)]
)
def test_worked_mutual_information(table, nats):
    assert mutual_information(table) == pytest.approx(nats, abs=5e-9)
    a, b = table.sum(axis=1), table.sum(axis=0)
    by_parts = entropy(a) + entropy(b) - joint_entropy(table)
    assert mutual_information(table) == pytest.approx(by_parts, abs=1e-14)
    assert mutual_information(table) == pytest.approx(
        entropy(a) - conditional_entropy(table), abs=1e-14
    )


def test_worked_divergences():
    p, q = [0.5, 0.5], [0.9, 0.1]
    assert kl(p, q) == pytest.approx(0.5108256, abs=5e-8)
    assert kl(q, p) == pytest.approx(0.3680642, abs=5e-8)
    assert kl([0.05, 0.95], [0.2, 0.8]) == pytest.approx(0.09394303, abs=5e-9)
    assert kl([0.05, 0.95], [0.01, 0.99]) == pytest.approx(0.04129109, abs=5e-9)
    assert kl(p, p) == 0


def test_off_support():
    assert kl([0.5, 0.5], [1.0, 0.0]) == math.inf
    assert cross_entropy([0.5, 0.5], [1.0, 0.0]) == math.inf
    assert kl([1.0, 0.0], [0.5, 0.5]) == pytest.approx(math.log(2))
    assert js([1.0, 0.0], [0.0, 1.0]) == pytest.approx(0.693147, abs=5e-7)
    assert js([1.0, 0.0], [0.0, 1.0], base=2) == pytest.approx(1.0)
    assert total_variation([1.0, 0.0], [0.0, 1.0]) == 1
    assert f_divergence([1.0, 0.0], [0.0, 1.0], "js") == pytest.approx(math.log(2))
    assert f_divergence([1.0, 0.0], [0.0, 1.0], "hellinger") == pytest.approx(1.0)
    assert f_divergence([0.5, 0.5], [1.0, 0.0], "kl") == math.inf
    assert f_divergence([1.0, 0.0], [0.5, 0.5], "reverse_kl") == math.inf
    with pytest.raises(ValueError, match="slope"):
        f_divergence([0.5, 0.5], [1.0, 0.0], lambda t: (t - 1) ** 2)


@quick
@given(simplexes, simplexes)
def test_laws_of_divergences(p, q):
    assert kl(p, q) == pytest.approx(scipy.stats.entropy(p, q), abs=1e-12)
    assert cross_entropy(p, q) == pytest.approx(entropy(p) + kl(p, q), abs=1e-12)
    assert cross_entropy(p, q) >= entropy(p) - 1e-12
    assert 0 <= js(p, q) <= math.log(2) and js(p, q) == pytest.approx(js(q, p))
    assert total_variation(p, q) <= math.sqrt(kl(p, q) / 2) + 1e-12  # Pinsker
    assert f_divergence(p, q, "kl") == pytest.approx(kl(p, q), abs=1e-12)
    assert f_divergence(p, q, "reverse_kl") == pytest.approx(
        f_divergence(q, p, "kl"), abs=1e-12
    )
    assert f_divergence(p, q, "js") == pytest.approx(js(p, q), abs=1e-12)
    assert f_divergence(p, q, "total_variation") == pytest.approx(
        total_variation(p, q), abs=1e-12
    )
    assert f_divergence(p, q, "chi2") >= kl(p, q) - 1e-12
    assert f_divergence(p, q, "hellinger") <= total_variation(p, q) + 1e-12


@quick
@given(simplexes, simplexes, simplexes)
def test_distances_are_metrics(p, q, r):
    root = lambda a, b: math.sqrt(js(a, b))
    assert root(p, r) <= root(p, q) + root(q, r) + 1e-12
    assert (
        total_variation(p, r) <= total_variation(p, q) + total_variation(q, r) + 1e-12
    )


@quick
@given(st.integers(0, 10**6))
def test_laws_of_information(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    assert mutual_information(p, 0, 1) == pytest.approx(mutual_information(p, 1, 0))
    assert joint_entropy(p) <= sum(
        entropy(p.sum(axis=axes)) for axes in [(1, 2), (0, 2), (0, 1)]
    )
    assert 0 <= conditional_entropy(p, 0, (1, 2)) <= conditional_entropy(p, 0, 1)
    # chain rule: I(X; Y, Z) = I(X; Z) + I(X; Y | Z)
    assert mutual_information(p, 0, (1, 2)) == pytest.approx(
        mutual_information(p, 0, 2) + mutual_information(p, 0, 1, given=2)
    )
    order = rng.permutation(4)
    assert mutual_information(p[:, :, order], 0, 2) == pytest.approx(
        mutual_information(p, 0, 2)
    )
    free = np.multiply.outer(p.sum(axis=(1, 2)), p.sum(axis=(0, 2)))
    assert mutual_information(free) == pytest.approx(0, abs=1e-15)


def test_information_of_counts_is_scikit_learns(rng):
    a, b = rng.integers(0, 5, 300), rng.integers(0, 4, 300)
    table = np.zeros((5, 4))
    np.add.at(table, (a, b), 1)
    assert mutual_information(table) == pytest.approx(mutual_info_score(a, b))


def test_small_divergences_keep_digits():
    d = 1e-7
    p, q = np.array([0.5 + d, 0.5 - d]), np.array([0.5, 0.5])
    exact = 2 * d * d  # and O(d^4)
    assert kl(p, q) == pytest.approx(exact, rel=1e-7)
    near = kl_gaussian([d, 0.0], np.eye(2))
    assert near == pytest.approx(d * d / 2, rel=1e-9)


def test_tiny_masses_count():
    tiny = 1e-30
    p, q = np.array([tiny, 1 - tiny]), np.array([0.25, 0.75])
    assert kl(p, q) == pytest.approx(-math.log(0.75), rel=1e-14)
    assert kl(q, p) == pytest.approx(
        0.25 * math.log(0.25 / tiny) + 0.75 * math.log(0.75), rel=1e-14
    )


def test_labels_and_axes():
    q = np.array([[0.9, 0.1], [0.5, 0.5]])
    by_hand = -(math.log(0.9) + math.log(0.5)) / 2
    assert cross_entropy(np.array([0, 1]), q) == pytest.approx(by_hand)
    assert entropy(q.T, axis=0) == pytest.approx(entropy(q))
    assert kl(q, q[::-1]).shape == (2,)


def test_bad_tables():
    with pytest.raises(ValueError, match="sum to 1"):
        entropy([0.67, 0.23])
    with pytest.raises(ValueError, match="negative"):
        kl([1.5, -0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="not finite"):
        entropy([np.nan, 0.5])
    with pytest.raises(ValueError, match="no mass"):
        entropy([0, 0])
    with pytest.raises(ValueError, match="3 values, but q has 2"):
        kl([0.2, 0.3, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="no axis 2"):
        mutual_information(REPAIRED, 0, 2)
    with pytest.raises(ValueError, match="different"):
        mutual_information(REPAIRED, 0, 0)
    with pytest.raises(ValueError, match="base"):
        entropy([0.5, 0.5], base=1)
    with pytest.raises(ValueError, match="one of kl"):
        f_divergence([1.0], [1.0], "cosine")


@pytest.mark.parametrize("library", [torch, strict], ids=["torch", "strict"])
def test_other_libraries(library):
    put = lambda a: library.asarray(a, dtype=library.float64)
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4, 0.0])
    for function in (kl, js, total_variation, cross_entropy):
        for a, b in [(p, q), (q, p)]:
            found = function(put(a), put(b))
            assert isinstance(found, type(put(p)))
            assert float(found) == pytest.approx(function(a, b))
    for name in ("kl", "reverse_kl", "js", "chi2", "hellinger", "total_variation"):
        assert float(f_divergence(put(q), put(p), name)) == pytest.approx(
            f_divergence(q, p, name)
        )
    assert float(entropy(put(p))) == pytest.approx(entropy(p))
    table = put(REPAIRED)
    assert float(mutual_information(table)) == pytest.approx(0.00309684, abs=5e-9)
    assert float(conditional_entropy(table)) == pytest.approx(
        conditional_entropy(REPAIRED)
    )
    mean, cov = put(np.array([1.0, 2.0])), put(np.array([[2.0, 0.6], [0.6, 1.0]]))
    assert float(kl_gaussian(mean, cov)) == pytest.approx(2.752652, abs=5e-7)


def test_gradients_flow_through_tensors():
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    kl(target, torch.softmax(logits, dim=0)).backward()
    np.testing.assert_allclose(logits.grad, 1 / 3 - target, atol=1e-12)


def test_distribution_objects(rng):
    a, b = Categorical([0.5, 0.5]), Categorical([0.9, 0.1])
    assert kl(a, b) == pytest.approx(0.5108256, abs=5e-8)
    p, q = Poisson(2.0), Poisson(3.0)
    exact = 2 * math.log(2 / 3) + 1
    draws = p.sample(100_000, rng)
    assert kl(p, q, samples=draws) == pytest.approx(exact, abs=0.01)
    with pytest.raises(TypeError, match="give samples"):
        kl(p, q)
    with pytest.raises(TypeError, match="q must be one too"):
        kl(p, [0.5, 0.5])


def test_compiled_loops_agree_with_the_definition(rng):
    p, q = rng.dirichlet(np.ones(40), (2, 1200))
    p[:, 3], q[5, 7] = 0, 0
    p, q = (t / t.sum(axis=1, keepdims=True) for t in (p, q))
    for ours, slow in [(kl, oracle.kl), (js, oracle.js)]:
        found = ours(p, q)
        np.testing.assert_allclose(found, [slow(*r) for r in zip(p, q)], rtol=1e-10)
        small = [ours(*r) for r in zip(p, q)]
        np.testing.assert_allclose(found, small, rtol=1e-12)
        np.testing.assert_allclose(ours(p.T, q.T, axis=0), found, rtol=1e-12)
        np.testing.assert_allclose(ours(np.round(900 * p) + 1, q).shape, (1200,))
    p[7] *= 0.9
    with pytest.raises(ValueError, match="p must sum to 1"):
        kl(p, q)
    p[7] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        js(p, q)
