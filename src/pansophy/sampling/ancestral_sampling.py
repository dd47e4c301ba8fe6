"""Ancestral sampling: each variable given its parents, parents first.

A joint density that is a product of conditionals over an acyclic graph,

    p(x_1, ..., x_d) = prod_i p(x_i | x_parents(i))                               (1)

is drawn from exactly by drawing the factors in an order with parents before children.
Here a conditional is a law (no parents) or a function whose arguments are named after
its parents, so that the graph is read off the functions themselves:

    {"cloudy": Bernoulli(0.5),
     "rain": lambda rng, cloudy: rng.random(len(cloudy)) < 0.2 + 0.6 * cloudy}

All n draws are made together: a function gets its parents as arrays of n.

Cost      one call a variable
Refs      [KollerFriedman2009] section 12.1
"""

import inspect

import numpy as np

from ..core.random import rng_from
from .distribution_interface import as_distribution, draw_samples


def conditional_parents(name, law, names):
    """Names of the parents of a variable and whether its function wants rng."""
    if hasattr(law, "sample") or hasattr(law, "rvs") or not callable(law):
        return (), False
    arguments = list(inspect.signature(law).parameters)
    parents = tuple(a for a in arguments if a != "rng")
    for p in parents:
        if p not in names:
            raise ValueError(
                f"the conditional of {name!r} takes {p!r}, which is not a variable; "
                f"the variables are {list(names)}."
            )
    return parents, "rng" in arguments


def ancestral_sample(conditionals, n=1, *, batched=True, random_state=None):
    """n joint draws from conditionals, parents before children.

    Parameters
    ----------
    conditionals : dict of str to law or function
        For each variable a distribution (ours, or SciPy's, frozen), or a function
        whose arguments are `rng`, if wanted, and the names of parents. It gives n
        values, or a batch of n distributions, one for each draw. Any order will do;
        a cycle raises and is shown.
    n : int
    batched : bool
        Whether functions take arrays of n parents' values; otherwise they are called
        for each draw, with numbers, and give one value (or one distribution).
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
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, got {n}.")
    from ..graphs import topological_order

    rng = rng_from(random_state)
    number = {name: i for i, name in enumerate(names)}
    signs = {k: conditional_parents(k, law, names) for k, law in conditionals.items()}
    parents = [tuple(number[p] for p in signs[k][0]) for k in names]
    values = {}
    for i in topological_order(parents, names):
        name, law = names[i], conditionals[names[i]]
        above, wants = signs[name]
        if not above and not wants:
            plain = callable(law) and not hasattr(law, "sample")
            plain = plain and not hasattr(law, "rvs")
            x = (
                draw_batch(law(), n, rng)
                if plain
                else draw_samples(as_distribution(law), n, rng)
            )
        elif batched:
            extra = {"rng": rng} if wants else {}
            x = draw_batch(law(**extra, **{p: values[p] for p in above}), n, rng)
        else:
            extra = {"rng": rng} if wants else {}
            rows = ({p: values[p][j] for p in above} for j in range(n))
            x = np.stack([draw_single(law(**extra, **row), rng) for row in rows])
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        if x.ndim == 0 or len(x) != n:
            raise ValueError(
                f"the conditional of {name!r} must give {n} values, got shape "
                f"{x.shape}."
            )
        values[name] = x
    return {name: values[name] for name in names}


def draw_batch(out, n, rng):
    """n values from what a conditional gave: values, one law, or a batch of n."""
    if hasattr(out, "rvs"):
        return np.asarray(out.rvs(size=n, random_state=rng))
    if not hasattr(out, "sample"):
        return np.asarray(out)
    if getattr(out, "single", np.ndim(getattr(out, "mean", 0.0)) == 0):
        return np.asarray(out.sample(n, rng))
    return np.asarray(out.sample(1, rng))[0]


def draw_single(out, rng):
    """One value from what a conditional of one draw gave."""
    if hasattr(out, "rvs"):
        return np.asarray(out.rvs(random_state=rng))
    if hasattr(out, "sample"):
        x = np.asarray(out.sample(1, rng))[0]
        return x[0] if x.shape == (1,) else x
    return np.asarray(out)
