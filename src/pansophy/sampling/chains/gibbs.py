"""Gibbs sampling: each coordinate, or block of them, from its full conditional.

With blocks b_1, ..., b_B of the coordinates, one sweep draws

    x_b ~ p(x_b | x_rest)      for b = b_1, ..., b_B, always given the newest rest  (1)

Each draw is a Metropolis-Hastings move whose proposal is the conditional itself, so its
acceptance is one; it leaves p invariant, hence so does a sweep. A sweep in a fixed
order is not reversible; in random order, or forwards and backwards, it is.
Deterministic conditionals may keep the chain from reaching all of p, so blocks that
never move in warm-up are reported.

m chains move together: a conditional gets all of them, x (m, d), and gives (m,) or
(m, |b|).

Cost      B calls of conditionals a sweep
Shapes    x (m, d)
Refs      [Geman1984]; [Gelfand1990]; [Liu1994] blocks
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.drivers.metropolis import ErgodicityWarning
from ...params import Flag, check_params
from ..densities.target_density import LogProb, as_target_density


class GibbsState(NamedTuple):
    """State of the chains."""

    position: np.ndarray  # x
    log_prob: np.ndarray  # log p(x) if the density is known, else 0
    blocks: tuple  # (index, conditional) of each
    batched: bool  # whether conditionals take all chains at once


class GibbsInfo(NamedTuple):
    """Statistics of a sweep."""

    moved: np.ndarray  # share of the coordinates that changed


class GibbsTuning(NamedTuple):
    """State of warm-up: initial positions, and which coordinates have moved."""

    initial: np.ndarray
    has_moved: np.ndarray


def _parse_blocks(conditionals, d):
    """(index, function) of each block; every coordinate must be in one."""
    pairs = conditionals.items() if isinstance(conditionals, dict) else conditionals
    if not isinstance(conditionals, dict) and all(callable(c) for c in conditionals):
        pairs = enumerate(conditionals)
    blocks = []
    covered = set()
    for index, conditional in pairs:
        if not callable(conditional):
            raise TypeError(f"the conditional of block {index} must be a function.")
        is_one_index = isinstance(index, (int, np.integer))
        index = int(index) if is_one_index else np.array(list(index), dtype=np.intp)
        block = set(np.atleast_1d(index).tolist())
        if not block or not block <= set(range(d)):
            raise ValueError(
                f"block {np.atleast_1d(index).tolist()} does not fit into {d} "
                "coordinates."
            )
        covered |= block
        blocks.append((index, conditional))
    missing = sorted(set(range(d)) - covered)
    if missing:
        raise ValueError(f"coordinates {missing} have no conditional.")
    return tuple(blocks)


def _draw_block(conditional, rng, x, index, batched):
    """New values of one block for all chains, shaped as x[:, index]."""
    want = (len(x),) if isinstance(index, int) else (len(x), len(index))
    if batched:
        new = np.asarray(conditional(rng, x))
    else:
        new = np.array([conditional(rng, row) for row in x])
    if new.shape == want:
        return new
    if new.size != np.prod(want):
        raise ValueError(
            f"the conditional of block {np.atleast_1d(index).tolist()} must give shape "
            f"{want}, got {new.shape}."
        )
    return new.reshape(want)


@dataclass(eq=False, repr=False)
class Gibbs(Estimator):
    """Gibbs sampler from full conditionals, to be run by `sample`.

    Parameters
    ----------
    conditionals : list of functions, or dict of block to function
        For coordinate j, or a block such as (0, 2), `conditional(rng, x)` draws it
        given the rest: of positions (m, d), giving (m,) or (m, size of the block); or
        of one position (d,), giving a number or (size,).
    log_prob : function or None
        Log density, only to report it with the draws (0 without).
    scan : {"systematic", "random", "palindromic"}
        Order of the blocks in a sweep: as given; a new permutation for each; forwards
        and then backwards.
    batched : bool or None
        Whether conditionals take all chains at once; None detects it.

    Examples
    --------
    Two normal coordinates of correlation 0.8:

    >>> from pansophy.sampling import Gibbs, sample
    >>> given = lambda j: lambda rng, x: rng.normal(0.8 * x[..., j], 0.6)
    >>> draws = sample(Gibbs([given(1), given(0)]), 2000, init=[0, 0], random_state=0)
    >>> bool(abs(np.corrcoef(draws.flat.T)[0, 1] - 0.8) < 0.03)
    True
    """

    conditionals: Any
    _: KW_ONLY
    log_prob: LogProb | None = None
    scan: Literal["systematic", "random", "palindromic"] = "systematic"
    batched: Flag | None = None

    def init(self, position) -> GibbsState:
        """State of m chains at positions (m, d)."""
        check_params(self)
        x = np.array(position)
        x = x.astype(float) if x.dtype.kind in "iub" and self.log_prob is None else x
        blocks = _parse_blocks(self.conditionals, x.shape[1])
        batched = self.batched
        if batched is None:
            batched = all(_accepts_batch(c, x, index) for index, c in blocks)
        return GibbsState(x, self.value(x), blocks, batched)

    def value(self, x):
        """log p(x), or 0 where no density is given."""
        if self.log_prob is None:
            return np.zeros(len(x))
        return as_target_density(self.log_prob).value(x)

    def sweep(self, rng, state, x):
        """One sweep, eq. (1), in place."""
        blocks, batched = state.blocks, state.batched
        if self.scan == "random":
            blocks = [blocks[i] for i in rng.permutation(len(blocks))]
        elif self.scan == "palindromic":
            blocks = blocks + blocks[-2::-1]
        for index, conditional in blocks:
            x[:, index] = _draw_block(conditional, rng, x, index, batched)

    def step(self, rng, state) -> tuple[GibbsState, GibbsInfo]:
        """One sweep of every chain."""
        state, trace = self.steps(rng, state, 1)
        return state, GibbsInfo(trace["moved"][:, 0])

    def steps(self, rng, state, n) -> tuple[GibbsState, dict]:
        """n sweeps: new state and all positions (m, n, d)."""
        x = state.position.copy()
        X = np.empty((n + 1, *x.shape), x.dtype)
        X[0] = x
        for t in range(1, n + 1):
            self.sweep(rng, state, x)
            X[t] = x
        moved = (X[1:] != X[:-1]).mean(axis=2).T
        path = X[1:].swapaxes(0, 1)
        log_prob = self.value(path.reshape(-1, x.shape[1])).reshape(len(x), n)
        trace = {"position": path, "log_prob": log_prob, "moved": moved}
        return state._replace(position=x, log_prob=log_prob[:, -1].copy()), trace

    def warm(
        self, rng, state, n, tuning, remaining
    ) -> tuple[GibbsState, dict, GibbsTuning]:
        """n sweeps of warm-up; warns about coordinates that never moved."""
        first = state.position if tuning is None else tuning.initial
        state, trace = self.steps(rng, state, n)
        has_moved = (trace["position"] != first[:, None]).any(axis=(0, 1))
        has_moved = has_moved if tuning is None else has_moved | tuning.has_moved
        stuck = np.flatnonzero(~has_moved)
        if remaining == 0 and stuck.size:
            warnings.warn(
                f"coordinates {stuck.tolist()} never moved in warm-up: conditionals "
                "that are deterministic given the rest may keep the chain from "
                "reaching all of its target; draw such coordinates in one block.",
                ErgodicityWarning,
                stacklevel=2,
            )
        return state, trace, GibbsTuning(first, has_moved)


def _accepts_batch(conditional, x, index) -> bool:
    """Whether a conditional maps (m, d) to blocks of m chains, tried with m != d."""
    m = max(len(x), 2)
    m += m == x.shape[1]
    size = 1 if isinstance(index, int) else len(index)
    try:
        rng = np.random.default_rng(0)
        block = np.asarray(conditional(rng, np.resize(x, (m, x.shape[1]))))
    except Exception:  # a function of one position may raise anything for a batch
        return False
    return block.shape in ((m,), (m, size)) and block.size == m * size
