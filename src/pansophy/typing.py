"""Types of parameters, and a protocol for each contract (Loss, Kernel, Sampler, ...).

`docs/design.md` names the list of the members of each contract and the tests that run
over it.
"""

from collections.abc import Callable
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np

from .params import ParameterRule

Array = Any  # NumPy array, torch tensor or any array of the array API standard


def _is_seed(value):
    kinds = (np.random.RandomState, np.random.Generator)
    if value is None or isinstance(value, kinds):
        return True
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return is_integer and 0 <= value < 2**32


Seed = Annotated[
    Any,
    ParameterRule(
        "None, a whole number of at least 0, a RandomState or a Generator", _is_seed
    ),
]
Matrix = Annotated[
    Any,
    ParameterRule("an array", lambda v: hasattr(v, "__array__") or hasattr(v, "shape")),
]
ListLike = Annotated[
    Any, ParameterRule("a list", lambda v: isinstance(v, (list, tuple, np.ndarray)))
]


def _is_number_array(value):
    if (
        not isinstance(value, (list, tuple))
        and getattr(value, "dtype", 0) != np.object_
    ):
        return hasattr(value, "__array__") or hasattr(value, "shape")
    try:
        np.asarray(value, dtype=float)
    except (ValueError, TypeError):
        return False
    return True


def _are_numbers(value):
    listed = isinstance(value, (list, tuple, np.ndarray)) and len(value) > 0
    if not listed or not _is_number_array(value):
        return False
    return not bool(np.isnan(np.asarray(value, dtype=float)).any())


NumericArray = Annotated[
    Any, ParameterRule("an array of numbers, its rows of one length", _is_number_array)
]
NumberList = Annotated[Any, ParameterRule("a list of numbers", _are_numbers)]


def _is_number_pair(value):
    return _are_numbers(value) and np.shape(value) == (2,)


NumberPair = Annotated[Any, ParameterRule("two numbers", _is_number_pair)]
Fittable = Annotated[Any, ParameterRule("an estimator", lambda v: hasattr(v, "fit"))]


def _is_splits(value):
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool) and value >= 2
    if isinstance(value, (str, bytes)):  # both can be split and iterated over
        return False
    if isinstance(value, (list, tuple)):
        pairs = [isinstance(v, (list, tuple)) and len(v) == 2 for v in value]
        return bool(pairs) and all(pairs)
    return value is None or hasattr(value, "split") or hasattr(value, "__iter__")


Splits = Annotated[
    Any,
    ParameterRule(
        "None, a number of folds of at least 2, a splitter or splits", _is_splits
    ),
]


@runtime_checkable
class Loss(Protocol):
    """l(y, f) per row, for raw predictions f; see `pansophy.losses`."""

    name: str

    def value(self, y: Array, f: Array) -> Array: ...
    def gradient(self, y: Array, f: Array) -> Array: ...
    def curvature(self, y: Array, f: Array) -> Array: ...
    def constant(self, y: Array, w: Array | None = None) -> Array: ...


@runtime_checkable
class Penalty(Protocol):
    """g(w), with its proximal operator; see `pansophy.penalties`."""

    name: str

    def value(self, w: Array) -> Any: ...
    def prox(self, w: Array, step: float) -> Array: ...
    def distance(self, w: Array, gradient: Array) -> Array: ...


@runtime_checkable
class Kernel(Protocol):
    """k(x, z), a positive semi-definite function; see `pansophy.kernels`."""

    def __call__(self, X: Array, Z: Array | None = None) -> Array: ...
    def diag(self, X: Array) -> Array: ...


@runtime_checkable
class Distribution(Protocol):
    """One distribution or a batch of k; see `pansophy.distributions`."""

    def log_prob(self, X: Array) -> Array: ...
    def sample(self, n: int, rng: np.random.Generator) -> Array: ...
    def stats(self, X: Array, weights: Array | None = None) -> Any: ...


@runtime_checkable
class Sampler(Protocol):
    """A Markov chain: a step returns the next state and information about the step.

    A sampler that tunes itself also gives `adapt(state, info, tuning, left)`, called
    during warm-up only.
    """

    def init(self, position: Array) -> Any: ...
    def step(self, rng: np.random.Generator, state: Any) -> tuple[Any, Any]: ...


@runtime_checkable
class Agent(Protocol):
    """Contract of agents: act in a Gymnasium environment and learn from transitions.

    Optional: `begin(observation)` at the start of every episode; a parameter `mask` of
    `act`; `act_batch` and `begin_batch` for many environments at once (`rl.gather`).
    """

    def act(self, observation: Any, rng: np.random.Generator) -> Any: ...
    def update(self, transition: Any) -> None: ...


Step = Callable[[Any], Any]
