"""Randomness: a Generator is made once from `random_state` and passed down."""

import numpy as np


def make_rng(seed) -> np.random.Generator:
    """A Generator from None, an int, a RandomState or a Generator.

    A RandomState or Generator is advanced by one draw, so that two fits sharing it
    differ as they do in scikit-learn.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(seed)


def spawn_rngs(rng, n) -> list[np.random.Generator]:
    """n independent generators: one per restart, chain or worker.

    Drawn as seeds rather than by `rng.spawn`, whose children depend on how often
    it was called before and not on the state of the stream.
    """
    seeds = rng.integers(0, 2**63, size=(n, 2))
    return [np.random.default_rng(s) for s in seeds]


def draw_seed(rng) -> int:
    """A 31-bit seed for a library that takes an integer."""
    return int(rng.integers(0, 2**31 - 1))
