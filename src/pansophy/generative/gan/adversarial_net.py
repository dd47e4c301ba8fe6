"""A generator and a discriminator trained against each other by one loop.

    generator       G: noise z (and a class y)  ->  a row x                        (1)
    discriminator   h = trunk(x),   f(x, y) = v' h + c + e_y' h                    (2)

The class enters the generator beside the noise and the discriminator by the inner
product of its vector e_y with the features h. Tables and points go through dense
layers, images through the convolutions of `conv_autoencoder`, which halve
(discriminator) and double (generator) their sides; pixels are bounded by a hyperbolic
tangent.

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
Refs      [Goodfellow2014]; [Miyato2018Projection] (2); [Radford2016] convolutions;
          [Chen2016InfoGAN] codes
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from ... import nn
from ...distributions import mi_lower_bound
from ...nn.layers.activations import LEAK
from ..abstract_generator import batch_mean
from ..autoencoders.conv_coders import ConvDecoder, ConvEncoder, convolution_products
from .critic_regularisers import gradient_penalty, r1_penalty, refuse_batch_norm
from .gan_objectives import GAN_OBJECTIVES

DENSE_FEATURES = 64  # features h of images
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


class BoundedImages(torch.nn.Module):
    """A decoder whose values are bounded to [-1, 1]."""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, z: Tensor) -> Tensor:
        return torch.tanh(self.decoder(z))


class Discriminator(torch.nn.Module):
    """Eq. (2): a trunk that gives features, a score, and a guess of the code."""

    def __init__(self, trunk, width, *, n_classes=0, n_codes=0):
        super().__init__()
        self.trunk = trunk
        self.output = torch.nn.Linear(width, 1)
        self.n_classes = int(n_classes)
        if n_classes:
            self.classes = torch.nn.Linear(n_classes, width, bias=False)
        if n_codes:
            self.codes = nn.DenseLayers([width, max(32, width // 2), n_codes])

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Scores f: (n,)."""
        return self.score(self.features(x), y)

    def features(self, x: Tensor) -> Tensor:
        """h of eq. (2)."""
        return x if self.trunk is None else functional.leaky_relu(self.trunk(x), LEAK)

    def score(self, h: Tensor, y: Tensor | None = None) -> Tensor:
        """f of features and class numbers."""
        f = self.output(h)[:, 0]
        if self.n_classes:
            one_hot = functional.one_hot(y, self.n_classes).to(h.dtype)
            f = f + (self.classes(one_hot) * h).sum(1)
        return f


class AdversarialShape(NamedTuple):
    """Sizes of both nets; `image_shape` (h, w, channels) for convolutions."""

    n_features: int
    n_components: int
    hidden_layer_sizes: tuple[int, ...] = (128, 128)
    n_filters: tuple[int, ...] = ()
    image_shape: tuple[int, int, int] | None = None
    n_classes: int = 0
    n_codes: int = 0  # outputs of the head Q


def build_halves(shape: AdversarialShape, *, spectral=False):
    """A generator and a discriminator; with `spectral` all its layers have norm 1."""
    d = shape.n_features
    inputs = shape.n_components + shape.n_classes
    if shape.image_shape is None:
        hidden = shape.hidden_layer_sizes
        generator = nn.DenseLayers([inputs, *hidden, d])
        width = hidden[-1] if hidden else d  # without layers the critic is linear
        trunk = nn.DenseLayers([d, *hidden], activation="leaky") if hidden else None
    else:
        width = DENSE_FEATURES
        trunk = ConvEncoder(shape.image_shape, shape.n_filters, 3, "leaky", width)
        mirrored = ConvEncoder(shape.image_shape, shape.n_filters, 4, "relu", 1)
        generator = BoundedImages(ConvDecoder(mirrored, inputs))
    discriminator = Discriminator(
        trunk, width, n_classes=shape.n_classes, n_codes=shape.n_codes
    )
    if spectral:
        _normalise_layers(discriminator)
    return generator, discriminator


def _normalise_layers(net: torch.nn.Module) -> None:
    """Wrap every linear layer and convolution inside a net by `nn.SpectralNorm`."""
    for module in list(net.modules()):
        sizes = getattr(module, "sizes", ())
        for name, layer in list(module.named_children()):
            if isinstance(layer, torch.nn.Linear):
                setattr(module, name, nn.SpectralNorm(layer))
            elif isinstance(layer, torch.nn.ModuleList):
                for i, part in enumerate(layer):
                    if isinstance(part, torch.nn.Linear):
                        layer[i] = nn.SpectralNorm(part)
                    elif isinstance(part, nn.Conv):
                        inputs = (part.in_channels, *sizes[i])
                        layer[i] = nn.SpectralNorm(part, input_shape=inputs)


def _operations_per_row(net: torch.nn.Module) -> float:
    """Multiplications and additions of a pass of one row through a half."""
    work = 0.0
    for module in net.modules():
        if isinstance(module, torch.nn.Linear):
            work += 2.0 * module.weight.numel()
        elif isinstance(module, (ConvEncoder, ConvDecoder)):
            work += 2.0 * convolution_products(module)
    return work


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
    penalty : {"gradient_penalty", "one_sided", "r1"} or None
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
        self.row_operations = _operations_per_row(generator)
        self.row_operations += 3 * _operations_per_row(discriminator)
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
        return 3.0 * n * self.row_operations

    # -- noise -----------------------------------------------------------------

    def noise(self, n: int) -> Tensor:
        """Noise (n, n_components): standard Normals, then the code."""
        like = next(self.generator.parameters())
        z = torch.randn(n, self.n_components, dtype=like.dtype, device=like.device)
        k = self.codes.n_categories
        if k:
            offset = self.n_components - self.codes.width
            drawn = torch.randint(k, (n,), device=like.device)
            z[:, offset : offset + k] = functional.one_hot(drawn, k).to(z.dtype)
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
            energy = gap + log_variance + math.log(2 * math.pi)
            value = value - 0.5 * energy.sum(1)
        return value

    def information(self, h: Tensor, z: Tensor) -> Tensor:
        """The lower bound of I(c; G(z, c)) from features of generated rows."""
        log_q = self.log_code_density(self.discriminator.codes(h), z)
        return mi_lower_bound(log_q, self.codes.entropy)

    # -- losses ----------------------------------------------------------------

    def losses(self, batch) -> dict:
        """Loss of the discriminator, and a function for that of the generator."""
        x = batch["X"]
        y = batch.get("y")
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
        x = batch["X"]
        y = batch.get("y")
        objective = GAN_OBJECTIVES[self.objective]
        h = self.discriminator.features(torch.cat([x, fake]))
        labels = None if y is None else torch.cat([y, y])
        a, b = self.discriminator.score(h, labels).split(len(x))
        value = batch_mean(objective.real(a), batch)
        value = value + _generated_mean(objective.fake(b), batch)
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
        one_sided = self.penalty == "one_sided"
        value = gradient_penalty(critic, batch["X"], fake, one_sided=one_sided)
        return batch_mean(value, batch)

    def generator_loss(self, batch, z: Tensor, fake: Tensor) -> Tensor:
        """Mean loss of generated rows under the present discriminator."""
        was_training = self.discriminator.training
        if self.has_state:  # this step must not move it
            self.discriminator.eval()
        h = self.discriminator.features(fake)
        b = self.discriminator.score(h, batch.get("y"))
        value = _generated_mean(GAN_OBJECTIVES[self.objective].generator(b), batch)
        if self.codes.width:
            value = value - self.information_weight * self.information(h, z)
        if self.has_state:
            self.discriminator.train(was_training)
        return value

    def recent_metrics(self) -> dict[str, float]:
        """Metrics of the discriminator over the last steps; cleared when read."""
        if not self.recent:
            return {}
        a, b = (torch.cat([kept[i] for kept in self.recent]) for i in (0, 1))
        threshold = GAN_OBJECTIVES[self.objective].threshold
        if threshold is None:
            result = {"wasserstein": float(a.mean() - b.mean())}
        else:
            result = {
                "real_accuracy": float((a > threshold).double().mean()),
                "fake_accuracy": float((b <= threshold).double().mean()),
            }
        if self.codes.width:
            bounds = [float(kept[2]) for kept in self.recent]
            result["information"] = sum(bounds) / len(bounds)
        self.recent = []
        return result


def _generated_mean(values: Tensor, batch) -> Tensor:
    """The mean over generated rows; those of labelled rows count as these do."""
    return batch_mean(values, batch) if "y" in batch else values.mean()
