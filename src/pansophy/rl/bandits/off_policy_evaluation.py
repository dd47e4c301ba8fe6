"""Off-policy evaluation: what a policy would have earned, from the log of another.

The log has contexts x, the arm a that was pulled with probability p, and its reward r.
A new policy pulls arm i in context x with probability pi_i(x). With q_i(x) a model of
the rewards and w = pi_a(x) / p, the value of the new policy is estimated by the mean of

    IPS               w r                                                        (1)
    direct method     sum_i pi_i(x) q_i(x)                                       (2)
    doubly robust     sum_i pi_i(x) q_i(x) + w (r - q_a(x))                      (3)

and self-normalised by  sum w r / sum w.  (1) is unbiased if p is right and above 0
wherever pi is; (2) if the model is right; (3) if either is, with less variance than (1)
where the model is of use. Large w make (1) and (3) unsure: the effective number of rows
is (sum w)^2 / sum w^2.

Refs      [Dudik2011] (3); [Swaminathan2015] self-normalised
"""

from typing import Any, NamedTuple

import numpy as np

from ...params import Count, Positive, TwoOrMore, check_argument

METHODS = ("ips", "snips", "direct", "dr")


class BanditLog(NamedTuple):
    """Pulls of a policy, one a row."""

    context: np.ndarray  # (n, d)
    action: np.ndarray  # (n,)
    reward: np.ndarray  # (n,)
    probability: np.ndarray  # (n,) with which the action was taken


class OffPolicyEstimate(NamedTuple):
    """Result of `evaluate_off_policy`."""

    value: float  # mean reward a pull
    standard_error: float
    effective_size: float  # (sum w)^2 / sum w^2

    def interval(self, z=1.96) -> tuple[float, float]:
        """value plus and minus z standard errors."""
        return (
            self.value - z * self.standard_error,
            self.value + z * self.standard_error,
        )


def evaluate_off_policy(
    log: BanditLog, policy, *, method="dr", rewards: Any = None, clip=None
) -> OffPolicyEstimate:
    """Mean reward of a policy from the log of another.

    Parameters
    ----------
    log : BanditLog
    policy : array of shape (n, K), or function
        Probabilities of the arms in every context of the log, or a function from the
        contexts (n, d) to them.
    method : {"dr", "ips", "snips", "direct"}
        Doubly robust, inverse propensity, self-normalised, direct; see the module text.
    rewards : array of shape (n, K), or function; or None
        q_i(x), for "dr" and "direct". A model should not have seen the rows that it is
        asked about.
    clip : float or None
        Greatest weight w; smaller ones make the estimate surer and biased.

    Returns
    -------
    OffPolicyEstimate
        value, standard_error, effective_size.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl import BanditLog, evaluate_off_policy
    >>> log = BanditLog(np.zeros((4, 1)), np.array([0, 0, 1, 1]),
    ...                 np.array([1.0, 3.0, 5.0, 7.0]), np.full(4, 0.5))
    >>> always_1 = np.tile([0.0, 1.0], (4, 1))
    >>> evaluate_off_policy(log, always_1, method="ips").value
    6.0
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {list(METHODS)}, got {method!r}.")
    log = _check_log(log)
    pi = _checked_arm_table("policy", policy, log)
    allowed = 1e-8 if pi.dtype == np.float64 else 1e3 * float(np.finfo(pi.dtype).eps)
    if (pi < 0).any() or (np.abs(pi.sum(axis=1) - 1) > allowed).any():
        raise ValueError("rows of policy must be probabilities that sum to 1.")
    check_argument("clip", clip, Positive | None)
    a, r, p = log.action, log.reward, log.probability
    n = len(r)
    w = pi[np.arange(n), a] / p
    if clip is not None:
        w = np.minimum(w, clip)
    if method in ("direct", "dr"):
        if rewards is None:
            raise ValueError(f"method {method!r} needs rewards, a model of them.")
        q = _checked_arm_table("rewards", rewards, log)
        direct = (pi * q).sum(axis=1)
        terms = direct if method == "direct" else direct + w * (r - q[np.arange(n), a])
    else:
        terms = w * r
    size = float(w.sum() ** 2 / max((w**2).sum(), 1e-300))
    if method == "snips":
        if not w.sum() > 0:
            raise ValueError("the policy takes none of the actions in the log.")
        value = float(terms.sum() / w.sum())
        spread = w * (r - value) / w.mean()  # first-order error of the ratio
        error = float(spread.std(ddof=min(1, n - 1)) / np.sqrt(n))
        return OffPolicyEstimate(value, error, size)
    error = float(terms.std(ddof=min(1, n - 1)) / np.sqrt(n))
    return OffPolicyEstimate(float(terms.mean()), error, size)


def _check_log(log: BanditLog) -> BanditLog:
    """The log as arrays; one sentence about what cannot be right."""
    context = np.asarray(log.context)
    r = np.asarray(log.reward, float)
    a = np.asarray(log.action)
    p = np.asarray(log.probability, float)
    n = len(context)
    if not n or not r.shape == a.shape == p.shape == (n,):
        raise ValueError(
            "a log must have as many actions, rewards and probabilities as contexts, "
            f"and at least one; got {n}, {a.shape}, {r.shape} and {p.shape}."
        )
    if a.dtype.kind not in "iu" or a.min() < 0:
        raise ValueError("actions in the log must be whole numbers of at least 0.")
    if not np.isfinite(r).all():
        raise ValueError("rewards in the log must be finite.")
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError("probabilities in the log must be above 0 and at most 1.")
    return BanditLog(context, a, r, p)


def _checked_arm_table(name, table, log) -> np.ndarray:
    """A table (n, K), or what a function makes of the contexts."""
    table = table(log.context) if callable(table) else table
    table = np.asarray(table)
    if table.dtype.kind != "f":
        table = table.astype(float)
    n = len(log.reward)
    K = int(np.max(log.action)) + 1
    if table.ndim != 2 or len(table) != n or table.shape[1] < K:
        raise ValueError(
            f"{name} must have shape ({n}, K) with K at least {K}, got {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{name} holds NaN or an infinite number.")
    return table


def cross_fitted_rewards(log: BanditLog, estimator, n_arms, *, n_folds=2) -> np.ndarray:
    """q_i(x) of every row from a model that has not seen it, (n, K).

    Parameters
    ----------
    log : BanditLog
    estimator : regressor
        Cloned and fitted for each arm to the rows of the other folds.
    n_arms : int
        K.
    n_folds : int
        Row j belongs to fold j mod n_folds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from pansophy.rl import BanditLog, cross_fitted_rewards
    >>> x = np.arange(12.0)[:, None]
    >>> log = BanditLog(x, np.tile([0, 0, 1, 1], 3), 2 * x[:, 0], np.full(12, 0.5))
    >>> cross_fitted_rewards(log, LinearRegression(), 2)[5].round(6)
    array([10., 10.])
    """
    from sklearn.base import clone

    log = _check_log(log)
    check_argument("n_arms", n_arms, Count)
    check_argument("n_folds", n_folds, TwoOrMore)
    n = len(log.reward)
    fold = np.arange(n) % n_folds
    q = np.zeros((n, n_arms))
    for k in range(n_folds):
        held_out = fold == k
        for i in range(n_arms):
            rows = ~held_out & (log.action == i)
            if not rows.any():
                raise ValueError(f"arm {i} was never pulled outside fold {k}.")
            model = clone(estimator).fit(log.context[rows], log.reward[rows])
            q[held_out, i] = model.predict(log.context[held_out])
    return q
