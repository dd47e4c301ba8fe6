"""Diagnosis of a training run: dead and saturated units, gradients, rates.

`saturation_report` looks at one batch. For every activation layer it gives the share of
(row, unit) pairs whose slope |g'(z)| is below `flat` times the steepest slope of that
activation, and the units that are flat for every row (dead: no gradient reaches what is
before them). With it come the gradient norms of all parameters.

Saturation at the output is a matter of the loss as well: with a logistic output and
squares the gradient in z is (p - y) p (1 - p), which vanishes for confident wrong
answers, while cross-entropy leaves p - y. A logistic module that a squared loss reads
is an activation layer and is reported as saturated; a head's link is part of its loss
and is not.

`training_report` trains a copy of the net for some steps and tells, with numbers:

    dead units, saturated layers    as above, after the last step
    vanishing, exploding gradients  a parameter's gradient norm, relative to the largest
                                    of all parameters (below 1e-4), or not finite
    steps too large or too small    |update| / |weight| above 0.1 or below 1e-6
    untouched parameters            no gradient in any step

`learning_rate_range_test` raises the rate by equal factors from step to step and
records the loss: rates where it falls fastest are good, those beyond its minimum are
too large.

Refs      [Smith2017] range test; [Glorot2010] saturation
"""

import copy
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...core.drivers.schedules import geometric_curve
from ..layers.activations import Activation
from ..nets.mlp import MLP
from ..training.batches import Batches, batch_to_device
from ..training.optimisers import Adam, ParameterGroups, TorchOptimiser
from ..training.train import Training

FLAT_SLOPE = 0.01  # of the steepest
SATURATED_SHARE = 0.9  # of the pairs of row and unit, beyond which a layer is reported
DEAD_SHARE = 0.1  # of the units
VANISHING = 1e-4  # of the largest gradient norm per weight
LARGE_UPDATE, SMALL_UPDATE = 0.1, 1e-6

ELEMENTWISE = (
    torch.nn.ReLU, torch.nn.LeakyReLU, torch.nn.ELU, torch.nn.SELU, torch.nn.GELU,
    torch.nn.SiLU, torch.nn.Tanh, torch.nn.Sigmoid, torch.nn.Softplus,
    torch.nn.Hardtanh, torch.nn.ReLU6, torch.nn.Mish,
)  # fmt: skip
OURS = ("LeakyReLU", "ELU")


class LayerSaturation(NamedTuple):
    """Slopes of one activation layer on a batch."""

    name: str
    units: int
    saturated: float  # share of (row, unit) pairs with a flat slope
    dead: int  # units that are flat for every row
    mean_slope: float  # relative to the steepest


class SaturationReport(NamedTuple):
    """Result of `saturation_report`; prints as a table."""

    layers: list[LayerSaturation]
    gradient_norms: dict[str, float]  # by parameter
    loss: float

    @property
    def saturated_layers(self) -> list[str]:
        """Layers that are nearly all flat."""
        return [x.name for x in self.layers if x.saturated >= SATURATED_SHARE]

    @property
    def dead_units(self) -> dict[str, int]:
        """Layers with units that no row moves, and how many."""
        return {x.name: x.dead for x in self.layers if x.dead}

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient in all parameters."""
        return float(np.linalg.norm(list(self.gradient_norms.values())))

    def __str__(self):
        lines = [f"loss {self.loss:.6g}, gradient norm {self.gradient_norm:.3g}"]
        for x in self.layers:
            lines.append(
                f"{x.name}: {x.units} units, {x.dead} dead, {x.saturated:.0%} of the "
                f"slopes flat, mean slope {x.mean_slope:.3g}"
            )
        for name, norm in self.gradient_norms.items():
            lines.append(f"gradient of {name}: {norm:.3g}")
        return "\n".join(lines)


def saturation_report(net, batch, *, flat: float = FLAT_SLOPE) -> SaturationReport:
    """Slopes of the activations and gradient norms on one batch.

    Parameters
    ----------
    net : torch module with `losses`
        Activations are found in an `nn.MLP` and among the modules of any other net.
    batch : what `net.losses` takes; arrays are made tensors
    flat : float
        A slope below this share of the steepest is flat.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> coefs = [np.array([[1.0, -9.0]]), np.ones((2, 1))]
    >>> net = nn.MLP(coefs, [np.zeros(2), np.zeros(1)], head="identity")
    >>> report = nn.saturation_report(net, (np.ones((3, 1)), np.ones((3, 1))))
    >>> report.dead_units
    {'hidden layer 1': 1}
    """
    device = next(net.parameters()).device
    batch = batch_to_device(batch, device)
    training = net.training
    net.eval()
    seen: list[tuple[str, Any, Tensor]] = []
    handles = [
        part.register_forward_hook(_remember_input(seen, name))
        for name, part in net.named_modules()
        if isinstance(part, ELEMENTWISE) or _is_own_activation(part)
    ]
    try:
        with torch.enable_grad():
            losses = net.losses(batch)
            values = [v() if callable(v) else v for v in losses.values()]
            total: Any = sum(values)
            parameters = dict(net.named_parameters())
            parameters = {name: p for name, p in parameters.items() if p.requires_grad}
            grads = torch.autograd.grad(
                total, list(parameters.values()), allow_unused=True
            )
    finally:
        for handle in handles:
            handle.remove()
        net.train(training)
    if isinstance(net, MLP):
        seen = _mlp_sums(net, batch[0])
    norms = {
        name: 0.0 if g is None else float(g.norm())
        for name, g in zip(parameters, grads)
    }
    layers = [_layer_saturation(name, g, Z, flat) for name, g, Z in seen]
    return SaturationReport(layers, norms, float(total.detach()))


def _is_own_activation(part) -> bool:
    """Whether a module is an elementwise activation of this package."""
    kind = type(part)
    return kind.__module__.startswith("pansophy.nn") and kind.__name__ in OURS


def _remember_input(seen, name):
    """A hook that keeps what goes into an activation."""

    def hook(part, inputs, output):
        seen.append((name, part, inputs[0].detach()))

    return hook


@torch.no_grad()
def _mlp_sums(net: MLP, X) -> list[tuple[str, Activation, Tensor]]:
    """The sums that go into each hidden layer of a perceptron."""
    results = []
    H = X
    for i, (W, b) in enumerate(net.layers[:-1], 1):
        Z = torch.addmm(b, H, W)
        results.append((f"hidden layer {i}", net.activation, Z))
        H = net.activation.value(Z)
    return results


def _layer_saturation(name, activation, Z: Tensor, flat: float) -> LayerSaturation:
    """Shares of flat slopes of an activation at its sums (rows, units, ...)."""
    if Z.ndim > 2:  # channels are units, places are rows
        Z = Z.flatten(2).movedim(1, -1).flatten(0, 1)
    else:
        Z = Z.reshape(len(Z), -1)
    slope = _activation_slopes(activation, Z)
    sums_grid = torch.linspace(-4, 4, 161, dtype=Z.dtype, device=Z.device)
    steepest = _activation_slopes(activation, sums_grid).max()
    slope = slope / steepest
    is_flat = slope < flat
    return LayerSaturation(
        name,
        Z.shape[1],
        float(is_flat.double().mean()),
        int(is_flat.all(0).sum()),
        float(slope.double().mean()),
    )


def _activation_slopes(activation, Z: Tensor) -> Tensor:
    """|g'(z)| of an `Activation` or an elementwise module."""
    if isinstance(activation, Activation):
        return activation.slope(Z).abs()
    with torch.enable_grad():
        Z = Z.detach().clone().requires_grad_()
        (slope,) = torch.autograd.grad(activation(Z).sum(), Z)
    return slope.abs()


class Problem(Enum):
    """Kinds of problems that `training_report` looks for."""

    DEAD_UNITS = "dead units"
    SATURATED = "saturated layer"
    VANISHING = "vanishing gradient"
    NOT_FINITE = "gradient or loss not finite"
    LARGE_STEPS = "steps too large"
    SMALL_STEPS = "steps too small"
    UNTOUCHED = "untouched parameter"


ADVICE = {
    Problem.DEAD_UNITS: "lower the rate, or take a leaky activation",
    Problem.SATURATED: "scale the inputs, draw smaller initial weights, or pair the "
    "output with its own loss",
    Problem.VANISHING: "take relu-like activations, normalisation or residual links",
    Problem.NOT_FINITE: "lower the rate, clip gradients, scale the inputs",
    Problem.LARGE_STEPS: "lower the rate",
    Problem.SMALL_STEPS: "raise the rate",
    Problem.UNTOUCHED: "no loss depends on it: is it used, not detached, and not "
    "before units that are all dead?",
}


class NetFinding(NamedTuple):
    """One problem, where it is, and the number that shows it."""

    problem: Problem
    where: str
    value: float


class TrainingReport(NamedTuple):
    """Result of `training_report`; prints its findings with advice."""

    findings: list[NetFinding]
    loss: np.ndarray  # of each step
    gradient_norms: dict[str, np.ndarray]  # by parameter: root mean square, each step
    update_ratios: dict[str, np.ndarray]  # by parameter: |update| / |weight|
    saturation: SaturationReport

    def found(self, problem: Problem | str) -> list[str]:
        """Places where a problem was found."""
        return [f.where for f in self.findings if f.problem is Problem(problem)]

    def __str__(self):
        head = f"{len(self.loss)} steps, loss {self.loss[0]:.4g} to {self.loss[-1]:.4g}"
        if not self.findings:
            return f"{head}: nothing conspicuous."
        lines = [f"{head}:"]
        for f in self.findings:
            text = f"{f.problem.value}: {f.where} ({f.value:.3g}); {ADVICE[f.problem]}"
            lines.append(text)
        return "\n- ".join(lines)


def training_report(net, data, *, steps: int = 30, **options) -> TrainingReport:
    """Train a copy of a net for some steps and report what goes wrong.

    Parameters
    ----------
    net, data : as for `nn.train`
    steps : int
    **options : those of `nn.train`, as in the run to be examined

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> net = nn.MLP(*nn.glorot_uniform([4, 8, 1], rng), head="identity")
    >>> report = nn.training_report(net, (X, X[:, :1]), seed=0, device="cpu", steps=5)
    >>> report.findings
    []
    """
    net = copy.deepcopy(net)
    norms: dict[str, list] = {name: [] for name, _ in net.named_parameters()}
    ratios: dict[str, list] = {name: [] for name in norms}
    old_values = {name: p.detach().clone() for name, p in net.named_parameters()}

    @torch.no_grad()
    def watch(net):
        for name, p in net.named_parameters():
            g = p.grad
            norms[name].append(0.0 if g is None else _gradient_size(g))
            moved = p.detach() - old_values[name]
            size = float(old_values[name].norm())
            ratios[name].append(float(moved.norm()) / size if size > 0 else np.nan)
            old_values[name].copy_(p.detach())

    settings: dict[str, Any] = {
        "compile": "none",
        **options,
        "epochs": steps,
        "steps_per_epoch": 1,
    }
    result = Training(net, data, after_step=watch, **settings).run()
    norm_curves = {name: np.asarray(v) for name, v in norms.items()}
    ratio_curves = {name: np.asarray(v) for name, v in ratios.items()}
    trainable = [name for name, p in net.named_parameters() if p.requires_grad]
    saturation = saturation_report(net, _first_batch(data, options, net))
    findings = _judge_gradients(trainable, norm_curves, ratio_curves)
    if result.reason == "diverged":
        findings.insert(0, NetFinding(Problem.NOT_FINITE, "loss", float(result.n_iter)))
    for layer in saturation.layers:
        if layer.dead > DEAD_SHARE * layer.units:
            findings.append(NetFinding(Problem.DEAD_UNITS, layer.name, layer.dead))
        elif layer.saturated >= SATURATED_SHARE:
            findings.append(NetFinding(Problem.SATURATED, layer.name, layer.saturated))
    loss = np.asarray(result.history.get("loss", [np.nan]))
    return TrainingReport(findings, loss, norm_curves, ratio_curves, saturation)


def _gradient_size(g: Tensor) -> float:
    """Size of a gradient whatever the number of its entries."""
    return float(g.norm()) / g.numel() ** 0.5


def _first_batch(data, options, net):
    """One batch of the data, for a look at the activations."""
    device = next(net.parameters()).device
    batches = Batches(data, options.get("batch_size", 128), None, device)
    return next(batches.one_pass())[0]


def _judge_gradients(trainable, norms, ratios) -> list[NetFinding]:
    """Findings about gradients and updates of the trainable parameters."""
    findings = []
    typical = {name: float(np.median(norms[name])) for name in trainable}
    finite = [v for v in typical.values() if np.isfinite(v)]
    largest = max(finite, default=0.0)
    for name in trainable:
        curve, value = norms[name], typical[name]
        known = ratios[name][np.isfinite(ratios[name])]
        ratio = float(np.median(known)) if len(known) else np.nan
        if not np.isfinite(curve).all():
            findings.append(NetFinding(Problem.NOT_FINITE, name, float(len(curve))))
        elif not curve.any():
            findings.append(NetFinding(Problem.UNTOUCHED, name, 0.0))
        elif value < VANISHING * largest:
            findings.append(NetFinding(Problem.VANISHING, name, value / largest))
        elif ratio > LARGE_UPDATE:
            findings.append(NetFinding(Problem.LARGE_STEPS, name, ratio))
        elif ratio < SMALL_UPDATE:
            findings.append(NetFinding(Problem.SMALL_STEPS, name, ratio))
    return findings


class RateRange(NamedTuple):
    """Result of `learning_rate_range_test`."""

    rates: np.ndarray
    losses: np.ndarray  # of each step, not smoothed
    smoothed: np.ndarray
    steepest: float  # rate at which the loss fell fastest
    suggestion: float  # a tenth of the rate with the lowest loss, at most `steepest`
    diverged: bool

    def __str__(self):
        end = "diverged" if self.diverged else "ended"
        return (
            f"rates {self.rates[0]:.1e} to {self.rates[-1]:.1e} ({end}): loss falls "
            f"fastest at {self.steepest:.1e}; try {self.suggestion:.1e}"
        )


def learning_rate_range_test(
    net, data, *, low=1e-7, high=10.0, steps=100, smoothing=0.9, **options
) -> RateRange:
    """Losses of a copy of the net while the rate grows by equal factors.

    Parameters
    ----------
    net, data : as for `nn.train`
    low, high : float
        First and last rate.
    steps : int
    smoothing : float
        Weight of the past in the running mean of the loss.
    **options : those of `nn.train`; the rate of its optimiser is replaced

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> net = nn.MLP(*nn.glorot_uniform([4, 8, 1], rng), head="identity")
    >>> found = nn.learning_rate_range_test(net, (X, X[:, :1]), seed=0, device="cpu")
    >>> 1e-4 < found.suggestion < 1
    True
    """
    rule = options.pop("optimiser", Adam())
    if isinstance(rule, (dict, TorchOptimiser, ParameterGroups)):
        raise ValueError(
            "learning_rate_range_test needs one optimiser with one rate, such as "
            "nn.Adam()."
        )
    if not 0 < low < high:
        raise ValueError(f"low must be above 0 and below high, got {low} and {high}.")
    net = copy.deepcopy(net)
    rate = lambda t: geometric_curve(low, high, min(t / max(steps - 1, 1), 1.0))
    settings: dict[str, Any] = {
        "compile": "none",
        **options,
        "epochs": steps,
        "steps_per_epoch": 1,
    }
    result = Training(
        net, data, optimiser=rule._replace(lr=1.0), schedule=lambda t: rate(t.step),
        **settings,
    ).run()  # fmt: skip
    losses = np.asarray(result.history.get("loss", [])).astype(float)
    if len(losses) < 3:
        raise ValueError(f"the loss was not finite from the rate {low} on.")
    rates = np.array([rate(i) for i in range(len(losses))])
    smoothed = np.empty_like(losses)
    mean = 0.0
    for i, value in enumerate(losses):
        mean = smoothing * mean + (1 - smoothing) * value
        smoothed[i] = mean / (1 - smoothing ** (i + 1))
    best = int(smoothed.argmin())
    # the running mean of the first few steps is the noise of single batches
    first = min(round(1 / (1 - smoothing)), max(best - 1, 0))
    falling = slice(first, best + 1)
    slope = np.gradient(smoothed[falling], np.log(rates[falling])) if best else [0]
    steepest = float(rates[first + int(np.argmin(slope))])
    suggestion = min(float(rates[best]) / 10, steepest) if best else low
    diverged = result.reason == "diverged"
    return RateRange(rates, losses, smoothed, steepest, suggestion, diverged)
