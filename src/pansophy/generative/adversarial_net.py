"""A generator and a discriminator trained against each other by one loop.

    generator       G: noise z (and a class y)  ->  a row x                        (1)
    discriminator   h = trunk(x),   f(x, y) = v' h + c + e_y' h                    (2)

The class enters the generator beside the noise and the discriminator by the inner
product of its vector e_y with the features h. Tables and points go through dense
layers, images through convolutions that halve (discriminator) and double (generator)
their sides; pixels are bounded by a hyperbolic tangent.

A step gives two named losses (`gan_objectives`, eq. 3): that of the discriminator, on a
batch and as many generated rows, and that of the generator as a function that
`nn.train` calls when the discriminator has stepped, so that the two alternate. With
`n_critic` = k the generator steps with every k-th step of the discriminator. Each name
moves only its own half: generated rows are detached for the discriminator, gradients of
the generator's loss are taken in its own parameters alone, and neither half keeps
running statistics that the other half's step would move. The rows of a step in which
both move are generated once.

With codes (InfoGAN) part of the noise is a code c and a head Q on the features guesses
it; both losses get  - weight * (H(c) + E log Q(c | G(z, c)))  (`mi_lower_bound`).

Shapes    X (n, d)   z (n, n_components)   y (n,) class numbers   f (n,)
Refs      [Goodfellow2014]; [Miyato2018b] (2); [Radford2016] convolutions; [Chen2016]
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from .. import nn
from ..distributions import mi_lower_bound
from .abstract_generator import batch_mean
from .critic_regularisers import (
    gradient_penalty,
    r1_penalty,
    refuse_batch_norm,
    spectrally_normalised,
)
from .gan_objectives import GAN_OBJECTIVES

SLOPE = 0.2  # of the discriminator's activations below 0
KEPT_STEPS = 8  # steps whose scores are kept for the history
NORMAL_ENTROPY = 0.5 * math.log(2 * math.pi * math.e)


class NoiseCodes(NamedTuple):
    """The part of the noise that is a code: a class and some numbers."""

    n_categories: int = 0
    n_continuous: int = 0

    @property
    def width(self) -> int:
        return self.n_categories + self.n_continuous

    @property
    def entropy(self) -> float:
        """H(c) in nats: a uniform class and independent standard Normals."""
        classes = math.log(self.n_categories) if self.n_categories else 0.0
        return classes + self.n_continuous * NORMAL_ENTROPY

    @property
    def n_outputs(self) -> int:
        """Columns of Q: scores of the classes, means and log variances."""
        return self.n_categories + 2 * self.n_continuous


# -- halves --------------------------------------------------------------------------


class DenseGenerator(torch.nn.Module):
    """Eq. (1) for rows of a table."""

    def __init__(self, n_inputs, hidden_layer_sizes, n_features, *, bounded=False):
        super().__init__()
        self.layers = nn.DenseLayers([n_inputs, *hidden_layer_sizes, n_features])
        self.bounded = bounded

    def forward(self, z: Tensor) -> Tensor:
        x = self.layers(z)
        return torch.tanh(x) if self.bounded else x

    def flops(self, n):
        return self.layers.flops(n)


class ConvGenerator(torch.nn.Module):
    """Eq. (1) for images: maps that double in size, from many channels to few."""

    def __init__(self, n_inputs, n_filters, image_shape):
        super().__init__()
        h, w, channels = image_shape
        factor = 2 ** len(n_filters)
        self.image_shape = (h, w, channels)
        self.start = (n_filters[-1], -(-h // factor), -(-w // factor))
        self.dense = torch.nn.Linear(n_inputs, math.prod(self.start))
        widths = [*reversed(n_filters), channels]
        self.convs = torch.nn.ModuleList(
            nn.ConvTranspose(a, b, 4, stride=2, padding=1)
            for a, b in zip(widths, widths[1:])
        )
        self.norms = torch.nn.ModuleList(nn.GroupNorm(a, 1) for a in widths[:-1])

    def forward(self, z: Tensor) -> Tensor:
        h, w, _ = self.image_shape
        x = self.dense(z).view(-1, *self.start)
        x = x.contiguous(memory_format=torch.channels_last)
        for norm, conv in zip(self.norms, self.convs):
            x = conv(torch.relu(norm(x)))
        x = torch.tanh(x[:, :, :h, :w])
        return x.permute(0, 2, 3, 1).flatten(1)  # channels last, as rows of pixels

    def flops(self, n):
        places = self.start[1] * self.start[2]
        work = 2.0 * self.dense.weight.numel()
        for conv in self.convs:  # every input value meets every weight of its channel
            work += 2.0 * places * conv.weight.numel()
            places *= 4
        return 3.0 * n * work


class Discriminator(torch.nn.Module):
    """Eq. (2): a trunk that gives features, a score, and a guess of the code."""

    def __init__(self, trunk, width, *, n_classes=0, n_codes=0, wrap=lambda layer: layer):
        super().__init__()
        self.trunk = trunk
        self.output = wrap(torch.nn.Linear(width, 1))
        self.n_classes = n_classes
        if n_classes:
            self.classes = wrap(torch.nn.Linear(n_classes, width, bias=False))
        if n_codes:
            self.codes = nn.DenseLayers([width, max(32, width // 2), n_codes])

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Scores f: (n,)."""
        return self.score(self.trunk(x), y)

    def score(self, h, y=None):
        f = self.output(h)[:, 0]
        if self.n_classes:
            one_hot = functional.one_hot(y, self.n_classes).to(h.dtype)
            f = f + (self.classes(one_hot) * h).sum(1)
        return f

    def flops(self, n):
        return self.trunk.flops(n)


class DenseTrunk(torch.nn.Module):
    """Features of rows of a table."""

    def __init__(self, n_features, hidden_layer_sizes, wrap):
        super().__init__()
        sizes = [n_features, *hidden_layer_sizes]
        made = nn.DenseLayers(sizes, activation="leaky")
        self.layers = torch.nn.ModuleList(wrap(layer) for layer in made.layers)
        self.work = sum(a * b for a, b in zip(sizes, sizes[1:]))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = functional.leaky_relu(layer(x), SLOPE)
        return x

    def flops(self, n):
        return 6.0 * n * self.work


class ConvTrunk(torch.nn.Module):
    """Features of images: maps that halve in size."""

    def __init__(self, image_shape, n_filters, wrap):
        super().__init__()
        h, w, channels = image_shape
        self.image_shape = (h, w, channels)
        self.layers = torch.nn.ModuleList()
        self.work = 0
        for filters in n_filters:
            layer = torch.nn.Conv2d(channels, filters, 3, stride=2, padding=1)
            self.layers.append(wrap(layer, (channels, h, w)))
            h, w = -(-h // 2), -(-w // 2)
            self.work += h * w * layer.weight.numel()
            channels = filters
        self.width = channels * h * w

    def forward(self, x: Tensor) -> Tensor:
        x = x.view(-1, *self.image_shape).permute(0, 3, 1, 2)
        for layer in self.layers:
            x = functional.leaky_relu(layer(x), SLOPE)
        return x.flatten(1)

    def flops(self, n):
        return 6.0 * n * self.work


def build_discriminator(
    n_features, *, hidden_layer_sizes=(), n_filters=(), image_shape=None, n_classes=0,
    n_codes=0, spectral=False,
) -> Discriminator:  # fmt: skip
    """A discriminator of rows, or of images if their shape is given."""

    def wrap(layer, shape=None):
        return spectrally_normalised(layer, shape) if spectral else layer

    if image_shape is None:
        trunk = DenseTrunk(n_features, hidden_layer_sizes, wrap)
        width = hidden_layer_sizes[-1] if hidden_layer_sizes else n_features
    else:
        trunk = ConvTrunk(image_shape, n_filters, wrap)
        width = trunk.width
    return Discriminator(
        trunk, width, n_classes=n_classes, n_codes=n_codes, wrap=wrap
    )


# -- the game ------------------------------------------------------------------------


class AdversarialNet(torch.nn.Module):
    """Both halves and their losses.

    Parameters
    ----------
    generator, discriminator : torch modules
        G of noise (with the one-hot class at its end) and f of rows and class numbers.
    n_components : int
        Numbers of noise, codes included.
    objective : str
        One of `GAN_OBJECTIVES`.
    penalty : {"gradient_penalty", "r1"} or None
        Added to the discriminator's loss, times `penalty_weight`.
    n_critic : int
        Steps of the discriminator for each one of the generator.
    codes : NoiseCodes
        The last numbers of the noise that the discriminator's head Q guesses.
    information_weight : float
        Weight of the bound on their mutual information.
    """

    steps: Tensor

    def __init__(
        self, generator, discriminator, *, n_components, n_classes=0,
        objective="non_saturating", penalty=None, penalty_weight=0.0, n_critic=1,
        codes=NoiseCodes(), information_weight=0.0,
    ):  # fmt: skip
        super().__init__()
        self.generator = generator
        self.discriminator = discriminator
        self.n_components = int(n_components)
        self.n_classes = int(n_classes)
        self.objective = objective
        self.penalty = penalty
        self.penalty_weight = float(penalty_weight)
        self.n_critic = int(n_critic)
        self.codes = codes
        self.information_weight = float(information_weight)
        self.recent: list = []  # (scores of real, of generated, bound) of last steps
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        if penalty is not None:
            refuse_batch_norm(discriminator)
        self.has_state = any(
            isinstance(m, nn.SpectralNorm) for m in discriminator.modules()
        )

    def groups(self):
        """Parameters by the name of the loss that moves them."""
        return {
            "discriminator": list(self.discriminator.parameters()),
            "generator": list(self.generator.parameters()),
        }

    def flops(self, n: int) -> float:
        """Operations of a step on n rows, for both halves."""
        return self.generator.flops(n) + 3 * self.discriminator.flops(n)

    # -- noise -----------------------------------------------------------------

    def noise(self, n: int) -> Tensor:
        """Noise (n, n_components): standard Normals, then the code."""
        like = next(self.generator.parameters())
        z = torch.randn(n, self.n_components, dtype=like.dtype, device=like.device)
        k = self.codes.n_categories
        if k:
            at = self.n_components - self.codes.width
            drawn = torch.randint(k, (n,), device=like.device)
            z[:, at : at + k] = functional.one_hot(drawn, k).to(z.dtype)
        return z

    def generate(self, z: Tensor, y: Tensor | None = None) -> Tensor:
        """Rows of noise, and of class numbers for a conditional net."""
        if self.n_classes:
            z = torch.cat([z, functional.one_hot(y, self.n_classes).to(z.dtype)], 1)
        return self.generator(z)

    def log_code_density(self, outputs: Tensor, z: Tensor) -> Tensor:
        """log Q(c | x) of each row, from the outputs of the head."""
        k, r = self.codes
        c = z[:, self.n_components - self.codes.width :]
        value = outputs.new_zeros(len(outputs))
        if k:
            scores = functional.log_softmax(outputs[:, :k], 1)
            value = value + (scores * c[:, :k]).sum(1)
        if r:
            mean, log_variance = outputs[:, k : k + r], outputs[:, k + r :]
            log_variance = log_variance.clamp(-8.0, 8.0)  # as exp(-log_variance) grows
            gap = (c[:, k:] - mean).square() * torch.exp(-log_variance)
            each = gap + log_variance + math.log(2 * math.pi)
            value = value - 0.5 * each.sum(1)
        return value

    def information(self, h: Tensor, z: Tensor) -> Tensor:
        """The lower bound of I(c; G(z, c)) from features of generated rows."""
        log_q = self.log_code_density(self.discriminator.codes(h), z)
        return mi_lower_bound(log_q, self.codes.entropy)

    # -- losses ----------------------------------------------------------------

    def losses(self, batch) -> dict:
        """Loss of the discriminator, and a function for that of the generator."""
        x, y = batch["X"], batch.get("y")
        z = self.noise(len(x))
        if self.training and self.n_critic > 1:
            self.steps.add_(1)
            if int(self.steps) % self.n_critic:
                with torch.no_grad():
                    fake = self.generate(z, y)
                return {"discriminator": self.discriminator_loss(batch, z, fake)}
        fake = self.generate(z, y)
        return {
            "discriminator": self.discriminator_loss(batch, z, fake.detach()),
            "generator": lambda: self.generator_loss(batch, z, fake),
        }

    def discriminator_loss(self, batch, z: Tensor, fake: Tensor) -> Tensor:
        """Mean loss of real and of generated rows, and the penalties."""
        x, y = batch["X"], batch.get("y")
        objective = GAN_OBJECTIVES[self.objective]
        h = self.discriminator.trunk(torch.cat([x, fake]))
        both = None if y is None else torch.cat([y, y])
        a, b = self.discriminator.score(h, both).split(len(x))
        value = batch_mean(objective.real(a), batch)
        value = value + generated_mean(objective.fake(b), batch)
        bound = None
        if self.codes.width:
            bound = self.information(h[len(x) :], z)
            value = value - self.information_weight * bound
        if self.training:
            kept = (a.detach(), b.detach(), None if bound is None else bound.detach())
            self.recent = [*self.recent[1 - KEPT_STEPS :], kept]
            if self.penalty is not None:  # a held-out loss is of the data alone
                value = value + self.penalty_weight * self.penalty_of(batch, fake)
        return value

    def penalty_of(self, batch, fake):
        """The mean penalty of a batch."""
        y = batch.get("y")
        critic = lambda u: self.discriminator(u, y)
        if self.penalty == "r1":
            return batch_mean(r1_penalty(critic, batch["X"]), batch)
        return batch_mean(gradient_penalty(critic, batch["X"], fake), batch)

    def generator_loss(self, batch, z: Tensor, fake: Tensor) -> Tensor:
        """Mean loss of generated rows under the present discriminator."""
        was_training = self.discriminator.training
        if self.has_state:  # this step must not move it
            self.discriminator.eval()
        h = self.discriminator.trunk(fake)
        b = self.discriminator.score(h, batch.get("y"))
        value = generated_mean(GAN_OBJECTIVES[self.objective].generator(b), batch)
        if self.codes.width:
            value = value - self.information_weight * self.information(h, z)
        if self.has_state:
            self.discriminator.train(was_training)
        return value

    def recent_metrics(self) -> dict[str, float]:
        """What the discriminator said in the last steps; forgotten when read."""
        if not self.recent:
            return {}
        a, b = (torch.cat([kept[i] for kept in self.recent]) for i in (0, 1))
        threshold = GAN_OBJECTIVES[self.objective].threshold
        if threshold is None:
            found = {"wasserstein": float(a.mean() - b.mean())}
        else:
            found = {
                "real_accuracy": float((a > threshold).double().mean()),
                "fake_accuracy": float((b <= threshold).double().mean()),
            }
        if self.codes.width:
            bounds = [float(kept[2]) for kept in self.recent]
            found["information"] = sum(bounds) / len(bounds)
        self.recent = []
        return found


def generated_mean(values: Tensor, batch) -> Tensor:
    """The mean over generated rows; those of labelled rows count as these do."""
    return batch_mean(values, batch) if "y" in batch else values.mean()
