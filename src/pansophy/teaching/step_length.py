"""Diagnoses the step length of a run: divergence, stalls, update ratios.

From the objective J_t and the positions x_t of a run, over the last steps,

    rises    J at the end lies above J at the beginning of the window, and the updates
             |x_t - x_{t-1}| do not shrink                                       (1)
    stalls   J has not fallen by more than a small share of itself               (2)
    ratio    |x_t - x_{t-1}| / |x_{t-1}|, per layer                              (3)
    slow     the changes of J shrink by a rate so near to 1 that each digit of x takes
             more than a hundred steps                                           (4)

On a quadratic, descent with a fixed step is (1) exactly when eta > 2 / lambda_max: the
error along the steepest direction is multiplied by 1 - eta lambda_max. A step just
below that limit is (4) as well as one that is far too short; in the first case
successive updates point against each other, which the positions tell. For nets a ratio
(3) near 1e-3 is usual; far below it the step is too short, far above too long.
"""

import math
from typing import NamedTuple

import numpy as np

LOW = 1e-5  # ratio (3) below which a longer step is advised
HIGH = 1e-1  # ratio (3) above which a shorter step is advised
SLOW = 0.977  # rate of the error above which a digit takes more than 100 steps
OPPOSED = -0.5  # mean cosine of successive updates below which a run oscillates


class StepReport(NamedTuple):
    """Verdict of `step_report` on the step length of a run."""

    verdict: str  # "falling", "diverging", "stalled" or "converged"
    rate: float  # by which the updates, or else J's changes, are multiplied a step
    fall: float  # share of J lost over the window
    ratios: dict[str, float]  # eq. (3), the median over the window, by layer
    advice: str
    cosine: float = math.nan  # mean cosine of successive updates, nan without positions
    slow: bool = False  # eq. (4)

    @property
    def diverging(self) -> bool:
        return self.verdict == "diverging"

    def __str__(self):
        layers = ", ".join(f"{name} {r:.1e}" for name, r in self.ratios.items())
        tail = f"; update/weight: {layers}" if layers else ""
        return f"{self.verdict} (rate {self.rate:.4g}{tail}): {self.advice}"


def step_report(run, positions=None, *, window: int = 20, tol: float = 1e-8):
    """Diagnose the step length of a run.

    Parameters
    ----------
    run : Result or sequence of float
        What a solver returned, or the objective after each step.
    positions : array (t, ...), or dict of them by layer; optional
        Where the run was; taken from `history["position"]` if recorded.
    window : int
        How many of the last steps to look at.
    tol : float
        Fall of the objective, relative to it, at or below which it has stalled.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim, teaching
    >>> f = lambda x: (float(x @ x), 2 * x)
    >>> for eta in (0.9, 0.9999, 1.1):
    ...     rule = optim.constant_step(eta)
    ...     run = optim.gradient_descent(f, np.ones(2), rule, max_iter=30, tol=0)
    ...     print(teaching.step_report(run).verdict, teaching.step_report(run).slow)
    falling False
    falling True
    diverging False
    """
    history = getattr(run, "history", None)
    reason = getattr(run, "reason", "")
    J = np.asarray(run if history is None else history["objective"], dtype=float)
    if positions is None and history is not None:
        positions = history.get("position")
    layers = positions if isinstance(positions, dict) else {"x": positions}
    layers = {k: np.asarray(v, float) for k, v in layers.items() if v is not None}
    sizes = {name: _last_update_lengths(part, window) for name, part in layers.items()}
    ratios = {name: _median_ratio(part, window) for name, part in layers.items()}
    finite = bool(np.all(np.isfinite(J)))
    J = J[-window - 1 :]
    rate = falls = _mean_growth_factor(np.abs(np.diff(J)))
    if sizes:
        rate = _mean_growth_factor(
            np.sqrt(np.sum(np.square([*sizes.values()]), axis=0))
        )
    cosine = _mean_update_cosine(layers, window)
    top = max(abs(J[0]), np.finfo(float).tiny) if len(J) else 1.0
    fall = float((J[0] - J[-1]) / top) if len(J) > 1 and finite else 0.0
    if reason == "diverged" or not finite or (fall < -1e-14 and rate >= 1):
        verdict = "diverging"
    elif reason == "tolerance":
        verdict = "converged"
    elif len(J) > 1 and fall <= tol:
        verdict = "stalled"
    else:
        verdict = "falling"
    digits = math.sqrt(falls)  # J is quadratic in the distance to its optimum
    slow = verdict == "falling" and digits > SLOW
    advice = _slow_advice(digits, cosine) if slow else _step_advice(verdict, ratios)
    return StepReport(verdict, rate, fall, ratios, advice, cosine, slow)


def _last_update_lengths(x, window):
    """Norms of the last updates."""
    step = np.diff(x[-window - 1 :], axis=0).reshape(-1, max(x[0].size, 1))
    return np.linalg.norm(step, axis=1)


def _median_ratio(x, window) -> float:
    """Median ratio of update to weight norms over the window, eq. (3)."""
    old_weights = x[-window - 1 : -1].reshape(-1, max(x[0].size, 1))
    size = np.linalg.norm(old_weights, axis=1)
    moved = _last_update_lengths(x, window)
    has_size = size > 0
    return (
        float(np.median(moved[has_size] / size[has_size])) if has_size.any() else np.inf
    )


def _mean_update_cosine(layers, window) -> float:
    """Mean cosine of the angle between successive updates; nan without positions."""
    if not layers:
        return math.nan
    parts = [
        x[-window - 1 :].reshape(len(x[-window - 1 :]), -1) for x in layers.values()
    ]
    step = np.diff(np.hstack(parts), axis=0)
    length = np.linalg.norm(step, axis=1)
    if len(step) < 2 or not np.all(np.isfinite(length)):
        return math.nan
    product = length[1:] * length[:-1]
    is_moving = product > 0
    dots = np.sum(step[1:] * step[:-1], axis=1)
    return (
        float(np.mean(dots[is_moving] / product[is_moving]))
        if is_moving.any()
        else math.nan
    )


def _mean_growth_factor(sizes) -> float:
    """Geometric mean of the growth factors of successive sizes."""
    sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
    if len(sizes) < 2:
        return 0.0
    return float((sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1)))


def _step_advice(verdict, ratios) -> str:
    """Advice in one phrase."""
    if verdict == "diverging":
        return "the step is too long: make it smaller, or search along the line"
    if verdict == "converged":
        return "nothing to do"
    if verdict == "stalled":
        return "no progress: lengthen the step, rescale, or stop if the gradient is 0"
    slow = [name for name, r in ratios.items() if r < LOW]
    fast = [name for name, r in ratios.items() if HIGH < r < np.inf]
    if slow:
        return f"updates of {', '.join(slow)} are tiny: a longer step may do"
    if fast:
        return f"updates of {', '.join(fast)} are large: a shorter step is safer"
    return "the step looks right"


def _slow_advice(rate, cosine) -> str:
    """Advice for a run of eq. (4) whose error shrinks by `rate` a step."""
    steps = f"{math.log(10) / -math.log(rate):,.0f}" if rate < 1 else "ever more"
    text = f"slow, {steps} steps for each digit: "
    if cosine < OPPOSED:
        return text + "updates go back and forth, so shorten the step"
    if math.isnan(cosine):
        return text + "the step is far too short or just below its limit"
    return text + "lengthen the step, rescale the columns, or use momentum"
