"""A chain of labels as output: loss and gradients against all labellings."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy.graphical import ChainCRF  # noqa: E402
from pansophy.nn.nets.crf_output import ChainOutput  # noqa: E402

F64 = torch.float64
K = 3


@pytest.fixture
def case():
    torch.manual_seed(0)
    chain = ChainOutput(K).double()
    chain.T.data.normal_()
    F = torch.randn(3, 4, K, dtype=F64, requires_grad=True)
    Y = torch.randint(0, K, (3, 4))
    return chain, F, Y, torch.tensor([4, 1, 3])


def path_score(chain, F, path):
    score = sum(F[t, y] for t, y in enumerate(path))
    return score + sum(chain.T[a, b] for a, b in itertools.pairwise(path))


def all_paths(n):
    return list(itertools.product(range(K), repeat=n))


@pytest.mark.parametrize("w", [None, torch.tensor([2.0, 0.5, 1.0], dtype=F64)])
def test_loss_and_gradients_against_enumeration(case, w):
    chain, F, Y, lengths = case
    weights = torch.ones(3, dtype=F64) if w is None else w
    total = 0.0
    for i, n in enumerate(lengths.tolist()):
        scores = torch.stack([path_score(chain, F[i], p) for p in all_paths(n)])
        here = path_score(chain, F[i], Y[i, :n].tolist())
        total = total + weights[i] * (scores.logsumexp(0) - here)
    wanted = total / (weights * lengths).sum()
    found = chain.loss(F, Y, lengths, w)
    torch.testing.assert_close(found, wanted)
    for p in (F, chain.T):
        (a,) = torch.autograd.grad(wanted, p, retain_graph=True)
        (b,) = torch.autograd.grad(found, p, retain_graph=True)
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-9)


def test_best_labels_and_marginals(case):
    chain, F, _, lengths = case
    best, P = [], []
    for i, n in enumerate(lengths.tolist()):
        paths = all_paths(n)
        scores = torch.stack([path_score(chain, F[i], p) for p in paths]).detach()
        best += paths[int(scores.argmax())]
        p = scores.softmax(0).numpy()
        P.append(
            [[p[[q[t] == k for q in paths]].sum() for k in range(K)] for t in range(n)]
        )
    assert chain.best_labels(F, lengths).tolist() == list(best)
    assert chain.marginals(F, lengths) == pytest.approx(np.concatenate(P), abs=1e-12)


def test_is_the_chain_field(rng):
    """Scores that are linear in x: the likelihood of `graphical.ChainCRF`."""
    X = [rng.normal(size=(n, 2)) for n in (5, 3, 6)]
    y = [rng.integers(0, K, len(x)) for x in X]
    field = ChainCRF(all_possible_states=True, all_possible_transitions=True).fit(X, y)
    W = field.coef_.reshape(2, K)
    chain = ChainOutput(K).double()
    chain.T.data.copy_(torch.tensor(field.transitions_))
    total = 0.0
    for x, labels in zip(X, y, strict=True):
        F = torch.tensor(x @ W)[None]
        n = torch.tensor([len(x)])
        total += chain.loss(F, torch.tensor(labels)[None], n).item() * len(x)
    assert -total == pytest.approx(field.log_likelihood(X, y), rel=1e-10)
