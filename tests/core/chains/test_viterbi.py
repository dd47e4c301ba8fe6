"""The most probable path: blocks of a long sequence are proved afterwards."""

import numpy as np
import pytest

from pansophy.core.chains import batched_chains
from pansophy.core.chains import viterbi as viterbi_module
from pansophy.core.chains.filtering import Chain, Evidence, viterbi


def test_what_a_few_steps_say_of_a_cut_is_proved_afterwards():
    """Nothing is seen and nothing moves: only the start says where the path is."""
    k, n = 3, 40_000
    chain = Chain(np.array([0.2, 0.7, 0.1]), np.eye(k))
    seen = Evidence(np.zeros((1, k)), np.zeros(n, np.int64), np.array([n]))
    work = viterbi_module.ViterbiLayout(chain, seen)
    begins, lengths = batched_chains.split_into_blocks(0, n)
    assert (
        viterbi_module.scores_after_burn_in(work, begins[1:], int(lengths[-1]))
        is not None
    )
    assert viterbi_module.blockwise_viterbi(work, 0, n) is None
    path, scores = viterbi(chain, seen)
    assert (path == 1).all()
    assert scores == pytest.approx(np.log(0.7))


def test_the_best_path_is_not_that_of_the_best_states():
    """State 1 is likeliest at the last step alone, but cannot follow state 0."""
    chain = Chain(np.array([0.6, 0.4]), np.array([[0.5, 0.5], [1.0, 0.0]]))
    seen = Evidence(np.log([[0.5, 0.5]] * 2), None, np.array([2]))
    path, score = viterbi(chain, seen)
    assert path.tolist() == [1, 0] and score[0] == pytest.approx(np.log(0.1))


def test_scores_relative_to_the_best():
    d = np.array([[1.0, 3.0], [-np.inf, -np.inf]])
    found = viterbi_module.relative_scores(d)
    np.testing.assert_array_equal(found, [[-2, 0], [-np.inf, -np.inf]])
    assert viterbi_module.scores_agree(found, found + 1e-12)
    assert not viterbi_module.scores_agree(found[:1], found[:1] + 1e-6)
    assert viterbi_module.empty_backpointers(3, 4).dtype.itemsize == 1
    assert viterbi_module.empty_backpointers(3, 300).dtype.itemsize > 1
