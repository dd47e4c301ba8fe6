"""Parameters of training that all deep estimators share, and what they mean.

A net is fitted by `nn.train` with AdamW and a rate that rises for a tenth of the steps
and then falls along a half cosine over `n_epochs` epochs. The deep classifiers and
regressors (`abstract_net`) and the generative models build on this class.

Refs      [Loshchilov2019] AdamW
"""

import copy
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from sklearn.model_selection import train_test_split

from ... import nn
from ...base import Estimator
from ...core.inherited_docs import inherit_descriptions
from ...core.random import draw_seed
from ...params import (
    Count,
    DeviceName,
    Flag,
    FractionBelowOne,
    NonNegative,
    ParameterRule,
    Positive,
    Verbosity,
)
from ...typing import Seed
from .optimisers import OPTIMISER_NAMES, make_optimiser
from .schedules import make_schedule

LearningRate = (
    Literal["cosine", "constant", "linear", "warmdown", "one_cycle"] | Callable
)
OptimiserChoice = Annotated[
    Any,
    ParameterRule(
        "a name, a rule of pansophy.nn or a class of torch.optim",
        lambda v: (
            isinstance(v, (str, nn.ParameterGroups))
            or hasattr(v, "step")
            or callable(v)
        ),
    ),
]
BLOCK_VALUES = 1 << 20  # input values that go through a net at once
WARM_UP = 0.1  # of the steps, in which the rate rises


@dataclass(eq=False, repr=False)
class AbstractTraining(Estimator):
    """Parameters of a training run. Estimators describe only what is their own.

    Parameters
    ----------
    weight_decay : float, default=1e-4
        Pull of the kernels and matrices towards 0 in each step, times the rate.
    batch_size : int or "auto", default="auto"
        Rows (images, sequences) per step; "auto": a twentieth of them, 32 to 256.
    learning_rate : {"cosine", "constant", "linear", "warmdown", "one_cycle"} or \
function, default="cosine"
        The rate over the run: "cosine" and "linear" rise for a tenth of the steps and
        then fall to 0. A function of a `nn.training.schedules.TrainingProgress` gives
        a factor.
    optimiser : str, rule of `pansophy.nn`, or class of `torch.optim`, default="adamw"
        "adamw", "adam", "sgd", "momentum", "lion", "muon", "rmsprop", ... Its rate is
        `learning_rate_init`, and rules of `pansophy.nn` decay by `weight_decay`.
    learning_rate_init : float, default=0.001
        The highest rate.
    n_epochs : int, default=30
        Epochs, over which the rate falls.
    early_stopping : bool, default=False
        Hold out a share of the rows, stop by their loss and keep the best epoch.
    validation_fraction : float, default=0.1
        That share.
    n_iter_no_change : int, default=10
        Epochs without improvement that are borne.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out rows, order and noise.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training; predictions have that of X, at least this.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train and predict; "auto" takes a GPU if there is one.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch; one for each net.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.

    Attributes
    ----------
    n_iter_ : int
        Epochs.
    history_ : dict of arrays
        Per epoch: loss and its terms, valid_loss with early stopping.
    converged_, interrupted_ : bool
        How training ended.
    """

    _: KW_ONLY
    weight_decay: NonNegative = 1e-4
    batch_size: Literal["auto"] | Count = "auto"
    learning_rate: LearningRate = "cosine"
    optimiser: OptimiserChoice = "adamw"
    learning_rate_init: Positive = 0.001
    n_epochs: Count = 30
    early_stopping: Flag = False
    validation_fraction: FractionBelowOne = 0.1
    n_iter_no_change: Count = 10
    random_state: Seed = None
    verbose: Verbosity = False
    dtype: Literal["float32", "float64"] = "float32"
    device: DeviceName = "auto"
    checkpoint: str | Path | None = None
    resume: Flag = False

    _tensors = False

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        inherit_descriptions(cls)

    def _training_options(self, net, n, valid) -> dict:
        """Options of `nn.train` for a net, n training rows and rows to stop by."""
        batch = self._batch_size(n)
        steps = self.n_epochs * math.ceil(n / batch)
        stop = None
        if valid is not None:
            stop = nn.EarlyStopping("valid_loss", patience=self.n_iter_no_change)
        return {
            "epochs": self.n_epochs,
            "batch_size": batch,
            "optimiser": self._optimiser(net),
            "schedule": make_schedule(self.learning_rate, int(WARM_UP * steps)),
            "device": self.device,
            "valid": valid,
            "stop": stop,
            "checkpoint": self.checkpoint,
            "resume": bool(self.resume),
        }

    def _optimiser(self, net) -> Any:
        """The optimiser of a net: of `optimiser`, at the rate of the estimator."""
        return self._make_optimiser(self.learning_rate_init)

    def _make_optimiser(self, rate):
        """The optimiser of the name, class or rule that was given, at this rate."""
        if isinstance(self.optimiser, torch.optim.Optimizer):
            raise ValueError(
                "optimiser is an object of torch that belongs to other parameters: "
                "give its class, or a functools.partial of it."
            )
        name = self.optimiser.lower() if isinstance(self.optimiser, str) else None
        decay = {"decay": self.weight_decay} if name in OPTIMISER_NAMES else {}
        return make_optimiser(self.optimiser, rate, **decay)

    def _batch_size(self, n):
        """Few enough rows that an epoch has some twenty steps, from 32 up to 256."""
        if self.batch_size == "auto":
            return min(n, max(32, min(256, n // 20)))
        return min(self.batch_size, n)

    def _held_out_split(self, n, rng, strata=None):
        """Positions of rows to train on, and of rows to stop by; both ascend."""
        held_out = math.ceil(self.validation_fraction * n)
        if not 0 < held_out < n:
            raise ValueError(
                f"early_stopping needs rows to train on and rows to stop by, but "
                f"validation_fraction={self.validation_fraction} of {n} is {held_out}."
            )
        if strata is not None:
            counts = np.bincount(strata)
            counts = counts[counts > 0]
            if counts.min() < 2 or min(held_out, n - held_out) < len(counts):
                strata = None  # too few rows for one of each class on both sides
        inside, outside = train_test_split(
            np.arange(n),
            test_size=self.validation_fraction,
            random_state=draw_seed(rng),
            stratify=strata,
        )
        return np.sort(inside), np.sort(outside)


def tensor_blocks(inputs, block, device, dtype):
    """Arrays cut into blocks of rows, as tensors; numbers in this precision."""
    for i in range(0, len(inputs[0]), block):
        part = [np.asarray(a[i : i + block]) for a in inputs]
        part = [torch.from_numpy(a).to(device) for a in part]
        yield [a.to(dtype) if a.is_floating_point() else a for a in part]


def detached_net(net):
    """A copy of a trained net on the CPU, without gradients, for prediction."""
    grads = [p.grad for p in net.parameters()]
    for p in net.parameters():
        p.grad = None
    copied = copy.deepcopy(net).cpu().eval()
    for p, grad in zip(net.parameters(), grads):
        p.grad = grad
    for p in copied.parameters():
        p.data = p.data.clone()  # not a view of all parameters
    return copied
