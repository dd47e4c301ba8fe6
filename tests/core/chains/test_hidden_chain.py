"""Hidden chains: long sequences from both ends, groups, batches, padding."""

import numpy as np
import pytest

from pansophy.core.chains import filtering, hidden_chain
from pansophy.core.chains.filtering import Chain, Evidence


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("k", [3, 11])
def test_a_long_sequence_is_worked_from_both_ends(monkeypatch, rng, dense, k):
    """As one sequence in a single pass, for every quantity."""
    n = 700
    chain = Chain(rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k))
    table = np.log(rng.random((n if dense else 5, k)))
    index = None if dense else rng.integers(5, size=n)
    seen = Evidence(table, index, np.array([n]))
    results = []
    for long in (1 << 20, 100):
        monkeypatch.setattr(hidden_chain, "LONG_SEQUENCE", long)
        E = filtering.expected_counts(chain, seen)
        G, logliks = filtering.smooth_chain(chain, seen)
        path, scores = filtering.viterbi(chain, seen)
        path = path if dense else scores  # of symbols, many paths are equally likely
        again = filtering.sequence_log_likelihoods(chain, seen)
        results.append((*E, G, logliks, path, scores, again))
    for one, two in zip(*results, strict=True):
        assert np.allclose(one, two, rtol=1e-10)


def test_groups_hold_whole_sequences(monkeypatch):
    monkeypatch.setattr(hidden_chain, "GROUP_STEPS", 10)
    groups = hidden_chain.group_sequences([4, 8, 12, 13, 40])
    assert [(begin, ends.tolist()) for begin, ends in groups] == [
        (0, [4, 8, 12]),
        (12, [1, 28]),
    ]


def test_batches_begin_with_the_longest(monkeypatch):
    monkeypatch.setattr(hidden_chain, "BATCH_WIDTH", 2)
    batches, order = hidden_chain.batch_sequences([3, 4, 9, 12])  # 3, 1, 5, 3 steps
    assert order.tolist() == [2, 0, 3, 1]
    assert [n.tolist() for _, n in batches] == [[5, 3], [3, 1]]
    assert [b.tolist() for b, _ in batches] == [[4, 0], [9, 3]]
    monkeypatch.setattr(hidden_chain, "LONG_SEQUENCE", 5)
    assert [len(n) for _, n in hidden_chain.batch_sequences([3, 4, 9, 12])[0]] == [
        1,
        2,
        1,
    ]


def test_padded_states_are_impossible():
    padded = hidden_chain.pad_states(np.eye(3))
    assert padded.shape == (8, 8) and padded.sum() == 3
    assert hidden_chain.pad_states(np.ones(8)).shape == (8,)
    assert (hidden_chain.pad_states(np.zeros(2), -np.inf)[2:] == -np.inf).all()
