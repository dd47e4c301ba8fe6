"""Full-batch training of a net by L-BFGS.

A step needs J and its gradient for all rows at once, computed on the net's device and
handed to `optim.lbfgs` in float64. It suits a few thousand rows, where it reaches in
tens of iterations what Adam needs hundreds of epochs for, and finds minima to many
digits.

Refs      [Liu1989]
"""

from typing import Any

import numpy as np
import torch

from ..core.drivers.iterate import Result
from ..core.drivers.progress import SILENT, FitTask
from ..nn import Batches, TrainingState
from ..nn.training.devices import resolve_device
from ..nn.training.optimisers import flatten_parameters
from ..optim import lbfgs


class FullBatchObjective:
    """J and dJ/dw at a flat vector w of all parameters."""

    def __init__(self, net, data, device):
        self.net = net.to(device).train()
        self.flat_parameters = flatten_parameters(net.parameters())
        self.batch = next(Batches(data, None, None, device).one_pass())[0]

    def set_parameters(self, x):
        """Make x the net's parameters."""
        offset = 0
        for p in self.flat_parameters:
            p.w.copy_(torch.as_tensor(x[offset : offset + len(p.w)]))
            offset += len(p.w)
        return self.net

    def flat(self, name) -> np.ndarray:
        """The parameters "w" or the gradient "g" as one vector."""
        parts = [getattr(p, name).cpu().double() for p in self.flat_parameters]
        return torch.cat(parts).numpy()

    def __call__(self, x):
        self.set_parameters(x)
        if getattr(self.net, "has_manual_gradients", False):
            with torch.no_grad():
                losses = self.net.gradients(self.batch)
            return float(sum(losses.values())), self.flat("g")
        for p in self.flat_parameters:
            p.g.zero_()
        J: Any = sum(self.net.losses(self.batch).values())
        J.backward()
        return float(J.detach()), self.flat("g")


def train_lbfgs(
    net, data, *, max_iter=200, max_calls=15000, tol=1e-4, device="auto",
    task: FitTask = SILENT,
) -> Result:  # fmt: skip
    """Train a net by L-BFGS until no entry of the gradient exceeds `tol`."""
    objective = FullBatchObjective(net, data, resolve_device(device))
    training_state = lambda s, n=0: TrainingState(
        objective.set_parameters(s.position), s.objective, n, n, 0, {}
    )
    if task.snapshot is not None:
        outer = task.snapshot
        task = task._replace(snapshot=lambda s: outer(training_state(s)))
    result = lbfgs(
        objective,
        objective.flat("w"),
        max_iter=max_iter,
        max_calls=max_calls,
        tol=tol,
        task=task,
    )
    state = training_state(result.state, result.n_iter)
    net.eval()
    return result._replace(state=state, history={"loss": result.history["objective"]})
