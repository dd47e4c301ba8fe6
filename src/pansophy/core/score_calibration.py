"""Maps of scores to probabilities: Platt's sigmoid and temperature scaling.

    sigmoid      P(y = 1 | f) = 1 / (1 + exp(-(a f + c))), by maximum likelihood with
                 targets (N+ + 1)/(N+ + 2) and 1/(N- + 2) in place of 1 and 0, which
                 keep a and c finite where scores separate the classes            (1)
    temperature  q_k = p_k^b / sum_j p_j^b,  b = 1/T, by maximum likelihood       (2)

N+ and N- are the weights of the two outcomes. Both likelihoods are concave. (2) never
changes which class is the most probable. Fit both to rows that the model of the scores
has not seen.

Shapes    f, y, w (n,)   p, q (n, K)
Refs      [Platt2000] (1); [Guo2017] (2)
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

LEAST_PROBABILITY = 1e-12  # what counts as 0 in a logarithm
NEWTON_STEPS = 50
LOG_POWERS = (-5.0, 5.0)  # range of log b


def fit_platt_sigmoid(f, happened, w, *, rising=False):
    """a and c of eq. (1), by Newton's method.

    Parameters
    ----------
    f : array of shape (n,)
        Scores.
    happened : array of bool, shape (n,)
        Outcomes.
    w : array of shape (n,)
        Weights.
    rising : bool, default=False
        Whether a score that falls as the outcome gets likelier is ignored: a = 0.

    Returns
    -------
    (float, float)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.score_calibration import fit_platt_sigmoid
    >>> f = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> a, c = fit_platt_sigmoid(f, f > 0, np.ones(4))
    >>> round(a, 4), round(abs(c), 4)
    (0.674, 0.0)
    """
    positive = float(w[happened].sum())
    negative = float(w[~happened].sum())
    target = np.where(happened, (positive + 1) / (positive + 2), 1 / (negative + 2))
    scale = float(np.abs(f).max(initial=0.0)) or 1.0
    design = np.column_stack([f / scale, np.ones(len(f))])
    constant = np.array([0.0, np.log((w @ target) / (w @ (1 - target)))])

    def loss(x):
        z = design @ x
        return -(w @ (target * log_expit(z) + (1 - target) * log_expit(-z)))

    x = constant
    value = loss(x)
    for _ in range(NEWTON_STEPS):  # with halved steps; the loss is convex
        p = expit(design @ x)
        gradient = design.T @ (w * (p - target))
        curved = design * (w * p * (1 - p))[:, None]
        step = np.linalg.solve(design.T @ curved + 1e-12 * np.eye(2), gradient)
        if abs(gradient @ step) <= 1e-12 * max(value, 1.0):
            break
        while loss(x - step) > value and np.abs(step).max() > 1e-12:
            step = step / 2
        x = x - step
        value = loss(x)
    slope, offset = constant if rising and not x[0] > 0 else x
    return float(slope / scale), float(offset)


def fit_inverse_temperature(p, y, w) -> float:
    """b of eq. (2) for probabilities p of classes y (codes) with weights w.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.score_calibration import fit_inverse_temperature
    >>> p = np.array([[0.6, 0.4], [0.4, 0.6], [0.6, 0.4]])
    >>> b = fit_inverse_temperature(p, np.array([0, 1, 1]), np.ones(3))
    >>> round(b, 2)  # one of three is wrong: 0.6^b / 0.4^b = 2
    1.71
    """
    log_p = np.log(np.clip(p, LEAST_PROBABILITY, 1))
    true_log_p = log_p[np.arange(len(y)), y]

    def loss(log_power):
        z = np.exp(log_power) * log_p
        top = z.max(axis=1)
        total = top + np.log(np.exp(z - top[:, None]).sum(axis=1))
        return float(w @ (total - np.exp(log_power) * true_log_p)) / w.sum()

    optimum = minimize_scalar(loss, bounds=LOG_POWERS, method="bounded")
    return float(np.exp(optimum.x))


def scale_temperature(p, inverse_temperature):
    """Eq. (2): probabilities sharpened (b > 1) or flattened (b < 1).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.score_calibration import scale_temperature
    >>> scale_temperature(np.array([[0.8, 0.2]]), 0.5).round(6)
    array([[0.666667, 0.333333]])
    """
    s = inverse_temperature * np.log(np.clip(p, LEAST_PROBABILITY, 1))
    s -= s.max(axis=1, keepdims=True)
    q = np.exp(s)
    return q / q.sum(axis=1, keepdims=True)
