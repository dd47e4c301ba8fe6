"""Ordinary differential equations in torch: one driver, tableaus as data, gradients.

    y'(t) = f(t, y),   y(t_0) = y0,   wanted at t_0, ..., t_m, rising or falling (1)

The methods are rows of `nn.ode.tableaus`. A fixed-step method takes equal steps between
neighbouring times. An adaptive one keeps the root mean square of
error / (atol + rtol max(|y|, |y_1|)) below 1 and chooses the next step by that ratio r
and the one before it (proportional and integral control),

    h <- h min(10, max(1/5, 0.9 r^(-0.85/q) r_before^(0.2/q)))                    (2)

with q the power of h in the error estimate; times inside a step are interpolated.
Implicit stages k = f(t, u + h gamma k) are solved by Newton's method with one matrix
I - h gamma J for all stages of a step, made anew where it converges slowly. J is that
of the whole state as one vector, so they suit systems of up to some hundred numbers.

Gradients
- "backprop" differentiates the steps taken. Steps that were rejected leave no trace,
  and of every accepted one only its initial state is kept: its stages are computed
  anew in the backward pass (`checkpoints=False` keeps them). The mesh is frozen
  relative to its ends, t = t_0 + phi (t_m - t_0), so the gradient in the times is that
  of the discrete solution too.
- "adjoint" solves (3) backwards in time beside y itself: memory does not grow with the
  number of steps, but the gradient is that of the differential equation, and only as
  good as its tolerance.

    a' = -(df/dy)' a,    theta' = -(df/dtheta)' a                                (3)

  The error norm of (3) looks at y and a and not at theta, whose derivative does not
  depend on theta (seminorm). If y comes back far from where it began, the gradient is
  doubtful, and `AdjointWarning` says by how much.
- A vector field that knows its own derivatives (`has_manual_gradients`, such as
  `nn.MLPField`) is differentiated without autograd: `nn.ode.field_gradients`.

Nothing raises because a problem is hard: a step that underflows ends the solution with
the reason "stiff", too many steps with "max_steps"; both warn with `StiffODEWarning`,
and rows of times that were not reached hold the last state.

Cost      stages x evaluations a step; a gradient costs about three solutions
Shapes    y0 any shape   t (m + 1,)   y (m + 1, *y0.shape)
Refs      [Hairer1993] steps and control; [Chen2018] adjoint; [Kidger2021] seminorm
"""

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .tableaus import TABLEAUS, Tableau

SAFETY = 0.9
SHRINK, GROW = 0.2, 10.0  # bounds on one change of the step
NEWTON_ITERATIONS = 10
DRIFT = 100.0  # tolerances by which a reversed trajectory may miss its beginning


class StiffODEWarning(UserWarning):
    """A solution ended early: its steps became too small, or too many."""


class AdjointWarning(UserWarning):
    """The adjoint's reversed trajectory missed the solution: a doubtful gradient."""


class ODESolution(NamedTuple):
    """A solution at the times asked for, and how it was found."""

    t: Tensor  # (m + 1,)
    y: Tensor  # (m + 1, *y0.shape); rows of times not reached hold the last state
    reason: str  # "finished", "event", "stiff" or "max_steps"
    last_time: Any  # where it ended: t[-1], or earlier
    last_state: Tensor
    n_steps: int  # accepted
    n_rejected: int
    n_evaluations: int  # of f, Newton's included, gradients not


class StepControl(NamedTuple):
    """Rules of the step size."""

    rtol: float
    atol: float
    max_steps: int
    step: float | None  # length of fixed steps
    norm: Callable[[Tensor], Tensor]  # of error / tolerance


class Step(NamedTuple):
    """One trial step."""

    y: Tensor  # y_1
    slope: Tensor | None  # f(t + h, y_1), where the method has it
    outputs: list  # y at the times asked for inside the step
    ratio: float  # error over tolerance; infinite where Newton's method failed
    record: Any = None  # what a backward pass by hand needs


def root_mean_square(x: Tensor) -> Tensor:
    """Root of the mean of the squares, 0 for an empty tensor."""
    return torch.linalg.vector_norm(x) / max(x.numel(), 1) ** 0.5


def odeint(
    f,
    y0,
    t,
    method: str = "dopri5",
    *,
    rtol: float = 1e-6,
    atol: float = 1e-6,
    step: float | None = None,
    max_steps: int = 10_000,
    event: Callable | None = None,
    gradient: Literal["backprop", "adjoint"] = "backprop",
    checkpoints: bool = True,
) -> ODESolution:
    """Solve y' = f(t, y) from y0 at t[0]; the state at every time of t.

    Parameters
    ----------
    f : function or torch.nn.Module of (t, y)
        t is a tensor without dimensions.
    y0 : tensor or array
    t : sequence or tensor of at least two times, rising or falling
    method : str
        One of `nn.TABLEAUS`: "dopri5" (adaptive), "kencarp4" (adaptive, for stiff
        systems), "bosh3", "tr_bdf2"; with fixed steps "euler", "midpoint", "heun",
        "rk4", "implicit_euler", "trapezoid".
    rtol, atol : float
        Error allowed in a step: atol + rtol |y|. Values below ten roundings of y's
        dtype are raised to that.
    step : float or None
        Length of a fixed step; None takes one step between neighbouring times.
    max_steps : int
        Most trial steps.
    event : function of (t, y) that returns a number, or None
        The solution ends where it changes its sign, or reaches 0.
    gradient : {"backprop", "adjoint"}
    checkpoints : bool
        Whether "backprop" computes the stages anew instead of keeping them.

    Examples
    --------
    >>> from pansophy.nn import odeint
    >>> solution = odeint(lambda t, y: y, [1.0], [0, 0.1, 0.2, 0.3], "euler")
    >>> solution.y[:, 0]
    tensor([1.0000, 1.1000, 1.2100, 1.3310])
    >>> odeint(lambda t, y: -1000 * (y - t.cos()), [0.0], [0, 1], "kencarp4").reason
    'finished'
    """
    table = _find_tableau(method)
    y0 = _as_state(y0)
    t, times = _check_times(t, y0)
    floor = 10 * torch.finfo(y0.dtype).eps
    control = StepControl(
        _check_tolerance(rtol, "rtol", floor),
        _check_tolerance(atol, "atol", 0.0),
        max_steps,
        _check_step(step, table),
        root_mean_square,
    )
    if gradient not in ("backprop", "adjoint"):
        raise ValueError(f'gradient must be "backprop" or "adjoint", got {gradient!r}.')
    problem = ODEProblem(f, table, control, t, times, event)
    with_gradient = torch.is_grad_enabled()
    if with_gradient and gradient == "adjoint":
        return _solve_adjoint(problem, y0)
    by_hand = getattr(f, "has_manual_gradients", False) and not table.gamma
    moving = with_gradient and t.requires_grad
    if by_hand and event is None and not moving:
        from .field_gradients import solve_by_hand

        return solve_by_hand(problem, y0)
    return _solve_recorded(problem, y0, checkpoints and with_gradient)


class ODEProblem(NamedTuple):
    """An initial value problem, and how to solve it."""

    f: Any
    table: Tableau
    control: StepControl
    t: Tensor
    times: list[float]
    event: Callable | None = None


def _find_tableau(method) -> Tableau:
    if method not in TABLEAUS:
        raise ValueError(
            f"method must be one of {', '.join(TABLEAUS)}, got {method!r}."
        )
    return TABLEAUS[method]


def _as_state(y0) -> Tensor:
    """The initial state as a tensor of floats."""
    y0 = torch.as_tensor(y0)
    return y0 if y0.is_floating_point() else y0.to(torch.get_default_dtype())


def _check_times(t, y0) -> tuple[Tensor, list[float]]:
    """Times as a tensor beside the state, and as numbers."""
    if not isinstance(t, Tensor):
        t = torch.as_tensor(np.asarray(t, dtype=float), device=y0.device)
    if t.ndim != 1 or len(t) < 2:
        raise ValueError(f"t must hold at least two times, got shape {tuple(t.shape)}.")
    times = t.detach().double().tolist()
    gaps = [b - a for a, b in pairwise(times)]
    if not (all(g > 0 for g in gaps) or all(g < 0 for g in gaps)):
        raise ValueError("t must be strictly rising or strictly falling.")
    return t, times


def _check_tolerance(value, name, floor) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")
    return max(float(value), floor)


def _check_step(step, table):
    if step is None:
        return None
    if table.adaptive:
        raise ValueError(f"step is for fixed steps, but {table.name} chooses its own.")
    if not 0 < step < math.inf:
        raise ValueError(f"step must be a positive number, got {step!r}.")
    return float(step)


class Clock:
    """Numbers of time as f and the gradient want them.

    Where t needs a gradient, a time is t_a + phi (t_b - t_a) with a fixed phi between
    the ends of its interval, so that the mesh moves with the times.
    """

    def __init__(self, t, times, like, whole):
        self.moving = t.requires_grad and torch.is_grad_enabled()
        self.dtype, self.device = like.dtype, like.device
        self.t = t
        self.ends = [times[0], times[-1]] if whole else times
        self.at = [0, len(times) - 1] if whole else list(range(len(times)))
        self.sign = 1.0 if times[-1] > times[0] else -1.0

    def __call__(self, time: float):
        """The time as a tensor if the times need a gradient, else as it is."""
        if not self.moving:
            return time
        keys = [self.sign * x for x in self.ends]
        i = min(max(bisect_right(keys, self.sign * time) - 1, 0), len(keys) - 2)
        phi = (time - self.ends[i]) / (self.ends[i + 1] - self.ends[i])
        a, b = self.t[self.at[i]], self.t[self.at[i + 1]]
        return a + phi * (b - a)

    def tensor(self, time) -> Tensor:
        """The time as a tensor, as f takes it."""
        if isinstance(time, Tensor):
            return time.to(self.dtype)
        return torch.tensor(time, dtype=self.dtype, device=self.device)


def _weighted_stages(y, h, weights, K):
    """y + h sum_i weights_i k_i; h and the weights are numbers or tensors."""
    total = None
    for w, k in zip(weights, K):
        if isinstance(w, float) and w == 0.0:
            continue
        if total is None:
            total = k * w
        elif isinstance(w, float):
            total = torch.add(total, k, alpha=w)
        else:
            total = total + w * k
    if total is None:
        return y
    if isinstance(h, float):
        return torch.add(y, total, alpha=h)
    return y + h.to(y.dtype) * total


def dense_weights(table, theta):
    """p_i(theta) of eq. (3) of `tableaus`, as numbers or tensors like theta."""
    if isinstance(theta, float):
        powers = theta ** np.arange(1, table.dense.shape[1] + 1)
        return (table.dense @ powers).tolist()
    powers = [theta ** (m + 1) for m in range(table.dense.shape[1])]
    return [sum(float(c) * p for c, p in zip(row, powers)) for row in table.dense]


class AutogradStepper:
    """Steps of any f, differentiated by autograd."""

    def __init__(self, problem: ODEProblem, y0, checkpoints):
        self.f, self.table, self.control, t, times, _ = problem
        self.clock = Clock(t, times, y0, whole=self.table.adaptive)
        self.checkpoints = checkpoints and torch.is_grad_enabled()
        self.evaluations = 0
        self.rows = [row.tolist() for row in self.table.a]
        self.b = self.table.b.tolist()
        self.error = [] if self.table.error is None else self.table.error.tolist()

    def evaluate(self, time, y):
        """f(t, y), checked once for its shape."""
        self.evaluations += 1
        k = self.f(self.clock.tensor(time), y)
        if k.shape != y.shape:
            raise ValueError(
                f"f must return the shape of y, {tuple(y.shape)}, got {tuple(k.shape)}."
            )
        return k

    def first_slope(self, time: float, y):
        """f at the beginning, where the method wants it handed on."""
        return self.evaluate(self.clock(time), y) if self.table.reuses_last else None

    def step(self, time, y, h, slope, due) -> Step:
        """A trial step of length h; `due` are (time, index) of outputs inside it."""
        parts = (time, y, h, slope, due)
        if self.checkpoints:
            return Step(*checkpoint(self.make_step, *parts, use_reentrant=False))
        return Step(*self.make_step(*parts))

    def make_step(self, time, y, h, slope, due):
        table = self.table
        T = self.clock(time)
        H = self.clock(time + h) - T if self.clock.moving else h
        K = self.stages(T, H, y, slope)
        if K is None:
            return y, slope, [], math.inf
        y1 = _weighted_stages(y, H, self.b, K)
        outputs = []
        for s, i in due:
            theta = (s - time) / h
            if theta > 1 - 1e-12:  # the end of the step
                outputs.append(y1)
                continue
            if self.clock.moving:
                theta = (self.clock.t[i] - T) / H
            outputs.append(_weighted_stages(y, H, dense_weights(table, theta), K))
        ratio = 0.0
        if table.adaptive:
            ratio = self.error_ratio(y, y1, h, K)
        return y1, K[-1] if table.reuses_last else None, outputs, ratio

    @torch.no_grad()
    def error_ratio(self, y, y1, h, K) -> float:
        """The norm of the error over the tolerance."""
        zero = torch.zeros_like(y)
        error = _weighted_stages(zero, h, self.error, K)
        return float(self.control.norm(error / self.tolerance(y, y1)))

    def scaled_norm(self, x, y) -> float:
        """The norm of x over the tolerance at y."""
        return float(self.control.norm(x / self.tolerance(y, y)))

    def tolerance(self, y, y1):
        """atol + rtol max(|y|, |y_1|)."""
        size = torch.maximum(y.abs(), y1.abs())
        return size.mul_(self.control.rtol).add_(self.control.atol)

    def stages(self, T, H, y, slope):
        """k_1, ..., k_s of eq. (1) of `tableaus`; None where Newton's method failed."""
        K = []
        newton = None
        for i, c in enumerate(self.table.c.tolist()):
            if i == 0 and slope is not None:
                K.append(slope)
                continue
            u = _weighted_stages(y, H, self.rows[i][:i], K)
            gamma = self.rows[i][i]
            if gamma == 0.0:
                K.append(self.evaluate(T + c * H, u))
                continue
            if newton is None:
                newton = NewtonMatrix(self.evaluate, T, y, gamma * _detached(H))
            guess = K[-1] if K else torch.zeros_like(y)
            k = self.implicit_stage(newton, T + c * H, u, gamma * H, guess)
            if k is None:
                return None
            K.append(k)
        return K

    def implicit_stage(self, newton, time, u, scale, guess):
        """k = f(time, u + scale k); its gradient by the implicit function theorem."""
        with torch.no_grad():
            step = _detached(scale)
            k = guess.detach().clone()
            old_size = math.inf
            for _ in range(NEWTON_ITERATIONS):
                v = u + step * k
                change = newton.solve(self.evaluate(_detached(time), v) - k)
                k += change
                reached = step * change / self.tolerance(u, v)
                size = float(root_mean_square(reached))
                if not math.isfinite(size):
                    return None
                if size < 1e-3:
                    break
                if size > 0.1 * old_size:  # the matrix of the step's start is too old
                    newton = NewtonMatrix(self.evaluate, time, u + step * k, step)
                old_size = size
            else:
                return None
        if not torch.is_grad_enabled():
            return k
        # one Newton step from the solution: its derivative is that of the solution
        exact = NewtonMatrix(self.evaluate, time, u + step * k, step)
        residual = self.evaluate(time, u + scale * k) - k
        return k + exact.solve(residual)


def _detached(value):
    """A tensor without its graph; a number as it is."""
    return value.detach() if isinstance(value, Tensor) else value


class NewtonMatrix:
    """Factors of I - scale J, with J = df/dy at (time, y), the state as one vector."""

    def __init__(self, evaluate, time, y, scale):
        # hooks that keep tensors as they are: those of a surrounding checkpoint would
        # run the whole step again for this derivative
        plain = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
        with torch.enable_grad(), plain:
            leaf = y.detach().requires_grad_()
            k = evaluate(_detached(time), leaf).reshape(-1)
            if k.requires_grad:
                eye = torch.eye(len(k), dtype=k.dtype, device=k.device)
                rows = torch.autograd.grad(k, leaf, eye, is_grads_batched=True)[0]
                J = rows.reshape(len(k), len(k)).detach()
            else:  # f does not depend on y
                J = torch.zeros(len(k), len(k), dtype=y.dtype, device=y.device)
        self.factors = torch.linalg.lu_factor_ex(torch.eye(len(J)).to(J) - scale * J)

    def solve(self, residual):
        """(I - scale J)^-1 residual, in the residual's shape."""
        column = residual.reshape(-1, 1)
        return torch.linalg.lu_solve(*self.factors[:2], column).view_as(residual)


def integrate_ode(stepper, y0, problem: ODEProblem) -> tuple[ODESolution, list]:
    """The driver: outputs at the problem's times, and records of accepted steps."""
    times = problem.times
    run = SolverRun(stepper, problem, y0)
    if problem.table.adaptive:
        reason = run.adaptive()
    else:
        reason = run.fixed()
    missing = len(times) - len(run.outputs)
    y = torch.stack([*run.outputs, *[run.y] * missing])
    last_time = run.event_time if reason == "event" else run.time
    counts = (run.accepted, run.rejected, stepper.evaluations)
    if reason in ("stiff", "max_steps"):
        _warn_stiff(problem, run, reason)
    return ODESolution(problem.t, y, reason, last_time, run.y, *counts), run.records


def _warn_stiff(problem, run, reason):
    table, control = problem.table, problem.control
    if reason == "stiff":
        cause = "its steps became too small"
    else:
        cause = f"it needs more than max_steps={control.max_steps} steps"
    advice = (
        "loosen rtol and atol or look for a pole of the solution"
        if table.gamma
        else 'try method="kencarp4" or larger tolerances'
    )
    warnings.warn(
        f"odeint stopped at t = {run.time:.6g} of {problem.times[-1]:.6g} because "
        f"{cause}: the problem is stiff for {table.name} or has no solution there; "
        f"{advice}.",
        StiffODEWarning,
        stacklevel=5,
    )


class SolverRun:
    """State of a solver's run."""

    def __init__(self, stepper, problem, y0):
        self.stepper, self.problem, self.y = stepper, problem, y0
        self.times = problem.times
        self.time = self.times[0]
        self.outputs, self.records = [y0], []
        self.accepted = self.rejected = 0
        self.sign = 1.0 if self.times[-1] > self.times[0] else -1.0
        self.slope = stepper.first_slope(self.time, y0)
        self.event = problem.event
        self.event_time = None
        self.side = self._side(self.time, y0) if self.event else 0.0

    def _side(self, time, y) -> float:
        with torch.no_grad():
            return float(self.event(self.stepper.clock.tensor(time), y))

    def fixed(self) -> str:
        """Equal steps between neighbouring times."""
        wanted = self.problem.control.step
        for i in range(1, len(self.times)):
            start, end = self.times[i - 1], self.times[i]
            n = 1
            if wanted is not None:
                n = max(1, math.ceil(abs(end - start) / wanted - 1e-9))
            for j in range(n):
                if self.accepted >= self.problem.control.max_steps:
                    return "max_steps"
                stop = end if j == n - 1 else start + (end - start) * (j + 1) / n
                due = [(stop, i)] if j == n - 1 else []
                length = stop - self.time
                step = self.stepper.step(self.time, self.y, length, self.slope, due)
                if not step.ratio < math.inf:
                    return "stiff"
                if self._accept(step, length, stop):
                    return "event"
        return "finished"

    def adaptive(self) -> str:
        """Steps by the control of eq. (2)."""
        control, table = self.problem.control, self.problem.table
        end = self.times[-1]
        span = abs(end - self.times[0])
        least_step = 10 * np.finfo(float).eps * max(abs(end), abs(self.times[0]), span)
        h = self._initial_step()
        old_ratio = 1.0
        held_back = False
        while self.time != end:
            if self.accepted + self.rejected >= control.max_steps:
                return "max_steps"
            remaining = end - self.time
            stop = end if abs(remaining) <= 1.01 * h else self.time + self.sign * h
            length = stop - self.time
            step = self.stepper.step(
                self.time, self.y, length, self.slope, self._due(stop)
            )
            r = step.ratio
            if r <= 1:
                if self._accept(step, length, stop):
                    return "event"
                factor = _step_factor(r, old_ratio, table.error_order)
                h = abs(length) * (min(factor, 1.0) if held_back else factor)
                old_ratio = max(r, 1e-4)
                held_back = False
                continue
            self.rejected += 1
            held_back = True
            shrink = _step_factor(r, 1.0, table.error_order) if r < math.inf else SHRINK
            h = abs(length) * min(shrink, SAFETY)
            if h < least_step:
                return "stiff"
        return "finished"

    def _due(self, stop):
        """(time, index) of the outputs up to `stop`."""
        results = []
        for i in range(len(self.outputs), len(self.times)):
            if (self.times[i] - stop) * self.sign > 0:
                break
            results.append((self.times[i], i))
        return results

    def _accept(self, step, length, stop) -> bool:
        """Move on; true if the event happened inside the step."""
        if self.event is not None:
            side = self._side(stop, step.y)
            if self.side * side < 0 or (side == 0 and self.side != 0):
                self._end_at_event(length, side)
                return True
            self.side = side or self.side
        self.accepted += 1
        self.time = stop
        self.y, self.slope = step.y, step.slope
        self.outputs += step.outputs
        if step.record is not None:
            self.records.append(step.record)
        return False

    def _end_at_event(self, length, side):
        """Shorten the step until it ends at the event (Illinois rule)."""
        low = 0.0
        high = length
        at_low = self.side
        at_high = side
        short = length
        with torch.no_grad():
            for _ in range(60):
                if at_high == 0 or abs(high - low) <= 1e-13 * abs(length):
                    break
                short = high - at_high * (high - low) / (at_high - at_low)
                y = self.stepper.step(self.time, self.y, short, self.slope, []).y
                value = self._side(self.time + short, y)
                if value == 0:
                    high, at_high = short, value
                elif value * at_high < 0:
                    low, at_low = high, at_high
                    high, at_high = short, value
                else:
                    high, at_high = short, value
                    at_low /= 2
        stop = self.time + high
        step = self.stepper.step(self.time, self.y, high, self.slope, self._due(stop))
        self.accepted += 1
        self.outputs += step.outputs
        self.y, self.event_time = self._differentiable_event(stop, step.y)
        self.time = stop

    def _differentiable_event(self, stop, y):
        """State and time of the event, with gradients by implicit differentiation."""
        clock = self.stepper.clock
        if not (torch.is_grad_enabled() and (y.requires_grad or clock.moving)):
            return y, stop
        T = clock.tensor(clock(stop))
        slope = self.stepper.evaluate(T, y)
        with torch.enable_grad():
            T_leaf = T.detach().requires_grad_()
            near = y.detach() + (T_leaf - T.detach()) * slope.detach()
            (rate,) = torch.autograd.grad(self.event(T_leaf, near), T_leaf)
        time = T - self.event(T, y) / rate
        return y + slope * (time - T), time

    def _initial_step(self) -> float:
        """A first step after Hairer: a hundredth of |y| / |y'|, checked by one step."""
        time = self.time
        y = self.y.detach()
        with torch.no_grad():
            k = self.slope
            k = self.stepper.evaluate(time, y) if k is None else k.detach()
            d0 = self.stepper.scaled_norm(y, y)
            d1 = self.stepper.scaled_norm(k, y)
            if not (math.isfinite(d0) and math.isfinite(d1)):
                return abs(self.times[-1] - time) * 1e-6
            h = 0.01 * d0 / d1 if min(d0, d1) > 1e-5 else 1e-6
            h = min(h, abs(self.times[-1] - time))
            moved = self.stepper.evaluate(
                time + self.sign * h, torch.add(y, k, alpha=self.sign * h)
            )
            d2 = self.stepper.scaled_norm(moved - k, y) / h
        steep = max(d1, d2)
        power = 1 / self.problem.table.error_order
        if not math.isfinite(steep):
            return h
        second = (0.01 / steep) ** power if steep > 1e-15 else max(1e-6, h * 1e-3)
        return min(100 * h, second)


def _step_factor(ratio, before, order) -> float:
    """The change of the step by eq. (2)."""
    if ratio == 0:
        return GROW
    factor = SAFETY * ratio ** (-0.85 / order) * before ** (0.2 / order)
    return min(GROW, max(SHRINK, factor))


def _solve_recorded(problem, y0, checkpoints) -> ODESolution:
    """The solution by autograd, or without a gradient."""
    return integrate_ode(AutogradStepper(problem, y0, checkpoints), y0, problem)[0]


# The adjoint, eq. (3)


def _solve_adjoint(problem, y0) -> ODESolution:
    """The solution, with the adjoint's gradient in y0, t and the parameters of f."""
    if not isinstance(problem.f, torch.nn.Module):
        raise TypeError(
            'gradient="adjoint" needs f as a torch.nn.Module, whose parameters it '
            "knows; a plain function has a gradient by backprop."
        )
    if problem.event is not None:
        raise ValueError('events have a gradient by gradient="backprop" only.')
    parameters = [p for p in problem.f.parameters() if p.requires_grad]
    results = []
    y = AdjointSolve.apply(y0, problem.t, problem, results, *parameters)
    return results[0]._replace(y=y, last_state=y[-1])


class AdjointSolve(torch.autograd.Function):
    """Values from the solver, gradients from eq. (3) solved backwards."""

    @staticmethod
    def forward(ctx, y0, t, problem, solutions, *parameters):
        solution = _solve_recorded(problem, y0.detach(), False)
        solutions.append(solution)
        ctx.problem = problem
        ctx.parameters = parameters
        ctx.save_for_backward(t, solution.y)
        return solution.y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, cotangents):
        t, y = ctx.saved_tensors
        problem = ctx.problem
        parameters = ctx.parameters
        n = y[0].numel()
        reverse = ReverseField(problem.f, y[0].shape, parameters)
        control = problem.control._replace(
            norm=lambda x: root_mean_square(x[: 2 * n])  # not the parameters'
        )
        a = torch.zeros_like(y[0]).reshape(-1)
        theta = y.new_zeros(sum(p.numel() for p in parameters))
        slopes = t.new_zeros(len(t))
        drift = 0.0
        for i in range(len(t) - 1, 0, -1):
            a = a + cotangents[i].reshape(-1)
            k = reverse.slope(t[i], y[i])
            slopes[i] += cotangents[i].reshape(-1) @ k
            pair = torch.stack([t[i], t[i - 1]]).detach()
            state = torch.cat([y[i].reshape(-1), a, theta])
            part = ODEProblem(
                reverse, problem.table, control, pair, pair.double().tolist()
            )
            end = _solve_recorded(part, state, False).last_state
            back, a, theta = end[:n], end[n : 2 * n], end[2 * n :]
            scale = control.atol + control.rtol * y[i - 1].reshape(-1).abs()
            miss = root_mean_square((back - y[i - 1].reshape(-1)) / scale)
            drift = max(drift, float(miss))
        k = reverse.slope(t[0], y[0])
        slopes[0] -= a @ k
        a = a + cotangents[0].reshape(-1)
        if problem.table.adaptive and drift > DRIFT:
            warnings.warn(
                f"the adjoint came back {drift:.3g} tolerances away from the solution: "
                'its gradient is doubtful; take smaller tolerances or "backprop".',
                AdjointWarning,
                stacklevel=2,
            )
        parts = torch.split(theta, [p.numel() for p in parameters])
        grads = [g.view_as(p) for g, p in zip(parts, parameters)]
        return a.view_as(y[0]), slopes, None, None, *grads


class ReverseField:
    """(y, a, theta) -> their derivatives in time, eq. (3), as one vector."""

    def __init__(self, f, shape, parameters):
        self.f, self.shape, self.parameters = f, shape, parameters
        self.n = math.prod(shape)

    def slope(self, time, y):
        """f(t, y) as one vector."""
        with torch.no_grad():
            return self.f(time.to(y.dtype), y).reshape(-1)

    def __call__(self, time, state):
        y = state[: self.n].view(self.shape).detach()
        a = state[self.n : 2 * self.n].view(self.shape)
        with torch.enable_grad():
            y.requires_grad_()
            k = self.f(time, y)
            wanted = (y, *self.parameters)
            if k.requires_grad:
                grads = torch.autograd.grad(k, wanted, -a, allow_unused=True)
            else:
                grads = [None] * len(wanted)
        flat = [
            torch.zeros_like(x).reshape(-1) if g is None else g.reshape(-1)
            for g, x in zip(grads, wanted)
        ]
        return torch.cat([k.detach().reshape(-1), *flat])
