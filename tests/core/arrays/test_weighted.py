"""Weighted quantiles: against repeated rows, and compiled against array code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.arrays import _weighted, weighted
from pansophy.core.arrays.weighted import (
    check_sample_weight,
    effective_sample_size,
    repeated_quantile,
    scaled_to_effective_size,
    values_at_ranks,
    weighted_median,
    weighted_quantile,
)

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0)
NO_WEIGHTS = np.empty(0)
counts = st.lists(
    st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=12
).filter(lambda rows: any(w for _, w in rows))


def slow_quantile(x, q):
    """The midpoint of all minimisers of the quantile loss, from repeated rows."""
    x = np.sort(np.asarray(x, float))
    n = len(x)
    goal = round(q * n, 9)
    low = x[min(max(int(np.ceil(goal)) - 1, 0), n - 1)]
    high = x[min(int(np.floor(goal)), n - 1)]
    return (low + high) / 2 if goal == int(goal) and 0 < goal < n else low


@given(counts)
def test_weights_are_repeated_rows(rows):
    x, w = (np.array(v, float) for v in zip(*rows, strict=True))
    repeated = np.repeat(x, w.astype(int))
    for q in LEVELS:
        expected = slow_quantile(repeated, q)
        assert weighted_quantile(x, w, q) == expected
        assert weighted_quantile(repeated, None, q) == expected
        assert _weighted.weighted_quantile(x, w, q) == expected
        assert _weighted.weighted_quantile(repeated, NO_WEIGHTS, q) == expected
        assert weighted_quantile(np.stack([x, -x], 1), w, q)[0] == expected
        assert weighted_quantile(np.stack([x, -x]), w, q, axis=1)[0] == expected


@given(counts, st.sampled_from([0.1, 0.3, 1 / 3, 1e-9, 7e11]))
def test_the_scale_of_weights_does_not_matter(rows, scale):
    x, w = (np.array(v, float) for v in zip(*rows, strict=True))
    for q in LEVELS:
        expected = weighted_quantile(x, w, q)
        assert weighted_quantile(x, scale * w, q) == expected
        assert _weighted.weighted_quantile(x, scale * w, q) == expected


def test_the_median_without_weights_is_the_usual_one():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 20):
        x = rng.normal(size=(n, 3))
        np.testing.assert_allclose(weighted_median(x), np.median(x, axis=0))
        assert weighted_median(x[:, 0]) == np.median(x[:, 0])


def test_ties_are_found_among_many_rounded_weights():
    x = np.arange(100_000.0)
    w = np.full(len(x), 0.1)
    assert weighted_median(x, w) == np.median(x)
    assert weighted_median(x[:, None], w)[0] == np.median(x)
    assert _weighted.weighted_quantile(x, w, 0.5) == np.median(x)


def test_weights_that_nearly_tie_are_no_tie():
    """A difference of 1e-9 is real; only rounding is a tie."""
    x, w = np.array([1.0, 2.0]), np.array([1.0, 1.0 + 1e-9])
    assert weighted_median(x, w) == 2.0
    assert _weighted.weighted_quantile(x, w, 0.5) == 2.0
    assert weighted_median(x, np.array([1.0, 1.0 + 1e-13])) == 1.5


def test_lower_takes_the_first_value_that_reaches_the_level():
    x = np.array([4.0, 1.0, 3.0, 2.0])
    assert weighted_quantile(x, None, 0.5, tie="lower") == 2.0
    assert weighted_quantile(x, np.full(4, 0.1), 0.5, tie="lower") == 2.0
    assert weighted_quantile(x[:, None], None, 0.5, tie="lower") == [2.0]


def test_rows_in_order_are_not_sorted_again():
    x, w = np.array([5.0, 9.0, 1.0, 3.0]), np.array([1.0, 0.0, 1.0, 2.0])
    order = np.array([2, 3, 0])
    assert _weighted.quantile_in_order(x, w, order, 0.5) == 3.0
    assert _weighted.quantile_in_order(x, w, order, 0.25) == 2.0
    assert _weighted.quantile_place(w, np.array([1]), 0.5, 0.0) == (-1, -1)


def test_other_array_libraries():
    torch = pytest.importorskip("torch")
    x = torch.tensor([4.0, 1.0, 3.0, 2.0])
    assert float(weighted_median(x)) == 2.5
    assert float(weighted_quantile(x, torch.tensor([0.1] * 4), 0.25)) == 1.5
    assert weighted_median(torch.stack([x, -x], 1)).tolist() == [2.5, -2.5]


def test_no_weight_at_all_is_refused():
    for x in (np.ones(2), np.ones((2, 2))):
        with pytest.raises(ValueError, match="at least one value"):
            weighted_median(x, np.zeros(2))


def test_ranks_and_interpolated_quantiles_are_those_of_repeated_rows():
    rng = np.random.default_rng(1)
    x, c = rng.normal(size=8), rng.integers(0, 4, 8)
    repeated = np.sort(np.repeat(x, c))
    ranks = np.arange(1, len(repeated) + 1)
    np.testing.assert_array_equal(values_at_ranks(x, c, ranks), repeated)
    q = np.linspace(0, 1, 11)
    np.testing.assert_allclose(repeated_quantile(x, c, q), np.quantile(repeated, q))


def test_effective_sample_size():
    assert effective_sample_size(np.full(7, 0.3)) == pytest.approx(7)
    assert effective_sample_size([5.0, 0, 0]) == 1
    assert effective_sample_size([0.0, 0.0]) == 0
    w = np.array([1.0, 2.0, 3.0])
    assert scaled_to_effective_size(w).sum() == pytest.approx(effective_sample_size(w))
    assert scaled_to_effective_size(np.zeros(2)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("w", "message"),
    [
        ([1.0], r"sample_weight.shape == \(1,\), expected \(2,\)!"),
        ([[1.0], [1.0]], "1D array or scalar"),
        ([1.0, np.nan], "contains NaN or infinity"),
        ([1.0, -1.0], "Negative values"),
        ([0.0, 0.0], "every sample_weight is zero"),
        ("balanced", "must hold numbers"),
    ],
)
def test_bad_weights_are_refused(w, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(w, np.ones((2, 1)))
    with pytest.raises(ValueError, match="shares must be 2 numbers of at least 0"):
        check_sample_weight(w, 2, "shares")


def test_good_weights_take_the_type_of_the_rows():
    assert check_sample_weight(None, 3) is None
    assert check_sample_weight(2, np.ones((3, 1), np.float32)).dtype == np.float32
    assert check_sample_weight([1, 2], np.ones((2, 1), int)).dtype == np.float64
    assert check_sample_weight(np.float64(2), 3).tolist() == [2, 2, 2]


def test_compiled_loops_use_the_same_tolerance():
    for n in (1, 10**6):
        assert _weighted.tie_tolerance(3.0, n) == weighted.tie_tolerance(3.0, n)


def test_small_weights_count_as_weights():
    """Nothing but 0 is no weight: what counts is the sign, not the size."""
    assert check_sample_weight([0.0, 1e-9], 2).tolist() == [0.0, 1e-9]
    np.testing.assert_allclose(scaled_to_effective_size([0.3, 0.1]), [1.2, 0.4])
    assert effective_sample_size([1e-3, 1e-3]) == pytest.approx(2.0)


def test_quantiles_of_whole_numbers_need_no_weights():
    assert weighted_quantile(np.array([3, 1, 2])) == 2
    assert weighted_quantile(np.array([4, 1, 2, 3]), q=0.25) == 1.5


def test_one_number_is_the_weight_of_every_row_of_a_tensor():
    torch = pytest.importorskip("torch")
    w = check_sample_weight(2, torch.zeros((3, 2), dtype=torch.float64))
    assert w.tolist() == [2.0, 2.0, 2.0] and w.dtype == torch.float64


def test_complex_weights_are_refused():
    with pytest.raises(ValueError, match="real numbers"):
        check_sample_weight(np.ones(3) + 1j, 3)
