"""Draws: what they say of themselves, and how chains are put together."""

import numpy as np
import pytest

from pansophy.sampling.chains.draws import Draws


def made(chains=2, n=50, d=3, info=None, reason="done"):
    x = np.random.default_rng(0).normal(size=(chains, n, d))
    names = [f"x{j}" for j in range(d)]
    run = type("Run", (), {"state": "last"})()
    return Draws(x, x[..., 0], info or {}, names, reason, 0.25, run)


def test_flat_draws_keep_the_order_of_chains():
    draws = made()
    assert draws.flat.shape == (100, 3) and draws.state == "last"
    np.testing.assert_array_equal(draws.flat[50], draws.positions[1, 0])


def test_acceptance_by_chain_and_none_where_there_is_none():
    rate = np.array([[0.0, 1.0], [0.5, 1.0]])
    np.testing.assert_array_equal(
        made(info={"acceptance": rate}).acceptance, [0.5, 0.75]
    )
    assert np.isnan(made().acceptance).all() and made().acceptance.shape == (2,)


def test_the_first_line_says_how_much_and_how_it_ended():
    head = repr(made(1, 40, 1, reason="interrupted")).splitlines()[0]
    assert head == "40 draws of 1 chain in 1 dimension, 0.2 s, interrupted"
    rate = {"acceptance": np.full((2, 50), 0.6)}
    assert "2 chains in 3 dimensions" in repr(made(info=rate))
    assert ", acceptance 0.60" in repr(made(info=rate)) and not made().interrupted
    with pytest.raises(ValueError, match="rows"):
        made().plot(rows=0)
    assert made().plot(rows=2).shape == (2, 2)
