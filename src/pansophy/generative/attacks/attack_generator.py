"""A net that makes adversarial changes: one pass fools a fixed model.

    x -> x + d(x),   d = e tanh(g(x))  (inf),   e g / max(1, |g|)  (2)             (1)

The net g is trained to make the victim err: its loss is log(1 + exp(-m(x + d(x), y))),
m being the log odds that the victim is wrong (`adversarial_attacks`). The victim is
only read. After training no gradient of the victim and no label is needed to attack new
rows, which `fgsm` and `pgd` need.

Shapes    X (n, d) or images   y (n,)
Refs      [Baluja2018]; [Xiao2018]
"""

import copy
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn.functional import softplus

from ... import nn
from ...base import Transformer, fit_stage, host_array
from ...core.arrays.overflow import refuse_overflowing_squares
from ...core.random import draw_seed, make_rng
from ...linear_model import LogisticRegression
from ...nn.nets.heads import positive_total
from ...nn.training.abstract_training import AbstractTraining, detached_net
from ...nn.training.devices import seeded_torch
from ...nn.training.run_tag import run_tag
from ...params import Count, LayerSizes, NonNegative, ParameterRule, Positive
from .adversarial_attacks import Norm, Victim, inside_ball, victim_of


def _can_be_attacked(value) -> bool:
    has_weights = any(hasattr(value, name) for name in ("nets_", "coefs_", "coef_"))
    return isinstance(value, torch.nn.Module) or has_weights


FixedModel = Annotated[
    Any,
    ParameterRule(
        "a fitted net of ours, a fitted linear model or a torch module",
        _can_be_attacked,
    ),
]
ValueRange = Annotated[
    Any,
    ParameterRule(
        "two ascending numbers", lambda v: len(v) == 2 and float(v[0]) < float(v[1])
    ),
]


class PerturbationNet(torch.nn.Module):
    """d of eq. (1), in the user's units, from standardised rows."""

    def __init__(self, n_features, hidden_layer_sizes, budget, norm: Norm):
        super().__init__()
        self.layers = nn.DenseLayers([n_features, *hidden_layer_sizes, n_features])
        self.budget = float(budget)
        self.norm: Norm = norm

    def forward(self, z: Tensor) -> Tensor:
        g = self.layers(z)
        if self.norm == "inf":
            return self.budget * torch.tanh(g)
        return self.budget * inside_ball(g, 1.0, self.norm)


class AttackLosses(torch.nn.Module):
    """The loss of a perturbation net against a victim, which it does not own."""

    def __init__(self, perturb: PerturbationNet, victim: Victim, shape, bounds):
        super().__init__()
        self.perturb = perturb
        self.victim = victim
        self.shape = tuple(shape)
        self.bounds = bounds

    def losses(self, batch) -> dict[str, Tensor]:
        z, x, Y, *rest = batch
        attacked = x + self.perturb(z).double()
        if self.bounds is not None:
            attacked = attacked.clamp(*self.bounds)
        attacked = attacked.reshape(len(x), *self.shape)
        value = softplus(-self.victim.log_odds(attacked, Y)).to(z.dtype)
        if not rest:
            return {"loss": value.mean()}
        return {"loss": rest[0] @ value / positive_total(rest[0].sum())}


@dataclass(eq=False, repr=False)
class AttackGenerator(Transformer, AbstractTraining):
    """A net that changes rows within a budget so that a fixed model misjudges them.

    Parameters
    ----------
    device : "cpu", default="cpu"
        Victims are read on the CPU, and so the net is trained there.
    model : fitted net of ours, linear model with coef_ and intercept_, torch module, \
or None, default=None
        The victim. None: a `LogisticRegression` of the rows that are fitted to.
    budget : float, default=0.1
        Largest change, in the units of X.
    norm : {"inf", "2"}, default="inf"
        Largest change of any value, or length of the whole change.
    bounds : (low, high) or None, default=None
        Range of values that rows may have, such as (0, 1) for pixels.
    hidden_layer_sizes : sequence of int, default=(64, 64)
        Units of the hidden layers of the net that makes the changes.

    Attributes
    ----------
    net_ : torch module
        Makes the changes.
    victim_ : fitted model
        `model`, or the one that was fitted in its place.
    mean_, scale_ : arrays of shape (d,)
        Standardisation of the net's inputs.
    history_ : dict of arrays
        Per epoch: loss.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import AttackGenerator
    >>> from pansophy.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> victim = LogisticRegression().fit(X, y)
    >>> attack = AttackGenerator(victim, budget=0.5, random_state=0).fit(X, y)
    >>> bad = attack.transform(X)
    >>> bool(abs(bad - X).max() <= 0.5), victim.score(bad, y) < victim.score(X, y) - 0.2
    (True, True)
    """

    model: FixedModel | None = None
    _: KW_ONLY
    budget: NonNegative = 0.1
    norm: Norm = "inf"
    bounds: ValueRange | None = None
    hidden_layer_sizes: LayerSizes = (64, 64)
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.003
    n_epochs: Count = 30
    device: Literal["cpu"] = "cpu"  # pyrefly: ignore

    _conditional = True  # y holds classes

    def fit(self, X, y, sample_weight=None):
        """Train the net to fool the victim on these rows.

        Parameters
        ----------
        X : array of shape (n, d), or images as the victim takes them
        y : array of shape (n,)
            What the victim should answer, and shall not.
        sample_weight : array of shape (n,) or None
        """
        X, flat, y, w = self._check_rows(X, y, sample_weight)
        self.victim_ = self.model
        if self.model is None:
            self.victim_ = fit_stage(LogisticRegression(), flat, y, sample_weight=w)
        victim = victim_of(self.victim_, X)
        rng = make_rng(self.random_state)
        self.mean_ = np.average(flat, axis=0, weights=w)
        spread = np.sqrt(np.average((flat - self.mean_) ** 2, axis=0, weights=w))
        self.scale_ = np.where(spread > 0, spread, 1.0)
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, int)).tolist()
        with seeded_torch(torch.device("cpu"), draw_seed(rng)):
            net = PerturbationNet(flat.shape[1], hidden, self.budget, self.norm)
        losses = AttackLosses(
            net.to(getattr(torch, self.dtype)), victim, X.shape[1:], self.bounds
        )
        Y = victim.targets(y).numpy()
        self._train(losses, flat, Y, w, rng)
        return self

    def _train(self, losses, flat, Y, w, rng):
        """Train the net and keep it without its victim."""
        z = (flat - self.mean_) / self.scale_
        data = (z.astype(self.dtype), flat.astype(float), Y)
        data = data if w is None else (*data, w.astype(self.dtype))
        valid = None
        if self.early_stopping:
            inside, outside = self._held_out_split(len(flat), rng)
            valid = tuple(a[outside] for a in data)
            data = tuple(a[inside] for a in data)
        options = self._training_options(losses, len(data[0]), valid)
        if self.checkpoint is not None:
            options["tag"] = run_tag(self, flat.shape, data)

        def run(task):
            return nn.train(losses, data, seed=rng, task=task, **options).as_planned()

        self._run_driver(
            run,
            total=options["epochs"],
            X=flat,
            y=Y,
            snapshot=lambda state: {"net_": detached_net(state.net.perturb)},
        )
        self.net_ = detached_net(losses.perturb)

    def _check_rows(self, X, y, sample_weight):
        """Rows as given and flat, targets and weights."""
        X = host_array(self, X)
        stack = isinstance(X, np.ndarray) and X.ndim > 2
        shape = X.shape if stack else ()
        numbers = self.model is not None and _is_regressor(self.model)
        flat, y, w = self._check_training_data(
            X.reshape(len(X), -1) if stack else X,
            y,
            sample_weight,
            y_kind="number" if numbers else "class",
        )
        refuse_overflowing_squares(self, flat)
        return (flat.reshape(shape) if stack else flat), flat, y, w

    def transform(self, X):
        """Rows changed within the budget, eq. (1); no labels are needed."""
        check_is_fitted(self, "net_")
        X = host_array(self, X)
        stack = isinstance(X, np.ndarray) and X.ndim > 2
        flat = self._check_new_data(X.reshape(len(X), -1) if stack else X)
        net = copy.deepcopy(self.net_).double()
        z = (flat.astype(float) - self.mean_) / self.scale_
        with torch.no_grad():
            change = net(torch.as_tensor(z)).numpy()
        attacked = flat + change
        if self.bounds is not None:
            attacked = np.clip(attacked, *self.bounds)
        attacked = attacked.astype(flat.dtype)
        return attacked.reshape(np.shape(X)) if stack else attacked

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _is_regressor(model) -> bool:
    """Whether a victim answers with numbers."""
    return not isinstance(model, torch.nn.Module) and not hasattr(model, "classes_")
