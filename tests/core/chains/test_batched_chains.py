"""Chains in batches and blocks: as one after the other."""

import numpy as np
import pytest

from pansophy.core.chains import batched_chains, filtering, hidden_chain
from pansophy.core.chains import viterbi as viterbi_module
from pansophy.core.chains.filtering import (
    Chain,
    Evidence,
    expected_counts,
    filter_chain,
    smooth_chain,
    viterbi,
)


def random_chain(rng, k, n):
    start, trans = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k)
    return start, trans, rng.random((n, k))


def everything(chain, seen):
    return (
        *expected_counts(chain, seen),
        *smooth_chain(chain, seen),
        *filter_chain(chain, seen),
        *viterbi(chain, seen),
        filtering.sequence_log_likelihoods(chain, seen),
    )


@pytest.mark.parametrize("k", [1, 4, 10])
def test_sequences_side_by_side_are_as_one_after_the_other(rng, monkeypatch, k):
    """Lengths of all sorts, one sequence impossible, chains that are not normed."""
    lengths = [*rng.integers(1, 40, size=70), 1, 300, 2]
    n, ends = sum(lengths), np.cumsum(lengths)
    start, trans, L = 3 * rng.random(k), 2 * rng.random((k, k)), rng.random((n, k))
    L[ends[3] - 1] = 0.0
    with np.errstate(divide="ignore"):
        seen = Evidence(np.log(L), None, ends)
    both = []
    for few in (0, 16):
        monkeypatch.setattr(hidden_chain, "MAX_BATCHED_STATES", few)
        monkeypatch.setattr(viterbi_module, "MAX_BATCHED_STATES", few)
        both.append(everything(Chain(start, trans), seen))
    for one, two in zip(*both, strict=True):
        assert np.allclose(one, two, rtol=1e-10)


@pytest.mark.parametrize("sticky", [0.0, 0.9, 1.0])
def test_a_long_sequence_is_cut_up_if_the_chain_forgets(rng, monkeypatch, sticky):
    """As from both ends; chains that do not forget are left whole."""
    k, n = 4, 40_011
    start, trans, table = random_chain(rng, k, 6)
    chain = Chain(start, sticky * np.eye(k) + (1 - sticky) * trans)
    seen = Evidence(np.log(table), rng.integers(6, size=n), np.array([n]))
    work = hidden_chain.ChainLayout(chain, seen)
    cut = batched_chains.blockwise_forward_backward(work, 0, n, None, paired=True)
    assert (cut is None) == (sticky == 1)
    both = [everything(chain, seen)]
    monkeypatch.setattr(batched_chains, "BURN_IN_STEPS", ())
    monkeypatch.setattr(viterbi_module, "BURN_IN_STEPS", ())
    both.append(everything(chain, seen))
    for i, (one, two) in enumerate(zip(*both, strict=True)):
        if i != 8:  # paths of symbols may be equally likely
            assert np.allclose(one, two, rtol=1e-9, atol=1e-12)
        else:
            assert np.mean(one != two) < 1e-3


def test_blocks_cover_the_sequence_in_order():
    begins, lengths = batched_chains.split_into_blocks(7, 1000)
    assert begins[0] == 7 and begins[-1] + lengths[-1] == 1007
    np.testing.assert_array_equal(begins[1:], (begins + lengths)[:-1])
    assert lengths.max() - lengths.min() <= 1 and (np.diff(lengths) <= 0).all()


def test_results_of_blocks_come_in_order():
    parts = batched_chains.run_block_batches(lambda s: (s.start, s.stop), 70)
    assert parts == [(0, 32), (32, 64), (64, 96)]
