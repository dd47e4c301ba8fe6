"""Likelihoods of rows given the outputs of a decoder: p(x | z) by columns.

A decoder gives scores F for each code z; a likelihood says what they mean for the
columns of a row,

    normal       x_j ~ N(F_j, s_j^2), s_j learnt for each column, for all columns
                 at once ("global"), predicted by the decoder, or given
    bernoulli    x_j ~ Bernoulli(1 / (1 + e^-F_j)); x_j from 0 to 1
    poisson      x_j ~ Poisson(r_j), 1 / r_j = e^-F_j + 1 / t_j: a rate e^F_j that
                 levels off at t_j; x_j = 0, 1, 2, ...
    categorical  x_j ~ Categorical(softmax of the L_j scores of column j);
                 x_j = 0, ..., L_j - 1

and mixes of them for tables. All are full log-probabilities in nats, constants
included, so that bounds of different models may be compared; tests hold them against
`pansophy.distributions`. Scores may have leading axes (several codes of each row).

The rate that is best for a code is a mean of counts, so that no rate above the largest
count of a column can help: t_j is e times that. Without a limit single codes far out,
where the decoder extrapolates, have rates and gradients without bound.

Where the spread of a column is learnt it is at least 0.001 of the column's own: a
constant column would otherwise have an infinite density.

Shapes    X (n, d)   F (..., n, n_outputs)   log_prob (..., n, d)
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...core.numerics import LOG_2PI

LEAST_SCALE = 1e-3
LIMIT_OF_RATES = math.e  # times the largest count of a column


class NormalLikelihood(nn.Module):
    """Normal columns with a mean from the decoder.

    Parameters
    ----------
    n_columns : int
    variance : {"column", "global", "predicted"} or float, default="column"
        What is learnt, or the variance itself, in standardised units.
    """

    def __init__(self, n_columns: int, variance="column"):
        super().__init__()
        self.n_columns = n_columns
        self.predicted = variance == "predicted"
        self.n_features = n_columns
        self.n_outputs = 2 * n_columns if self.predicted else n_columns
        self.log_scale = None
        if not self.predicted:
            shape = (n_columns,) if variance == "column" else (1,)
            start = torch.zeros(shape)
            if not isinstance(variance, str):
                start.fill_(math.log(variance) / 2)
            learnt = isinstance(variance, str)
            self.log_scale = nn.Parameter(start, requires_grad=learnt)

    def features(self, X: Tensor) -> Tensor:
        """Input of an encoder, made of rows."""
        return X

    def mean_and_scale(self, F: Tensor) -> tuple[Tensor, Tensor]:
        if self.log_scale is None:
            mean, log_scale = F.chunk(2, -1)
        else:
            mean = F
            log_scale = self.log_scale
        if self.predicted:  # a slope everywhere, so that no code stays at the limit
            return mean, log_scale.exp() + LEAST_SCALE
        return mean, log_scale.clamp(min=math.log(LEAST_SCALE)).exp()

    def log_prob(self, X: Tensor, F: Tensor) -> Tensor:
        mean, scale = self.mean_and_scale(F)
        return -(((X - mean) / scale).square() + LOG_2PI) / 2 - scale.log()

    def mean(self, F: Tensor) -> Tensor:
        return self.mean_and_scale(F)[0]

    def draw(self, F: Tensor) -> Tensor:
        mean, scale = self.mean_and_scale(F)
        return mean + scale * torch.randn_like(mean)

    @property
    def exponentiated(self) -> np.ndarray:
        """Which scores are logarithms: a random start of theirs has no bound."""
        return np.arange(self.n_outputs) >= self.n_columns

    def initial_outputs(self, X: np.ndarray) -> np.ndarray:
        """Scores that fit the columns' means best without any code."""
        zeros = np.zeros(self.n_columns if self.predicted else 0)
        return np.concatenate([X.mean(axis=0), zeros])


class BernoulliLikelihood(nn.Module):
    """Columns of yes and no; numbers between count as shares of both."""

    def __init__(self, n_columns: int):
        super().__init__()
        self.n_columns = self.n_features = self.n_outputs = n_columns

    @property
    def exponentiated(self) -> np.ndarray:
        return np.zeros(self.n_outputs, bool)

    def features(self, X: Tensor) -> Tensor:
        return 2 * X - 1

    def log_prob(self, X: Tensor, F: Tensor) -> Tensor:
        return X * F - functional.softplus(F)

    def mean(self, F: Tensor) -> Tensor:
        return F.sigmoid()

    def draw(self, F: Tensor) -> Tensor:
        return torch.bernoulli(F.sigmoid())

    def initial_outputs(self, X: np.ndarray) -> np.ndarray:
        share = (X.sum(axis=0) + 0.5) / (len(X) + 1)
        return np.log(share / (1 - share))


class PoissonLikelihood(nn.Module):
    """Columns of counts.

    Parameters
    ----------
    largest : sequence of int
        The largest count of each column.
    """

    log_limit: Tensor

    def __init__(self, largest: Sequence[int]):
        super().__init__()
        limit = LIMIT_OF_RATES * np.maximum(np.asarray(largest, float), 1.0)
        self.n_columns = self.n_features = self.n_outputs = len(limit)
        self.register_buffer("log_limit", torch.as_tensor(np.log(limit)).float())

    @property
    def exponentiated(self) -> np.ndarray:
        return np.ones(self.n_outputs, bool)

    def features(self, X: Tensor) -> Tensor:
        return X.log1p()

    def log_rate(self, F: Tensor) -> Tensor:
        return -torch.logaddexp(-F, -self.log_limit)

    def log_prob(self, X: Tensor, F: Tensor) -> Tensor:
        log_rate = self.log_rate(F)
        return X * log_rate - log_rate.exp() - torch.lgamma(X + 1)

    def mean(self, F: Tensor) -> Tensor:
        return self.log_rate(F).exp()

    def draw(self, F: Tensor) -> Tensor:
        return torch.poisson(self.mean(F))

    def initial_outputs(self, X: np.ndarray) -> np.ndarray:
        mean = X.mean(axis=0) + 0.5 / len(X)
        return -np.log(1 / mean - np.exp(-self.log_limit.double().numpy()))


class CategoricalLikelihood(nn.Module):
    """Columns of levels 0, ..., L_j - 1.

    Parameters
    ----------
    levels : sequence of int
        L_j of each column.
    """

    places: Tensor
    padding: Tensor

    def __init__(self, levels: Sequence[int]):
        super().__init__()
        self.levels = [int(level) for level in levels]
        self.n_columns = len(self.levels)
        self.n_features = self.n_outputs = sum(self.levels)
        widest = max(self.levels, default=1)
        ends = np.cumsum([0, *self.levels])
        places = ends[:-1, None] + np.arange(widest)
        padding = np.arange(widest) >= np.asarray(self.levels)[:, None]
        # columns side by side in a (columns, widest) rectangle: one softmax for all
        self.register_buffer("places", torch.as_tensor(np.where(padding, 0, places)))
        self.register_buffer("padding", torch.as_tensor(padding))

    @property
    def exponentiated(self) -> np.ndarray:
        return np.zeros(self.n_outputs, bool)

    def features(self, X: Tensor) -> Tensor:
        hot = functional.one_hot(X.long(), self.places.shape[1])
        return hot[:, ~self.padding].to(X.dtype)

    def log_shares(self, F: Tensor) -> Tensor:
        """log p of each level: (..., n, columns, widest), -inf where there is none."""
        scores = F[..., self.places].masked_fill(self.padding, -torch.inf)
        return scores.log_softmax(-1)

    def log_prob(self, X: Tensor, F: Tensor) -> Tensor:
        shares = self.log_shares(F)
        index = X.long()[..., None].expand(*shares.shape[:-1], 1)
        return shares.gather(-1, index)[..., 0]

    def mean(self, F: Tensor) -> Tensor:
        """The most probable level of each column."""
        return self.log_shares(F).argmax(-1).to(F.dtype)

    def draw(self, F: Tensor) -> Tensor:
        shares = self.log_shares(F).exp()
        drawn = torch.multinomial(shares.reshape(-1, shares.shape[-1]), 1)
        return drawn.reshape(shares.shape[:-1]).to(F.dtype)

    def initial_outputs(self, X: np.ndarray) -> np.ndarray:
        counts = [
            np.bincount(column.astype(int), minlength=level) + 0.5
            for column, level in zip(X.T, self.levels)
        ]
        return np.concatenate([np.log(c / c.sum()) for c in counts])


class MixedLikelihood(nn.Module):
    """Likelihoods of several kinds for the columns of one table.

    Parameters
    ----------
    parts : list of (columns, likelihood)
        Places of the columns of each likelihood; together all columns.
    presence : dict of int to int or None
        Column -> column of 1 where the first is missing: a missing value has no
        likelihood of its own, its absence has.
    """

    def __init__(self, parts, presence=None):
        super().__init__()
        self.columns = [[int(j) for j in columns] for columns, _ in parts]
        self.parts = nn.ModuleList([part for _, part in parts])
        self.n_columns = sum(map(len, self.columns))
        self.n_features = sum(part.n_features for part in self.parts)
        self.widths = [part.n_outputs for part in self.parts]
        self.n_outputs = sum(self.widths)
        order = np.argsort([j for columns in self.columns for j in columns])
        self.order = order.tolist()  # from the order of the parts to that of X
        self.values = [int(j) for j in (presence or {})]
        self.absences = [int(j) for j in (presence or {}).values()]

    @property
    def exponentiated(self) -> np.ndarray:
        return np.concatenate([part.exponentiated for part in self.parts])

    def features(self, X: Tensor) -> Tensor:
        seen = [p.features(X[:, c]) for c, p in zip(self.columns, self.parts)]
        return torch.cat(seen, 1)

    def split(self, F: Tensor):
        return F.split(self.widths, -1)

    def log_prob(self, X: Tensor, F: Tensor) -> Tensor:
        results = [
            part.log_prob(X[:, c], f)
            for c, part, f in zip(self.columns, self.parts, self.split(F))
        ]
        value = torch.cat(results, -1)[..., self.order]
        if not self.values:
            return value
        is_present = torch.ones_like(X)
        is_present[:, self.values] = 1 - X[:, self.absences]
        return value * is_present

    def mean(self, F: Tensor) -> Tensor:
        results = [part.mean(f) for part, f in zip(self.parts, self.split(F))]
        return torch.cat(results, -1)[..., self.order]

    def draw(self, F: Tensor) -> Tensor:
        results = [part.draw(f) for part, f in zip(self.parts, self.split(F))]
        return torch.cat(results, -1)[..., self.order]

    def initial_outputs(self, X: np.ndarray) -> np.ndarray:
        results = [p.initial_outputs(X[:, c]) for c, p in zip(self.columns, self.parts)]
        return np.concatenate(results)


def check_likelihood(kind: str, X: np.ndarray, name: str) -> None:
    """Raise ValueError if the columns of X cannot have a likelihood of this kind."""
    if kind == "bernoulli" and (X.min() < 0 or X.max() > 1):
        raise ValueError(
            f"likelihood='bernoulli' of {name} needs values from 0 to 1; X has values "
            f"from {X.min():.6g} to {X.max():.6g}."
        )
    if kind in ("poisson", "categorical"):
        bad = np.argwhere((X < 0) | (X % 1 != 0))
        if len(bad):
            i, j = bad[0]
            raise ValueError(
                f"likelihood={kind!r} of {name} needs whole numbers from 0; column "
                f"{j} of X holds {X[i, j]:.6g}."
            )
