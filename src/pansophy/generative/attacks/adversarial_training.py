"""Adversarial training: a net is trained on the rows that fool it most.

    min_w  E max_{|d| <= e} l(y, F(x + d; w))                                      (1)

In every step the inner maximum is approached by a few steps of projected gradient
ascent (`adversarial_attacks`) against the net as it stands, in evaluation mode, and the
loss of the changed rows is what the net learns from.

Cost      n_steps + 1 times that of plain training
Refs      [Madry2018]
"""

import copy
import warnings
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ... import nn
from ...base import InterruptedFitWarning
from ...core.arrays.weighted import check_sample_weight
from ...core.random import make_rng
from ...nn.nets.mlp import fitted_weights
from ...nn.training.abstract_training import detached_net
from ...params import check_count
from .adversarial_attacks import (
    STEP_SHARE,
    Norm,
    ascent_step,
    check_norm,
    inside_ball,
    random_start,
    wrong_log_odds,
)

BATCH_ROWS = 64


class AdversarialLosses(torch.nn.Module):
    """A net whose batches are attacked before it sees them, eq. (1).

    `reach` is the budget of every value in the units of the net's inputs, `low` and
    `high` their bounds. In the norm "2" changes are measured in units of `reach`.
    """

    def __init__(
        self, net, reach: Tensor, norm: Norm, n_steps, limits, clean_share, n_others=0
    ):
        super().__init__()
        self.net = net
        self.n_others = int(n_others)  # inputs after the first, which are not changed
        self.norm: Norm = norm
        self.n_steps = int(n_steps)
        self.clean_share = float(clean_share)
        self.register_buffer("reach", reach)
        low, high = limits
        self.register_buffer("low", low)
        self.register_buffer("high", high)

    def head_name(self) -> str:
        head = self.net.head
        return head if isinstance(head, str) else head.name

    def attacked(self, x: Tensor, others, Y: Tensor) -> Tensor:
        """Rows that fool the net as it stands."""
        was_training = self.net.training
        self.net.eval()
        # in units of reach, so that the budget is 1 for every value
        d = random_start(x, 1.0, self.norm)
        size = STEP_SHARE / self.n_steps if self.n_steps > 1 else 1.0
        for _ in range(self.n_steps):
            with torch.enable_grad():
                d = d.detach().requires_grad_()
                place = torch.clamp(x + d * self.reach, self.low, self.high)
                m = wrong_log_odds(self.net(place, *others), Y, self.head_name())
                (g,) = torch.autograd.grad(m.sum(), d)
            d = d.detach() + ascent_step(g, size, self.norm)
            d = inside_ball(d, 1.0, self.norm)
        self.net.train(was_training)
        return torch.clamp(x + d * self.reach, self.low, self.high)

    def losses(self, batch) -> dict[str, Tensor]:
        x, *rest = batch
        other_inputs, Y = rest[: self.n_others], rest[self.n_others]
        (loss,) = self.net.losses((self.attacked(x, other_inputs, Y), *rest)).values()
        if self.clean_share:
            (clean,) = self.net.losses(batch).values()
            loss = (1 - self.clean_share) * loss + self.clean_share * clean
        return {"loss": loss}


def adversarial_training(
    model, X, y, budget, *, norm: Norm = "inf", bounds=None, sample_weight=None,
    n_steps=5, clean_share=0.0, n_epochs=20, learning_rate=1e-3, random_state=0,
):  # fmt: skip
    """A copy of a fitted net that is trained further on attacked rows.

    Parameters
    ----------
    model : fitted MLPClassifier, MLPRegressor, ConvClassifier, or another net of ours
        Not changed.
    X, y, sample_weight : rows to train on
    budget : float
        e of eq. (1), in the units of X.
    norm : {"inf", "2"}, default="inf"
    bounds : (low, high), optional
        Range of values that rows may have.
    n_steps : int, default=5
        Steps of the attack; 1 is FGSM from a random start.
    clean_share : float, default=0
        Share of the loss that is of the rows as they are.
    n_epochs, learning_rate
        Of the training, by Adam with a rate that falls to 0, on batches of 64 rows.
    random_state : seed

    Returns
    -------
    fitted estimator of the same kind, with `history_` of this training

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import adversarial_training, robustness
    >>> from pansophy.neural_network import TabularResNetClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 2
    >>> X = np.c_[2 * y - 1 + 0.3 * rng.normal(size=300), 0.1 * (2 * y - 1)]
    >>> plain = TabularResNetClassifier(
    ...     n_blocks=1, hidden_size=16, n_epochs=10, random_state=0, device="cpu"
    ... )
    >>> firm = adversarial_training(plain.fit(X, y), X, y, 0.3, n_epochs=10)
    >>> before, after = (robustness(m, X, y, [0.3]).score for m in (plain, firm))
    >>> after > before
    True
    """
    check_is_fitted(model)
    if not 0 <= clean_share <= 1:
        raise ValueError(f"clean_share must be from 0 to 1, got {clean_share!r}.")
    norm = check_norm(norm)
    n_steps = check_count("n_steps", n_steps)
    epochs = check_count("n_epochs", n_epochs)
    rng = make_rng(random_state)
    hardened = copy.copy(model)
    hardened.__dict__ = dict(model.__dict__)
    nets, arrays, slope, offset = _training_problem(model, X, y)
    n_others = len(arrays) - 2
    w = check_sample_weight(sample_weight, len(arrays[0]))
    if w is not None:
        arrays = (*arrays, w.astype(arrays[0].dtype))
    like = next(nets[0].parameters())
    reach = torch.as_tensor(np.abs(float(budget) * slope)).to(like.dtype)
    limits = _input_limits(bounds, slope, offset, like.dtype)
    steps = epochs * -(-len(arrays[0]) // BATCH_ROWS)
    results = []
    for net in nets:
        attacked = AdversarialLosses(
            net, reach, norm, n_steps, limits, clean_share, n_others
        )
        results.append(
            nn.train(
                attacked,
                arrays,
                epochs=epochs,
                batch_size=min(BATCH_ROWS, len(arrays[0])),
                optimiser=nn.Adam(learning_rate),
                schedule=nn.schedules.warmup_cosine(steps // 10),
                device="cpu",
                seed=rng,
            )
        )
        if results[-1].interrupted:  # nets that were not attacked yet are left out
            _warn_of_interruption(results)
            break
    trained = [detached_net(r.state.net.net) for r in results]
    if hasattr(model, "nets_"):
        hardened.nets_ = trained
    else:
        for name, value in fitted_weights(trained[0]).items():
            setattr(hardened, name, value)
    hardened.history_ = results[-1].history
    hardened.n_iter_ = results[-1].n_iter
    hardened.interrupted_ = results[-1].interrupted
    return hardened


def _warn_of_interruption(results) -> None:
    """Tell how far the training came that was interrupted."""
    *finished, last = results
    nets = f" of net {len(results)}" if finished else ""
    warnings.warn(
        f"adversarial_training was interrupted after {last.n_iter} epochs{nets}; the "
        "model is usable as it stands.",
        InterruptedFitWarning,
        stacklevel=3,
    )


def _training_problem(model, X, y) -> tuple[list, tuple, Any, Any]:
    """Copies of the nets, rows and targets as they take them, and the encoding.

    Inputs are slope * x + offset of the user's values x, both of one row's shape.
    """
    X = np.asarray(X, float)
    y = np.asarray(y)
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, but y has {len(y)}.")
    if hasattr(model, "nets_"):
        nets = [copy.deepcopy(net) for net in model.nets_]
        probes = np.stack([np.zeros(X.shape[1:]), np.ones(X.shape[1:])])
        first, *_ = model.net_inputs(probes)
        rows, *other_inputs = model.net_inputs(X)
        if any(np.size(a) for a in other_inputs):
            raise ValueError(
                f"{type(model).__name__} has categorical columns, which have no "
                "gradient: train a model of numbers."
            )
        offset = np.asarray(first[0], float)
        slope = np.asarray(first[1], float) - offset
        Y = model._encode_target(y)
        dtype = np.dtype(str(next(nets[0].parameters()).dtype).split(".")[-1])
    elif hasattr(model, "coefs_"):
        dtype = model.coefs_[0].dtype
        other_inputs = []
        nets = [model._net(dtype)]
        rows = model._check_new_data(X)
        Y = model._targets(y, rows.astype(dtype), False)
        slope = np.ones(X.shape[1])
        offset = np.zeros(X.shape[1])
    else:
        raise TypeError(
            f"{type(model).__name__} holds no net of ours: adversarial training is for "
            "MLP, convolutional and tabular nets."
        )
    for net in nets:
        for p in net.parameters():
            p.requires_grad_(True)
    Y = Y if Y.dtype.kind in "iu" else Y.astype(dtype)
    return nets, (rows.astype(dtype), *other_inputs, Y), slope, offset


def _input_limits(bounds, slope, offset, dtype):
    """Bounds of the user's values in the units of the net's inputs."""
    if bounds is None:
        ends = [np.full_like(slope, -np.inf), np.full_like(slope, np.inf)]
    else:
        ends = [np.asarray(b, float) * slope + offset for b in bounds]
        ends = [np.minimum(*ends), np.maximum(*ends)]
    return tuple(torch.as_tensor(e).to(dtype) for e in ends)
