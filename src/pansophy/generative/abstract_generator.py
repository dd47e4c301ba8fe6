"""Base class of generative models: rows in, training, samples and scores out.

A generator is one net, fitted by `nn.train` to standardised rows z = (x - m) / s,
m and s being the weighted mean and standard deviation of the training rows. What the
net says of z is carried back to x exactly:

    sample   x = m + s z                                                        (1)
    density  log p(x) = log p(z) - sum_j log s_j                                (2)

Classes. A conditional model learns p(x | y) and the shares pi of the classes. Where no
label is given, samples draw theirs from pi, and scores are those of the mixture

    log p(x) = log sum_c pi_c p(x | c)                                          (3)

(a lower bound of each term gives a lower bound of the sum).

Nets take batches {"X": rows, "y": class numbers, "w": weights}, the last two where they
are given, and name their losses after what they are, each in nats per row, so that
`history_` has every term. A row of weight k counts as k rows in the loss
(`batch_mean`); rows of weight 0 are left out.

Noise that a score needs is the same for every row and call: the score of a row does
not depend on its neighbours, and asking twice gives the same answer.

Image stacks (n, h, w) or (n, h, w, channels) are taken as rows of pixels with one mean
and scale for all of them, and samples have the shape of the images.

Shapes    X (n, d) or (n, h, w[, channels])   y (n,)   w (n,)
"""

import copy
import math
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from .. import nn
from ..base import Density, host_array
from ..core.arrays.labels import class_codes, refuse_missing
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.unreadable import array_of_rows
from ..core.random import draw_seed, make_rng
from ..nn.nets.heads import positive_total
from ..nn.training.abstract_training import (
    BLOCK_VALUES,
    AbstractTraining,
    detached_net,
    tensor_blocks,
)
from ..nn.training.devices import resolve_device, seeded_torch
from ..nn.training.run_tag import run_tag
from ..params import Natural, check_count

LARGEST_IMAGE_RANK = 4  # axes of a stack of images with channels
MONITORED_ROWS = 500  # rows that sample quality is measured on
FAR_OUT = 1e-8  # of the root of the largest number, in standard deviations
NEARLY_CONSTANT = 1e-10  # of its mean: a column of such a spread is constant


class GeneratorRows(NamedTuple):
    """Rows as a generator's net takes them."""

    X: Any  # (n, d), standardised
    y: Any = None  # (n,) class numbers, or None
    w: Any = None  # (n,) weights, or None

    def take(self, index) -> "GeneratorRows":
        """The rows at these positions."""
        return GeneratorRows(*(None if a is None else a[index] for a in self))

    def arrays(self, dtype) -> dict:
        """Arrays for `nn.train`."""
        parts = {k: v for k, v in self._asdict().items() if v is not None}
        return {
            k: v if v.dtype.kind in "iu" else np.ascontiguousarray(v, dtype)
            for k, v in parts.items()
        }


def batch_mean(values: Tensor, batch: dict) -> Tensor:
    """The weighted mean of one value per row of a batch: a term of the loss."""
    w = batch.get("w")
    if w is None:
        return values.mean()
    return w @ values / positive_total(w.sum())


@dataclass(eq=False, repr=False)
class AbstractGenerator(Density, AbstractTraining):
    """Parameters and fitting of the generative models.

    A model gives

    - `_build_net(n_features, n_classes)`: a torch module with `losses(batch)`;
      n_classes is 0 unless labels are used. Called with torch seeded;
    - `_generate(net, n, y)`: n rows (n, d) in standardised units, y class numbers or
      None, by torch's random numbers, which are seeded. Called without gradients;
    - `_log_density(net, X, y)`: (n,) nats in standardised units, or what `_is_density`
      being False says is no density (minus a reconstruction error, say). The noise it
      draws must be the same for all rows. Called in evaluation mode with torch seeded,
      with gradients off;
    - where needed `_learn_scaling`, `_start_net(net, rows)`, `_optimiser`,
      `_training_options` (a dict of optimisers, weight averages, ...),
      `_prepare_sampling(net, rows)` (buffers of the net that samples are drawn from,
      such as the distribution of codes) and `_finish_fit(rows)` (what is learnt after
      training).

    Parameters
    ----------
    scaling : {"auto", "column", "global"} or None
        Whether each column is standardised, or all by one mean and scale; "auto" takes
        one for stacks of images.
    quality_every : int
        Epochs between measurements of the samples (`history_`: "mmd", "c2st", ...); 0:
        none.

    Attributes
    ----------
    net_ : torch module
    mean_, scale_ : arrays of shape (d,)
        Standardisation of the columns.
    image_shape_ : tuple or None
        Shape of an image, if stacks of images were given.
    loss_ : float
        Training loss of the last epoch.
    """

    _: KW_ONLY
    scaling: Literal["auto", "column", "global"] | None = "auto"
    quality_every: Natural = 0

    _conditional = False  # whether `y` holds classes that the model uses
    _needs_labels = False  # whether it cannot do without
    _pixels = False  # whether columns are pixels, which one mean and scale suit
    _is_density = True  # whether scores are log densities, which eq. (2) corrects

    # -- fitting ---------------------------------------------------------------

    def _fit(self, X, y, sample_weight):
        X, y, w = self._check_rows(X, y, sample_weight)
        refuse_overflowing_squares(self, X)
        if w is not None and not (w > 0).all():
            kept = np.flatnonzero(w > 0)
            X, w = X[kept], w[kept]
            y = None if y is None else y[kept]
        y = self._learn_classes(y, w)
        rng = make_rng(self.random_state)
        rows = GeneratorRows(X, y, w)
        held_out = None
        if self.early_stopping:
            inside, outside = self._held_out_split(len(X), rng, y)
            rows, held_out = rows.take(inside), rows.take(outside)
        self.mean_, self.scale_ = self._learn_scaling(rows.X, rows.w)
        rows = rows._replace(X=self._encode_rows(rows.X))
        if held_out is not None:
            held_out = held_out._replace(X=self._encode_rows(held_out.X))
        with seeded_torch(torch.device("cpu"), draw_seed(rng)):
            net = self._build_net(rows.X.shape[1], self._n_classes())
            self._start_net(net, rows)
        self._train(net.to(getattr(torch, self.dtype)), rows, held_out, rng)
        self._finish_fit(rows)
        return self

    def _check_rows(self, X, y, sample_weight):
        """Training rows (n, d), their labels or None and their weights or None."""
        X = self._flat_rows(X, reset=True)
        if self._needs_labels and y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None: it holds the class of each row."
            )
        if self._conditional and y is not None:
            return self._check_training_data(X, y, sample_weight, y_kind="class")
        X, w = self._check_training_data(X, sample_weight=sample_weight)
        return X, None, w

    def _flat_rows(self, X, *, reset):
        return pixel_rows(self, X, reset=reset)

    def _learn_classes(self, y, w):
        """Class numbers of the labels; sets classes_ and class_prior_."""
        self.classes_, self.class_prior_ = None, None
        if y is None:
            return None
        self.classes_, codes = class_codes(np.asarray(y))
        counts = np.bincount(codes, w, minlength=len(self.classes_))
        self.class_prior_ = counts / counts.sum()
        return codes

    def _n_classes(self) -> int:
        return 0 if self.classes_ is None else len(self.classes_)

    def _learn_scaling(self, X, w):
        """`mean_` and `scale_` (d,): of each column, or one for all columns."""
        d = X.shape[1]
        if self.scaling is None:
            return np.zeros(d, X.dtype), np.ones(d, X.dtype)
        mean = np.average(X, axis=0, weights=w).astype(float)
        square = np.average((X - mean) ** 2, axis=0, weights=w)
        images = self._pixels or self.image_shape_ is not None
        if self.scaling == "global" or (images and self.scaling == "auto"):
            square = np.full(d, square.mean() + mean.var())
            mean = np.full(d, mean.mean())
        spread = np.sqrt(square)
        constant = spread <= NEARLY_CONSTANT * np.abs(mean)
        scale = np.where(constant | (spread == 0), 1.0, spread)
        return mean.astype(X.dtype), scale.astype(X.dtype)

    def _encode_rows(self, X):
        """Rows in standardised units."""
        return (X - self.mean_) / self.scale_

    def _decode_rows(self, Z):
        """Rows of the user's from standardised ones, eq. (1)."""
        X = np.asarray(Z, float) * self.scale_ + self.mean_
        X = X.astype(self.mean_.dtype)
        return X if self.image_shape_ is None else X.reshape(-1, *self.image_shape_)

    def _train(self, net, rows, held_out, rng):
        """Train the net and store it."""
        data = rows.arrays(self.dtype)
        valid = None if held_out is None else held_out.arrays(self.dtype)
        options = self._training_options(net, len(rows.X), valid)
        if self.checkpoint is not None:
            options["tag"] = run_tag(self, rows.X.shape, data.values())
        monitors = self._monitors(rows, held_out, rng)
        if monitors:
            join = lambda net: {k: v for f in monitors for k, v in f(net).items()}
            options["evaluate"] = join

        def run(task):
            return nn.train(net, data, seed=rng, task=task, **options).as_planned()

        result = self._run_driver(
            run,
            total=options["epochs"],
            X=rows.X,
            y=rows.y,
            snapshot=lambda state: {"net_": detached_net(state.net)},
        )
        self.net_ = detached_net(result.state.net)
        self._prepare_sampling(self.net_, rows)
        losses = self.history_.get("loss", np.empty(0))
        self.loss_ = float(losses[-1]) if len(losses) else math.inf

    def _monitors(self, rows, held_out, rng) -> list:
        """Functions of the net that `nn.train` calls after each epoch.

        Each gives a dict of numbers for the history; without gradients, in evaluation
        mode.
        """
        if not self.quality_every:
            return []
        return [
            self._quality_monitor(
                rows if held_out is None else held_out, draw_seed(rng)
            )
        ]

    def _quality_monitor(self, rows, seed):
        """A monitor of how far samples are from rows."""
        from .quality import sample_quality

        n = min(len(rows.X), MONITORED_ROWS)
        chosen = rows.take(make_rng(seed).choice(len(rows.X), n, replace=False))
        epoch = 0

        def evaluate(net):
            nonlocal epoch
            epoch += 1
            if epoch % self.quality_every:
                return {}
            device, _ = net_placement(net)
            self._prepare_sampling(net, chosen)
            y = None if chosen.y is None else torch.as_tensor(chosen.y, device=device)
            drawn = self._given_out(self._generate(net, n, y).double().cpu().numpy())
            real, fake = (self._measured_columns(net, Z) for Z in (chosen.X, drawn))
            return sample_quality(real, fake, make_rng(seed))

        return evaluate

    def _given_out(self, Z):
        """Drawn rows (n, d) as a user gets them, rounded say, in standardised units."""
        rows = self._finish_samples(self._decode_rows(Z))
        return self._encode_rows(rows.reshape(len(Z), -1))

    def _measured_columns(self, net, Z):
        """Columns that sample quality compares: the standardised rows."""
        return Z

    def _start_net(self, net, rows):
        """Initial weights that depend on the training rows: none here."""

    def _prepare_sampling(self, net, rows):
        """Put into a net what samples need besides its weights: nothing here."""

    def _finish_fit(self, rows):
        """Learn from the training rows by the trained net, where a class needs it."""

    # -- samples and scores ----------------------------------------------------

    def sample(self, n_samples=1, y=None, random_state=None):
        """Draw new rows.

        Parameters
        ----------
        n_samples : int, default=1
        y : label, array of n_samples labels, or None, default=None
            Classes of the rows, for a model that was fitted with labels; None draws
            them by their shares in the training rows.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        X : array of shape (n_samples, d), or of images
        """
        return self._draw_rows(self._generate, n_samples, y, random_state)

    def _draw_rows(self, generate, n_samples, y, random_state):
        """Rows by `generate(net, n, y)`, which is `_generate` or one with options."""
        net = self._inference_net(getattr(torch, self.dtype))
        n = check_count("n_samples", n_samples)
        rng = make_rng(random_state)
        codes = self._sampled_codes(n, y, rng)
        device, _ = net_placement(net)
        block = max(16, BLOCK_VALUES // max(1, self.n_features_in_))
        parts = []
        with seeded_torch(device, draw_seed(rng)), torch.no_grad():
            for i in range(0, n, block):
                part = None if codes is None else codes[i : i + block]
                part = None if part is None else torch.as_tensor(part, device=device)
                drawn = generate(net, min(block, n - i), part)
                parts.append(drawn.double().cpu().numpy())
        return self._finish_samples(self._decode_rows(np.concatenate(parts)))

    def _finish_samples(self, X):
        """Drawn rows in the user's units, as they are given out: as they are."""
        return X

    def score_samples(self, X, y=None):
        """Score of each row in nats, higher for more usual rows; eq. (2) and (3).

        Parameters
        ----------
        X : array of shape (n, d), or images
        y : array of n labels or None
            For a model that was fitted with labels; None: the mixture of all classes.

        Returns
        -------
        array of shape (n,)
        """
        return self._scores(self._log_density, X, y)

    def score(self, X, y=None):
        """The mean of `score_samples`."""
        used = y is not None and self._conditional and self._n_classes()
        scores = self.score_samples(X, y) if used else self.score_samples(X)
        return float(np.mean(scores))

    def _scores(self, log_density, X, y=None):
        """`log_density(net, X, y)` of rows in the user's units, eq. (2) and (3)."""
        rows, codes = self._check_scored_rows(X, y)
        if self._n_classes() and codes is None:
            class_scores = [
                self._row_values(log_density, rows, np.full(len(rows), c))
                for c in range(self._n_classes())
            ]
            with np.errstate(divide="ignore"):
                values = logsumexp(
                    np.stack(class_scores, axis=1) + np.log(self.class_prior_), axis=1
                )
        else:
            values = self._row_values(log_density, rows, codes)
        values = vanish_far_out(values, rows)
        return values - self._log_volume() if self._is_density else values

    def _log_volume(self) -> float:
        """sum_j log s_j of eq. (2)."""
        return float(np.log(self.scale_.astype(float)).sum())

    def _check_scored_rows(self, X, y=None):
        """New rows in standardised units, and their class numbers or None."""
        X = self._check_new_rows(X)
        codes = None if y is None else self._label_codes(y, len(X))
        return self._encode_rows(X), codes

    def _check_new_rows(self, X):
        if hasattr(self, "image_shape_"):
            X = self._flat_rows(X, reset=False)
        return self._check_new_data(X)

    def _label_codes(self, y, n):
        """Class numbers of labels that a caller gives."""
        if not self._n_classes():
            raise ValueError(
                f"y was given, but this {type(self).__name__} was fitted without "
                "labels."
            )
        y = np.asarray(y)
        labels = np.full(n, y) if y.ndim == 0 else y
        if labels.shape != (n,):
            raise ValueError(f"y must be a label or {n} labels, got shape {y.shape}.")
        refuse_missing(labels)
        return class_codes(labels, classes=self.classes_)[1]

    def _sampled_codes(self, n, y, rng):
        if y is not None:
            return self._label_codes(y, n)
        if not self._n_classes():
            return None
        return rng.choice(self._n_classes(), n, p=self.class_prior_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        return tags

    # -- the trained net -------------------------------------------------------

    def _inference_net(self, dtype):
        """A copy of the net on the device, in this precision, for evaluation."""
        check_is_fitted(self, "net_")
        return copy.deepcopy(self.net_).to(resolve_device(self.device), dtype).eval()

    def _row_values(self, function, X, y=None, seed=0):
        """`function(net, X, y)` of rows by the trained net: float64 NumPy.

        Computed in the precision of X, at least that of training.
        """
        double = "float64" in (self.dtype, str(X.dtype))
        net = self._inference_net(torch.float64 if double else torch.float32)
        return values_in_blocks(net, function, X, y, seed)


def pixel_rows(model, X, *, reset):
    """Image stacks as rows of pixels; other rows as they are.

    The shape of an image is remembered in `image_shape_` of the model if `reset`, and
    compared with it if not.
    """
    X = host_array(model, X)
    if isinstance(X, list):
        X = array_of_rows(X, f"X of {type(model).__name__}")
    shape = np.shape(X) if isinstance(X, np.ndarray) else ()
    stack = 2 < len(shape) <= LARGEST_IMAGE_RANK
    if reset:
        model.image_shape_ = tuple(shape[1:]) if stack else None
    elif stack and model.image_shape_ not in (None, tuple(shape[1:])):
        raise ValueError(
            f"images have the shape {tuple(shape[1:])}, but "
            f"{type(model).__name__} is expecting {model.image_shape_}."
        )
    return np.asarray(X).reshape(len(X), -1) if stack else X


def values_in_blocks(net, function, X, y=None, seed=0):
    """`function(net, X, y)` over blocks of rows, without gradients: float64 NumPy.

    Every block starts from the same random numbers, so that a row's value does not
    depend on the number of rows; with `seed` None, from the generator as it stands.
    """
    device, dtype = net_placement(net)
    block = max(16, BLOCK_VALUES // max(1, X.shape[1]))
    inputs = (np.ascontiguousarray(X),) if y is None else (X, np.asarray(y))
    results = []
    for part in tensor_blocks(inputs, block, device, dtype):
        rows, labels = part if len(part) == 2 else (part[0], None)
        seeded = nullcontext() if seed is None else seeded_torch(device, seed)
        with seeded, torch.no_grad():
            results.append(function(net, rows, labels).double().cpu().numpy())
    return np.concatenate(results)


def vanish_far_out(log_prob, rows):
    """Log densities (n,), -inf in the place of NaN where a row is hopelessly far out.

    Squares of such rows overflow, and infinities of both signs would meet.
    """
    reach = FAR_OUT * math.sqrt(float(np.finfo(rows.dtype).max))
    far = np.abs(rows).max(axis=1) > reach
    return np.where(far & np.isnan(log_prob), -np.inf, log_prob)


def net_placement(net) -> tuple[torch.device, torch.dtype]:
    """Device and precision of a net."""
    first = next(net.parameters())
    return first.device, first.dtype
