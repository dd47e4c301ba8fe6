"""Made-up tables: shapes, ranges, seeds, and that each part does what it says."""

import pytest
import torch

from pansophy.prior_fitted.prior import (
    RandomSource,
    distort_columns,
    draw_causes,
    draw_layer,
    draw_tables,
    standardise_tables,
    tree_layer,
    with_repeated_rows,
)


@pytest.mark.parametrize("numbers", [False, True])
def test_tables_are_finite_and_vary(numbers):
    source = RandomSource(0, "cpu")
    for d in (2, 5, 12):
        for _ in range(8):
            X, y, n_classes = draw_tables(source, 3, 64, d, numbers)
            assert X.shape == (3, 64, d)
            assert y.shape == (3, 64)
            assert not torch.isinf(X).any()
            assert torch.isfinite(y.float()).all()
            assert (n_classes == 0) == numbers
            if not numbers:
                assert 0 <= int(y.min()) <= int(y.max()) < n_classes


def test_a_seed_decides_the_tables():
    first, again = (draw_tables(RandomSource(5, "cpu"), 2, 30, 4) for _ in range(2))
    torch.testing.assert_close(first.X, again.X, equal_nan=True)
    other = draw_tables(RandomSource(6, "cpu"), 2, 30, 4)
    assert not torch.equal(first.y, other.y)


def test_oblivious_trees_have_a_value_a_leaf():
    source = RandomSource(0, "cpu")
    x = source.normal(2, 200, 3)
    values = tree_layer(source, x, 5, 3)
    for table in values:
        for column in table.T:
            assert 2 <= len(column.unique()) <= 8


def test_causes_and_layers_are_standardised():
    source = RandomSource(1, "cpu")
    for _ in range(12):
        x = draw_causes(source, 2, 400, 3)
        assert x.mean(1).abs().max() < 1e-4
        layer = draw_layer(source, x, 6)
        assert layer.shape == (2, 400, 6)
        torch.testing.assert_close(
            layer, standardise_tables(layer), atol=1e-3, rtol=1e-3
        )


def test_missing_values_appear_at_times_and_never_everywhere():
    source = RandomSource(2, "cpu")
    shares = [
        torch.isnan(distort_columns(source, source.normal(2, 50, 6))).float().mean()
        for _ in range(40)
    ]
    assert 0 < sum(share > 0 for share in shares) < 40
    assert max(shares) < 0.5


def test_repeated_rows_keep_their_targets():
    source = RandomSource(3, "cpu")
    X = source.normal(1, 80, 3)
    y = torch.arange(80)[None]
    for _ in range(6):
        rows, targets = with_repeated_rows(source, X, y)
        assert len(targets.unique()) < 80
        error = (rows[0] - X[0, targets[0]]).abs().max()
        assert error < 0.6
