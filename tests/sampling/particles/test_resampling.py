"""Resampling schemes: counts, unbiasedness, variances, weights in logarithms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.core.arrays.weighted import effective_sample_size
from pansophy.sampling import resample
from pansophy.sampling.particles.resampling import RESAMPLERS, softmax_weights

W = np.array([0.31, 0.0, 0.02, 0.17, 0.5, 0.0])
N = 13


def by_search(points, w):
    """The obvious way: for each point the interval it falls in."""
    edges = np.cumsum(w)
    return np.array([next(j for j in range(len(w)) if u < edges[j]) for u in points])


@pytest.mark.parametrize("scheme", RESAMPLERS)
def test_unbiased_with_no_more_variance_than_multinomial(scheme, rng):
    counts = np.array([RESAMPLERS[scheme](W, N, rng) for _ in range(20_000)])
    assert (counts.sum(axis=1) == N).all() and (counts[:, W == 0] == 0).all()
    variance = N * W * (1 - W)
    error = np.sqrt(variance / len(counts)) + 1e-12
    assert (np.abs(counts.mean(axis=0) - N * W) < 4.5 * error).all()
    if scheme == "multinomial":
        np.testing.assert_allclose(counts.var(axis=0), variance, rtol=0.06)
    else:
        assert (counts.var(axis=0) <= 1.02 * variance).all()
    if scheme in ("systematic", "residual"):
        assert (counts >= np.floor(N * W)).all()
    if scheme == "systematic":
        assert (counts <= np.ceil(N * W)).all()


def test_counting_equals_searching():
    """The points behind (2) and (3), found one by one."""
    for seed in range(20):
        u = np.random.default_rng(seed).random()
        want = by_search((np.arange(N) + u) / N, W)
        rng = np.random.default_rng(seed)
        got = resample(W, N, "systematic", random_state=rng)
        np.testing.assert_array_equal(got, want)
        u = np.random.default_rng(seed).random(N)
        want = by_search((np.arange(N) + u) / N, W)
        rng = np.random.default_rng(seed)
        got = resample(W, N, "stratified", random_state=rng)
        np.testing.assert_array_equal(got, want)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(lambda w: sum(w) > 0),
    st.integers(1, 50),
    st.sampled_from(list(RESAMPLERS)),
)
def test_any_weights_give_n_indices_with_weight(w, n, scheme):
    index = resample(w, n, scheme, random_state=0)
    assert index.shape == (n,) and (np.diff(index) >= 0).all()
    assert (np.asarray(w)[index] > 0).all()


def test_weights_in_logarithms():
    w, log_mean = softmax_weights(np.log([1.0, 2.0, 5.0]) - 1e5)
    np.testing.assert_allclose(w, [0.125, 0.25, 0.625])
    assert log_mean == pytest.approx(np.log(8 / 3) - 1e5)
    assert (
        effective_sample_size(w) == pytest.approx(64 / 30)
        and effective_sample_size(np.ones(7)) == 7
    )
    with pytest.raises(ValueError, match="every weight is zero"):
        softmax_weights([-np.inf, -np.inf])


@pytest.mark.parametrize("bad", [[-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [[1.0]]])
def test_bad_weights(bad):
    with pytest.raises(ValueError, match="weights must be"):
        resample(bad)


def test_bad_arguments():
    with pytest.raises(ValueError, match="scheme must be one of"):
        resample([1.0], scheme="best")
    with pytest.raises(ValueError, match="n must be"):
        resample([1.0], 0)
