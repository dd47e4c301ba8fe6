"""Draws of Markov chains, with their summary and plots."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...params import check_count
from .diagnostics import ChainSummary, diagnose


class ChainRun(NamedTuple):
    """The state of a run: all that is needed to continue it."""

    sampler: Any
    state: Any
    tuning: Any  # state of the adaptation
    rng: np.random.Generator
    warmup: int  # total steps of warm-up
    warmed: int  # steps of warm-up made so far
    thin: int


@dataclass(eq=False, repr=False)
class Draws:
    """Draws of m chains.

    Attributes
    ----------
    positions : ndarray of shape (chains, draws, d)
    log_prob : ndarray of shape (chains, draws)
        Log density at each draw, up to the constant of the target.
    info : dict of ndarray of shape (chains, draws)
        Statistics of the steps, such as "acceptance".
    names : list of str
        Names of the d parameters.
    reason : str
        Why the run ended: "done", "interrupted" (by hand) or "callback".
    seconds : float
        Time the run took, warm-up included.
    run : Run
        The state of the chains; `sample(draws, n)` continues from here.
    """

    positions: np.ndarray
    log_prob: np.ndarray
    info: dict[str, np.ndarray]
    names: list[str]
    reason: str
    seconds: float
    run: ChainRun = field(repr=False)

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped by the user before it had all its draws."""
        return self.reason == "interrupted"

    @property
    def state(self):
        """State of the sampler after the last draw, its tuning included."""
        return self.run.state

    @property
    def acceptance(self) -> np.ndarray:
        """Mean acceptance probability of each chain, NaN if the sampler has none."""
        rate = self.info.get("acceptance", np.empty((len(self.positions), 0)))
        return rate.mean(axis=1) if rate.size else np.full(len(rate), np.nan)

    @property
    def flat(self) -> np.ndarray:
        """All draws as (chains * draws, d)."""
        return self.positions.reshape(-1, self.positions.shape[2])

    def summary(self) -> ChainSummary:
        """Moments, quantiles, MCSE, R-hat and effective sizes; prints as a table."""
        return diagnose(self.positions, self.names)

    def __repr__(self):
        m, n, d = self.positions.shape
        counted = lambda n, word: f"{n} {word}" + "s" * (n != 1)
        head = f"{counted(n, 'draw')} of {counted(m, 'chain')} in "
        head += counted(d, "dimension")
        head += f", {self.seconds:.1f} s"
        if not np.isnan(self.acceptance).all():
            head += f", acceptance {self.acceptance.mean():.2f}"
        if self.interrupted:
            head += ", interrupted"
        return head + "\n" + self.summary().table(10)

    def plot(self, rows=5):
        """Trace plots and histograms of the first parameters; returns the axes.

        At most `rows` parameters are shown. `pansophy.plot` draws ranks and
        autocorrelations.
        """
        from matplotlib import pyplot as plt

        check_count("rows", rows)
        d = min(rows, self.positions.shape[2])
        figure, axes = plt.subplots(
            d, 2, figsize=(8, 1.6 * d), squeeze=False, width_ratios=(3, 1)
        )
        for j, (trace, histogram) in enumerate(axes):
            for chain in self.positions[:, :, j]:
                trace.plot(chain, lw=0.5)
                histogram.hist(chain, bins=30, histtype="step")
            trace.set_ylabel(self.names[j])
        axes[-1, 0].set_xlabel("draw")
        figure.tight_layout()
        return axes
