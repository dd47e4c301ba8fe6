"""Decoding: truncation rules, greedy limits, constraints, exhaustive search."""

import itertools

import numpy as np
import pytest

from pansophy.core.chains.decoding import beam_search, decode, filter_logits, next_token
from pansophy.core.numerics import log_softmax


def markov(tokens, state):
    """Logits that depend on the last token only."""
    table = np.random.default_rng(3).normal(size=(4, 4))
    return table[tokens], state


def test_filters():
    e = np.log(np.array([[0.5, 0.3, 0.1, 0.1]]))
    kept = lambda **options: np.isfinite(filter_logits(e, **options))[0].tolist()
    assert kept(top_k=1) == [True, False, False, False]
    assert kept(top_k=3) == [True, True, True, False]  # ties: the lower token
    assert kept(top_p=0.5) == [True, False, False, False]
    assert kept(top_p=0.51) == [True, True, False, False]
    assert kept(top_p=1e-9) == [True, False, False, False]
    assert kept(top_k=2, top_p=0.99) == [True, True, False, False]
    with pytest.raises(ValueError, match="top_p must be"):
        filter_logits(e, top_p=0)
    with pytest.raises(ValueError, match="top_k must be"):
        filter_logits(e, top_k=0)


def test_draws_follow_the_probabilities():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    rng = np.random.default_rng(0)
    logits = np.tile(np.log(p), (20_000, 1))
    shares = np.bincount(next_token(logits, rng), minlength=4) / 20_000
    np.testing.assert_allclose(shares, p, atol=0.015)
    cold = np.bincount(next_token(logits, rng, temperature=0.5), minlength=4) / 20_000
    np.testing.assert_allclose(cold, p**2 / (p**2).sum(), atol=0.015)


def test_greedy_limits():
    prompt = np.array([[0], [1]])
    greedy = decode(markov, prompt, max_new=6, temperature=0)
    for options in ({"temperature": 1e-6}, {"top_k": 1}, {"top_p": 1e-9}):
        drawn = decode(markov, prompt, max_new=6, random_state=0, **options)
        np.testing.assert_array_equal(drawn, greedy)
    best = beam_search(markov, prompt[0], max_new=6, beams=1)[0]
    assert best.tokens == greedy[0].tolist()
    with pytest.raises(ValueError, match="temperature"):
        decode(markov, prompt, max_new=1, temperature=-1)


def test_wide_beam_is_exhaustive():
    table = log_softmax(markov(np.arange(4), None)[0])
    best = max(
        itertools.product(range(4), repeat=4),
        key=lambda s: sum(table[a, b] for a, b in zip((0, *s), s)),
    )
    found = beam_search(markov, np.array([0]), max_new=4, beams=64)[0]
    assert tuple(found.tokens) == best
    total = sum(table[a, b] for a, b in zip((0, *best), best))
    assert found.log_prob == pytest.approx(total)


def test_ends_and_constraints():
    out = decode(markov, np.zeros((5, 1), int), max_new=30, end=2, random_state=0)
    for row in out.tolist():
        if 2 in row:
            assert set(row[row.index(2) :]) == {2}
    alternate = lambda tokens: [1] if len(tokens) % 2 else [0, 3]
    out = decode(markov, np.zeros((3, 1), int), max_new=6, allowed=alternate)
    assert set(out[:, ::2].ravel()) <= {0, 3}
    assert set(out[:, 1::2].ravel()) == {1}
    with pytest.raises(ValueError, match="at least one token"):
        decode(markov, np.zeros((1, 1), int), max_new=1, allowed=lambda tokens: [])


def test_torch_draws_the_same():
    torch = pytest.importorskip("torch")
    table = torch.tensor(markov(np.arange(4), None)[0])
    ours = decode(markov, np.array([[0], [3]]), max_new=8, top_k=3, random_state=1)
    theirs = decode(
        lambda tokens, state: (table[tokens], state),
        torch.tensor([[0], [3]]),
        max_new=8,
        top_k=3,
        random_state=1,
    )
    np.testing.assert_array_equal(ours, theirs.numpy())


def test_one_beam_is_greedy_where_the_end_comes_second():
    """The end is never the likeliest token, so greedy decoding does not take it."""
    logits = lambda tokens, state: (np.log([[[0.6, 0.0001, 0.3]]]), state)
    (beam,) = beam_search(logits, np.array([0]), max_new=5, beams=1, end=2)
    assert beam.tokens == [0] * 5
    (best, *_) = beam_search(logits, np.array([0]), max_new=5, beams=2, end=2)
    assert best.tokens == [2]
