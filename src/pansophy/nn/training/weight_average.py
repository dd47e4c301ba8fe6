"""Averages of the weights along a run: EMA, Polyak and SWA.

With w_t the weights after step t and n the number of weights averaged so far,

    ema      a <- d a + (1 - d) w_t,   d = min(decay, (1 + n) / (10 + n))       (1)
    polyak   a <- a + (w_t - a) / (n + 1)                                       (2)
    swa      (2) with the weights at the ends of epochs only                    (3)

a starts as the first weights that count, so constant weights stay as they are. The
smaller d of the first updates keeps the start of training from lingering in (1).
Steps and epochs before `start` do not count, and of the later ones every `every`-th.

Buffers of floats (running means of batch normalisation) are averaged in the same way;
`nn.train(average=...)` holds the averages beside the weights, saves both in its
checkpoints, validates and evaluates with the averages, and leaves them in the net.

Refs      [Polyak1992]; [Izmailov2018] SWA
"""

from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import torch


class WeightAverage(NamedTuple):
    """A rule for averaging weights: see the module text.

    Parameters
    ----------
    kind : {"ema", "polyak", "swa"}
    decay : float
        d of eq. (1); only for "ema".
    start : int
        Steps ("swa": epochs) before the first that counts.
    every : int
        Distance between two that count.
    only : str or None
        Shell pattern of the names that are averaged ("generator.*"); None: all.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> net = nn.MLP([np.zeros((1, 1))], [np.zeros(1)], head="identity")
    >>> X = np.ones((4, 1))
    >>> options = {"epochs": 1, "batch_size": 1, "optimiser": nn.SGD(0.25), "seed": 0}
    >>> _ = nn.train(net, (X, X), average=nn.WeightAverage("polyak"), **options)
    >>> net.weights[0].item()  # the mean of 1/4, 3/8, 7/16 and 15/32
    0.3828125
    """

    kind: Literal["ema", "polyak", "swa"] = "ema"
    decay: float = 0.999
    start: int = 0
    every: int = 1
    only: str | None = None

    def check(self) -> None:
        """Raise if a field makes no sense."""
        if self.kind not in ("ema", "polyak", "swa"):
            raise ValueError(
                f"kind of WeightAverage must be 'ema', 'polyak' or 'swa', got "
                f"{self.kind!r}."
            )
        if not 0 <= self.decay < 1:
            raise ValueError(
                f"decay of WeightAverage must be from 0 to below 1, got {self.decay}."
            )
        if self.start < 0 or self.every < 1:
            raise ValueError(
                "WeightAverage needs a start of at least 0 and every of at least 1, "
                f"got {self.start} and {self.every}."
            )

    def counts(self, done: int) -> bool:
        """Whether the weights after this many steps (epochs) are averaged."""
        return done > self.start and (done - self.start - 1) % self.every == 0

    def share(self, n: int) -> float:
        """The share of new weights in the average, after n others."""
        if n == 0:
            return 1.0
        if self.kind == "ema":
            return 1 - min(self.decay, (1 + n) / (10 + n))
        return 1 / (n + 1)


class AveragedWeights:
    """Averages of a net's weights, held beside them."""

    def __init__(self, rule: WeightAverage, net):
        rule.check()
        self.rule = rule
        self.n = 0  # weights averaged so far
        self.current = {
            key: tensor
            for key, tensor in net.state_dict().items()
            if (tensor.is_floating_point() or tensor.is_complex())
            and bool(tensor.isfinite().all())  # infinite limits are constants
            and (rule.only is None or fnmatchcase(key, rule.only))
        }
        if not self.current:
            raise ValueError(
                f"only of WeightAverage is {rule.only!r}, which fits no weight."
            )
        self.average = {key: t.detach().clone() for key, t in self.current.items()}

    def after_step(self, steps: int) -> None:
        """Take in the weights after this many steps."""
        if self.rule.kind != "swa" and self.rule.counts(steps):
            self.update()

    def after_epoch(self, epochs: int) -> None:
        """Take in the weights after this many epochs."""
        if self.rule.kind == "swa" and self.rule.counts(epochs):
            self.update()

    @torch.no_grad()
    def update(self) -> None:
        """Take the present weights into the average."""
        share = self.rule.share(self.n)
        old, new = list(self.average.values()), list(self.current.values())
        if share == 1.0:
            torch._foreach_copy_(old, new)
        else:
            torch._foreach_lerp_(old, new, share)
        self.n += 1

    @contextmanager
    def in_net(self):
        """The averages in the net's place inside, the weights put back at the end."""
        if not self.n:
            yield
            return
        kept = {key: tensor.clone() for key, tensor in self.current.items()}
        self.put_into_net()
        try:
            yield
        finally:
            with torch.no_grad():
                for key, tensor in self.current.items():
                    tensor.copy_(kept[key])

    @torch.no_grad()
    def put_into_net(self) -> None:
        """Make the averages the net's weights."""
        if self.n:
            for key, tensor in self.current.items():
                tensor.copy_(self.average[key])

    @torch.no_grad()
    def load(self, average: dict, n: int) -> None:
        """Continue from saved averages."""
        for key, tensor in self.average.items():
            tensor.copy_(average[key])
        self.n = n
