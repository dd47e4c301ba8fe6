"""Randomness: one Generator from whatever is given, and children that differ."""

import numpy as np
import pytest

from pansophy.core.random import rng_from, seed_int, spawn


def test_same_number_same_stream():
    a, b = rng_from(3), rng_from(np.int64(3))
    np.testing.assert_array_equal(a.random(5), b.random(5))
    assert not np.array_equal(rng_from(3).random(5), rng_from(4).random(5))


def test_none_is_fresh_each_time():
    assert rng_from(None).random() != rng_from(None).random()


def test_a_generator_is_used_as_it_is():
    g = np.random.default_rng(0)
    assert rng_from(g) is g


def test_a_random_state_moves_on():
    state = np.random.RandomState(0)
    first, second = rng_from(state).random(), rng_from(state).random()
    assert first != second
    again = np.random.RandomState(0)
    assert rng_from(again).random() == first


def test_the_global_stream_is_left_alone():
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    spawn(rng_from(1), 3)
    np.testing.assert_array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_children_differ_and_repeat(n):
    a = [g.random() for g in spawn(rng_from(7), n)]
    b = [g.random() for g in spawn(rng_from(7), n)]
    assert a == b
    assert len(set(a)) == n


def test_children_depend_on_the_state_of_the_stream_alone():
    g, h = rng_from(1), rng_from(1)
    spawn(g, 2)
    g = rng_from(1)
    assert [c.random() for c in spawn(g, 2)] == [c.random() for c in spawn(h, 2)]
    assert [c.random() for c in spawn(g, 2)] == [c.random() for c in spawn(h, 2)]


def test_seed_for_other_libraries():
    seeds = [seed_int(rng_from(i)) for i in range(50)]
    assert all(isinstance(s, int) and 0 <= s < 2**31 for s in seeds)
    assert len(set(seeds)) > 45
