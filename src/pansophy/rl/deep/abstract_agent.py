"""Base class of the neural agents: environments, spaces, fitting, acting, saving.

An agent is an estimator: `fit(env)` makes N copies of the environment, a learner (nets,
optimisers, buffers) and lets `train_agent` drive it; what is kept is the net that acts,
the layouts of the spaces and the moments of observations, all of which are saved with
it. The fitted agent is greedy: `predict` for many observations, `act` for one,
`act_batch` for `gather`; it never explores and never updates its moments.

One seed makes everything: the environments, the initial weights, the actions and the
batches. On a CPU the same seed gives the same run bit for bit.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.loops.threads import single_blas
from ...core.random import draw_seed, make_rng
from ...nn.training.abstract_training import detached_net
from ...nn.training.devices import limit_torch_threads, resolve_device, seeded_torch
from ...params import (
    Count,
    Flag,
    Fraction,
    ParameterRule,
    Positive,
    Verbosity,
    check_params,
)
from ...typing import Seed
from ..experience.compiled_worlds import compiled_world
from ..experience.environment_contract import (
    check_spaces_exist,
    check_vector_env,
    checked_environment,
)
from ..experience.environment_copies import copy_environments, environment_digest
from ..experience.evaluation import made_environment
from ..experience.gather import as_vector_env
from ..planning.transition_table import environment_of_name
from .running_moments import ObservationMoments
from .space_layouts import action_layout, check_action_mask, observation_layout
from .training import STEPS_PER_REPORT, train_agent

LARGE_NET = 1 << 20  # weights from which "auto" takes a GPU: small nets wait for it

LayerSizes = Annotated[
    tuple,
    ParameterRule(
        "a tuple of whole numbers of at least 1",
        lambda v: (
            isinstance(v, (tuple, list))
            and all(isinstance(n, (int, np.integer)) and n >= 1 for n in v)
        ),
    ),
]
DeviceName = Annotated[
    str, ParameterRule("a device of torch or 'auto'", lambda v: isinstance(v, str))
]


def vector_environments(env, n):
    """A vector environment of n copies; observations that are dictionaries as rows."""
    if hasattr(env, "num_envs"):
        check_vector_env(env)
        return env
    if not isinstance(env, str):
        env = environment_of_name(env)  # of a table
    world = compiled_world(env)
    if world is not None:
        from ..envs import VectorWorld

        return VectorWorld(world, n)
    copies = copy_environments(env, n)
    check_spaces_exist(copies[0])
    layout = observation_layout(copies[0].observation_space)
    if layout.kind == "parts":
        copies = [
            _with_row_observations(checked_environment(copy), layout) for copy in copies
        ]
    return as_vector_env(copies)


def _with_row_observations(env, layout):
    """An environment whose observations are rows of a layout."""
    import gymnasium

    box = gymnasium.spaces.Box(-np.inf, np.inf, (layout.width,), np.float32)
    rows = gymnasium.wrappers.TransformObservation(
        env, lambda observation: layout.encode_one(observation)[0], box
    )
    rows.row_layout = layout
    return rows


def raw_observation_space(envs):
    """The space of one observation as the user's environments have it."""
    first = getattr(envs, "envs", [None])[0]
    if hasattr(first, "row_layout"):
        return first.env.observation_space
    return envs.single_observation_space


class PausedRun(NamedTuple):
    """What a fit with `warm_start` leaves for the next one to go on with."""

    learner: Any  # nets, optimisers, replay buffer, counters
    rng: Any
    seed: int
    parameters: dict
    env: Any  # as it was given
    digest: str | None  # of its state at the end of the fit
    envs: Any  # the vector environment that was made of it
    position: Any  # where that stands, or None

    def is_of(self, env) -> bool:
        """Whether an environment is the one of this run, and nobody has used it."""
        if isinstance(env, str) or isinstance(self.env, str):
            return isinstance(env, str) and env == self.env
        is_same_env = env is self.env and self.digest is not None
        return is_same_env and environment_digest(env) == self.digest

    def suits(self, agent, envs) -> bool:
        """Whether the learner has the parameters and environments of an agent."""
        current = agent._run_parameters()
        is_unchanged = all(
            _equal_parameters(current[k], self.parameters.get(k)) for k in current
        )
        return is_unchanged and envs.num_envs == self.envs.num_envs


def _equal_parameters(one, two) -> bool:
    """Whether two values of a parameter are the same."""
    try:
        return one is two or bool(one == two)
    except (TypeError, ValueError):
        return False


@dataclass(eq=False, repr=False)
class AbstractAgent(Estimator):
    """Parameters and fitting of the neural agents; they are described there.

    An agent gives `_make_learner(envs, rng)` and, if its actions are not all kinds,
    `_action_kinds`.
    """

    n_steps: Count = 100_000
    _: KW_ONLY
    n_envs: Count = 8
    gamma: Fraction = 0.99
    hidden_layer_sizes: LayerSizes = (64, 64)
    activation: Literal["tanh", "relu"] = "tanh"
    learning_rate: Positive = 3e-4
    normalize_observations: Flag = False
    device: DeviceName = "auto"
    warm_start: Flag = False
    random_state: Seed = None
    verbose: Verbosity = 0

    _action_kinds = {"discrete": True, "box": True}
    _divergence_advice = "Lower learning_rate, or scale the rewards."

    def fit(self, env, y=None):
        """Learn in a Gymnasium environment.

        Parameters
        ----------
        env : Env, VectorEnv, name of an environment, or function that makes an Env
            Of an Env, `n_envs` copies are made; a VectorEnv is used as it is.
        """
        return self._fit(env)

    def check_action_space(self, env) -> None:
        """Raise the clear error if this agent cannot act in an environment."""
        check_params(self)
        environment = made_environment(env)
        if not hasattr(environment, "num_envs"):
            check_spaces_exist(environment)
        space = getattr(environment, "single_action_space", environment.action_space)
        action_layout(space, type(self).__name__, **self._action_kinds)

    def _fit(self, env, observe=None, observe_every=None):
        check_params(self)
        paused = self.__dict__.pop("_paused_run", None)
        if not self.warm_start:
            paused = None
        unchanged = paused is not None and paused.is_of(env)
        envs = paused.envs if unchanged else vector_environments(env, self.n_envs)
        observations = observation_layout(raw_observation_space(envs))
        actions = action_layout(
            envs.single_action_space, type(self).__name__, **self._action_kinds
        )
        going_on = self.warm_start and hasattr(self, "net_")
        if going_on:
            self._check_same_spaces(observations, actions)
        else:
            self.observation_layout_, self.action_layout_ = observations, actions
            self.observation_moments_ = ObservationMoments.empty(observations.width)
            self.n_steps_ = 0
        device = self._device()
        resumes = paused is not None and paused.suits(self, envs)
        if resumes:
            rng, seed = paused.rng, paused.seed
        else:
            rng = make_rng(self.random_state)
            seed = draw_seed(rng)
        with seeded_torch(device, seed):
            if resumes:
                learner = paused.learner
            else:
                learner = self._make_learner(envs.num_envs, rng, device)
                if going_on:
                    learner.load_net(self.net_)
            position = paused.position if resumes and unchanged else None
            if position is None and resumes:
                learner.begin_run()
            rows = getattr(learner, "batch_size", 64)
            with limit_torch_threads(learner.net, device, rows), single_blas():
                run = lambda task: train_agent(
                    envs, learner, self.n_steps, rng=rng, task=task,
                    observe=observe, observe_every=observe_every, position=position,
                )  # fmt: skip
                total = -(-self.n_steps // STEPS_PER_REPORT)
                result: Any = self._run_driver(run, total=total)
        del self.converged_  # a budget was spent; nothing tests convergence
        self.n_steps_ += self.n_iter_
        self._keep(learner)
        self._check_learnt(learner)
        if self.warm_start and result.reason != "diverged":
            self._paused_run = PausedRun(
                learner, rng, seed, self._run_parameters(), env,
                environment_digest(env), envs, result.position,
            )  # fmt: skip
        return self

    def _run_parameters(self) -> dict:
        """The parameters that a run cannot go on without."""
        free = {"n_steps", "verbose", "warm_start"}
        params = self.get_params(deep=False)
        return {name: value for name, value in params.items() if name not in free}

    def _check_learnt(self, learner) -> None:
        """Warn if a fit was too short to learn anything."""

    def __getstate__(self):
        """All but the run to go on with: its environments are not the agent's own."""
        state: Any = super().__getstate__()
        state = dict(state)
        state.pop("_paused_run", None)
        return state

    @abstractmethod
    def _make_learner(self, n_envs, rng, device) -> Any:
        """Nets, optimisers and buffers for `train_agent`."""

    def _keep(self, learner):
        """Store what acts."""
        self.net_ = detached_copy(learner.net)
        self.observation_moments_ = learner.moments

    def _device(self):
        if self.device != "auto":
            return resolve_device(self.device)
        sizes = (self.observation_layout_.width, *self.hidden_layer_sizes)
        weights = sum(m * k for m, k in pairwise(sizes))
        return resolve_device("auto" if weights > LARGE_NET else "cpu")

    def _check_same_spaces(self, observations, actions):
        is_same = observations == self.observation_layout_
        fitted = self.action_layout_
        is_same = is_same and (actions.kind, actions.shape) == (
            fitted.kind,
            fitted.shape,
        )
        if not (is_same and actions.sizes == fitted.sizes):
            raise ValueError(
                f"{type(self).__name__} was fitted to other spaces than those of this "
                "environment; set warm_start=False."
            )

    # -- acting ----------------------------------------------------------------

    def predict(self, observations, mask=None):
        """The best action after each of the observations, the first of equals.

        Parameters
        ----------
        observations : array of shape (n, ...)
        mask : bool array of shape (n, n_actions) or None
            Actions that are allowed.
        """
        check_is_fitted(self, "net_")
        X = self._finite_rows(self.observation_layout_.encode(observations))
        if mask is not None:
            mask = check_action_mask(mask, self.action_layout_, len(X))
        chosen = self._greedy(X, mask)
        return self.action_layout_.to_environment(chosen)

    def act(self, observation, rng=None, mask=None):
        """The best action after one observation, for `rollout`."""
        check_is_fitted(self, "net_")
        X = self._finite_rows(self.observation_layout_.encode_one(observation))
        if mask is not None:
            mask = check_action_mask(np.asarray(mask)[None], self.action_layout_, 1)
        chosen = self._greedy(X, mask)
        action = self.action_layout_.to_environment(chosen)[0]
        single = self.action_layout_.kind == "discrete" and action.ndim == 0
        return int(action) if single else np.asarray(action)

    def act_batch(self, observations, rng=None, mask=None):
        """The best action in each of several environments, for `gather`."""
        return self.predict(observations, mask)

    def value(self, observations):
        """The value of each of the observations, as the agent has learnt it.

        Of the policy for actor-critic agents, of the best action for the others.
        """
        check_is_fitted(self, "net_")
        X = self._finite_rows(self.observation_layout_.encode(observations))
        return self._row_values(X)

    def _finite_rows(self, X) -> np.ndarray:
        """Rows as the net takes them; the clear error if a number is none."""
        if not np.isfinite(X).all():
            raise ValueError("an observation holds NaN or an infinite number.")
        return np.asarray(self.observation_moments_.scaled(X), np.float32)

    @abstractmethod
    def _row_values(self, X) -> np.ndarray:
        """Values (n,) of rows X."""

    @abstractmethod
    def _greedy(self, X, mask) -> np.ndarray:
        """The best choices (n, parts) after rows X."""


def detached_copy(net):
    """A copy of a net on the CPU, without gradients."""
    return detached_net(net).requires_grad_(False)
