"""Solutions of a vector field that knows its own derivatives, without autograd.

A Runge-Kutta step is linear in its stages, so the backward pass through

    Y_i = y + h sum_j a_ij k_j,   k_i = f(Y_i),   y_1 = y + h sum_i b_i k_i      (1)

is the same step in reverse. With bars for derivatives of the loss,

    k_i' = h b_i y_1' + h sum_l a_li Y_l' + (outputs inside the step),
    Y_i' = (df/dy)' k_i',    y' = y_1' + sum_i Y_i'                              (2)

(a prime stands for a bar). The field evaluates stages into buffers of the step, so
that its parameters' gradients are one matrix product a layer and step, over all
stages. Up to KEPT_BYTES the buffers are kept for the backward pass; later
steps keep their initial state and slope and are computed anew.

Cost      a forward pass, a backward pass of twice its work, and at most one pass anew
Refs      [Hairer1993] eq. (1); [Chen2018] eq. (2) as the discrete adjoint
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .activations import ACTIVATIONS
from .ode import ODESolution, Problem, Step, dense_weights, integrate

KEPT_BYTES = 1 << 28


class MLPFieldPass:
    """A perceptron's evaluations and derivatives on columns, for one solution.

    States are (d, n), and the work of s stages is in arrays (m, s, n): products of
    this shape are several times as fast as those of rows where d is small, and the
    columns of all stages are one matrix.

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
        self.layers = len(field.weights)
        self.W, self.b = [], []
        for i, (W, b) in enumerate(zip(field.weights, field.biases)):
            into, out = self._scales(i)
            bias = b - W.sum(0) if into == 2 else b
            self.W.append((W * (into * out)).t().contiguous())  # (m_l, m_{l-1})
            self.b.append(bias[:, None] * out)
        self.w = None
        if field.time_weight is not None:
            self.w = field.time_weight[:, None] * self._scales(0)[1]

    def _scales(self, layer):
        """Factors on the input and the output of a layer for tanh by sigmoids."""
        into = 2 if self.tanh and layer > 0 else 1
        out = 2 if self.tanh and layer < self.layers - 1 else 1
        return into, out

    def stage_buffers(self, stages: int, like: Tensor) -> list[Tensor]:
        """Room for inputs H_0.. and derivatives D_1.. of every layer, and times."""
        n = like.shape[1]
        inputs = [W.shape[1] for W in self.W]
        ends = [W.shape[0] for W in self.W]
        room = [like.new_empty(m, stages, n) for m in (*inputs, *ends)]
        return [*room, like.new_zeros(stages)]

    def evaluate_stage(self, time: float, y, buffers, i) -> Tensor:
        """f(time, y); what the way back needs stays in the buffers."""
        H = buffers[0][:, i].copy_(y)
        for layer, (W, b) in enumerate(zip(self.W, self.b)):
            if layer == 0 and self.w is not None:
                buffers[-1][i] = time
                b = torch.add(b, self.w, alpha=time)
            if layer == self.layers - 1:
                break
            Z = torch.addmm(b, W, H)
            H = buffers[layer + 1][:, i].copy_(self.activation.apply_(Z))
        return torch.addmm(b, W, H)

    def stage_backward(self, buffers, i, kbar) -> Tensor:
        """(df/dy)' kbar at stage i; derivatives of the layers stay in the buffers."""
        D = kbar
        buffers[2 * self.layers - 1][:, i] = kbar
        for layer in range(self.layers - 1, 0, -1):
            G = torch.mm(self.W[layer].t(), D)
            D = self.activation.backward(G, buffers[layer][:, i])
            buffers[self.layers + layer - 1][:, i] = D
        return torch.mm(self.W[0].t(), D)

    def zero_gradients(self) -> list[list[Tensor]]:
        """Sums of derivatives: of W', of b', of the time weight."""
        w = [] if self.w is None else [torch.zeros_like(self.w[:, 0])]
        zeros = lambda parts: [torch.zeros_like(p) for p in parts]
        return [zeros(self.W), zeros([b[:, 0] for b in self.b]), w]

    def add_gradients(self, sums, buffers, begin, end) -> None:
        """Add the derivatives over stages begin..end-1 of a step."""
        for layer in range(self.layers):
            H = buffers[layer][:, begin:end].flatten(1)
            D = buffers[self.layers + layer][:, begin:end]
            flat = D.flatten(1)
            sums[0][layer].addmm_(flat, H.t())
            sums[1][layer].add_(flat.sum(1))
        if self.w is not None:
            D = buffers[self.layers][:, begin:end].sum(2)
            sums[2][0].addmv_(D, buffers[-1][begin:end])

    def parameter_gradients(self, sums) -> list[Tensor]:
        """Derivatives in the field's own parameters, in their order."""
        found = {}
        for layer, (W, b) in enumerate(zip(*sums[:2])):
            into, out = self._scales(layer)
            G = W.t() * into
            if into == 2:
                G = G - b
            found[f"weights.{layer}"] = G * out
            found[f"biases.{layer}"] = b * out
        if self.w is not None:
            found["time_weight"] = sums[2][0] * self._scales(0)[1]
        return [found[name] for name, _ in self.field.named_parameters()]


class StepRecord(NamedTuple):
    """An accepted step: what the backward pass starts from."""

    time: float
    length: float
    y: Tensor
    slope: Tensor | None  # the first stage, if it came from the step before
    inside: list  # (weights of the stages or None for y_1, index of the output)
    buffers: Any  # of the field; None: compute anew
    K: Tensor | None  # (s, d n)


class PlainClock:
    """Times without a gradient."""

    moving = False

    def tensor(self, time):
        return torch.tensor(time)


class FieldStepper:
    """Steps of a field in buffers of its own; see `ode.AutogradStepper`."""

    clock = PlainClock()

    def __init__(self, problem: Problem, y0, keep: bool):
        self.field = problem.f.manual_pass()
        self.table, self.control = problem.table, problem.control
        own = lambda a: torch.tensor(a, dtype=y0.dtype, device=y0.device)
        self.a, self.b = own(self.table.a), own(self.table.b)
        self.c = self.table.c.tolist()
        self.error = own(self.table.error) if self.table.adaptive else None
        self.evaluations = 0
        self.kept = 0 if keep else KEPT_BYTES
        self.keep = keep
        self.spare = None  # buffers of a rejected step
        self.first = None  # buffers of the first evaluation

    def evaluate(self, time, y):
        """f(t, y) for the choice of the first step."""
        self.evaluations += 1
        buffers = self.field.stage_buffers(1, y)
        return self.field.evaluate_stage(time, y, buffers, 0)

    def first_slope(self, time, y):
        if not self.table.reuses_last:
            return None
        self.evaluations += 1
        self.first = self.field.stage_buffers(1, y)
        return self.field.evaluate_stage(time, y, self.first, 0)

    def stages(self, time, y, h, slope, buffers):
        """K (s, d n) of eq. (1); the field's work stays in the buffers."""
        s = len(self.c)
        K = y.new_empty(s, y.numel())
        begin = 0
        if slope is not None:
            K[0] = slope.view(-1)
            begin = 1
        scaled = self.a * h
        flat = y.view(-1)
        for i in range(begin, s):
            u = y
            if i:
                u = torch.addmv(flat, K[:i].t(), scaled[i, :i]).view_as(y)
            k = self.field.evaluate_stage(time + self.c[i] * h, u, buffers, i)
            K[i] = k.view(-1)
        self.evaluations += s - begin
        return K

    def step(self, time, y, h, slope, due) -> Step:
        buffers = self.spare
        if buffers is None:
            buffers = self.field.stage_buffers(len(self.c), y)
        K = self.stages(time, y, h, slope, buffers)
        flat = y.view(-1)
        y1 = torch.addmv(flat, K.t(), self.b * h)
        ratio = 0.0
        if self.error is not None:
            error = torch.mv(K.t(), self.error * h)
            size = torch.maximum(flat.abs(), y1.abs())
            error.div_(size.mul_(self.control.rtol).add_(self.control.atol))
            ratio = float(self.control.norm(error))
        y1 = y1.view_as(y)
        inside, outputs = [], []
        for s, i in due:
            theta = (s - time) / h
            if theta > 1 - 1e-12:
                inside.append((None, i))
                outputs.append(y1)
                continue
            weights = y.new_tensor(dense_weights(self.table, theta)) * h
            inside.append((weights, i))
            outputs.append(torch.addmv(flat, K.t(), weights).view_as(y))
        last = K[-1].view_as(y) if self.table.reuses_last else None
        self.spare = buffers
        record = None
        if self.keep and ratio <= 1:
            self.kept += sum(x.numel() * x.element_size() for x in buffers)
            whole = self.kept <= KEPT_BYTES
            record = StepRecord(
                time, h, y, slope, inside, buffers if whole else None,
                K if whole else None,
            )  # fmt: skip
            if whole:
                self.spare = None
        return Step(y1, last, outputs, ratio, record)


def solve_by_hand(problem: Problem, y0) -> ODESolution:
    """The solution, with gradients in y0 and the field's parameters by eq. (2)."""
    columns = y0.reshape(-1, y0.shape[-1]).t().contiguous()
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
        solution, ctx.records = integrate(ctx.stepper, y0, problem)
        found.append(solution)
        ctx.reached = 1 + sum(len(r.inside) for r in ctx.records)
        return solution.y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, cotangents):
        stepper = ctx.stepper
        field = stepper.field
        with_last = stepper.table.reuses_last
        gradients = field.zero_gradients()
        cotangents = cotangents.contiguous()
        # rows of times that were not reached repeat the last state
        ybar = cotangents[ctx.reached :].sum(0)
        slope_bar = None
        for record in reversed(ctx.records):
            ybar, slope_bar = step_backward(
                stepper, record, ybar, slope_bar, cotangents, gradients
            )
        if with_last and slope_bar is not None:
            ybar = ybar + field.stage_backward(stepper.first, 0, slope_bar)
            field.add_gradients(gradients, stepper.first, 0, 1)
        ybar = ybar + cotangents[0]
        return ybar, None, None, *field.parameter_gradients(gradients)


def step_backward(stepper, record, ybar, slope_bar, cotangents, gradients):
    """Eq. (2): derivatives in the step's initial state and first slope."""
    field = stepper.field
    h = record.length
    buffers, K = record.buffers, record.K
    s = len(stepper.c)
    if buffers is None:
        buffers = field.stage_buffers(s, record.y)
        K = stepper.stages(record.time, record.y, h, record.slope, buffers)
    begin = 1 if record.slope is not None else 0
    Kbar = torch.zeros_like(K)
    shape = record.y.shape
    inner = torch.zeros_like(record.y)
    for weights, i in record.inside:
        if weights is None:
            ybar = ybar + cotangents[i]
        else:
            inner += cotangents[i]
            Kbar.addr_(weights, cotangents[i].reshape(-1))
    last = s
    if stepper.table.reuses_last:  # the last stage is f(y_1): through y_1 first
        last = s - 1
        if slope_bar is not None:
            Kbar[last] += slope_bar.reshape(-1)
        if slope_bar is not None or record.inside:
            ybar = ybar + field.stage_backward(buffers, last, Kbar[last].view(shape))
        else:
            field.stage_backward(buffers, last, Kbar[last].view(shape))
    Kbar.addr_(stepper.b * h, ybar.reshape(-1))
    scaled = stepper.a * h
    ybar = ybar + inner
    for i in range(last - 1, begin - 1, -1):
        ubar = field.stage_backward(buffers, i, Kbar[i].view(shape))
        ybar = ybar + ubar
        if i:
            Kbar[:i].addr_(scaled[i, :i], ubar.reshape(-1))
    field.add_gradients(gradients, buffers, begin, s)
    return ybar, Kbar[0].view(shape) if begin else None
