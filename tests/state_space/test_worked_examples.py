"""Worked numbers of textbooks, with the public names as a reader would call them."""

import warnings

import numpy as np
import pytest

from pansophy.state_space import (
    CategoricalHMM,
    GaussianHMM,
    KalmanFilter,
    MarkovChain,
    StateSpace,
    discretize,
)

close = lambda value, want: np.testing.assert_allclose(value, want, atol=1.5e-6)


def stopping_model(**options):
    """Two states that may stop, of which sequences are not endless."""
    model = CategoricalHMM(2, init_params="", **options)
    model.startprob_ = [0.6, 0.4]
    model.transmat_ = [[0.5, 0.3], [0.2, 0.5]]
    model.stopprob_ = [0.2, 0.3]
    model.emissionprob_ = [[0.7, 0.3], [0.1, 0.9]]
    return model


def test_chain_with_a_stop_probability():
    model = stopping_model()
    x = [0, 1, 1]
    assert np.exp(model.score(x)) == pytest.approx(0.0265752)
    log_p, path = model.decode(x)
    assert path.tolist() == [0, 1, 1] and np.exp(log_p) == pytest.approx(0.015309)
    close(model.predict_proba(x)[:, 0], [0.89040910, 0.27316445, 0.13316174])
    pairs = model.pair_marginals(x).reshape(2, 4)
    close(pairs[0], [0.26314007, 0.62726903, 0.01002438, 0.09956651])
    close(pairs[1], [0.07382823, 0.19933622, 0.05933351, 0.66750203])
    assert model.predict([0, 1, 0]).tolist() == [0, 0, 0]
    assert model.decode([0, 1, 0], algorithm="map")[1].tolist() == [0, 1, 0]


def test_baum_welch_learns_where_to_stop():
    model = stopping_model(n_iter=1, tol=0)
    x = [0, 1, 1]
    assert model.score(x) == pytest.approx(-3.6277768, abs=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one iteration: it is meant
        model.fit(x)
    close(model.startprob_, [0.89040910, 0.10959090])
    close(model.transmat_, [[0.25985897, 0.63745103], [0.04072056, 0.45035193]])
    close(model.stopprob_, [0.10269000, 0.50892751])
    close(model.emissionprob_, [[0.68665448, 0.31334552], [0.06434167, 0.93565833]])
    assert model.score(x) == pytest.approx(-2.3551776, abs=1e-6)


@pytest.mark.parametrize("hard", [False, True])
def test_stop_probabilities_raise_the_objective_and_sum_to_one(hard):
    rng = np.random.default_rng(0)
    lengths = rng.geometric(0.2, 40) + 1
    x = rng.integers(0, 2, lengths.sum())
    model = CategoricalHMM(2, random_state=0, n_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, lengths, hard=hard, stop=True)
    close(model.transmat_.sum(axis=1) + model.stopprob_, 1)
    assert (np.diff(model.history_["objective"]) < 1e-9).all()
    again = model.score(x, lengths)
    if not hard:
        assert again == pytest.approx(-model.history_["objective"][-1], abs=0.1)
    model.fit(x, lengths, stop=False)
    assert not hasattr(model, "stopprob_")
    close(model.transmat_.sum(axis=1), 1)


def test_samples_of_a_stopping_chain_move_as_if_it_went_on():
    _, z = stopping_model().sample(20000, random_state=0)
    moves = np.zeros((2, 2))
    np.add.at(moves, (z[:-1], z[1:]), 1)
    moves /= moves.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(moves, [[5 / 8, 3 / 8], [2 / 7, 5 / 7]], atol=0.02)


def test_gaussian_states_stop_too():
    rng = np.random.default_rng(1)
    X = [np.r_[rng.normal(0, 1, 6), rng.normal(9, 1, 3)][:, None] for _ in range(20)]
    model = GaussianHMM(2, random_state=0, n_iter=50).fit(X, stop=True)
    high = int(model.means_.argmax())
    assert model.stopprob_[high] == pytest.approx(1 / 3, abs=0.01)
    assert model.stopprob_[1 - high] < 1e-6


def test_forward_backward_viterbi_and_one_step_of_baum_welch():
    model = CategoricalHMM(2, init_params="", n_iter=1, tol=0)
    model.startprob_ = [0.8, 0.2]
    model.transmat_ = [[0.6, 0.4], [0.5, 0.5]]
    model.emissionprob_ = [[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]]
    x = [2, 0, 2]
    assert np.exp(model.score(x)) == pytest.approx(0.028562)
    close(model.predict_proba(x)[:, 0], [0.936629, 0.396051, 0.822631])
    log_p, path = model.decode(x)
    assert path.tolist() == [0, 1, 0] and np.exp(log_p) == pytest.approx(0.0128)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x)
    close(model.startprob_, [0.936629, 0.063371])
    close(model.transmat_, [[0.537201, 0.462799], [0.753410, 0.246590]])
    close(model.emissionprob_, [[0.183756, 0, 0.816244], [0.714996, 0, 0.285004]])
    assert np.exp(model.score(x)) == pytest.approx(0.220007, abs=1e-6)


def test_three_letters_seen_through_two_signs():
    model = CategoricalHMM(3)
    model.startprob_ = np.full(3, 1 / 3)
    model.transmat_ = [[0.3, 0.5, 0.2], [0.1, 0.2, 0.7], [0.4, 0.4, 0.2]]
    alpha = np.array([0.1, 0.3, 0.8])
    model.emissionprob_ = np.c_[alpha, 1 - alpha]
    x = [0, 1, 0]
    assert np.exp(model.score(x)) == pytest.approx(0.11029, abs=1e-6)
    close(model.filter(x)[0], [0.083333, 0.25, 0.666667])
    close(model.filter(x)[2], [0.049536, 0.237918, 0.712546])
    close(model.smooth(x)[0], [0.098256, 0.148336, 0.753408])
    log_p, path = model.decode(x)
    assert path.tolist() == [2, 1, 2] and np.exp(log_p) == pytest.approx(0.0418133)
    close(model.get_stationary_distribution(), [0.266667, 0.355556, 0.377778])


def test_counting_where_the_states_are_known():
    a, b, c = range(3)
    model = CategoricalHMM(3)
    model.fit_labeled([0, 1, 1, 0, 0, 1], [a, a, b, c, a, b])
    close(model.transmat_[a], [1 / 3, 2 / 3, 0])
    close(model.transmat_[b], [0, 0, 1])
    close(model.emissionprob_[:, 0], [2 / 3, 0, 1])


def test_tables_that_do_not_sum_to_one_are_refused():
    model = stopping_model()
    model.stopprob_ = [0.2, 0.2]
    with pytest.raises(ValueError, match="transmat_ with stopprob_"):
        model.score([0, 1])


def test_weather_chain():
    chain = MarkovChain.from_matrix([[0.7, 0.3], [0.2, 0.8]], states=["rain", "sun"])
    close(chain.stationary(), [0.4, 0.6])
    close(np.linalg.matrix_power(chain.transmat_, 2), [[0.55, 0.45], [0.3, 0.7]])


def test_scalar_kalman_filter_from_the_state_before_the_first_row():
    model = KalmanFilter(
        transition_matrices=1.0,
        transition_covariance=0.1,
        observation_covariance=0.5,
        initial_state_mean=[0.0],
        initial_state_covariance=1.0,
        start="previous",
    )
    y = [[1.0], [0.5], [0.8]]
    means, covs = model.filter(y)
    close(model.gains(y).ravel(), [0.6875, 0.470199, 0.401269])
    close(means.ravel(), [0.6875, 0.599338, 0.679857])
    close(covs.ravel(), [0.34375, 0.235099, 0.200634])
    belief = None
    for row, mean in zip(y, means, strict=True):
        belief = model.update(belief, row)
        close(belief.mean, mean)
    known = KalmanFilter(1.0, None, 0.1, 0.5, initial_state_covariance=1.1)
    assert known.score(y) == pytest.approx(model.score(y))
    with pytest.raises(ValueError, match="cannot be learned"):
        model.fit(y)
    model.set_params(method=None).fit(y)
    close(model.forecast(1).mean, means[-1:])


def test_gains_filter_by_hand_with_missing_numbers():
    rng = np.random.default_rng(0)
    F = np.array([[1.0, 0.1], [0.0, 0.9]])
    model = KalmanFilter(F, np.eye(2), 0.1, 0.5, start="previous")
    X = rng.normal(size=(9, 2))
    X[3, 0] = X[5, 1] = np.nan
    X[6] = np.nan
    means, covs = model.filter(X)
    gains = model.gains(X)
    m, V = np.zeros(2), np.eye(2)
    for t in range(9):
        m, V = F @ m, F @ V @ F.T + 0.1 * np.eye(2)
        m = m + gains[t] @ np.nan_to_num(X[t] - m)
        V = V - gains[t] @ V
        close(m, means[t])
        close(V, covs[t])
    assert not gains[6].any()


def test_mass_spring_damper_is_made_discrete():
    system = StateSpace([[0, 1], [-2, -3]], [[0], [1]], [[1, 0]], [[0]])
    exact = discretize(system, 0.1, "zoh")
    close(exact.A, [[0.990944, 0.086107], [-0.172213, 0.732624]])
    bilinear = discretize(system, 0.1, "bilinear")
    close(bilinear.A, [[0.991342, 0.086580], [-0.173160, 0.731602]])
    close(discretize(system, 0.1, "euler").A, [[1, 0.1], [-0.2, 0.7]])
