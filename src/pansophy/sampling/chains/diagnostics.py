"""Convergence diagnostics of chains: R-hat, effective sample size, standard errors.

Let W be the mean variance within chains and B/n the variance of their means. Then

    V = (n - 1)/n W + B/n                  overestimates the variance          (1)
    R-hat = sqrt(V / W)                    near 1 when the chains agree        (2)
    rho_t = 1 - (W - mean_j acov_j(t)) / V correlation at lag t                (3)
    tau = -1 + 2 sum_k P_k,  P_k = rho_2k + rho_2k+1                           (4)
    ESS = m n / tau,         MCSE = sd / sqrt(ESS of the mean)                 (5)

Chains are split in half first, so a drift within one chain counts as disagreement.
The sums of pairs P_k of a reversible chain are positive and fall; (4) stops at the
first that is not positive and takes running minima before it, which removes the noise
of long lags. For R-hat and the bulk ESS draws are replaced by normal scores of their
ranks, so both exist for targets without a variance; R-hat is the larger of that of
the draws and that of their distance from the median, which sees chains that differ in
scale only. The tail ESS is the smaller of those of the 5 % and 95 % quantiles.

Every function takes draws of shape (m, n) and gives a number, or (m, n, d) and gives
d numbers; fewer than four draws a chain, a constant or NaN in the draws give NaN.
Time O(m n log n) a parameter (autocovariances by FFT).

Shapes    x (m, n) or (m, n, d)
Refs      [Gelman1992] (2); [Geyer1992] (4); [Vehtari2021] ranks, folding, tails
"""

from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

TAIL_QUANTILES = (0.05, 0.95)


class ChainSummary(NamedTuple):
    """Summary statistics: each field is a column, one row for each parameter."""

    name: list
    mean: np.ndarray
    sd: np.ndarray
    q5: np.ndarray
    q50: np.ndarray
    q95: np.ndarray
    mcse: np.ndarray  # of the mean
    r_hat: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray

    def table(self, rows=20) -> str:
        """The first `rows` parameters as a text table."""
        heads = self._fields[1:]
        width = max(4, *(len(str(n)) for n in self.name[:rows]))
        lines = [" " * width + "".join(f"{h:>10}" for h in heads)]
        for i, name in enumerate(self.name[:rows]):
            cells = (f"{getattr(self, h)[i]:10.{_column_format(h)}}" for h in heads)
            lines.append(f"{name!s:>{width}}" + "".join(cells))
        n_hidden = len(self.name) - rows
        return "\n".join(
            [*lines, f"... and {n_hidden} more"] if n_hidden > 0 else lines
        )

    __repr__ = __str__ = table


def _column_format(column) -> str:
    """Number format of a column of `ChainSummary`."""
    return {"r_hat": "3f", "ess_bulk": "0f", "ess_tail": "0f"}.get(column, "3g")


def split_chains(x):
    """(m, n) chains as (2m, n // 2) half chains; an odd middle draw is dropped."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def rank_normal_scores(x):
    """Normal quantiles of the ranks of all draws; ties share their mean rank."""
    ranks = rankdata(x).reshape(x.shape)
    return ndtri((ranks - 0.375) / (x.size + 0.25))


def within_and_total_variance(x):
    """Within-chain variance W and total variance V of eq. (1)."""
    n = x.shape[1]
    W = x.var(axis=1, ddof=1).mean()
    between_variance = x.mean(axis=1).var(ddof=1) if len(x) > 1 else 0.0
    return W, (n - 1) / n * W + between_variance


def scale_reduction(x):
    """R-hat of eq. (2), without splitting."""
    W, total = within_and_total_variance(x)
    return np.sqrt(total / W) if W > 0 else np.inf


def autocovariance(x):
    """Autocovariance of each row at lags 0..n-1, divided by n at every lag."""
    n = x.shape[1]
    size = next_fast_len(2 * n, real=True)
    f = rfft(x - x.mean(axis=1, keepdims=True), size, axis=1)
    return irfft(f.real**2 + f.imag**2, size, axis=1)[:, :n] / n


def chain_effective_size(x):
    """ESS of the mean, without splitting, eq. (3) to (5)."""
    m, n = x.shape
    W, total = within_and_total_variance(x)
    rho = 1 - (W - autocovariance(x).mean(axis=0)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)  # P_k
    nonpositive = np.flatnonzero(pairs <= 0)
    stop = nonpositive[0] if nonpositive.size else len(pairs)
    tau = -1 + 2 * np.minimum.accumulate(pairs[:stop]).sum()
    if stop < len(pairs):
        tau += max(rho[2 * stop], 0.0)  # the positive half of the last pair
    # an antithetic chain may have tau near 0: its ESS is kept below N log10(N)
    return m * n / max(tau, 1 / np.log10(m * n))


def _per_parameter(x, function):
    """Apply a function to the draws (m, n) of every parameter; NaN if undefined."""
    x = np.asarray(x, dtype=float)
    if x.ndim not in (2, 3):
        raise ValueError(f"draws must have shape (chains, draws[, d]), got {x.shape}.")
    if x.ndim == 2:
        return float(_or_nan(x, function))
    return np.array([_or_nan(x[:, :, j], function) for j in range(x.shape[2])])


def _or_nan(x, function):
    """function(x), or NaN for too few, constant or non-finite draws."""
    constant = x.size == 0 or np.ptp(x) == 0
    if x.shape[1] < 4 or constant or not np.isfinite(x).all():
        return np.nan
    return function(x)


def r_hat(x):
    """Rank-normalised split R-hat, the larger of location and scale.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import r_hat
    >>> x = np.random.default_rng(0).normal(size=(4, 1000))
    >>> bool(r_hat(x) < 1.01), bool(r_hat(x + [[0], [0], [0], [2]]) > 1.1)
    (True, True)
    """

    def both(x):
        folded = split_chains(np.abs(x - np.median(x)))
        scores = rank_normal_scores(split_chains(x)), rank_normal_scores(folded)
        return max(scale_reduction(s) for s in scores)

    return _per_parameter(x, both)


def ess_mean(x):
    """Effective sample size of the mean of the draws themselves."""
    return _per_parameter(x, lambda x: chain_effective_size(split_chains(x)))


def ess_bulk(x):
    """Effective sample size of the normal scores: the bulk of the distribution."""
    return _per_parameter(
        x, lambda x: chain_effective_size(rank_normal_scores(split_chains(x)))
    )


def ess_tail(x):
    """The smaller effective sample size of the 5 % and 95 % quantiles."""

    def tails(x):
        cuts = (
            split_chains(x <= q).astype(float) for q in np.quantile(x, TAIL_QUANTILES)
        )
        return min(chain_effective_size(cut) if np.ptp(cut) else np.nan for cut in cuts)

    return _per_parameter(x, tails)


def mcse_mean(x):
    """Monte Carlo standard error of the mean, eq. (5)."""
    return _per_parameter(
        x, lambda x: x.std(ddof=1) / np.sqrt(chain_effective_size(split_chains(x)))
    )


def mcse_sd(x):
    """Monte Carlo standard error of the standard deviation, by the delta method."""

    def error(x):
        square = (x - x.mean()) ** 2
        if np.ptp(square) == 0:
            return 0.0
        of_variance = square.std(ddof=1) / np.sqrt(
            chain_effective_size(split_chains(square))
        )
        return of_variance / (2 * x.std(ddof=1))

    return _per_parameter(x, error)


def bfmi(energy):
    """Bayesian fraction of missing information, E (E_t - E_(t-1))^2 / Var E, by chain.

    Near 1 or above is good; below 0.3 a chain of HMC or NUTS explores the energies of
    its target too slowly [Betancourt2016]. Takes `draws.info["energy"]` (m, n).
    """
    energy = np.asarray(energy, dtype=float)
    if energy.ndim != 2 or energy.shape[1] < 4:
        raise ValueError(f"energy must have shape (chains, draws), got {energy.shape}.")
    variance = energy.var(axis=1)
    moves = (np.diff(energy, axis=1) ** 2).mean(axis=1)
    return np.divide(
        moves, variance, out=np.full(len(energy), np.nan), where=variance > 0
    )


def diagnose(x, names=None) -> ChainSummary:
    """Moments, quantiles, MCSE, R-hat and effective sample sizes by parameter.

    Parameters
    ----------
    x : array of shape (chains, draws, d) or (chains, draws)
        Draws after warm-up.
    names : list of str or None
        Names of the d parameters; None calls them x0, x1, ...

    Returns
    -------
    Summary
        A named tuple of columns that prints as a table.
    """
    x = np.asarray(x, dtype=float)
    x = x[:, :, None] if x.ndim == 2 else x
    d = x.shape[2]
    names = [f"x{j}" for j in range(d)] if names is None else list(names)
    flat = x.reshape(-1, d)
    if len(flat) < 2:
        moments = np.full((5, d), np.nan)
    else:
        quantiles = np.quantile(flat, (0.05, 0.5, 0.95), axis=0)
        moments = flat.mean(axis=0), flat.std(axis=0, ddof=1), *quantiles
    reliability = mcse_mean(x), r_hat(x), ess_bulk(x), ess_tail(x)
    return ChainSummary._make((names, *moments, *reliability))
