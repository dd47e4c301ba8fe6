"""Solutions of a vector field that knows its own derivatives, without autograd.

A Runge-Kutta step is linear in its stages, so the backward pass through

    Y_i = y + h sum_j a_ij k_j,   k_i = f(Y_i),   y_1 = y + h sum_i b_i k_i      (1)

is the same step in reverse. With bars for derivatives of the loss,

    k_i' = h b_i y_1' + h sum_l a_li Y_l' + (outputs inside the step),
    Y_i' = (df/dy)' k_i',    y' = y_1' + sum_i Y_i'                              (2)

(a prime stands for a bar; if the last stage is f(y_1), then y_1 is its Y and y_1' is
added to it). Small fields spend their time in calls, not in arithmetic, so every
operation writes where the next one reads:

- states are columns (d, n), and a stage of a layer is a matrix (m, n) of its own;
- an input has a row of ones below it, and one of t if the field depends on time, so
  that a layer is one product [W, b, w] [H; 1; t], and the derivatives of W, b and w
  are one product too, over all stages of a step;
- views of stages are made once, not at every use.

Up to KEPT_BYTES the inputs of layers are kept for the backward pass; later steps keep
their initial state and slope and are computed anew.

Cost      a forward pass, a backward pass of twice its work, and at most one pass anew
Refs      [Hairer1993] eq. (1); [Chen2018] eq. (2) as the discrete adjoint
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .activations import ACTIVATIONS
from .ode import ODEProblem, ODESolution, Step, dense_weights, integrate_ode

KEPT_BYTES = 1 << 28
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
        self.bytes = sum(x.numel() * x.element_size() for x in self.layers)


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


class MLPFieldPass:
    """A perceptron's evaluations and derivatives on columns, for one solution.

    tanh z = 2 sigmoid(2 z) - 1, so a perceptron of tanh is one of sigmoids with other
    weights, which takes a fraction of the time; gradients are carried back to the
    weights of tanh.
    """

    def __init__(self, field):
        with torch.no_grad():
            self._set_weights(field)

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
            into, out = self._scales(i)
            if into == 2:
                b = b - W.sum(0)
            self.back.append(W * (into * out))
            columns = [self.back[-1].t(), b[:, None] * out]
            if i == 0 and self.time:
                columns.append(field.time_weight[:, None] * out)
            self.W.append(torch.cat(columns, dim=1))

    def _scales(self, layer):
        """Factors on the input and the output of a layer for tanh by sigmoids."""
        into = 2 if self.tanh and layer > 0 else 1
        out = 2 if self.tanh and layer < self.n_layers - 1 else 1
        return into, out

    def stage_inputs(self, stages: int, like: Tensor) -> StageInputs:
        return StageInputs(self.inputs, self.time, stages, like)

    def stage_derivatives(self, stages: int, like: Tensor) -> StageDerivatives:
        return StageDerivatives(self.outputs, stages, like)

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

    def zero_gradients(self) -> list[Tensor]:
        """Sums of derivatives of [W, b, w]', the smaller side first."""
        return [W.new_zeros(min(W.shape), max(W.shape)) for W in self.W]

    def add_gradients(self, sums, inputs, derivatives, begin) -> None:
        """Add the derivatives over the stages of a step from `begin` on."""
        for layer, total in enumerate(sums):
            H = inputs.layers[layer][begin:]
            D = derivatives.layers[layer][begin:]
            small, large = (D, H) if D.shape[1] <= H.shape[1] else (H, D)
            total += torch.bmm(small, large.transpose(1, 2)).sum(0)

    def parameter_gradients(self, sums) -> list[Tensor]:
        """Derivatives in the field's own parameters, in their order."""
        found = {}
        for layer, (G, m) in enumerate(zip(sums, self.inputs)):
            into, out = self._scales(layer)
            if self.W[layer].shape == G.shape:
                G = G.t()
            if out == 2:
                G = G * out
            W, b = G[:m], G[m]
            if into == 2:
                W = W * into - b
            found[f"weights.{layer}"] = W
            found[f"biases.{layer}"] = b
            if layer == 0 and self.time:
                found["time_weight"] = G[m + 1]
        return [found[name] for name, _ in self.field.named_parameters()]


class StepRecord(NamedTuple):
    """An accepted step: what the backward pass starts from."""

    time: float
    length: float
    y: Tensor
    slope: Tensor | None  # the first stage, if it was there before the step
    begin: int  # the first stage that was evaluated in the step's own inputs
    inside: list  # (weights of the stages or None for y_1, index of the output)
    inputs: StageInputs | None  # None: compute anew


class PlainClock:
    """Times without a gradient."""

    moving = False

    def tensor(self, time):
        return torch.tensor(time)


class FieldStepper:
    """Steps of a field in workspaces of its own; see `ode.AutogradStepper`."""

    clock = PlainClock()

    def __init__(self, problem: ODEProblem, y0, keep: bool):
        self.field = problem.f.manual_pass()
        self.table, self.control = problem.table, problem.control
        self.c = self.table.c.tolist()
        s = self.n_stages = len(self.c)
        self.evaluations = 0
        self.kept = 0 if keep else KEPT_BYTES
        self.keep = keep
        self.spare = None  # inputs of a step that nothing refers to
        self.first = None  # f at the beginning, evaluated in the first step's inputs
        rows = [*self.table.a, self.table.b]
        if self.table.adaptive:
            rows.append(self.table.error)
        # coefficients a, b and those of the error; h times them; views of their rows
        self.coefficients = y0.new_tensor([row.tolist() for row in rows])
        self.scaled = torch.empty_like(self.coefficients)
        self.a_rows = [self.scaled[i, :i] for i in range(s)]
        self.b_row, *self.error_row = self.scaled[s:].unbind(0)
        self.K = y0.new_empty(s, y0.numel())
        self.K_rows = self.K.unbind(0)
        self.K_stages = self.K.view(s, *y0.shape).unbind(0)
        self.K_before = [self.K[:i].t() for i in range(s + 1)]

    def evaluate(self, time, y):
        """f(t, y) for the choice of the first step."""
        return self._evaluate_at(time, y, self.n_stages - 1)

    def first_slope(self, time, y):
        if not self.table.reuses_last:
            return None
        self.first = self._evaluate_at(time, y, 0)
        return self.first

    def _evaluate_at(self, time, y, i):
        """f(t, y) in the place of stage i of the next step."""
        self.evaluations += 1
        if self.spare is None:
            self.spare = self.field.stage_inputs(self.n_stages, y)
        self.spare.own[0][i].copy_(y)
        return self.field.evaluate_stage(time, self.spare, i, torch.empty_like(y))

    def stages(self, time, y, h, slope, inputs):
        """Fill K (s, d n) of eq. (1); the field's work stays in `inputs`."""
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
            self.field.evaluate_stage(moment, inputs, i, self.K_stages[i])
        self.evaluations += self.n_stages - begin

    def step(self, time, y, h, slope, due) -> Step:
        inputs = self.spare
        if inputs is None:
            inputs = self.field.stage_inputs(self.n_stages, y)
        self.stages(time, y, h, slope, inputs)
        flat = y.view(-1)
        K = self.K_before[-1]
        if self.table.reuses_last:  # the last stage is f(y_1)
            y1 = inputs.flat[-1].clone()
        else:
            y1 = torch.addmv(flat, K, self.b_row)
        ratio = 0.0
        if self.error_row:
            error = torch.mv(K, self.error_row[0])
            size = torch.maximum(flat.abs(), y1.abs())
            error.div_(size.mul_(self.control.rtol).add_(self.control.atol))
            ratio = float(self.control.norm(error))
        y1 = y1.view(y.shape)
        inside, outputs = [], []
        for s, i in due:
            theta = (s - time) / h
            if theta > 1 - 1e-12:
                inside.append((None, i))
                outputs.append(y1)
                continue
            weights = y.new_tensor(dense_weights(self.table, theta)) * h
            inside.append((weights, i))
            outputs.append(torch.addmv(flat, K, weights).view(y.shape))
        last = self.K_stages[-1].clone() if self.table.reuses_last else None
        self.spare = inputs
        record = None
        if self.keep and ratio <= 1:
            self.kept += inputs.bytes
            whole = self.kept <= KEPT_BYTES
            begin = 0 if slope is None or slope is self.first else 1
            record = StepRecord(
                time, h, y, slope, begin, inside, inputs if whole else None
            )
            if whole:
                self.spare = None
        return Step(y1, last, outputs, ratio, record)


def solve_by_hand(problem: ODEProblem, y0) -> ODESolution:
    """The solution, with gradients in y0 and the field's parameters by eq. (2)."""
    columns = y0.reshape(-1, y0.shape[-1]).t().contiguous()
    if not torch.is_grad_enabled():
        stepper = FieldStepper(problem, columns, keep=False)
        solution = integrate_ode(stepper, columns, problem)[0]
        y = solution.y.transpose(1, 2).reshape(-1, *y0.shape)
        return solution._replace(y=y, last_state=y[-1])
    found = []
    parameters = list(problem.f.parameters())
    y = FieldSolve.apply(columns, problem, found, *parameters)
    y = y.transpose(1, 2).reshape(len(y), *y0.shape)
    return found[0]._replace(y=y, last_state=y[-1])


class FieldSolve(torch.autograd.Function):
    """The whole solution as one operation."""

    @staticmethod
    def forward(ctx, y0, problem, found, *parameters):
        wanted = any(ctx.needs_input_grad)
        ctx.stepper = FieldStepper(problem, y0, keep=wanted)
        y0 = y0.detach()
        solution, ctx.records = integrate_ode(ctx.stepper, y0, problem)
        found.append(solution)
        ctx.reached = 1 + sum(len(r.inside) for r in ctx.records)
        return solution.y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, cotangents):
        stepper = ctx.stepper
        cotangents = cotangents.contiguous()
        # rows of times that were not reached repeat the last state
        ybar = cotangents[ctx.reached :].sum(0)
        way_back = FieldWayBack(stepper, ybar)
        slope_bar = None
        for record in reversed(ctx.records):
            ybar, slope_bar = way_back.step(record, ybar, slope_bar, cotangents)
        gradients = stepper.field.parameter_gradients(way_back.sums)
        return ybar + cotangents[0], None, None, *gradients


class FieldWayBack:
    """Eq. (2) for one step after the other, in workspaces of its own."""

    def __init__(self, stepper: FieldStepper, like):
        self.stepper = stepper
        self.field = stepper.field
        self.sums = self.field.zero_gradients()
        s = stepper.n_stages
        self.derivatives = self.field.stage_derivatives(s, like)
        # k_i' = h (a_li of the later stages l, and b_i) times their Y_l' and y_1'
        columns = stepper.coefficients[: s + 1].t().contiguous()  # (s, s + 1)
        self.coefficients = columns
        self.scaled = torch.empty_like(columns)
        end = s if stepper.table.reuses_last else s + 1
        Ybar = self.derivatives.Ybar.view(s + 1, -1)
        self.later = [Ybar[i + 1 : end].t() for i in range(s)]
        self.weights = [self.scaled[i, i + 1 : end] for i in range(s)]

    def step(self, record, ybar, slope_bar, cotangents):
        """Derivatives in the step's initial state and first slope."""
        stepper, derivatives = self.stepper, self.derivatives
        inputs = self._inputs(record)
        begin = record.begin
        Kbar = derivatives.Kbar
        Kbar.zero_()
        inner = None
        for weights, i in record.inside:
            if weights is None:
                ybar = ybar + cotangents[i]
            else:
                inner = cotangents[i] if inner is None else inner + cotangents[i]
                Kbar.addr_(weights, cotangents[i].reshape(-1))
        torch.mul(self.coefficients, record.length, out=self.scaled)
        Ybar = derivatives.Ybar_stages
        last = stepper.n_stages
        if stepper.table.reuses_last:
            last -= 1
            if slope_bar is not None:
                derivatives.own[-1][last].add_(slope_bar)
            self.field.stage_backward(inputs, derivatives, last, Ybar[last])
            Ybar[last].add_(ybar)
        else:
            Ybar[last].copy_(ybar)
        rows = derivatives.Kbar_rows
        for i in range(last - 1, begin - 1, -1):
            rows[i].addmv_(self.later[i], self.weights[i])
            self.field.stage_backward(inputs, derivatives, i, Ybar[i])
        self.field.add_gradients(self.sums, inputs, derivatives, begin)
        ybar = derivatives.Ybar[begin : last + 1].sum(0)
        if inner is not None:
            ybar += inner
        if not begin:
            return ybar, None
        slope_bar = rows[0].addmv(self.later[0], self.weights[0])
        return ybar, slope_bar.view(ybar.shape)

    def _inputs(self, record) -> StageInputs:
        """Those of the step, kept or computed anew."""
        if record.inputs is not None:
            return record.inputs
        stepper = self.stepper
        if stepper.spare is None:
            stepper.spare = self.field.stage_inputs(stepper.n_stages, record.y)
        slope = record.slope if record.begin else None
        stepper.stages(record.time, record.y, record.length, slope, stepper.spare)
        return stepper.spare
