"""Environments: Gymnasium's classics on compiled loops, tables, grids and probes.

Each is a Gymnasium `Env`; `VectorWorld(env, n)` runs n copies of it at once. Needs
Gymnasium, the extra `rl`.
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError as error:
    raise ImportError(
        "environments need Gymnasium: pip install 'pansophy[rl]'."
    ) from error

from .cart_pole import CartPole
from .probe import PROBES, ProbeWorld
from .tabular import Corridor, GridWorld, TabularEnv
from .vector import VectorWorld

__all__ = [
    "PROBES",
    "CartPole",
    "Corridor",
    "GridWorld",
    "ProbeWorld",
    "TabularEnv",
    "VectorWorld",
]
