"""Randomness: one Generator from whatever is given, and children that differ."""

import numpy as np
import pytest

from pansophy.core.random import draw_seed, make_rng, spawn_rngs


def test_same_number_same_stream():
    a, b = make_rng(3), make_rng(np.int64(3))
    np.testing.assert_array_equal(a.random(5), b.random(5))
    assert not np.array_equal(make_rng(3).random(5), make_rng(4).random(5))


def test_none_is_fresh_each_time():
    assert make_rng(None).random() != make_rng(None).random()


def test_a_generator_is_used_as_it_is():
    g = np.random.default_rng(0)
    assert make_rng(g) is g


def test_a_random_state_moves_on():
    state = np.random.RandomState(0)
    first, second = make_rng(state).random(), make_rng(state).random()
    assert first != second
    again = np.random.RandomState(0)
    assert make_rng(again).random() == first


def test_the_global_stream_is_left_alone():
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    spawn_rngs(make_rng(1), 3)
    np.testing.assert_array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_children_differ_and_repeat(n):
    a = [g.random() for g in spawn_rngs(make_rng(7), n)]
    b = [g.random() for g in spawn_rngs(make_rng(7), n)]
    assert a == b
    assert len(set(a)) == n


def test_children_depend_on_the_state_of_the_stream_alone():
    g, h = make_rng(1), make_rng(1)
    spawn_rngs(g, 2)
    g = make_rng(1)
    assert [c.random() for c in spawn_rngs(g, 2)] == [
        c.random() for c in spawn_rngs(h, 2)
    ]
    assert [c.random() for c in spawn_rngs(g, 2)] == [
        c.random() for c in spawn_rngs(h, 2)
    ]


def test_seed_for_other_libraries():
    seeds = [draw_seed(make_rng(i)) for i in range(50)]
    assert all(isinstance(s, int) and 0 <= s < 2**31 for s in seeds)
    assert len(set(seeds)) > 45
