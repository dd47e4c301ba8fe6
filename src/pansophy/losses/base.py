"""Definition of a loss: functions of a target y and a raw prediction f, as data.

Every loss is one instance of `Loss`: a name, the integer `kind` by which compiled
loops know it, at most one number `parameter`, and plain functions of (y, f, a) with
a the parameter. The functions use the array namespace of f, so NumPy, torch and any
other array of the standard work; `_pointwise.py` holds the scalar twins for loops,
and the battery in `tests/common/test_losses.py` ties the two.

`curvature` is the second derivative in f where it exists (0 on the flat and linear
pieces of a kinked loss); `lipschitz` bounds it from above everywhere, and is inf
where the gradient jumps or grows without limit. `constant` is the best constant f
for weighted targets, on the scale of f.

A loss of your own has the `kind` `NO_LOOP`: estimators that take a `Loss` then use its
array functions. Compiled loops know only the functions of this package, so a loss with
other functions never keeps a `kind` of theirs, however it was made.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..core.arrays.arrays import namespace
from ..core.recipes import reduce_to_recipe
from ..links import Link, identity

# What targets a loss takes: any real number, a fraction from 0 to 1, a sign -1 or
# +1, a number of at least 0, a number above 0, a class index from 0.
DOMAINS = ("real", "fraction", "sign", "nonnegative", "positive", "label")


# How compiled loops tell the losses apart.
NO_LOOP = -1  # arrays only
SQUARED = 0
HALF_SQUARED = 1
ABSOLUTE = 2
QUANTILE = 3
HUBER = 4
EPSILON_INSENSITIVE = 5
LOGISTIC = 6
HINGE = 7
SQUARED_HINGE = 8
PERCEPTRON = 9
EXPONENTIAL = 10
POISSON = 11
GAMMA = 12
SOFTMAX = 13  # several columns: no scalar form
MULTICLASS_HINGE = 14  # likewise
MODIFIED_HUBER = 15
SQUARED_EPSILON_INSENSITIVE = 16
TWEEDIE = 17
LP = 18
TUKEY = 19
GLM = 64  # from here on a family and a link: see `glm.py`

PACKAGE = __name__.rpartition(".")[0]


@dataclass(frozen=True, eq=False)
class Loss:
    """One loss. See the module text; make instances with the names in `losses`.

    Parameters
    ----------
    name, kind
        Its name in parameters and its number in compiled loops, `NO_LOOP` (-1) for a
        loss of your own.
    domain
        Which targets it takes, one of `DOMAINS`.
    values, gradients, curvatures
        Functions of (y, f, a) for arrays.
    constants
        Function of (y, w, a), w weights or None.
    link
        The link whose inverse maps f to a mean.
    parameter
        The number a, where the loss has one.
    convex, lipschitz
        Convex in f; largest slope of the gradient in f.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> losses.huber(delta=1.0).value(np.zeros(3), np.array([0.5, 1.0, 3.0]))
    array([0.125, 0.5  , 2.5  ])
    """

    name: str
    kind: int
    domain: str
    values: Callable
    gradients: Callable
    curvatures: Callable
    constants: Callable
    link: Link = identity
    parameter: float = 0.0
    convex: bool = True
    lipschitz: float = math.inf

    def __post_init__(self):
        """A loss with a function that is not of this package has no compiled twin."""
        functions = (self.values, self.gradients, self.curvatures)
        modules = [getattr(f, "__module__", None) or "" for f in functions]
        if not all(name.startswith(PACKAGE + ".") for name in modules):
            object.__setattr__(self, "kind", NO_LOOP)

    def value(self, y, f):
        """l(y, f) per row."""
        return self.values(y, f, self.parameter)

    def gradient(self, y, f):
        """dl/df per row; a sub-gradient at kinks."""
        return self.gradients(y, f, self.parameter)

    def curvature(self, y, f):
        """d2l/df2 per row (its diagonal where f has several columns)."""
        return self.curvatures(y, f, self.parameter)

    def constant(self, y, w=None):
        """argmin over c of sum_i w_i l(y_i, c)."""
        return self.constants(y, w, self.parameter)

    @property
    def has_loop(self) -> bool:
        """Whether compiled loops know the loss, row by row, by its `kind`."""
        return self.kind not in (NO_LOOP, SOFTMAX, MULTICLASS_HINGE)

    @property
    def smooth(self) -> bool:
        """Whether the gradient is Lipschitz."""
        return math.isfinite(self.lipschitz)

    __reduce_ex__ = reduce_to_recipe  # pickled as the call that makes it

    def __repr__(self):
        return f"<loss {self.name}>"


def weighted_row_mean(y, w=None):
    """Weighted mean over rows."""
    xp = namespace(y)
    if w is None:
        return xp.mean(y, axis=0)
    return xp.sum(w * y, axis=0) / xp.sum(w)


def constant_by_bisection(gradients, y, w, a, rounds=100):
    """The constant where the summed gradient of a convex loss crosses 0: bisection."""
    xp = namespace(y)
    low = xp.min(y)
    high = xp.max(y)
    for _ in range(rounds):
        middle = (low + high) / 2
        g = gradients(y, xp.zeros_like(y) + middle, a)
        rises = xp.sum(g if w is None else w * g) > 0
        low, high = (low, middle) if bool(rises) else (middle, high)
    return (low + high) / 2
