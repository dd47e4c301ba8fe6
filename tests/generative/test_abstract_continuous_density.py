"""Discrete columns of continuous densities: their grid, its noise, rounded samples."""

import numpy as np
import pytest
import torch

from pansophy.generative import DDPM, DiffusionModel, Flow, ScoreModel
from pansophy.generative.abstract_continuous_density import (
    grid_step,
    value_steps,
    with_uniform_noise,
)

TINY = {"hidden_layer_sizes": (8,), "n_epochs": 1, "random_state": 0, "device": "cpu"}


def test_steps_of_columns():
    """A grid, repeated values off a grid, a constant, and numbers that do neither."""
    rng = np.random.default_rng(0)
    X = np.column_stack([
        0.25 * rng.integers(0, 9, 60) + 3,
        rng.choice([0.0, 1.0, 2.5], 60),
        np.full(60, 7.0),
        rng.normal(size=60),
    ])  # fmt: skip
    assert value_steps(X).tolist() == [0.25, 1.0, 1.0, 0.0]
    assert grid_step(np.array([0.0, 0.5, 0.75])) == 0.25
    assert grid_step(np.array([0.0, 0.3, 0.75])) == 0.0


def test_noise_is_as_wide_as_the_step():
    torch.manual_seed(0)
    x = torch.zeros(4000, 2, dtype=torch.float64)
    noisy = with_uniform_noise(x, torch.tensor([2.0, 0.0]))
    assert noisy[:, 1].abs().max() == 0
    assert noisy[:, 0].abs().max() <= 1
    assert noisy[:, 0].var() == pytest.approx(4 / 12, rel=0.1)
    assert with_uniform_noise(x, torch.zeros(0)) is x


@pytest.mark.parametrize("cls", [DDPM, DiffusionModel, Flow, ScoreModel])
def test_samples_take_values_that_were_seen(cls):
    rng = np.random.default_rng(0)
    X = np.column_stack([2.0 * rng.integers(0, 4, 80), rng.normal(size=80)])
    small = {"n_steps": 4} if cls is not DiffusionModel and cls is not Flow else {}
    model = cls(**small, **TINY).fit(X)
    assert model.step_.tolist() == [2.0, 0.0]
    made = model.sample(50, random_state=0)
    assert np.isin(made[:, 0], [0, 2, 4, 6]).all()
    assert len(np.unique(made[:, 1])) > 10  # some are clipped
    raw = cls(dequantize="none", **small, **TINY).fit(X).sample(50, random_state=0)
    assert len(np.unique(raw[:, 0])) > 10


def test_diffusions_round_without_noise_unless_asked():
    X = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    model = DiffusionModel(**TINY).fit(X)
    assert len(model.net_.widths) == 0
    with pytest.raises(ValueError, match="dequantize"):
        model.bits_per_dimension(X)
    noisy = DiffusionModel(dequantize="auto", n_likelihood_steps=2, **TINY).fit(X)
    assert len(noisy.net_.widths) == 2 and np.isfinite(noisy.bits_per_dimension(X))
    assert (noisy.box_[1] > model.box_[1]).all()


def test_pixels_share_one_grid():
    """A pixel that shows 0 and 6 only still counts by ones."""
    images = np.random.default_rng(0).integers(0, 9, (40, 2, 3)).astype(float)
    images[:, 0, 0] = 6.0 * (images[:, 0, 0] > 4)
    model = DiffusionModel(n_channels=(4,), n_epochs=1, random_state=0).fit(images)
    assert model.step_.tolist() == [1.0] * 6
    made = model.sample(20, random_state=0)
    assert made.shape == (20, 2, 3)
    assert (made == np.round(made)).all() and made.min() >= 0 and made.max() <= 8


def test_inpainting_keeps_known_values_and_rounds_others():
    X = np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    model = DiffusionModel(**TINY, n_sampling_steps=2).fit(X)
    gap = np.array([[1.0, np.nan]])
    made = model.inpaint(gap, random_state=0, n_repeats=1)
    assert made[0, 0] == 1.0 and made[0, 1] in (0.0, 1.0, 2.0)
