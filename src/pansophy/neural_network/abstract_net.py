"""Base class of the deep estimators: training, prediction, ensembles, dropout passes.

A model is one net, or several trained from different seeds (a deep ensemble), fitted by
`nn.train` as `abstract_training` says.
With M nets and T passes with dropout left on, the M T answers of a row (times the
members of a net, if it has several) are mixed:

    class     p = mean_i p_i                                                       (1)
    number    m = mean_i m_i,   s^2 = mean_i s_i^2 + var_i m_i                     (2)

where s_i^2 is the variance that a net with a Gaussian loss predicts, 0 with the squared
one: the first part of s^2 is the noise of the data, the second the doubt of the model.

Nets are trained in float32 unless `dtype` says otherwise (a step in float64 takes two
to four times as long); predictions are computed in the precision of X. Numbers to
predict are centred and scaled for training.
Rows of weight k count as k rows in the loss, and rows of weight 0 are left out.

Refs      [Lakshminarayanan2017] ensembles; [Gal2016] dropout
"""

import copy
import math
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from .. import nn
from ..base import Classifier, Regressor
from ..core.arrays.class_weight import apply_class_weight
from ..core.arrays.labels import class_codes
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.ragged import Ragged
from ..core.arrays.weighted import check_sample_weight
from ..core.drivers.iterate import Result
from ..core.numerics import softmax
from ..core.random import draw_seed, make_rng
from ..nn.training.abstract_training import (
    BLOCK_VALUES,
    AbstractTraining,
    detached_net,
    tensor_blocks,
)
from ..nn.training.devices import resolve_device, seeded_torch
from ..nn.training.run_tag import run_tag
from ..params import Count, Natural, check_params
from ..persist.saved_state import Whole, saved_state
from .image_files import ImageFiles

TORCH_DROPOUT = (
    torch.nn.Dropout,
    torch.nn.Dropout1d,
    torch.nn.Dropout2d,
    torch.nn.Dropout3d,
    torch.nn.AlphaDropout,
)
MAX_PASSES = 100_000  # of one net for a prediction, as far as model files are trusted


class NetRows(NamedTuple):
    """Rows as a net takes them."""

    inputs: tuple  # arrays of n rows
    Y: Any  # (n, outputs), or (n,) class numbers
    w: Any  # (n,) or None

    def take(self, index) -> "NetRows":
        """The rows at these positions."""
        w = None if self.w is None else self.w[index]
        return NetRows(tuple(a[index] for a in self.inputs), self.Y[index], w)

    def arrays(self, dtype):
        """Arrays for `nn.train`; numbers become `dtype`, bytes and codes stay."""
        parts = (*self.inputs, self.Y, *(() if self.w is None else (self.w,)))
        parts = tuple(_in_precision(a, dtype) for a in parts)
        if isinstance(parts[0], Ragged):
            return nn.RaggedRows(*parts)
        if isinstance(parts[0], ImageFiles):
            return nn.FileRows(parts[0].paths, parts[0].read, *parts[1:])
        return parts


def _in_precision(a, dtype):
    """Floating-point numbers as `dtype`; anything else as it is."""
    if a.dtype.kind != "f":
        return a
    if isinstance(a, Ragged):
        return a.astype(dtype)
    return np.ascontiguousarray(a, dtype)


@saved_state(mc_dropout=Whole(high=MAX_PASSES))
@dataclass(eq=False, repr=False)
class AbstractNet(AbstractTraining):
    """Parameters and fitting of the deep estimators.

    An estimator gives `_check_inputs(X, y, w) -> inputs, y, w` (the user's rows as
    arrays), `_learn_inputs(rows)` (scales and codes, from training rows alone),
    `_build_net(n_outputs, head)` and `_check_new_inputs(X)` for new rows.

    Parameters
    ----------
    n_estimators : int, default=1
        Nets from different seeds, whose answers are averaged: a deep ensemble.
    mc_dropout : int, default=0
        Passes with dropout left on that a prediction averages; 0: one without.
    validation_fraction : float, default=0.1
        That share. Rows of your own go to `fit` as `validation`.

    Attributes
    ----------
    nets_ : list of torch modules
    loss_ : float
        Training loss of the last epoch.
    """

    _: KW_ONLY
    n_estimators: Count = 1
    mc_dropout: Natural = 0

    # -- fitting ---------------------------------------------------------------

    def _fit(
        self, X, y, sample_weight, validation=None, *, classes=None, one_pass=False
    ):
        inputs, y, w = self._check_inputs(X, y, sample_weight)
        values = getattr(inputs[0], "values", inputs[0])
        if values.dtype.kind == "f":
            refuse_overflowing_squares(self, values)
        rows = self._learn_rows(inputs, y, w, classes)
        rng = make_rng(self.random_state)
        rows, held_out = self._hold_out(rows, validation, rng, one_pass)
        rows = NetRows(self._learn_inputs(rows.inputs, rows.w), rows.Y, rows.w)
        if held_out is not None:
            held_out = held_out._replace(inputs=self._encode_inputs(held_out.inputs))
        nets = []
        for _ in range(self.n_estimators):
            with seeded_torch(torch.device("cpu"), draw_seed(rng)):
                net = self._build_net(*self._outputs())
            nets.append(net.to(getattr(torch, self.dtype)))
        self._optimiser_states = None
        self._train(nets, rows, held_out, rng, one_pass=one_pass)
        return self

    def _continue_fit(self, X, y, sample_weight, validation=None, *, one_pass=False):
        """Train the fitted nets further, on rows of the same columns and classes."""
        check_params(self)
        arguments = (X, y) if sample_weight is None else (X, y, sample_weight)
        rows = self._given_rows(arguments, "training data")
        rows = rows._replace(w=self._row_weights(y, rows.w))
        rng = make_rng(self.random_state)
        rows, held_out = self._hold_out(rows, validation, rng, one_pass)
        if held_out is not None:
            held_out = held_out._replace(inputs=self._encode_inputs(held_out.inputs))
        rows = rows._replace(inputs=self._encode_inputs(rows.inputs))
        nets = [copy.deepcopy(net) for net in self.nets_]
        self._train(nets, rows, held_out, rng, one_pass=one_pass)
        return self

    def _learn_rows(self, inputs, y, w, classes=None) -> NetRows:
        """Rows of weight above 0, their targets as the net takes them."""
        w = self._row_weights(y, w)
        rows = NetRows(inputs, y, w)
        if w is not None and not (w > 0).all():
            rows = rows.take(np.flatnonzero(w > 0))
        self._learn_target(rows.Y, rows.w)
        if classes is not None:
            self.classes_ = np.unique(classes)
        return rows._replace(Y=self._encode_target(rows.Y))

    def _row_weights(self, y, w):
        return w

    def _encode_inputs(self, inputs):
        """Checked inputs as the net takes them, by what training rows have taught."""
        return inputs

    def _hold_out(self, rows, validation, rng, one_pass=False):
        """Training rows, and rows to stop by or None."""
        if validation is not None:
            return rows, self._given_rows(validation)
        n = len(rows.inputs[0])
        if not self._stops_early(n, one_pass):
            return rows, None
        strata = rows.Y if getattr(rows.Y, "ndim", 0) == 1 else None
        inside, outside = self._held_out_split(n, rng, strata)
        return rows.take(inside), rows.take(outside)

    def _stops_early(self, n, one_pass) -> bool:
        """Whether a share of n training rows is held out to stop by."""
        return bool(self.early_stopping)

    def _given_rows(self, validation, what="validation"):
        if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
            raise ValueError("validation must be (X, y) or (X, y, sample_weight).")
        X, y, *w = validation
        inputs = self._check_new_inputs(X)
        n = len(inputs[0])
        if len(y) != n:
            raise ValueError(f"{what} has {n} rows, but {len(y)} targets.")
        weight = check_sample_weight(w[0], n) if w else None
        return NetRows(inputs, self._encode_target(np.asarray(y)), weight)

    def _train(self, nets, rows, held_out, rng, *, one_pass=False):
        """Train the nets one after the other and store them."""
        data = rows.arrays(self.dtype)
        valid = None if held_out is None else held_out.arrays(self.dtype)
        options = self._training_options(nets[0], len(rows.inputs[0]), valid)
        if one_pass:
            options |= {"epochs": 1, "schedule": None, "stop": None}
        states = (one_pass and self._optimiser_states) or [None] * len(nets)
        if self.checkpoint is not None:
            parts = data if isinstance(data, tuple) else data.parts()
            options["tag"] = run_tag(self, rows.inputs[0].shape, parts)
        trained = []

        def run(task):
            results = []
            for i, net in enumerate(nets):
                if self.checkpoint is not None and len(nets) > 1:
                    path = Path(self.checkpoint)
                    options["checkpoint"] = path.with_name(f"{path.name}.{i}")
                options["optimiser_state"] = states[i]
                results.append(nn.train(net, data, seed=rng, task=task, **options))
                trained.append(detached_net(results[-1].state.net))
                if results[-1].reason in ("interrupted", "callback"):
                    break
            if one_pass:
                self._optimiser_states = [_optimiser_arrays(r.state) for r in results]
            return _joined_result(results)

        self._run_driver(
            run,
            total=options["epochs"] * len(nets),
            X=rows.inputs[0],
            y=rows.Y,
            snapshot=lambda state: {"nets_": [*trained, detached_net(state.net)]},
        )
        self.nets_ = trained
        losses = self.history_.get("loss", np.empty(0))
        self.loss_ = float(losses[-1]) if len(losses) else math.inf

    def fine_tune(self, X, y, sample_weight=None, *, layers=("output",)):
        """A new model whose last layers are trained on other rows; the rest is frozen.

        Parameters
        ----------
        X, y, sample_weight
            Rows of the new task, which may have other classes or outputs.
        layers : names of submodules, default=("output",)
            Parts of the net that learn besides the output layer, which is made anew.

        Returns
        -------
        a fitted estimator of the same kind; this one is not changed
        """
        check_is_fitted(self)
        model = copy.copy(self)
        model.__dict__ = dict(self.__dict__)
        inputs = model._check_new_inputs(X)
        y = np.asarray(y)
        if len(y) != len(inputs[0]):
            raise ValueError(f"X has {len(inputs[0])} rows, but y has {len(y)}.")
        w = None
        if sample_weight is not None:
            w = check_sample_weight(sample_weight, len(y))
        rows = model._learn_rows(inputs, y, w)
        rng = make_rng(self.random_state)
        rows, held_out = model._hold_out(rows, None, rng)
        nets = []
        n_outputs, head = model._outputs()
        for net in self.nets_:
            net = copy.deepcopy(net)
            with seeded_torch(torch.device("cpu"), draw_seed(rng)):
                renewed = _renew_output(net, n_outputs)
            net.head = head
            nn.freeze(net)
            nets.append(nn.unfreeze(net, *{*renewed, *layers}))
        rows = rows._replace(inputs=model._encode_inputs(rows.inputs))
        if held_out is not None:
            held_out = held_out._replace(inputs=model._encode_inputs(held_out.inputs))
        model._train(nets, rows, held_out, rng)
        return model

    # -- prediction ------------------------------------------------------------

    def net_inputs(self, X) -> tuple:
        """New rows as the nets take them: a tuple of arrays."""
        check_is_fitted(self, "nets_")
        return self._encode_inputs(self._check_new_inputs(X))

    def _raw_outputs(self, X):
        """Scores of every net, pass and member: (answers, n, outputs), float64."""
        inputs = self.net_inputs(X)
        double = "float64" in (self.dtype, *(str(a.dtype) for a in inputs))
        dtype = torch.float64 if double else torch.float32
        device = resolve_device(self.device)
        passes = max(self.mc_dropout, 1)
        results = []
        for net in self.nets_:
            net = copy.deepcopy(net).to(device, dtype).eval()
            for module in net.modules():
                if isinstance(module, nn.Dropout):
                    module.always = self.mc_dropout > 0
                elif isinstance(module, TORCH_DROPOUT):
                    module.train(self.mc_dropout > 0)
            # the same masks at every call: a prediction is not a lottery
            with seeded_torch(device, 0), torch.no_grad():
                for _ in range(passes):
                    results += self._member_outputs(net, inputs, device, dtype)
        return np.stack(results)

    def _member_outputs(self, net, inputs, device, dtype) -> list[np.ndarray]:
        """Scores of all rows by one pass of one net: one array for each member."""
        return [self._net_outputs(net, inputs, device, dtype)]

    def _values_per_row(self, inputs) -> int:
        """Values of a row that go through a net at once, for the size of blocks."""
        return math.prod(inputs[0].shape[1:])

    def _net_outputs(self, net, inputs, device, dtype) -> np.ndarray:
        """Scores of all rows by one pass of one net, float64."""
        block = max(16, BLOCK_VALUES // max(1, self._values_per_row(inputs)))
        parts = [net(*part) for part in tensor_blocks(inputs, block, device, dtype)]
        return torch.cat(parts).double().cpu().numpy()


def _renew_output(net, n_outputs) -> tuple[str, ...]:
    """Give a net new layers for so many outputs; their names."""
    if hasattr(net, "reset_output"):
        net.reset_output(n_outputs)
        return net.output_layers
    output = torch.nn.Linear(net.output.in_features, n_outputs)
    net.output = output.to(net.output.weight.dtype)
    return ("output",)


def _optimiser_arrays(state) -> dict:
    """An optimiser's state as arrays, to go on from."""
    return {k: v.cpu().numpy().copy() for k, v in state.optimiser.items()}


def _joined_result(results: list[Result]) -> Result:
    """The runs of several nets as one: histories end to end, with a column `member`."""
    last = results[-1]
    history = last.history
    if len(results) > 1:
        names = set.intersection(*(set(r.history) for r in results))
        history = {
            name: np.concatenate([r.history[name] for r in results])
            for name in sorted(names)
        }
        history["member"] = np.repeat(
            np.arange(len(results)), [r.n_iter for r in results]
        )
    # a planned fall of the rate that ran to its end is an end, not a failure
    reason = "finished" if last.reason == "max_iter" else last.reason
    return last._replace(
        n_iter=max(r.n_iter for r in results),
        reason=reason,
        history=history,
        seconds=sum(r.seconds for r in results),
    )


@dataclass(eq=False, repr=False)
class AbstractNetClassifier(Classifier, AbstractNet):
    """Nets for classes: softmax scores, trained on cross-entropy.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes in the loss.

    Attributes
    ----------
    classes_ : array
    """

    _: KW_ONLY
    class_weight: dict | Literal["balanced"] | None = None

    _y_kind = "class"

    def _row_weights(self, y, w):
        return apply_class_weight(self.class_weight, y, w)

    def _learn_target(self, y, w):
        self.classes_ = class_codes(np.asarray(y))[0]

    def _encode_target(self, y):
        return class_codes(np.asarray(y), classes=self.classes_)[1]

    def _outputs(self):
        return len(self.classes_), "softmax"

    def partial_fit(self, X, y, sample_weight=None, classes=None):
        """One more pass over these rows, at a constant rate.

        The first call learns the scales of the inputs from its rows, and needs
        `classes` if they do not all occur in y.
        """
        if hasattr(self, "nets_"):
            return self._continue_fit(X, y, sample_weight, one_pass=True)
        return self._fit(X, y, sample_weight, classes=classes, one_pass=True)

    def predict_proba(self, X, return_std=False):
        """Probability of each class, eq. (1); with `return_std` also its spread.

        The spread is the standard deviation over the answers of `n_estimators` nets and
        `mc_dropout` passes: how far they disagree.
        """
        answers = softmax(self._raw_outputs(X))
        if not return_std:
            return answers.mean(axis=0)
        if len(answers) == 1:
            raise ValueError(
                "return_std needs several answers: set n_estimators or mc_dropout "
                "above 1."
            )
        return answers.mean(axis=0), answers.std(axis=0)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`."""
        tiny = np.finfo(float).tiny
        p = softmax(self._raw_outputs(X)).mean(axis=0)
        return np.log(np.maximum(p, tiny))

    def predict(self, X):
        """The most probable class of each row."""
        best = softmax(self._raw_outputs(X)).mean(axis=0).argmax(axis=1)
        return self.classes_[best]


@dataclass(eq=False, repr=False)
class AbstractNetRegressor(Regressor, AbstractNet):
    """Nets for numbers: squared error, or a Gaussian with a predicted variance.

    Parameters
    ----------
    loss : {"squared_error", "gaussian"}, default="squared_error"
        "gaussian" predicts a variance too, which `predict(return_std=True)` gives.

    Attributes
    ----------
    target_mean_, target_scale_ : arrays of shape (outputs,)
        Centre and scale of the numbers to predict.
    """

    _: KW_ONLY
    loss: Literal["squared_error", "gaussian"] = "squared_error"

    _y_kind = "numbers"

    def _learn_target(self, y, w):
        Y = np.asarray(y, float).reshape(len(y), -1)
        refuse_overflowing_squares(self, Y, "y")
        self.single_output_ = np.ndim(y) == 1
        self.target_mean_ = np.average(Y, axis=0, weights=w)
        spread = np.sqrt(np.average((Y - self.target_mean_) ** 2, axis=0, weights=w))
        self.target_scale_ = np.where(spread > 0, spread, 1.0)

    def _encode_target(self, y):
        Y = np.asarray(y, float).reshape(len(y), -1)
        if Y.shape[1] != len(self.target_mean_):
            raise ValueError(
                f"y has {Y.shape[1]} outputs, but the model has "
                f"{len(self.target_mean_)}."
            )
        return (Y - self.target_mean_) / self.target_scale_

    def _outputs(self):
        k = len(self.target_mean_)
        return (2 * k, "gaussian") if self.loss == "gaussian" else (k, "identity")

    def partial_fit(self, X, y, sample_weight=None):
        """One more pass over these rows, at a constant rate.

        The first call learns the scales of inputs and targets from its rows.
        """
        if hasattr(self, "nets_"):
            return self._continue_fit(X, y, sample_weight, one_pass=True)
        return self._fit(X, y, sample_weight, one_pass=True)

    def predict(self, X, return_std=False):
        """The mean of each row, with `return_std` its standard deviation, eq. (2)."""
        F = self._raw_outputs(X)
        k = len(self.target_mean_)
        means = F[:, :, :k]
        mean = means.mean(axis=0) * self.target_scale_ + self.target_mean_
        mean = mean[:, 0] if self.single_output_ else mean
        if not return_std:
            return mean
        gaussian = F.shape[2] == 2 * k
        if len(F) == 1 and not gaussian:
            names = [
                name
                for name in ("n_estimators", "n_members", "mc_dropout")
                if hasattr(self, name)
            ]
            raise ValueError(
                "return_std needs several answers or a predicted variance: set "
                f'{", ".join(names[:-1])} or {names[-1]} above 1, or loss="gaussian".'
            )
        variance = means.var(axis=0)
        if gaussian:
            variance = variance + np.exp(F[:, :, k:]).mean(axis=0)
        std = np.sqrt(variance) * self.target_scale_
        return mean, std[:, 0] if self.single_output_ else std

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
