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

from .acrobot import Acrobot
from .blackjack import Blackjack
from .cart_pole import CartPole
from .catch import Catch
from .check_environment import EnvironmentProblem, check_environment
from .memory_chain import MemoryChain
from .models.bandit_env import BanditEnv
from .models.pomdp_env import POMDPEnv, Tiger
from .models.tabular import Corridor, DeepSea, GridWorld, TabularEnv
from .mountain_car import MountainCar
from .pendulum import Pendulum
from .probe import PROBES, ProbeWorld
from .toy_text import CliffWalking, FrozenLake, Taxi
from .vector import VectorWorld

__all__ = [
    "PROBES",
    "Acrobot",
    "BanditEnv",
    "Blackjack",
    "CartPole",
    "Catch",
    "CliffWalking",
    "Corridor",
    "DeepSea",
    "EnvironmentProblem",
    "FrozenLake",
    "GridWorld",
    "MemoryChain",
    "MountainCar",
    "POMDPEnv",
    "Pendulum",
    "ProbeWorld",
    "TabularEnv",
    "Taxi",
    "Tiger",
    "VectorWorld",
    "check_environment",
]
