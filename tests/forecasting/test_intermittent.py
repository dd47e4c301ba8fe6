"""Intermittent demand by hand."""

import numpy as np
import pytest

from pansophy.forecasting import ADIDA, IMAPA, SBA, TSB, Croston

Y = np.array([0.0, 0.0, 6.0, 0.0, 4.0, 0.0, 0.0, 0.0, 8.0, 0.0])


def test_croston_by_hand():
    # sizes 6, 6 - .2 * 2 = 5.6, 5.6 + .2 * 2.4 = 6.08; intervals 3, 2.8, 3.04
    model = Croston(0.2).fit(Y)
    np.testing.assert_allclose(model.size_, 6.08)
    np.testing.assert_allclose(model.interval_, 3.04)
    np.testing.assert_allclose(model.predict(2).mean, [2.0, 2.0])
    np.testing.assert_allclose(model.fitted_[:5], [0, 0, 0, 2, 2])
    np.testing.assert_allclose(SBA(0.2).fit(Y).predict(1).mean, 0.9 * 2.0)
    apart = Croston(0.2, beta=0.5).fit(Y)
    np.testing.assert_allclose(apart.interval_, 2.5 + 0.5 * 1.5)


def test_tsb_by_hand():
    # d: .3, .27, .243, .3187, .28683, ...
    model = TSB(0.2, beta=0.1).fit(Y)
    d = 0.3
    for y in Y:
        d += 0.1 * ((y != 0) - d)
    np.testing.assert_allclose(model.probability_, d)
    np.testing.assert_allclose(model.size_, 6.08)
    np.testing.assert_allclose(model.predict(1).mean, 6.08 * d)
    dead = TSB(0.2, beta=0.1).fit(np.r_[Y, np.zeros(50)])
    assert dead.predict(1).mean[0] < 0.01


def test_aggregation_by_hand():
    # 10 values, 3 demands: blocks of 3 from the end: 6, 4, 8 (Y[0] is left out)
    model = ADIDA(0.5).fit(Y)
    assert model.width_.tolist() == [3]
    blocks = [Y[1:4].sum(), Y[4:7].sum(), Y[7:].sum()]
    level = blocks[0]
    for b in blocks[1:]:
        level += 0.5 * (b - level)
    np.testing.assert_allclose(model.predict(1).mean, level / 3)

    def rate(width):
        head = len(Y) % width
        sums = Y[head:].reshape(-1, width).sum(1)
        level = sums[0]
        for b in sums[1:]:
            level += 0.5 * (b - level)
        return level / width

    expected = np.mean([rate(1), rate(2), rate(3)])
    np.testing.assert_allclose(IMAPA(0.5).fit(Y).predict(1).mean, expected)


@pytest.mark.parametrize("cls", [Croston, SBA, TSB, ADIDA, IMAPA])
def test_without_any_demand(cls):
    assert cls().fit(np.zeros(9)).predict(2).mean.tolist() == [0.0, 0.0]
    skipped = cls().fit(np.r_[Y[:3], np.nan, Y[3:]]).predict(1).mean
    assert np.isfinite(skipped).all()
