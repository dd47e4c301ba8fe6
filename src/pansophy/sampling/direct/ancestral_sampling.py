"""Ancestral sampling: each variable given its parents, in topological order.

A joint density that is a product of conditionals over an acyclic graph,

    p(x_1, ..., x_d) = prod_i p(x_i | x_parents(i))                               (1)

is sampled exactly by drawing the variables in topological order. Here a conditional is
a distribution (no parents) or a function whose arguments are named after its parents,
so that the signatures define the graph:

    {"cloudy": Bernoulli(0.5),
     "rain": lambda rng, cloudy: rng.random(len(cloudy)) < 0.2 + 0.6 * cloudy}

All n draws are made together: a function gets its parents as arrays of length n.

Cost      one call a variable
Refs      [KollerFriedman2009] section 12.1
"""

import inspect

import numpy as np

from ...core.random import make_rng
from ...params import check_count
from ..densities.distribution_interface import as_distribution, draw_samples


def _conditional_parents(name, conditional, names):
    """Names of the parents of a variable, and whether its function takes rng."""
    if (
        hasattr(conditional, "sample")
        or hasattr(conditional, "rvs")
        or not callable(conditional)
    ):
        return (), False
    arguments = list(inspect.signature(conditional).parameters)
    parents = tuple(a for a in arguments if a != "rng")
    for p in parents:
        if p not in names:
            raise ValueError(
                f"the conditional of {name!r} takes {p!r}, which is not a variable; "
                f"the variables are {list(names)}."
            )
    return parents, "rng" in arguments


def ancestral_sample(conditionals, n=1, *, batched=True, random_state=None):
    """n joint draws from conditional distributions, in topological order.

    Parameters
    ----------
    conditionals : dict of str to distribution or function
        For each variable a distribution (of this package, or frozen of SciPy), or a
        function whose arguments are names of parents and, optionally, `rng`. It gives
        n values, or a batch of n distributions, one for each draw. The order of the
        dict does not matter; a cycle raises.
    n : int
    batched : bool
        Whether functions take arrays of n values; otherwise they are called for each
        draw, with numbers, and give one value (or one distribution).
    random_state : int, Generator, RandomState or None

    Returns
    -------
    dict of str to ndarray of shape (n, ...)
        In the order of `conditionals`.

    Examples
    --------
    >>> from pansophy.distributions import Normal
    >>> from pansophy.sampling import ancestral_sample
    >>> x = ancestral_sample(
    ...     {
    ...         "height": Normal(170.0, 49.0),
    ...         "weight": lambda height, rng: rng.normal(height - 100, 8),
    ...     },
    ...     1000,
    ...     random_state=0,
    ... )
    >>> {name: int(values.mean().round()) for name, values in x.items()}
    {'height': 170, 'weight': 70}
    """
    names = list(conditionals)
    n = check_count("n", n)
    from ...graphs import topological_order

    rng = make_rng(random_state)
    number = {name: i for i, name in enumerate(names)}
    signatures = {
        k: _conditional_parents(k, conditional, names)
        for k, conditional in conditionals.items()
    }
    parents = [tuple(number[p] for p in signatures[k][0]) for k in names]
    values = {}
    for i in topological_order(parents, names):
        name, conditional = names[i], conditionals[names[i]]
        parents_of_name, wants_rng = signatures[name]
        if not parents_of_name and not wants_rng:
            is_function = callable(conditional) and not hasattr(conditional, "sample")
            is_function = is_function and not hasattr(conditional, "rvs")
            x = (
                _draw_batch(conditional(), n, rng)
                if is_function
                else draw_samples(as_distribution(conditional), n, rng)
            )
        elif batched:
            extra = {"rng": rng} if wants_rng else {}
            x = _draw_batch(
                conditional(**extra, **{p: values[p] for p in parents_of_name}), n, rng
            )
        else:
            extra = {"rng": rng} if wants_rng else {}
            rows = ({p: values[p][j] for p in parents_of_name} for j in range(n))
            x = np.stack(
                [_draw_single(conditional(**extra, **row), rng) for row in rows]
            )
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        if x.ndim == 0 or len(x) != n:
            raise ValueError(
                f"the conditional of {name!r} must give {n} values, got shape "
                f"{x.shape}."
            )
        values[name] = x
    return {name: values[name] for name in names}


def _draw_batch(out, n, rng):
    """n values from the output of a conditional: values, a distribution or a batch."""
    if hasattr(out, "rvs"):
        return np.asarray(out.rvs(size=n, random_state=rng))
    if not hasattr(out, "sample"):
        return np.asarray(out)
    if getattr(out, "single", np.ndim(getattr(out, "mean", 0.0)) == 0):
        return np.asarray(out.sample(n, rng))
    return np.asarray(out.sample(1, rng))[0]


def _draw_single(out, rng):
    """One value from the output of a conditional of one draw."""
    if hasattr(out, "rvs"):
        return np.asarray(out.rvs(random_state=rng))
    if hasattr(out, "sample"):
        x = np.asarray(out.sample(1, rng))[0]
        return x[0] if x.shape == (1,) else x
    return np.asarray(out)
