"""Base class of the generative adversarial estimators.

The nets and their losses are in `adversarial_net`, the loop is `nn.train` with one Adam
for each half. Samples are drawn by the running mean of the generator's weights, which
circles less around the balance of the game than the weights themselves. Scores of rows
are those of the discriminator: no densities, but higher for rows that look real to it.
"""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch

from ... import nn
from ...kernels.kernel_tests import mmd
from ...params import (
    Count,
    FractionBelowOne,
    ImageShape,
    LayerSizes,
    NonNegative,
    Positive,
)
from ..abstract_generator import MONITORED_ROWS, net_placement
from ..abstract_latent_model import AbstractDecoder, Architecture, convolved_shape
from ..autoencoders.autoencoder import layer_sizes
from .adversarial_net import (
    AdversarialNet,
    AdversarialShape,
    NoiseCodes,
    build_halves,
)
from .critic_regularisers import clip_weights

# parameter `penalty` -> penalty of the net's loss; the others are no terms of it
PENALTIES = {
    "gradient": "gradient_penalty",
    "one_sided": "one_sided",
    "r1": "r1",
    "spectral": None,
    "clip": None,
}


@dataclass(eq=False, repr=False)
class AbstractGAN(AbstractDecoder):
    """Parameters and fitting of the adversarial models.

    Parameters
    ----------
    n_components : int
        Numbers of noise that a row is made of.
    hidden_layer_sizes : sequence of int
        Units of the hidden layers of both nets, for tables and points.
    architecture : {"auto", "dense", "conv"}
        "conv" takes rows as images, and "auto" does so where stacks of images or
        `image_shape` are given.
    n_filters : sequence of int
        Kernels of the convolutions; each halves the sides of the images.
    image_shape : (h, w) or (h, w, channels) or None
        What flat rows are.
    n_critic : int
        Steps of the discriminator for each one of the generator.
    discriminator_rate : float
        Factor on the learning rate of the discriminator.
    ema_decay : float
        Decay of the running mean of the generator's weights, which draws the samples;
        0: the last weights.
    beta_1, beta_2 : float
        Decays of Adam's running moments.
    scaling : {"auto", "column", "global"} or None
        Whether each column is standardised, or all by one mean and scale; "auto": each
        column of tables, and pixels to the range from -1 to 1.
    early_stopping : bool
        Hold out a share of the rows, stop by the MMD between them and samples, and keep
        the best epoch; the losses of the game say nothing of the samples.

    Attributes
    ----------
    net_ : torch module
        With `generator` and `discriminator`.
    classes_, class_prior_ : arrays or None
        Labels and their shares, if labels were given.
    """

    n_components: Count = 16
    _: KW_ONLY
    hidden_layer_sizes: LayerSizes = (128, 128)
    architecture: Architecture = "auto"
    n_filters: LayerSizes = (32, 64)
    image_shape: ImageShape | None = None
    n_critic: Count = 1
    discriminator_rate: Positive = 2.0
    ema_decay: FractionBelowOne = 0.999
    beta_1: FractionBelowOne = 0.5
    beta_2: FractionBelowOne = 0.99
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.002
    n_epochs: Count = 100

    _conditional = True
    _is_density = False

    # A model gives `_game()`, keyword arguments of `AdversarialNet` with the parameter
    # `penalty` as it stands, and the field `clip_value`.

    def _noise_codes(self) -> NoiseCodes:
        return NoiseCodes()

    def _n_codes(self) -> int:
        return int(self.n_components) + self._noise_codes().width

    def _learn_scaling(self, X, w):
        if self.scaling != "auto" or convolved_shape(self, X.shape[1]) is None:
            return super()._learn_scaling(X, w)
        low, high = float(X.min()), float(X.max())
        middle = (low + high) / 2
        half = (high - low) / 2 or 1.0
        d = X.shape[1]
        return np.full(d, middle, X.dtype), np.full(d, half, X.dtype)

    def _build_net(self, n_features, n_classes):
        codes = self._noise_codes()
        game = self._game()
        penalty = game["penalty"]
        shape = AdversarialShape(
            n_features,
            self._n_codes(),
            tuple(layer_sizes(self.hidden_layer_sizes)),
            tuple(layer_sizes(self.n_filters)),
            convolved_shape(self, n_features),
            n_classes,
            codes.n_outputs,
        )
        generator, discriminator = build_halves(shape, spectral=penalty == "spectral")
        return AdversarialNet(
            generator,
            discriminator,
            n_components=self._n_codes(),
            n_classes=n_classes,
            n_critic=self.n_critic,
            codes=codes,
            **game | {"penalty": PENALTIES.get(penalty)},
        )

    def _optimiser(self, net) -> Any:
        """One optimiser for each half: Adam with its two decay rates, by default."""
        if self.optimiser != "adamw":
            rate = self.learning_rate_init
            return {
                "discriminator": self._make_optimiser(rate * self.discriminator_rate),
                "generator": self._make_optimiser(rate),
            }
        rule = nn.Adam(
            self.learning_rate_init, self.beta_1, self.beta_2, decay=self.weight_decay
        )
        faster = rule._replace(lr=rule.lr * self.discriminator_rate)
        return {"discriminator": faster, "generator": rule}

    def _training_options(self, net, n, valid) -> dict:
        options = super()._training_options(net, n, valid)
        if self.ema_decay:
            options["average"] = nn.WeightAverage(
                "ema", self.ema_decay, only="generator.*"
            )
        if self._game()["penalty"] == "clip":
            options["after_step"] = clipping(self.clip_value)
            clip_weights(net.discriminator, self.clip_value)
        if valid is not None:  # the losses of the game say nothing of the samples
            stop = nn.EarlyStopping("valid_mmd", patience=self.n_iter_no_change)
            options["stop"] = stop
        return options

    def _monitors(self, rows, held_out, rng):
        monitors = [
            AdversarialNet.recent_metrics,
            *super()._monitors(rows, held_out, rng),
        ]
        if held_out is not None:
            monitors.append(self._held_out_monitor(held_out))
        return monitors

    def _held_out_monitor(self, held_out):
        """A monitor of the MMD^2 between samples and held-out rows."""
        chosen = held_out.take(slice(MONITORED_ROWS))
        n = len(chosen.X)

        def evaluate(net):
            device, _ = net_placement(net)
            y = None if chosen.y is None else torch.as_tensor(chosen.y, device=device)
            drawn = self._generate(net, n, y).double().cpu().numpy()
            if not np.isfinite(drawn).all():  # never an improvement
                return {"valid_mmd": math.nan}
            result = mmd(chosen.X, drawn, permutations=0, random_state=0)
            return {"valid_mmd": result.value}

        return evaluate

    # -- samples and scores ----------------------------------------------------

    def _generate(self, net, n, y):
        return net.generate(net.noise(n), y)

    def _decode(self, net, codes, y):
        return net.generate(codes, y)

    def _log_density(self, net, X, y):
        return net.discriminator(X, y)


def clipping(c) -> Callable:
    """A function for `nn.train(after_step=)` that clips the critic's weights."""
    return lambda net: clip_weights(net.discriminator, c)
