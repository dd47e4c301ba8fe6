"""Variants of a net with the same outputs, and their canonical form."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn, teaching  # noqa: E402


def outputs(coefs, intercepts, activation, X):
    net = nn.MLP(coefs, intercepts, activation=activation, head="identity")
    return net(torch.as_tensor(X)).detach().numpy()


def variants(coefs, intercepts, signs):
    """All renumberings (and sign flips) of the first hidden layer."""
    W, V = coefs
    m = W.shape[1]
    for order in itertools.permutations(range(m)):
        for flips in itertools.product(signs, repeat=m):
            s = np.array(flips)
            one = (W * s)[:, order]
            two = (V * s[:, None])[list(order)]
            yield [one, two], [(intercepts[0] * s)[list(order)], intercepts[1]]


@pytest.mark.parametrize(("activation", "signs"), [("tanh", (1, -1)), ("relu", (1,))])
def test_all_variants_share_outputs_and_canonical_form(activation, signs, rng):
    coefs = [rng.normal(size=(2, 3)), rng.normal(size=(3, 2))]
    intercepts = [rng.normal(size=3), rng.normal(size=2)]
    intercepts[0][1] = 0.0
    X = rng.normal(size=(9, 2))
    wanted = outputs(coefs, intercepts, activation, X)
    canonical = teaching.canonicalize(coefs, intercepts, activation)
    count = 0
    for W, b in variants(coefs, intercepts, signs):
        assert outputs(W, b, activation, X) == pytest.approx(wanted, abs=1e-12)
        found = teaching.canonicalize(W, b, activation)
        for a, c in zip(itertools.chain(*found), itertools.chain(*canonical)):
            assert np.array_equal(a, c)
        count += 1
    assert count == teaching.count_equivalent_weights([3], activation)
    assert outputs(*canonical, activation, X) == pytest.approx(wanted, abs=1e-12)


def test_two_hidden_layers(rng):
    sizes = [3, 4, 5, 2]
    coefs, intercepts = nn.glorot_uniform(sizes, rng)
    X = rng.normal(size=(6, 3))
    order = rng.permutation(5)
    other = [coefs[0], coefs[1][:, order] * -1, -coefs[2][order]]
    biases = [intercepts[0], -intercepts[1][order], intercepts[2]]
    assert outputs(other, biases, "tanh", X) == pytest.approx(
        outputs(coefs, intercepts, "tanh", X)
    )
    one = teaching.canonicalize(coefs, intercepts)
    two = teaching.canonicalize(other, biases)
    for a, b in zip(itertools.chain(*one), itertools.chain(*two)):
        assert np.array_equal(a, b)
    assert teaching.count_equivalent_weights([4, 5]) == 24 * 16 * 120 * 32
