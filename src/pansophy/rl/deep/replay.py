"""Replay buffer: a ring of past steps, drawn evenly or by priority.

The ring holds the last steps of N environments side by side: step t of environment i is
at place t N + i. Each place has its own next observation, so that a window never runs
into another episode or over the seam of the ring. From place j a draw gives the n-step
target of `returns` (eq. 4): the discounted rewards, the observation after them, and the
factor gamma^k on its value, 0 if the world was over.

Prioritised replay draws place j with probability p_j^alpha / sum_k p_k^alpha, where p
is the size of its last error, and weights it by

    w_j = (m P(j))^-beta / max_k w_k                                            (1)

over m stored steps, to undo the bias as beta goes to 1. Sums of priorities are a binary
tree: a draw and a change cost O(log m). New steps get the greatest priority so far.

Observations keep the dtype of the environment (bytes stay bytes).

Cost      O(batch) a draw, O(batch log m) by priority
Refs      [Lin1992]; [Schaul2016] eq. (1)
"""

from typing import Any, NamedTuple

import numpy as np

from . import _replay as loops


class ReplayBatch(NamedTuple):
    """A draw from a `ReplayBuffer`."""

    observation: np.ndarray  # (B, ...)
    action: np.ndarray  # (B, ...)
    reward: np.ndarray  # (B,) of up to n steps, discounted
    next_observation: np.ndarray  # (B, ...) after them
    discount: np.ndarray  # (B,) gamma^k, or 0 where the world was over
    next_mask: Any  # (B, A) actions allowed there, or None
    weight: np.ndarray  # (B,) eq. (1); 1 without priorities
    index: np.ndarray  # (B,) places in the ring
    next_index: np.ndarray  # (B,) places whose next observation it is


class SumTree:
    """Priorities whose running sums are searched in O(log m).

    Examples
    --------
    >>> from pansophy.rl.deep.replay import SumTree
    >>> tree = SumTree(4)
    >>> tree.set([0, 1, 2], [1.0, 2.0, 1.0])
    >>> tree.find([0.5, 1.5, 2.9, 3.5]), tree.total
    (array([0, 1, 1, 2]), 4.0)
    """

    def __init__(self, size):
        self.leaves = 1
        while self.leaves < size:
            self.leaves *= 2
        self.tree = np.zeros(2 * self.leaves)

    @property
    def total(self) -> float:
        return float(self.tree[1])

    def set(self, index, priority) -> None:
        """Give places new priorities."""
        index = np.asarray(index, np.int64)
        loops.set_priorities(self.tree, index, np.asarray(priority, float))

    def get(self, index) -> np.ndarray:
        return self.tree[np.asarray(index) + self.leaves]

    def find(self, mass) -> np.ndarray:
        """The place in which each running sum from 0 to `total` falls."""
        mass = np.asarray(mass, float)
        index = np.empty(len(mass), np.int64)
        loops.find_leaves(self.tree, mass, index)
        return index


class ReplayBuffer:
    """The last steps of N environments, of which batches are drawn.

    Parameters
    ----------
    size : int
        Steps to keep, of all environments together.
    gamma : float
    n_steps : int
        n of the n-step target.
    alpha : float
        Power of the priorities; 0 draws evenly.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl import Policy, gather
    >>> from pansophy.rl.envs import Corridor
    >>> from pansophy.rl.deep.replay import ReplayBuffer
    >>> buffer = ReplayBuffer(100, gamma=0.5, n_steps=2)
    >>> buffer.extend(gather(Corridor(2), Policy([1, 1]), 4, random_state=0))
    slice(0, 4, None)
    >>> batch = buffer.draw(3, np.random.default_rng(0))
    >>> sorted(set(zip(batch.observation.tolist(), batch.reward.tolist())))
    [(0, 0.5), (1, 1.0)]
    """

    def __init__(self, size, *, gamma, n_steps=1, alpha=0.0):
        self.size = int(size)
        self.gamma = float(gamma)
        self.n_steps = int(n_steps)
        self.alpha = float(alpha)
        self.columns: dict[str, np.ndarray] = {}
        self.count = 0  # steps held
        self.place = 0  # of the next step
        self.greatest = 1.0  # priority of new steps
        self.gaps = False  # whether it holds steps that only reset

    def __len__(self):
        return self.count

    def extend(self, steps) -> slice | np.ndarray:
        """Take in the `Steps` of `gather`, less those that only reset.

        Returns the places where they are now.
        """
        T, N = steps.reward.shape
        columns = {
            "observation": steps.observation,
            "action": steps.action,
            "reward": steps.reward,
            "next_observation": steps.next_observation(),
            "terminated": steps.terminated,
            # a step that only resets must not join two episodes
            "done": steps.done | ~steps.valid,
        }
        if steps.mask is not None:
            columns["next_mask"] = steps.next_mask()
        if not self.columns:
            self._allocate(columns, N)
        if self.width != N:
            raise ValueError(f"the buffer has {self.width} environments, not {N}.")
        m = T * N
        is_complete = steps.n_steps == m
        self.gaps = self.gaps or not is_complete
        columns["valid"] = steps.valid
        slots: slice | np.ndarray = slice(self.place, self.place + m)
        if self.place + m > self.size:  # over the seam
            slots = (self.place + np.arange(m)) % self.size
        for name, values in columns.items():
            self.columns[name][slots] = values.reshape(m, *values.shape[2:])
        if self.alpha:
            places = np.arange(self.place, self.place + m) % self.size
            fresh = np.where(steps.valid.ravel(), self.greatest, 0.0)
            self.tree.set(places, fresh)
        self.place = (self.place + m) % self.size
        self.count = min(self.count + m, self.size)
        return slots

    def end_episodes(self) -> None:
        """Cut the newest step of each environment off from the one stored next."""
        if self.columns:
            newest = (self.place - self.width + np.arange(self.width)) % self.size
            self.columns["done"][newest] = True

    def _allocate(self, columns, N):
        self.width = N
        self.size = max(self.size // N, 1) * N
        self.columns = {
            name: np.zeros((self.size, *a.shape[2:]), a.dtype)
            for name, a in columns.items()
        }
        self.columns["valid"] = np.zeros(self.size, bool)
        if self.alpha:
            self.tree = SumTree(self.size)

    def draw(self, n, rng, *, beta=1.0) -> ReplayBatch:
        """n steps with replacement; `beta` is the power of eq. (1)."""
        if not self.count:
            raise ValueError("the replay buffer is empty.")
        if self.alpha:
            part = self.tree.total / n  # one draw from each n-th of the mass
            index = self.tree.find((np.arange(n) + rng.random(n)) * part)
            share = self.tree.get(index) / self.tree.total
            weight = (self.count * share) ** -beta
            weight /= weight.max()
        else:
            index = self._draw_places(n, rng)
            while self.gaps and not (held := self.columns["valid"][index]).all():
                index[~held] = self._draw_places(np.count_nonzero(~held), rng)
            weight = np.ones(n)
        return self.batch(index, weight)

    def _draw_places(self, n, rng):
        return (rng.random(n) * self.count).astype(np.int64)

    def batch(self, index, weight) -> ReplayBatch:
        """The steps at these places, with their n-step targets."""
        c = self.columns
        G, discount = np.empty(len(index)), np.empty(len(index))
        last = np.empty(len(index), np.int64)
        newest = (self.place - self.width) % self.size
        ring = (c["reward"], c["terminated"], c["done"], self.width)
        loops.n_step_targets(
            ring, index, newest, self.n_steps, self.gamma, G, discount, last
        )
        return ReplayBatch(
            c["observation"][index],
            c["action"][index],
            G,
            c["next_observation"][last],
            discount,
            c["next_mask"][last] if "next_mask" in c else None,
            weight,
            index,
            last,
        )

    def set_priorities(self, index, error) -> None:
        """Priorities of drawn steps from the sizes of their errors."""
        if self.alpha:
            p = (np.abs(error) + 1e-6) ** self.alpha
            self.greatest = max(self.greatest, float(p.max()))
            self.tree.set(index, p)
