"""Parameters of a linear Gaussian model as users give them: defaults and checks.

An array with a leading time axis has an entry for every row of the data, and may have
more, for forecasts. Those that lead from row to row (transition matrices, their
covariances and offsets) may also have one entry less: then entry t leads from row t
to t + 1, as elsewhere; with as many entries as rows, entry t leads into row t, and the
first is not used.

Shapes    see `linear_gaussian`
"""

from typing import Any, NamedTuple

import numpy as np

from .linear_gaussian import (
    LinearGaussianModel,
    at_time,
    check_covariance,
    stationary_moments,
)

# public name -> letter, its shape without time, the default
PARAMETERS = {
    "transition_matrices": ("F", "kk", "eye"),
    "observation_matrices": ("H", "pk", "eye"),
    "transition_covariance": ("Q", "kk", "eye"),
    "observation_covariance": ("R", "pp", "eye"),
    "transition_offsets": ("c", "k", "zeros"),
    "observation_offsets": ("d", "p", "zeros"),
    "initial_state_mean": ("m", "k", "zeros"),
    "initial_state_covariance": ("P", "kk", "eye"),
    "control_matrices": ("B", "kl", "zeros"),
    "observation_control_matrices": ("D", "pl", "zeros"),
}
NAME_OF_LETTER = {letter: name for name, (letter, _, _) in PARAMETERS.items()}
TRANSITION_LETTERS = "FQc"  # arrays that may have one entry less than there are rows
CONSTANT_LETTERS = "mPBD"


class KalmanParameters(NamedTuple):
    """All letters, B and D of the control input included."""

    F: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    R: np.ndarray
    c: np.ndarray
    d: np.ndarray
    m: np.ndarray
    P: np.ndarray
    B: np.ndarray
    D: np.ndarray
    start: str = "known"

    def model(self, n: int, u=None) -> LinearGaussianModel:
        """The model of n rows with control input u (n, l)."""
        arrays = {x: entries_in_time(getattr(self, x), n, x) for x in "FQHRcd"}
        F, Q, H, R, c, d = arrays.values()
        if u is not None:
            c, d = c + u @ self.B.T, d + u @ self.D.T
        m = self.m
        P = self.P
        diffuse = None
        if self.start == "diffuse":
            diffuse, P = np.eye(len(m)), np.zeros_like(P)
        elif self.start == "stationary":
            if F.ndim > 2 or Q.ndim > 2:
                raise ValueError(
                    'start="stationary" needs transition_matrices and '
                    "transition_covariance that do not change with time."
                )
            m, P = stationary_moments(F, Q, self.c if self.c.ndim == 1 else self.c[0])
        elif self.start == "previous":  # one prediction before the first row
            F0, Q0, c0 = at_time(F, 0, 2), at_time(Q, 0, 2), at_time(c, 0, 1)
            m = F0 @ m + c0
            P = F0 @ P @ F0.T + Q0
        return LinearGaussianModel(F, Q, H, R, c, d, m, P, diffuse)


def entries_in_time(a, n, letter):
    """The entries of n rows; the array itself where it has no time axis."""
    if a.ndim == len(PARAMETERS[NAME_OF_LETTER[letter]][1]):
        return a
    if letter in TRANSITION_LETTERS and len(a) == n - 1:
        a = np.concatenate([a[:1], a])
    if len(a) < n:
        fewer_text = " (or one less)" if letter in TRANSITION_LETTERS else ""
        raise ValueError(
            f"{NAME_OF_LETTER[letter]} has {len(a)} entries in time, but X has {n} "
            f"rows: it needs as many{fewer_text}."
        )
    return a[:n]


def infer_sizes(given: dict, n_state, n_obs, columns):
    """k, p and l as the arrays, the numbers given and the data say."""
    result: dict[str, Any] = {"k": n_state, "p": n_obs, "l": None}
    parameter_names = {"k": "n_dim_state", "p": "n_dim_obs"}
    for name, (letter, shape, _) in PARAMETERS.items():
        a = given.get(name)
        if a is None:
            continue
        a = np.asarray(a)
        if a.ndim == 0 and len(shape) == 2:
            continue  # a number times the identity
        if a.ndim not in (len(shape), len(shape) + (letter not in CONSTANT_LETTERS)):
            axis_text = "" if letter in CONSTANT_LETTERS else " (one more with time)"
            raise ValueError(
                f"{name} must have {len(shape)} dimensions{axis_text}, got {a.ndim}."
            )
        for axis, size in zip(shape, a.shape[-len(shape) :], strict=True):
            if result[axis] is None:
                result[axis], parameter_names[axis] = size, name
            elif result[axis] != size:
                raise ValueError(
                    f"{name} has shape {a.shape}, but {parameter_names[axis]} says "
                    f"that there are {result[axis]} {AXIS_WORDS[axis]}."
                )
    k, p, m = result["k"], result["p"], result["l"]
    p = p or columns or k or 1
    if columns is not None and p != columns:
        raise ValueError(
            f"X has {columns} columns, but {parameter_names['p']} says that {p} "
            "numbers are observed in each row."
        )
    return k or p, p, m or 0


AXIS_WORDS = {"k": "states", "p": "observed numbers", "l": "control inputs"}


def read_parameters(
    given: dict, *, n_state=None, n_obs=None, columns=None, start="known"
):
    """Checked Parameters from arrays by public name; None is the default."""
    k, p, m = infer_sizes(given, n_state, n_obs, columns)
    long = {"k": k, "p": p, "l": m}
    matrices = {}
    for name, (letter, shape, default) in PARAMETERS.items():
        want = tuple(long[axis] for axis in shape)
        a = given.get(name)
        if a is None:
            a = np.eye(*want) if default == "eye" else np.zeros(want)
        a = np.asarray(a, dtype=float)
        if a.ndim == 0 and len(shape) == 2:
            a = a * np.eye(*want)
        if not np.all(np.isfinite(a)):
            raise ValueError(f"{name} contains NaN or infinity.")
        matrices[letter] = check_covariance(a, name) if letter in "QRP" else a
    return KalmanParameters(**matrices, start=start)


def initial_guess(given: dict, learned, X, begins, k) -> dict:
    """Given arrays, and starts from the spread of X for those that are learned.

    Half the variance of a step goes to each noise, the first row to the mean.
    """
    guesses = dict(given)
    p = X.shape[1]
    with np.errstate(invalid="ignore"):
        steps = np.diff(X, axis=0) ** 2
        count = np.maximum((~np.isnan(steps)).sum(axis=0), 1)
        step = np.where(np.isnan(steps), 0.0, steps).sum(axis=0) / count / 2
        x = X - np.where(np.isnan(X), 0.0, X).sum(axis=0) / np.maximum(
            (~np.isnan(X)).sum(axis=0), 1
        )
        spread = np.where(np.isnan(x), 0.0, x**2).sum(axis=0) / len(X)
    step, spread = np.where(step > 0, step, 1.0), np.where(spread > 0, spread, 1.0)
    wide = lambda v: v if k == p else np.full(k, v.mean())
    starts = {
        "transition_covariance": np.diag(wide(step)),
        "observation_covariance": np.diag(step),
        "initial_state_covariance": np.diag(wide(spread)),
    }
    if k == p and given.get("observation_matrices") is None:
        first = X[begins]
        first_rows = np.where(np.isnan(first), 0.0, first).mean(axis=0)
        starts["initial_state_mean"] = first_rows
    for name, value in starts.items():
        if guesses.get(name) is None and name in learned:
            guesses[name] = value
    return guesses
