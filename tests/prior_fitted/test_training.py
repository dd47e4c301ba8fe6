"""Training at toy size: it learns, resumes exactly, and its file reads back."""

import json

import numpy as np
import pytest
import torch

from pansophy.prior_fitted.prior import RandomSource, draw_tables
from pansophy.prior_fitted.training import (
    TOY_SHAPE,
    PriorTraining,
    initial_network_weights,
    read_weights,
    step_inputs,
    table_loss,
)


def short_run(n_steps, **options):
    options = {"rows_per_step": 384, "cells_per_step": 3000, **options}
    return PriorTraining(TOY_SHAPE, n_steps=n_steps, **options)


def test_loss_of_numbers_and_classes_falls_in_a_few_steps_on_one_batch():
    source = RandomSource(0, "cpu")
    for numbers in (False, True):
        tables = draw_tables(source, 4, 60, 3, numbers)
        inputs = step_inputs(tables, 40, source.normal(4, 3, 16), 1.0)
        weights = {
            name: w.requires_grad_()
            for name, w in initial_network_weights(TOY_SHAPE, source).items()
        }
        optimiser = torch.optim.Adam(weights.values(), 3e-3)
        losses = []
        for _ in range(25):
            loss = table_loss(weights, TOY_SHAPE, inputs)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.97 * losses[0]


def test_every_weight_gets_a_gradient():
    source = RandomSource(1, "cpu")
    weights = {
        name: (0.1 * source.normal(*w.shape) + w).requires_grad_()
        for name, w in initial_network_weights(TOY_SHAPE, source).items()
    }
    for numbers in (False, True):
        tables = draw_tables(source, 2, 40, 4, numbers)
        inputs = step_inputs(tables, 25, source.normal(2, 4, 16), 1.0)
        table_loss(weights, TOY_SHAPE, inputs).backward()
    silent = [name for name, w in weights.items() if not w.grad.abs().any()]
    assert not silent


def test_a_resumed_run_is_the_same_run(tmp_path):
    whole = short_run(6, seed=3).run()
    first = short_run(6, seed=3)
    while first.step < 3:
        first._take_step(first.source.chance(first.share_of_numbers))
    first.save_checkpoint(tmp_path / "state")
    second = short_run(6, seed=99)
    second.load_checkpoint(tmp_path / "state")
    second.run()
    assert (second.step, second.n_tables) == (whole.step, whole.n_tables)
    for averaged in (True, False):
        expected = whole.weights(averaged)
        for name, w in second.weights(averaged).items():
            torch.testing.assert_close(w, expected[name], rtol=1e-5, atol=1e-6)


def test_exported_weights_read_back_and_start_another_run(tmp_path):
    run = short_run(2)
    log = []
    run.log_every = 1
    run.run(log=log.append)
    assert run.step == 2
    assert len(log) == 2
    path = tmp_path / "weights.safetensors"
    run.export(path, {"note": "toy"})
    weights, shape = read_weights(path)
    assert shape == TOY_SHAPE
    for name, w in run.weights().items():
        torch.testing.assert_close(weights[name], w.bfloat16().float())
    again = short_run(1, start=weights)
    for name, w in again.weights(averaged=False).items():
        torch.testing.assert_close(w, weights[name])
    losses = run.held_out_loss(4)
    assert set(losses) == {"classes", "numbers"}
    assert np.isfinite(list(losses.values())).all()


def test_run_ends_at_its_limits():
    assert short_run(5).run(most_seconds=0).step == 0
    with pytest.raises(ValueError, match="n_steps or seconds"):
        PriorTraining(TOY_SHAPE)


def test_rate_rises_stays_and_falls_to_nothing():
    run = short_run(1000)
    rates = []
    for run.step in (1, 450, 600, 900, 999):
        rates.append(run._rate())
    assert rates[0] < rates[1]
    assert rates[1] == rates[2]
    assert rates[2] > rates[3] > rates[4]


def test_metadata_are_json(tmp_path):
    from safetensors import safe_open

    run = short_run(1)
    run.export(tmp_path / "w.safetensors")
    with safe_open(tmp_path / "w.safetensors", framework="np") as file:
        meta = file.metadata()
    limits = json.loads(meta["limits"])
    assert limits["n_classes"] == 10
    assert limits["columns"] == 48
