"""The losses of a plain torch module: its output compared with a target by a loss.

A batch is (inputs..., target); of a dict the target is the entry called y, target,
targets, label or labels, and the others are keyword arguments of the module. A batch
of one part is its own target, as an autoencoder has it. The module's output F and the
target Y go to the loss as loss(F, Y), which is torch's order.

Rule of casting, so that rows may have any dtype
- Inputs of floating-point numbers take the dtype of the module's parameters. Whole
  numbers and truth values do so too, unless the module has an embedding, whose inputs
  they may be.
- A target of floating-point numbers takes the dtype of the output. A target of whole
  numbers does so if it has as many entries as the output (numbers, or yes/no columns);
  otherwise it has the numbers of classes and becomes int64.
- A target (n,) of an output (n, 1) becomes (n, 1), and the other way round. Without
  that, (n,) - (n, 1) would silently be an n x n matrix.
"""

import copy
import difflib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ... import losses

TARGET_NAMES = ("y", "target", "targets", "label", "labels")
TORCH_LOSSES = {
    "cross_entropy": torch.nn.CrossEntropyLoss,
    "binary_cross_entropy": torch.nn.BCEWithLogitsLoss,
    "negative_log_likelihood": torch.nn.NLLLoss,
    "multi_margin": torch.nn.MultiMarginLoss,
    "squared_error": torch.nn.MSELoss,
    "absolute_error": torch.nn.L1Loss,
    "huber": torch.nn.HuberLoss,
    "poisson": torch.nn.PoissonNLLLoss,  # of log rates
}
OTHER_NAMES = {
    "ce": "cross_entropy",
    "crossentropy": "cross_entropy",
    "log_loss": "cross_entropy",
    "bce": "binary_cross_entropy",
    "bce_with_logits": "binary_cross_entropy",
    "nll": "negative_log_likelihood",
    "mse": "squared_error",
    "l2": "squared_error",
    "mae": "absolute_error",
    "l1": "absolute_error",
}


def find_loss(loss) -> Callable[[Any, Any], Tensor]:
    """A function of (output, target) from a name, a torch loss, ours, or a function.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn.training.supervised_losses import find_loss
    >>> float(find_loss("mse")(torch.zeros(2), torch.ones(2)))
    1.0
    """
    if isinstance(loss, str):
        name = OTHER_NAMES.get(loss.lower(), loss.lower())
        if name in TORCH_LOSSES:
            return TORCH_LOSSES[name]()
        own_names = {loss_class.name for loss_class in losses.LOSSES}
        if name in own_names:
            return PointwiseLoss(losses.get_loss(name))
        known = sorted({*TORCH_LOSSES, *own_names})
        near = difflib.get_close_matches(name, [*known, *OTHER_NAMES], 1)
        advice = f"Did you mean {near[0]!r}?" if near else f"There are {known}."
        raise ValueError(f"no loss is called {loss!r}. {advice}")
    if isinstance(loss, losses.Loss):
        return PointwiseLoss(loss)
    if isinstance(loss, type) and issubclass(loss, torch.nn.Module):
        return loss()
    if callable(loss):
        return loss
    raise TypeError(
        "loss must be a name, a torch loss, a pansophy.losses.Loss or a function of "
        f"(output, target), got {loss!r}."
    )


class PointwiseLoss:
    """A `pansophy.losses.Loss` as a function of (output, target): a value per row."""

    def __init__(self, loss):
        self.loss = loss

    def __call__(self, output, target):
        if output.ndim == 2 and output.shape[1] == 1:
            output = output[:, 0]
        if target.ndim == 2 and target.shape[1] == 1:
            target = target[:, 0]
        return self.loss.value(target, output)


def _loss_per_row(loss):
    """The loss with a value for each row where torch can give it, for weights."""
    if isinstance(loss, torch.nn.Module) and hasattr(loss, "reduction"):
        loss = copy.copy(loss)
        loss.reduction = "none"
    return loss


def inputs_and_target(batch) -> tuple[tuple, dict, Any]:
    """Positional inputs, keyword inputs and the target of a batch."""
    if isinstance(batch, dict):
        name = next((n for n in TARGET_NAMES if n in batch), None)
        if name is None:
            raise ValueError(
                f"a batch has {', '.join(map(str, batch))}, but no target: one of "
                f"{', '.join(TARGET_NAMES)}."
            )
        rest = {key: part for key, part in batch.items() if key != name}
        return (), rest, batch[name]
    if not isinstance(batch, (tuple, list)):
        return (batch,), {}, batch
    if len(batch) == 1:
        return (batch[0],), {}, batch[0]
    return tuple(batch[:-1]), {}, batch[-1]


class SupervisedLosses:
    """`losses(batch)` of a plain module, by the rules of the module text.

    Parameters
    ----------
    net : torch.nn.Module
    loss : what `find_loss` takes
    metrics : dict of functions of (output, target)
        Numbers to report; their means over rows are kept until `metric_means`.
    weighted : bool
        Whether the last part of a batch holds weights of its rows.
    """

    def __init__(self, net, loss, metrics=None, weighted=False):
        self.net = net
        self.loss = find_loss(loss)
        self.metrics = dict(metrics or {})
        self.weighted = weighted
        if weighted:
            self.loss = _loss_per_row(self.loss)
        self.sums: dict[str, list] = {}
        dtypes = [p.dtype for p in net.parameters() if p.is_floating_point()]
        self.dtype = dtypes[0] if dtypes else None
        self.takes_codes = any(
            isinstance(m, (torch.nn.Embedding, torch.nn.EmbeddingBag))
            for m in net.modules()
        )

    def to(self, device):
        """Move what the loss holds, such as weights of classes."""
        if isinstance(self.loss, torch.nn.Module):
            self.loss = self.loss.to(device)
        return self

    def __call__(self, batch) -> dict[str, Tensor]:
        weight = None
        if self.weighted:
            *batch, weight = batch
        inputs, named, target = inputs_and_target(batch)
        output = self.net(
            *map(self.cast_input, inputs),
            **{key: self.cast_input(part) for key, part in named.items()},
        )
        target = cast_target(target, output)
        value = self.loss(output, target)
        if weight is not None:
            value = _weighted_mean(value, weight)
        self.measure(output, target)
        return {"loss": value if value.ndim == 0 else value.mean()}

    def cast_input(self, part):
        """An input in the dtype of the module, by the rule of the module text."""
        if not isinstance(part, Tensor) or self.dtype is None:
            return part
        if part.is_floating_point() or not self.takes_codes:
            return part if part.is_complex() else part.to(self.dtype)
        return part

    @torch.no_grad()
    def measure(self, output, target):
        """Add the metrics of a batch to their sums."""
        for name, metric in self.metrics.items():
            answer = output.detach() if isinstance(output, Tensor) else output
            total = self.sums.setdefault(name, [0.0, 0])
            total[0] = total[0] + torch.as_tensor(metric(answer, target)) * len(target)
            total[1] += len(target)

    def metric_means(self, prefix="") -> dict[str, float]:
        """The means since the last call."""
        means = {f"{prefix}{n}": float(s) / k for n, (s, k) in self.sums.items() if k}
        self.sums = {}
        return means


def cast_target(target, output):
    """The target in the dtype and shape that the output asks for; see module text."""
    if not isinstance(target, Tensor) or not isinstance(output, Tensor):
        return target
    as_numbers = target.is_floating_point() or target.numel() == output.numel()
    if not as_numbers:
        return target.long()
    if output.is_floating_point() and not target.is_complex():
        target = target.to(output.dtype)
    if target.numel() == output.numel() and abs(target.ndim - output.ndim) == 1:
        target = target.reshape(output.shape)
    return target


def _weighted_mean(value, weight):
    """The weighted mean of a loss per row."""
    if value.ndim == 0:
        raise ValueError(
            "sample_weight needs a loss with a value for each row, but the loss gives "
            "one number for a batch."
        )
    value = value.reshape(len(value), -1).mean(dim=1)
    return (value * weight.to(value.dtype)).sum() / weight.sum()
