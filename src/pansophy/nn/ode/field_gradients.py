"""Solutions of a vector field that knows its own derivatives, without autograd.

A Runge-Kutta step is linear in its stages, so the backward pass through

    Y_i = y + h sum_j a_ij k_j,   k_i = f(Y_i),   y_1 = y + h sum_i b_i k_i      (1)

is the same step in reverse. With bars for derivatives of the loss,

    k_i' = h b_i y_1' + h sum_l a_li Y_l' + (outputs inside the step),
    Y_i' = (df/dy)' k_i',    y' = y_1' + sum_i Y_i'                              (2)

(a prime stands for a bar; if the last stage is f(y_1), then y_1 is its Y and y_1' is
added to it). Small fields spend their time in calls, not in arithmetic. States are
columns (d, n), and an input has a row of ones below it, and one of t if the field
depends on time, so that a layer is one product [W, b, w] [H; 1; t], and the derivatives
of W, b and w are one product too. There are two ways to do a step:

- `CompiledFieldPass` for small perceptrons of float32 on the CPU: all stages of a step
  are one compiled call, as is their backward pass (`_field_gradients.py`);
- `TorchFieldPass` for all others: every operation writes where the next one reads, a
  stage of a layer is a matrix (m, n) of its own, and views of stages are made once.

Up to KEPT_BYTES the inputs of layers are kept for the backward pass; later steps keep
their initial state and slope and are computed anew.

Cost      a forward pass, a backward pass of twice its work, and at most one pass anew
Refs      [Hairer1993] eq. (1); [Chen2018] eq. (2) as the discrete adjoint
"""

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..layers.activations import ACTIVATIONS
from ..nets.compiled_mlp import LOOP_ACTIVATIONS
from .ode import ODEProblem, ODESolution, Step, dense_weights, integrate_ode
from .tableaus import TABLEAUS

KEPT_BYTES = 1 << 28
LARGE_FIELD_STEP = 1e8  # operations of a step, forth and back, that threads may share
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input


class StageInputs:
    """Inputs of every layer at the stages of a step, and views of them.

    `whole[l][i]` is [H; 1; t] of layer l at stage i, `own[l][i]` is its H.
    """

    def __init__(self, sizes, time: bool, stages: int, like: Tensor):
        n = like.shape[1]
        self.layers, self.whole, self.own = [], [], []
        for layer, m in enumerate(sizes):
            extra = 2 if layer == 0 and time else 1
            room = like.new_empty(stages, m + extra, n)
            room[:, m] = 1.0
            self.layers.append(room)
            self.whole.append(room.unbind(0))
            self.own.append(room[:, :m].unbind(0))
        first = self.layers[0].view(stages, -1)
        self.flat = first[:, : sizes[0] * n].unbind(0)  # own[0] as vectors
        self.nbytes = sum(x.nbytes for x in self.layers)


class StageDerivatives:
    """Derivatives of every layer's output at the stages of a step, and views."""

    def __init__(self, sizes, stages: int, like: Tensor):
        n = like.shape[1]
        self.layers = [like.new_zeros(stages, m, n) for m in sizes]
        self.own = [D.unbind(0) for D in self.layers]
        self.product = [like.new_empty(m, n) for m in sizes[:-1]]
        self.Kbar = self.layers[-1].view(stages, -1)
        self.Kbar_rows = self.Kbar.unbind(0)
        # of the stages' states, and of y_1 in the last row
        self.Ybar = like.new_zeros(stages + 1, *like.shape)
        self.Ybar_stages = self.Ybar.unbind(0)


class TorchFieldPass:
    """Steps of a perceptron and their derivatives by operations of torch.

    tanh z = 2 sigmoid(2 z) - 1, so a perceptron of tanh is one of sigmoids with other
    weights, which takes a fraction of the time; gradients are carried back to the
    weights of tanh.
    """

    def __init__(self, field, table, control, y0):
        with torch.no_grad():
            self._set_weights(field)
        self.table, self.control = table, control
        self.c = table.c.tolist()
        s = self.n_stages = len(self.c)
        rows = [*table.a, table.b]
        if table.adaptive:
            rows.append(table.error)
        # coefficients a, b and those of the error; h times them; views of their rows
        self.coefficients = y0.new_tensor([row.tolist() for row in rows])
        self.scaled = torch.empty_like(self.coefficients)
        self.a_rows = [self.scaled[i, :i] for i in range(s)]
        self.b_row, *self.error_row = self.scaled[s:].unbind(0)
        self.K = y0.new_empty(s, y0.numel())
        self.K_stages = self.K.view(s, *y0.shape).unbind(0)
        self.K_before = [self.K[:i].t() for i in range(s + 1)]

    def _set_weights(self, field):
        self.field = field
        self.tanh = field.activation.name == "tanh"
        self.activation = ACTIVATIONS["logistic"] if self.tanh else field.activation
        self.time = field.time_weight is not None
        self.n_layers = len(field.weights)
        self.inputs = [W.shape[0] for W in field.weights]
        self.outputs = [W.shape[1] for W in field.weights]
        self.W, self.back = [], []  # (m_l, m_{l-1} + 1 or 2) and (m_{l-1}, m_l)
        for i, (W, b) in enumerate(zip(field.weights, field.biases)):
            in_scale, out_scale = self._scales(i)
            if in_scale == 2:
                b = b - W.sum(0)
            self.back.append(W * (in_scale * out_scale))
            columns = [self.back[-1].t(), b[:, None] * out_scale]
            if i == 0 and self.time:
                columns.append(field.time_weight[:, None] * out_scale)
            self.W.append(torch.cat(columns, dim=1))

    def _scales(self, layer):
        """Factors on the input and the output of a layer for tanh by sigmoids."""
        in_scale = 2 if self.tanh and layer > 0 else 1
        out_scale = 2 if self.tanh and layer < self.n_layers - 1 else 1
        return in_scale, out_scale

    def stage_inputs(self, like: Tensor) -> StageInputs:
        return StageInputs(self.inputs, self.time, self.n_stages, like)

    def evaluate(self, time: float, y, inputs: StageInputs, i) -> Tensor:
        """f(time, y), in the place of stage i."""
        inputs.own[0][i].copy_(y)
        return self.evaluate_stage(time, inputs, i, torch.empty_like(y))

    def fill_stages(self, time, h, y, slope, inputs):
        """K, y_1, f(y_1) and the norm of the error over the tolerance, eq. (1)."""
        torch.mul(self.coefficients, h, out=self.scaled)
        begin = 0
        if slope is not None:
            self.K_stages[0].copy_(slope)
            begin = 1
        flat = y.view(-1)
        for i in range(begin, self.n_stages):
            if i:
                torch.addmv(flat, self.K_before[i], self.a_rows[i], out=inputs.flat[i])
            else:
                inputs.flat[0].copy_(flat)
            moment = time + self.c[i] * h
            self.evaluate_stage(moment, inputs, i, self.K_stages[i])
        K = self.K_before[-1]
        last = None
        if self.table.reuses_last:  # the last stage is f(y_1)
            y1 = inputs.flat[-1].clone()
            last = self.K_stages[-1].clone()
        else:
            y1 = torch.addmv(flat, K, self.b_row)
        ratio = 0.0
        if self.error_row:
            error = torch.mv(K, self.error_row[0])
            size = torch.maximum(flat.abs(), y1.abs())
            error.div_(size.mul_(self.control.rtol).add_(self.control.atol))
            ratio = float(self.control.norm(error))
        return y1.view(y.shape), last, ratio

    def evaluate_stage(self, time: float, inputs: StageInputs, i, out) -> Tensor:
        """f(time, y) into `out`, for the y that stands in `inputs.own[0][i]`."""
        if self.time:
            inputs.whole[0][i][-1].fill_(time)
        last = self.n_layers - 1
        for layer in range(last):
            Z = inputs.own[layer + 1][i]
            torch.mm(self.W[layer], inputs.whole[layer][i], out=Z)
            self.activation.apply_(Z)
        return torch.mm(self.W[last], inputs.whole[last][i], out=out)

    def stage_backward(self, inputs, derivatives, i, out) -> Tensor:
        """(df/dy)' k_i' into `out`, for the k_i' that stands in `derivatives`."""
        D = derivatives.own[-1][i]
        for layer in range(self.n_layers - 1, 0, -1):
            G = torch.mm(self.back[layer], D, out=derivatives.product[layer - 1])
            D = derivatives.own[layer - 1][i]
            H = inputs.own[layer][i]
            if self.activation.name == "logistic":
                sigmoid_backward(G, H, grad_input=D)
            else:
                D.copy_(self.activation.backward(G, H))
        return torch.mm(self.back[0], D, out=out)

    def scaled_norm(self, x, y) -> float:
        """The norm of x over the tolerance at y."""
        scale = y.abs().mul_(self.control.rtol).add_(self.control.atol)
        return float(self.control.norm(x / scale))

    def begin_backward(self, like) -> None:
        """Workspaces for the steps back."""
        # sums of derivatives of [W, b, w]', the smaller side first
        self.sums = [W.new_zeros(min(W.shape), max(W.shape)) for W in self.W]
        s = self.n_stages
        self.derivatives = StageDerivatives(self.outputs, s, like)
        # k_i' = h (a_li of the later stages l, and b_i) times their Y_l' and y_1'
        self.columns = self.coefficients[: s + 1].t().contiguous()  # (s, s + 1)
        self.column_scaled = torch.empty_like(self.columns)
        end = s if self.table.reuses_last else s + 1
        Ybar = self.derivatives.Ybar.view(s + 1, -1)
        self.later = [Ybar[i + 1 : end].t() for i in range(s)]
        self.weights = [self.column_scaled[i, i + 1 : end] for i in range(s)]
        self.Kbar = self.derivatives.Kbar

    def carry_slope(self, carried: bool) -> None:
        """Begin a step back: k' is 0, but the last one's is the next step's first."""
        first = self.Kbar[0].clone() if carried else 0.0
        self.Kbar.zero_()
        self.Kbar[-1] = first

    def step_backward(self, h, begin, inputs, ybar):
        """Eq. (2) for one step: y' from y_1'; k_1' is completed in its place."""
        derivatives = self.derivatives
        torch.mul(self.columns, h, out=self.column_scaled)
        Ybar = derivatives.Ybar_stages
        last = self.n_stages
        if self.table.reuses_last:
            last -= 1
            self.stage_backward(inputs, derivatives, last, Ybar[last])
            Ybar[last].add_(ybar)
        else:
            Ybar[last].copy_(ybar)
        for i in range(last - 1, -1, -1):
            derivatives.Kbar_rows[i].addmv_(self.later[i], self.weights[i])
            if i >= begin:
                self.stage_backward(inputs, derivatives, i, Ybar[i])
        self.add_gradients(self.sums, inputs, derivatives, begin)
        return derivatives.Ybar[begin : last + 1].sum(0)

    def add_gradients(self, sums, inputs, derivatives, begin) -> None:
        """Add the derivatives over the stages of a step from `begin` on."""
        for layer, total in enumerate(sums):
            H = inputs.layers[layer][begin:]
            D = derivatives.layers[layer][begin:]
            small, large = (D, H) if D.shape[1] <= H.shape[1] else (H, D)
            total += torch.bmm(small, large.transpose(1, 2)).sum(0)

    def parameter_gradients(self) -> list[Tensor]:
        """Derivatives in the field's own parameters, in their order."""
        result = {}
        for layer, (G, m) in enumerate(zip(self.sums, self.inputs)):
            in_scale, out_scale = self._scales(layer)
            if self.W[layer].shape == G.shape:
                G = G.t()
            if out_scale == 2:
                G = G * out_scale
            W, b = G[:m], G[m]
            if in_scale == 2:
                W = W * in_scale - b
            result[f"weights.{layer}"] = W
            result[f"biases.{layer}"] = b
            if layer == 0 and self.time:
                result["time_weight"] = G[m + 1]
        return [result[name] for name, _ in self.field.named_parameters()]


class FieldLayers(NamedTuple):
    """A perceptron for the compiled loops."""

    sizes: np.ndarray  # (L + 1,) m_0, ..., m_L
    rows: np.ndarray  # (L,) rows of [H; 1; t]
    places: np.ndarray  # (L,) where [W, b, w]' of a layer begins in `w`
    back_places: np.ndarray  # (L,) where W of a layer begins in `back`
    w: np.ndarray
    back: np.ndarray
    rectified: bool  # g is the positive part, otherwise tanh


class StepNumbers(NamedTuple):
    """A tableau and the tolerances for the compiled loops."""

    a: np.ndarray  # (s + 1, s), b in the last row
    c: np.ndarray  # (s,)
    error: np.ndarray  # (s,)
    adaptive: bool
    reuses_last: bool
    rtol: float
    atol: float
    scratch: np.ndarray  # (d n,)


class BackwardWork(NamedTuple):
    """Workspaces of the compiled backward pass."""

    Ybar: np.ndarray  # (s + 1, d n)
    first: np.ndarray  # (n times the widest layer,)
    second: np.ndarray
    product: np.ndarray  # (entries of the largest [W, b, w],)


class CompiledFieldPass:
    """Steps of a small perceptron and their derivatives, one compiled call each."""

    def __init__(self, field, table, control, y0):
        from . import _field_gradients as loops

        self.loops = loops
        weights = [W.detach().numpy() for W in field.weights]
        biases = [b.detach().numpy() for b in field.biases]
        time = field.time_weight
        sizes = (*(len(W) for W in weights), weights[-1].shape[1])
        places = _layer_places(sizes, time is not None)
        w = np.empty(places.total, np.float32)
        for W, b, part in zip(weights, biases, places.slices):
            m, k = W.shape
            block = w[part].reshape(k, -1)
            block[:, :m] = W.T
            block[:, m] = b
        if time is not None:
            w[places.slices[0]].reshape(sizes[1], -1)[:, -1] = time.detach().numpy()
        back = np.concatenate([W.reshape(-1) for W in weights])
        self.places = places
        self.layers = FieldLayers(
            *places.arrays, w, back, field.activation_name == "relu"
        )
        s = self.n_stages = len(table.c)
        self.steps = StepNumbers(
            *_stage_coefficients(table.name),
            table.adaptive,
            table.reuses_last,
            control.rtol,
            control.atol,
            np.empty(y0.numel(), np.float32),
        )
        self.K = torch.empty(s, y0.numel())
        self.K_array = self.K.numpy()

    def stage_inputs(self, like: Tensor) -> np.ndarray:
        return np.empty(self.n_stages * self.places.rows * like.shape[1], np.float32)

    def evaluate(self, time: float, y, inputs, i) -> Tensor:
        """f(time, y), in the place of stage i."""
        out = torch.empty_like(y)
        self.loops.evaluate_perceptron(
            self.layers,
            time,
            _flat_array(y),
            inputs,
            self.n_stages,
            i,
            _flat_array(out),
        )
        return out

    def fill_stages(self, time, h, y, slope, inputs):
        """K, y_1, f(y_1) and the norm of the error over the tolerance, eq. (1)."""
        begin = 0
        if slope is not None:
            self.K_array[0] = _flat_array(slope)
            begin = 1
        y1, last = torch.empty((2, *y.shape)).unbind(0)
        ratio = self.loops.explicit_stages(
            self.layers, self.steps, time, h, _flat_array(y), begin, inputs,
            self.K_array, _flat_array(y1), _flat_array(last),
        )  # fmt: skip
        return y1, last if self.steps.reuses_last else None, ratio

    def scaled_norm(self, x, y) -> float:
        """The norm of x over the tolerance at y."""
        return self.loops.scaled_norm(_flat_array(x), _flat_array(y), self.steps)

    def begin_backward(self, like) -> None:
        """Workspaces for the steps back."""
        n = like.shape[1]
        s = self.n_stages
        empty = lambda *shape: np.empty(shape, np.float32)
        width = n * max(self.places.sizes)
        largest = max(part.stop - part.start for part in self.places.slices)
        self.work = BackwardWork(
            empty(s + 1, like.numel()), empty(width), empty(width), empty(largest)
        )
        self.sums = np.zeros_like(self.layers.w)
        self.Kbar = torch.zeros(s, like.numel())
        self.Kbar_array = self.Kbar.numpy()

    def carry_slope(self, carried: bool) -> None:
        """Begin a step back: k' is 0, but the last one's is the next step's first."""
        self.Kbar_array[-1] = self.Kbar_array[0] if carried else 0.0
        self.Kbar_array[:-1] = 0.0

    def step_backward(self, h, begin, inputs, ybar):
        """Eq. (2) for one step: y', in the place of y_1'; k_1' is completed too."""
        self.loops.explicit_stages_backward(
            self.layers, self.steps, h, begin, inputs, self.Kbar_array,
            _flat_array(ybar), self.work, self.sums,
        )  # fmt: skip
        return ybar

    def parameter_gradients(self) -> list[Tensor]:
        """Derivatives in the field's own parameters, in their order."""
        sums = torch.from_numpy(self.sums)
        sizes = self.places.sizes
        G = [sums[p].view(k, -1).t() for p, k in zip(self.places.slices, sizes[1:])]
        times = [G[0][-1]] if self.places.time else []
        weights = [g[:m] for g, m in zip(G, sizes)]
        return [*times, *weights, *(g[m] for g, m in zip(G, sizes))]


class LayerPlaces(NamedTuple):
    """Positions of the layers of a perceptron in the vectors of `FieldLayers`."""

    sizes: tuple
    time: bool
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # of `FieldLayers`
    slices: list  # of [W, b, w]' of each layer in `w`
    total: int  # entries of `w`
    rows: int  # of the inputs of all layers


@lru_cache(maxsize=64)
def _layer_places(sizes: tuple, time: bool) -> LayerPlaces:
    rows = [m + 1 for m in sizes[:-1]]
    rows[0] += time
    ends = np.cumsum([0, *(k * r for k, r in zip(sizes[1:], rows))]).tolist()
    back = np.cumsum([0, *(m * k for m, k in pairwise(sizes))])[:-1]
    arrays = (np.array(sizes), np.array(rows), np.array(ends[:-1]), back)
    slices = [slice(a, b) for a, b in pairwise(ends)]
    return LayerPlaces(sizes, time, arrays, slices, ends[-1], sum(rows))


@lru_cache(maxsize=64)
def _stage_coefficients(name: str):
    """a with b below it, c and the coefficients of the error of a tableau."""
    table = TABLEAUS[name]
    error = np.zeros(len(table.c)) if table.error is None else table.error
    return np.concatenate([table.a, table.b[None]]), table.c, error


def _flat_array(x: Tensor) -> np.ndarray:
    """The numbers of a contiguous tensor on the CPU as a vector, not copied."""
    return x.numpy().reshape(-1)


def field_pass(field, table, control, y0):
    """The way to do steps of a perceptron: compiled if it is small and plain."""
    weights = list(field.weights)
    plain = all(
        x.dtype == torch.float32 and x.device.type == "cpu" for x in (y0, *weights)
    )
    work = 2 * y0.shape[1] * sum(W.numel() for W in weights)  # of one stage
    small = 3 * len(table.c) * work < LARGE_FIELD_STEP
    if plain and small and field.activation_name in LOOP_ACTIVATIONS:
        return CompiledFieldPass(field, table, control, y0)
    return TorchFieldPass(field, table, control, y0)


class StepRecord(NamedTuple):
    """An accepted step: what the backward pass starts from."""

    time: float
    length: float
    y: Tensor
    slope: Tensor | None  # the first stage, if it was there before the step
    begin: int  # the first stage that was evaluated in the step's own inputs
    inside: list  # (weights of the stages or None for y_1, index of the output)
    inputs: StageInputs | np.ndarray | None  # None: compute anew


class PlainClock:
    """Times without a gradient."""

    moving = False

    def tensor(self, time):
        return torch.tensor(time)


class FieldStepper:
    """Steps of a field in workspaces of its own; see `ode.AutogradStepper`."""

    clock = PlainClock()

    def __init__(self, problem: ODEProblem, y0, keep: bool):
        self.table = problem.table
        self.field = problem.f.manual_pass(self.table, problem.control, y0)
        self.n_stages = len(self.table.c)
        self.evaluations = 0
        self.kept = 0 if keep else KEPT_BYTES
        self.keep = keep
        self.spare = None  # inputs of a step that nothing refers to
        self.first = None  # f at the beginning, evaluated in the first step's inputs

    def evaluate(self, time, y):
        """f(t, y) for the choice of the first step."""
        return self._evaluate_at(time, y, self.n_stages - 1)

    def scaled_norm(self, x, y) -> float:
        """The norm of x over the tolerance at y."""
        return self.field.scaled_norm(x, y)

    def first_slope(self, time, y):
        if not self.table.reuses_last:
            return None
        self.first = self._evaluate_at(time, y, 0)
        return self.first

    def _evaluate_at(self, time, y, i):
        """f(t, y) in the place of stage i of the next step."""
        self.evaluations += 1
        return self.field.evaluate(time, y, self.spare_inputs(y), i)

    def spare_inputs(self, like):
        """Inputs of stages that may be overwritten."""
        if self.spare is None:
            self.spare = self.field.stage_inputs(like)
        return self.spare

    def step(self, time, y, h, slope, due) -> Step:
        inputs = self.spare_inputs(y)
        y1, last, ratio = self.field.fill_stages(time, h, y, slope, inputs)
        self.evaluations += self.n_stages - (slope is not None)
        inside, outputs = [], []
        for s, i in due:
            theta = (s - time) / h
            if theta > 1 - 1e-12:
                inside.append((None, i))
                outputs.append(y1)
                continue
            weights = y.new_tensor(dense_weights(self.table, theta)) * h
            inside.append((weights, i))
            y_inside = torch.addmv(y.view(-1), self.field.K.t(), weights)
            outputs.append(y_inside.view(y.shape))
        record = None
        if self.keep and ratio <= 1:
            self.kept += inputs.nbytes
            keeps_inputs = self.kept <= KEPT_BYTES
            begin = 0 if slope is None or slope is self.first else 1
            record = StepRecord(
                time, h, y, slope, begin, inside, inputs if keeps_inputs else None
            )
            if keeps_inputs:
                self.spare = None
        return Step(y1, last, outputs, ratio, record)

    def inputs_of(self, record: StepRecord):
        """Inputs of the stages of an accepted step, kept or computed anew."""
        if record.inputs is not None:
            return record.inputs
        inputs = self.spare_inputs(record.y)
        slope = record.slope if record.begin else None
        self.field.fill_stages(record.time, record.length, record.y, slope, inputs)
        return inputs


def solve_by_hand(problem: ODEProblem, y0) -> ODESolution:
    """The solution, with gradients in y0 and the field's parameters by eq. (2)."""
    results = []
    if not torch.is_grad_enabled():
        y = _solve_columns(None, y0, problem, results)
    else:
        y = FieldSolve.apply(y0, problem, results, *problem.f.parameters())
    return results[0]._replace(y=y, last_state=y[-1])


def _solve_columns(ctx, y0, problem, solutions) -> Tensor:
    """States at all times; leaves in ctx, if given, what a backward pass needs."""
    keeps_steps = ctx is not None and any(ctx.needs_input_grad)
    columns = y0.detach().reshape(-1, y0.shape[-1]).t().contiguous()
    stepper = FieldStepper(problem, columns, keeps_steps)
    solution, records = integrate_ode(stepper, columns, problem)
    solutions.append(solution)
    if keeps_steps:
        ctx.stepper = stepper
        ctx.records = records
        ctx.shape = y0.shape
    return solution.y.transpose(1, 2).reshape(-1, *y0.shape)


class FieldSolve(torch.autograd.Function):
    """The whole solution as one operation."""

    @staticmethod
    def forward(ctx, y0, problem, solutions, *parameters):
        return _solve_columns(ctx, y0, problem, solutions)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, cotangents):
        stepper = ctx.stepper
        rows = cotangents.reshape(len(cotangents), -1, ctx.shape[-1])
        cotangents = rows.transpose(1, 2).contiguous()
        # rows of times that were not reached repeat the last state
        reached = 1 + sum(len(record.inside) for record in ctx.records)
        ybar = cotangents[reached:].sum(0)
        field = stepper.field
        field.begin_backward(ybar)
        carried = False  # whether k_1' of the step after this one is still to be added
        for record in reversed(ctx.records):
            field.carry_slope(carried)
            inner = None
            for weights, i in record.inside:
                if weights is None:
                    ybar += cotangents[i]
                else:
                    inner = cotangents[i] if inner is None else inner + cotangents[i]
                    field.Kbar.addr_(weights, cotangents[i].reshape(-1))
            inputs = stepper.inputs_of(record)
            ybar = field.step_backward(record.length, record.begin, inputs, ybar)
            if inner is not None:
                ybar += inner
            carried = record.begin > 0
        gradients = field.parameter_gradients()
        ybar = (ybar + cotangents[0]).t().reshape(ctx.shape)
        return ybar, None, None, *gradients
