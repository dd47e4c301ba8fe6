"""Parameters of Kalman filters: sizes, time axes, starts, refusals by name."""

import numpy as np
import pytest

from pansophy.state_space.kalman.kalman_parameters import (
    entries_in_time,
    infer_sizes,
    initial_guess,
    read_parameters,
)


def test_sizes_are_read_off_what_is_given():
    assert infer_sizes({"observation_matrices": np.ones((1, 3))}, None, None, None) == (
        3, 1, 0,
    )  # fmt: skip
    assert infer_sizes({}, None, None, 2) == (2, 2, 0)
    with pytest.raises(ValueError, match="n_dim_state says that there are 2 states"):
        infer_sizes({"transition_matrices": np.eye(3)}, 2, None, None)
    with pytest.raises(ValueError, match="initial_state_mean must have 1 dimensions,"):
        infer_sizes({"initial_state_mean": np.eye(2)}, None, None, None)
    with pytest.raises(ValueError, match="X has 2 columns, but observation_offsets"):
        infer_sizes({"observation_offsets": np.ones(3)}, None, None, 2)


def test_a_number_is_that_times_the_identity():
    p = read_parameters({"transition_covariance": 0.5}, n_state=2, n_obs=1)
    np.testing.assert_array_equal(p.Q, 0.5 * np.eye(2))
    np.testing.assert_array_equal(p.H, [[1, 0]])
    with pytest.raises(ValueError, match="transition_offsets contains NaN"):
        read_parameters({"transition_offsets": [np.nan]})


def test_transitions_may_have_one_entry_less():
    F = np.arange(2.0).reshape(2, 1, 1)
    assert entries_in_time(F, 3, "F").ravel().tolist() == [0, 0, 1]
    assert entries_in_time(F, 1, "F").ravel().tolist() == [0]
    with pytest.raises(ValueError, match="transition_matrices has 2 entries in time"):
        entries_in_time(F, 4, "F")
    with pytest.raises(ValueError, match=r"rows: it needs as many\."):
        entries_in_time(F, 3, "H")


def test_starts_of_the_first_row():
    given = {"transition_matrices": [[0.5]], "transition_offsets": [1.0]}
    known = read_parameters(given).model(3)
    assert known.m.item() == 0 and known.P.item() == 1
    stationary = read_parameters(given, start="stationary").model(3)
    assert stationary.m.item() == pytest.approx(2)  # m = m / 2 + 1
    assert stationary.P.item() == pytest.approx(4 / 3)  # P = P / 4 + 1
    previous = read_parameters(given, start="previous").model(3)
    assert previous.m.item() == 1 and previous.P.item() == pytest.approx(1.25)


def test_guesses_of_what_is_learned():
    X = np.array([[1.0], [3.0], [np.nan], [5.0], [7.0]])
    names = ["transition_covariance", "initial_state_mean"]
    found = initial_guess({"observation_covariance": 9.0}, names, X, [0], 1)
    assert found["transition_covariance"].item() == 2  # half of the steps of 2^2
    assert found["initial_state_mean"].tolist() == [1]
    assert found["observation_covariance"] == 9.0
    assert "initial_state_covariance" not in found
