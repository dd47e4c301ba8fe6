"""Emissions by distributions: equal rows once, gaps, states that nothing belongs to."""

import numpy as np
import pytest
import scipy.stats

from pansophy.distributions import Bernoulli, Gamma, Multinomial, Poisson
from pansophy.distributions.priors import Dirichlet
from pansophy.state_space.hidden_markov.distribution_emission import (
    DistributionEmission,
    GammaPseudoCounts,
    batched_parameters,
    degenerate_notes,
    one_coordinate,
    unique_rows,
    weighted_log_sum,
)

NAN = np.nan
RATES = np.array([[1.0, 4.0], [3.0, 0.5], [6.0, 2.0]])
ROWS = np.array([[0, 1], [2, NAN], [0, 1], [NAN, NAN], [2, NAN], [0, 1], [5, 0]] * 2)
POISSON = Poisson(RATES)


def emission(distribution=POISSON):
    return DistributionEmission(distribution)


@pytest.mark.parametrize("columns", [1, 2])
def test_equal_rows_once(columns):
    X = ROWS[:, :columns].astype(float)
    t = unique_rows(X, discrete=True)
    assert t.X is X and len(t.values) == 4
    np.testing.assert_array_equal(t.values[t.index], X)
    assert t.index.dtype == np.int64
    assert len({tuple(np.nan_to_num(v, nan=-1)) for v in t.values}) == len(t.values)


def test_rows_that_hardly_repeat_stay():
    X = np.array([[1.0], [1.0], [2.0]])  # two of three: nothing is saved
    assert unique_rows(X, discrete=True).index is None
    assert unique_rows(np.repeat(X, 2, axis=0), discrete=True).index is not None
    assert unique_rows(ROWS, discrete=False).values is ROWS


def test_the_table_of_a_matrix_is_made_once():
    e = emission()
    assert e.table(ROWS) is e.table(ROWS)
    other = ROWS.copy()
    assert e.table(other) is not e.table(ROWS)


def log_prob_by_hand(X):
    """Of independent counts, those that are missing left out."""
    each = scipy.stats.poisson(RATES).logpmf(np.nan_to_num(X)[:, None, :])
    return np.where(np.isnan(X)[:, None, :], 0.0, each).sum(axis=-1)


@pytest.mark.parametrize("repeats", [1, 2])
def test_log_prob_with_gaps(repeats):
    X = ROWS if repeats == 2 else np.array([[1.0, 2.0], [NAN, 3.0], [4.0, NAN]])
    want = log_prob_by_hand(X)
    e = emission()
    np.testing.assert_allclose(e.log_prob(X), want, rtol=1e-12, atol=1e-15)
    evidence = e.evidence(X, np.array([len(X)]))
    rows = evidence[0] if evidence[1] is None else evidence[0][evidence[1]]
    np.testing.assert_allclose(rows, want, rtol=1e-12, atol=1e-15)


def test_rows_of_dependent_coordinates_drop_out_whole():
    e = emission(Multinomial(np.array([[0.2, 0.8], [0.5, 0.5]]), 3))
    X = np.array([[1.0, 2.0], [NAN, 2.0]])
    got = e.log_prob(X)
    want = [scipy.stats.multinomial(3, p).logpmf([1, 2]) for p in e.distribution.prob]
    np.testing.assert_allclose(got[0], want, rtol=1e-12)
    assert (got[1] == 0).all()
    R = np.array([[0.25, 0.75], [0.5, 0.5]])
    stats = e.stats(X, R)
    np.testing.assert_allclose(stats.weight, [0.25, 0.75])


def test_statistics_of_rows_with_gaps(rng):
    """The weight of a coordinate is that of the rows that know it."""
    R = rng.dirichlet(np.ones(3), len(ROWS))
    for X in (ROWS, ROWS[:4]):  # by different rows, and each for itself
        stats = emission().stats(X, R[: len(X)])
        known = ~np.isnan(X)
        want = R[: len(X)].T @ known
        np.testing.assert_allclose(stats.weight, want, rtol=1e-12)
        sums = R[: len(X)].T @ np.nan_to_num(X)
        np.testing.assert_allclose(stats.total[0], sums, rtol=1e-12)


def test_learning_is_the_weighted_mean(rng):
    R = rng.dirichlet(np.ones(3), len(ROWS))
    e = emission()
    new = e.learn(e.stats(ROWS, R), None, None)
    known = ~np.isnan(ROWS)
    want = R.T @ np.nan_to_num(ROWS) / (R.T @ known)
    np.testing.assert_allclose(new.distribution.rate, want, rtol=1e-9)
    assert new.notes == () and (e.distribution.rate == RATES).all()


def test_a_state_without_rows_keeps_its_parameters():
    R = np.zeros((len(ROWS), 3))
    R[:, 0] = 1.0
    e = emission()
    new = e.learn(e.stats(ROWS, R), None, None)
    np.testing.assert_array_equal(new.distribution.rate[1:], RATES[1:])
    assert (new.distribution.rate[0] != RATES[0]).all()
    (note,) = new.notes
    assert "no row belongs to" in note and "1" in note and "2" in note


def test_a_coordinate_that_is_never_known_keeps_its_parameters():
    X = np.array([[1.0, NAN], [2.0, NAN], [3.0, NAN]])
    e = emission()
    new = e.learn(e.stats(X, np.full((3, 3), 1 / 3)), None, None)
    np.testing.assert_array_equal(new.distribution.rate[:, 1], RATES[:, 1])
    np.testing.assert_allclose(new.distribution.rate[:, 0], 2.0)
    assert new.notes == ()  # somebody belongs to every state


def test_a_prior_fills_an_empty_state():
    R = np.zeros((len(ROWS), 3))
    R[:, 0] = 1.0
    e = emission()
    prior = GammaPseudoCounts(3.0, 2.0)
    new = e.learn(e.stats(ROWS, R), prior, None)
    np.testing.assert_allclose(new.distribution.rate[1:], 1.0)  # (3 - 1) / 2


def test_a_state_that_shrinks_to_a_point_keeps_its_parameters():
    X = np.array([[2.0], [2.0], [1.0], [3.0], [5.0]])
    e = emission(Gamma(np.array([[1.5], [2.5]]), np.array([[1.0], [2.0]])))
    R = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1.0]])
    new = e.learn(e.stats(X, R), None, None)
    assert new.distribution.shape[0, 0] == 1.5 and new.distribution.rate[0, 0] == 1.0
    assert new.distribution.shape[1, 0] != 2.5
    assert new.notes == ("state 0 has shrunk to a point and keeps its old parameters.",)
    assert list(degenerate_notes(np.array([False, False]))) == []


def test_priors_in_the_objective():
    e = emission()
    got = e.log_prior(GammaPseudoCounts(3.0, 0.5))
    want = (2 * np.log(RATES) - 0.5 * RATES).sum()
    assert got == pytest.approx(want, rel=1e-12)
    p = np.array([[0.2, 0.8], [1.0, 0.0]])
    table = emission(Multinomial(p, 1))
    assert table.log_prior(Dirichlet(np.array([2.0, 3.0]))) == pytest.approx(
        np.log(0.2) + 2 * np.log(0.8)
    )
    assert table.log_prior(None) == 0.0
    assert weighted_log_sum(np.array([0.0, 2.0]), np.array([0.0, 0.5])) == (
        pytest.approx(2 * np.log(0.5))
    )


def test_draws_come_from_the_states(rng):
    z = np.repeat([0, 2, 1], 400)
    drawn = emission().draw(z, rng)
    assert drawn.shape == (1200, 2) and drawn.dtype == np.float64
    for state in range(3):
        own = drawn[z == state]
        error = 5 * np.sqrt(RATES[state] / 400)
        assert (np.abs(own.mean(axis=0) - RATES[state]) < error).all()


def test_parameters():
    e = emission()
    assert e.k == 3 and e.free == 6
    assert [n for n, _ in batched_parameters(POISSON)] == ["rate"]
    trials = Multinomial(np.full((2, 3), 1 / 3), 4)
    assert [n for n, _ in batched_parameters(trials)] == ["prob"]
    alone = one_coordinate(POISSON, 1)
    np.testing.assert_array_equal(alone.rate, RATES[:, [1]])
    assert emission(Bernoulli(np.full((2, 3), 0.5))).k == 2
