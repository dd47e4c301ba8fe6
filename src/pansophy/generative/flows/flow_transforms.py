"""Invertible maps of rows with known volume: the parts of normalising flows.

A transform f takes rows x to rows z of a simple density. It knows both directions and
what each does to volumes:

    forward_and_logdet(x, context) -> z, log |det dz/dx|     z = f(x)            (1)
    inverse_and_logdet(z, context) -> x, log |det dx/dz|     x = f^-1(z)

so that log p(x) = log p(z) + log |det dz/dx|. Under composition the log determinants
add, and those of the two directions cancel.

    LinearTransform          z = L U x + b, L and U triangular, sum_j log U_jj
    CouplingTransform        half of the columns are kept, and give the parameters of
                             monotone maps of the others: a triangular Jacobian  (2)
    AutoregressiveTransform  column j is mapped with parameters from columns 0..j-1:
                             all at once forward, one after the other back       (3)
    ContinuousTransform      x moves by dx/dt = f(t, x) from 0 to 1; the log determinant
                             is the integral of the trace (`flow_likelihood`)    (4)
    Permutation, Composition

Monotone maps of a column (`COLUMN_MAPS`): "affine" z = e^s x + t, |s| < 3, and "spline"
(`rational_quadratic_spline`). A context y joins the inputs of every conditioner. All
begin near the identity: the last layers of conditioners start small.

Cost      (2) one pass of its conditioner both ways, (3) d passes for the inverse
Shapes    x, z (n, d)   context (n, c) or None   log determinants (n,)
Refs      [Dinh2017] (2); [Papamakarios2017] (3); [Germain2015] masks of (3);
          [Grathwohl2019] (4); [Kingma2018] L U; [Durkan2019] splines
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...nn import ACTIVATIONS, DenseLayers, MLPField, odeint
from ..diffusion.flow_likelihood import TraceName, field_and_trace, trace_probes
from .rational_quadratic_spline import spline_forward, spline_inverse

LARGEST_LOG_SCALE = 3.0
FIRST_GAIN = 0.1  # of the last layer of a conditioner, whose hidden units are of size 1
MASKED_GAIN = 0.5  # the same for masked layers, whose hidden units are smaller


class ColumnMap(NamedTuple):
    """A monotone map of one column, with parameters for each row and column."""

    n_parameters: Callable[[int], int]  # of the number of bins
    forward: Callable  # (x, parameters (n, d, p)) -> y, log dy/dx
    inverse: Callable  # (y, parameters) -> x, log dx/dy


def _bounded_log_scale(raw):
    return LARGEST_LOG_SCALE * torch.tanh(raw / LARGEST_LOG_SCALE)


def _affine_forward(x, parameters):
    raw, shift = parameters.unbind(-1)
    s = _bounded_log_scale(raw)
    return x * s.exp() + shift, s


def _affine_inverse(y, parameters):
    raw, shift = parameters.unbind(-1)
    s = _bounded_log_scale(raw)
    return (y - shift) * torch.exp(-s), -s


COLUMN_MAPS = {
    "affine": ColumnMap(lambda bins: 2, _affine_forward, _affine_inverse),
    "spline": ColumnMap(lambda bins: 3 * bins - 1, spline_forward, spline_inverse),
}


class LinearTransform(nn.Module):
    """z = L U (x - b), with L of unit diagonal and U of positive diagonal e^a."""

    def __init__(self, d: int):
        super().__init__()
        self.lower = nn.Parameter(torch.zeros(d, d))
        self.upper = nn.Parameter(torch.zeros(d, d))
        self.log_diagonal = nn.Parameter(torch.zeros(d))
        self.shift = nn.Parameter(torch.zeros(d))

    def factors(self):
        """L and U."""
        L = self.lower.tril(-1) + torch.eye(
            len(self.shift), dtype=self.shift.dtype, device=self.shift.device
        )
        U = self.upper.triu(1) + torch.diag(self.log_diagonal.exp())
        return L, U

    def forward_and_logdet(self, x, context=None):
        L, U = self.factors()
        z = (x - self.shift) @ (L @ U).T
        return z, self.log_diagonal.sum().expand(len(x))

    def inverse_and_logdet(self, z, context=None):
        L, U = self.factors()
        v = torch.linalg.solve_triangular(L, z.T, upper=False, unitriangular=True)
        x = torch.linalg.solve_triangular(U, v, upper=True).T + self.shift
        return x, -self.log_diagonal.sum().expand(len(z))


class Permutation(nn.Module):
    """Columns in another order; `order[j]` is the column that becomes column j."""

    order: Tensor

    def __init__(self, order: Sequence[int]):
        super().__init__()
        self.register_buffer("order", torch.as_tensor(order, dtype=torch.int64))

    def forward_and_logdet(self, x, context=None):
        return x[:, self.order], torch.zeros_like(x[:, 0])

    def inverse_and_logdet(self, z, context=None):
        return z[:, self.order.argsort()], torch.zeros_like(z[:, 0])


class CouplingTransform(nn.Module):
    """Eq. (2): the first half of the columns moves the second.

    Parameters
    ----------
    d : int
        Columns.
    column_map : {"affine", "spline"}
    hidden : sequence of int
        Hidden layers of the conditioner.
    n_bins : int
        Of a spline.
    n_context : int
        Columns of the context.
    """

    def __init__(
        self, d: int, column_map: str = "spline", hidden: Sequence[int] = (64, 64), *,
        n_bins: int = 8, n_context: int = 0,
    ):  # fmt: skip
        super().__init__()
        self.kept = d // 2
        self.column_map = column_map
        self.n_parameters = COLUMN_MAPS[column_map].n_parameters(n_bins)
        # a single column has nothing to look at but a constant
        inputs = max(1, self.kept + n_context)
        outputs = (d - self.kept) * self.n_parameters
        self.conditioner = DenseLayers([inputs, *hidden, outputs])
        _start_small(self.conditioner.layers[-1])

    def parameters_of(self, kept, context) -> Tensor:
        """Parameters (n, d - kept, p) of the columns that move."""
        parts = [kept] if context is None else [kept, context.to(kept)]
        seen = torch.cat(parts, 1)
        if not seen.shape[1]:
            seen = torch.ones_like(seen.new_empty(len(kept), 1))
        return self.conditioner(seen).reshape(len(kept), -1, self.n_parameters)

    def forward_and_logdet(self, x, context=None):
        return self.move(x, context, COLUMN_MAPS[self.column_map].forward)

    def inverse_and_logdet(self, z, context=None):
        return self.move(z, context, COLUMN_MAPS[self.column_map].inverse)

    def move(self, x, context, one_way):
        kept, moved = x[:, : self.kept], x[:, self.kept :]
        moved, logs = one_way(moved, self.parameters_of(kept, context))
        return torch.cat([kept, moved], 1), logs.sum(1)


class MaskedLayers(nn.Module):
    """Dense layers whose outputs for column j see columns 0..j-1 and the context.

    Units have degrees: input j has degree j + 1, hidden units from 1 to d - 1 in turn,
    outputs of column j see units of degree up to j. A context has degree 0 and is
    seen by all.
    """

    def __init__(
        self, d: int, n_parameters: int, hidden: Sequence[int], *, n_context=0,
        activation="relu",
    ):  # fmt: skip
        super().__init__()
        self.activation = activation
        inputs = torch.cat([torch.arange(1, d + 1), torch.zeros(n_context).long()])
        degrees = [inputs]
        for m in hidden:
            degrees.append(torch.arange(m) % max(d - 1, 1) + min(d - 1, 1))
        outputs = torch.arange(d).repeat_interleave(n_parameters)
        sizes = [len(a) for a in degrees] + [len(outputs)]
        self.layers = nn.ModuleList([nn.Linear(m, k) for m, k in pairwise(sizes)])
        self.names = []
        for i, (seen, layer_degrees) in enumerate(pairwise([*degrees, outputs])):
            mask = (layer_degrees[:, None] >= seen[None]).float()
            self.register_buffer(f"mask{i}", mask)
            self.names.append(f"mask{i}")
        # outputs are scaled by the units that they see, not by all of them
        _start_small(self.layers[-1], getattr(self, self.names[-1]).sum(1), MASKED_GAIN)

    def forward(self, x: Tensor) -> Tensor:
        g = ACTIVATIONS[self.activation].value
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            W = layer.weight * getattr(self, self.names[i])
            x = functional.linear(x, W, layer.bias)
            x = g(x) if i < last else x
        return x


class AutoregressiveTransform(nn.Module):
    """Eq. (3), by layers with masks; parameters as in `CouplingTransform`."""

    def __init__(
        self, d: int, column_map: str = "spline", hidden: Sequence[int] = (64, 64), *,
        n_bins: int = 8, n_context: int = 0,
    ):  # fmt: skip
        super().__init__()
        self.d = d
        self.column_map = column_map
        self.n_parameters = COLUMN_MAPS[column_map].n_parameters(n_bins)
        self.conditioner = MaskedLayers(
            d, self.n_parameters, hidden, n_context=n_context
        )

    def parameters_of(self, x, context) -> Tensor:
        """Parameters (n, d, p) of all columns."""
        seen = x if context is None else torch.cat([x, context.to(x)], 1)
        return self.conditioner(seen).reshape(len(x), self.d, self.n_parameters)

    def forward_and_logdet(self, x, context=None):
        map_forward = COLUMN_MAPS[self.column_map].forward
        z, logs = map_forward(x, self.parameters_of(x, context))
        return z, logs.sum(1)

    def inverse_and_logdet(self, z, context=None):
        map_inverse = COLUMN_MAPS[self.column_map].inverse
        x, logs = torch.zeros_like(z), torch.zeros_like(z)
        for _ in range(self.d):  # after j + 1 passes columns 0..j are right
            x, logs = map_inverse(z, self.parameters_of(x, context))
        return x, logs.sum(1)


class ContinuousTransform(nn.Module):
    """Eq. (4): the flow of a learnt vector field.

    Parameters
    ----------
    d : int
    hidden : sequence of int
        Hidden layers of the field.
    n_steps : int
        Steps of the classical Runge-Kutta method.
    n_context : int
        Columns of the context, which the field sees beside the rows.
    trace : {"auto", "exact", "hutchinson"}
        An estimate keeps its vectors of signs during a solution.
    """

    def __init__(
        self, d: int, hidden: Sequence[int] = (64, 64), *, n_steps: int = 6,
        n_context: int = 0, trace: TraceName = "auto",
    ):  # fmt: skip
        super().__init__()
        seed = int(torch.randint(2**31, ()))
        self.field = MLPField(d + n_context, hidden, time=True, rng=seed)
        self.d, self.n_steps, self.trace = d, n_steps, trace

    def solve(self, x, context, times):
        probes = trace_probes(self.d, self.trace, x)
        training = torch.is_grad_enabled()

        def field(t, state):
            def move(rows):
                parts = [rows] if context is None else [rows, context.to(rows)]
                return self.field(t, torch.cat(parts, 1))[:, : self.d]

            rows = state[:, : self.d]
            f, total = field_and_trace(move, rows, probes, create_graph=training)
            return torch.cat([f, total[:, None]], 1)

        start = torch.cat([x, torch.zeros_like(x[:, :1])], 1)
        end = odeint(
            field, start, times, "rk4", step=1 / self.n_steps, checkpoints=False
        ).y[-1]
        return end[:, : self.d], end[:, self.d]

    def forward_and_logdet(self, x, context=None):
        return self.solve(x, context, (0.0, 1.0))

    def inverse_and_logdet(self, z, context=None):
        return self.solve(z, context, (1.0, 0.0))


class Composition(nn.Module):
    """Transforms one after the other; their log determinants add.

    Examples
    --------
    >>> import torch
    >>> from pansophy.generative import Composition, CouplingTransform, Permutation
    >>> f = Composition([CouplingTransform(3), Permutation([2, 0, 1])])
    >>> x = torch.randn(5, 3)
    >>> z, there = f.forward_and_logdet(x)
    >>> back, home = f.inverse_and_logdet(z)
    >>> torch.allclose(back, x, atol=1e-5), torch.allclose(there, -home, atol=1e-5)
    (True, True)
    """

    def __init__(self, transforms: Sequence[nn.Module]):
        super().__init__()
        self.transforms = nn.ModuleList(transforms)

    def forward_and_logdet(self, x, context=None):
        total = torch.zeros_like(x[:, 0])
        for transform in self.transforms:
            x, logdet = transform.forward_and_logdet(x, context)
            total = total + logdet
        return x, total

    def inverse_and_logdet(self, z, context=None):
        total = torch.zeros_like(z[:, 0])
        for transform in reversed(self.transforms):
            z, logdet = transform.inverse_and_logdet(z, context)
            total = total + logdet
        return z, total


def _start_small(layer, seen=None, gain=FIRST_GAIN):
    """Make a conditioner's last layer small: its transform begins near the identity.

    `seen` (outputs,) are the inputs that each output sees; None: all.
    """
    n = torch.full((layer.out_features,), layer.in_features) if seen is None else seen
    nn.init.normal_(layer.weight)
    with torch.no_grad():
        layer.weight.mul_(gain * n[:, None].clamp(min=1).rsqrt())
    nn.init.zeros_(layer.bias)
