"""Model selection: the number of states of a hidden Markov model.

The likelihood rises with every state, so k is chosen by what pays for them: with f
free numbers, n rows and log-likelihood l,

    BIC = f log n - 2 l,   AIC = 2 f - 2 l      to be minimised                  (1)
    held-out mean log-likelihood of a row       to be maximised                  (2)

Rows depend on their neighbours, so what is held out in (2) is whole sequences, or of
fewer sequences than folds, stretches of them, which begin in the stationary
distribution; what is left of a sequence between them is learned from in pieces.
Baum-Welch finds different maxima from different starts, and the most likely of several
is kept.

Refs      [Schwarz1978]; [Akaike1974]
"""

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ...core.arrays.ragged import stack_sequences

CRITERIA = ("bic", "aic", "held_out")


class StateChoice(NamedTuple):
    """Result of `choose_states`."""

    n_components: int  # the best number of states
    model: Any  # fitted to all sequences with that number
    tried: np.ndarray  # (m,) numbers of states
    log_likelihood: np.ndarray  # (m,)
    bic: np.ndarray  # (m,)
    aic: np.ndarray  # (m,)
    held_out: np.ndarray  # (m,) mean log-likelihood of rows left out, NaN without folds
    criterion: str

    def __str__(self):
        head = f"{'states':>6} {'log-lik':>12} {'BIC':>12} {'AIC':>12} {'held out':>10}"
        lines = [
            f"{k:6d} {row[0]:12.2f} {row[1]:12.2f} {row[2]:12.2f} {row[3]:10.4f}"
            + (" *" if k == self.n_components else "")
            for k, *row in zip(
                self.tried, self.log_likelihood, self.bic, self.aic, self.held_out,
                strict=True,
            )
        ]  # fmt: skip
        return "\n".join([head, *lines])


def _held_out_rows(ends, folds: int):
    """For each fold, the rows held out: whole sequences, or stretches of them."""
    s = len(ends)
    n = int(ends[-1])
    if folds == 0:
        return
    begins = np.r_[0, ends[:-1]]
    if s >= folds:
        for f in range(folds):
            yield np.concatenate(
                [np.arange(begins[i], ends[i]) for i in range(f, s, folds)]
            )
        return
    cuts = np.linspace(0, n, folds * max(1, min(4, n // (8 * folds))) + 1).astype(int)
    runs = [np.arange(a, b) for a, b in itertools.pairwise(cuts)]
    for f in range(folds):
        yield np.concatenate(runs[f::folds])


def _piece_lengths(ends, chosen):
    """Lengths of the sequences that chosen rows are cut into, in their order."""
    sequence = np.searchsorted(ends, chosen, side="right")
    breaks = (np.diff(chosen) != 1) | (np.diff(sequence) != 0)
    cuts = np.r_[np.flatnonzero(breaks) + 1, len(chosen)]
    return np.diff(cuts, prepend=0)


def _fit_n_states(model, k, n_init, X, lengths):
    """The most likely of several fits with k states."""
    model_copy = clone(model).set_params(n_components=k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model_copy.fit(X, lengths, n_init=n_init)


def choose_states(
    model, X, lengths=None, n_components=range(1, 6), *, criterion="bic", cv=None,
    n_init=3,
) -> StateChoice:  # fmt: skip
    """Fit a hidden Markov model for each number of states and choose one.

    Parameters
    ----------
    model : hidden Markov model
        Any of them; its other parameters are kept. It is not fitted itself.
    X, lengths : sequences
        As `fit` takes them.
    n_components : list of int, default=range(1, 6)
        Numbers of states to try.
    criterion : {"bic", "aic", "held_out"}, default="bic"
        What decides, eq. (1) and (2).
    cv : int, optional
        Folds of (2), at least 2. None leaves it out unless it decides, and is then 3.
    n_init : int, default=3
        Starts for each number, of which the most likely result is kept.

    Returns
    -------
    choice : StateChoice
        Its `str` is a table.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import GaussianHMM, choose_states
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=300) + 6 * np.repeat([0, 1, 0], 100)
    >>> choose_states(GaussianHMM(random_state=0, n_iter=50), X).n_components
    2
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {CRITERIA}, got {criterion!r}.")
    tried = [int(k) for k in n_components]
    if not tried or min(tried) < 1:
        raise ValueError("n_components must list whole numbers of at least 1.")
    cv = 3 if cv is None and criterion == "held_out" else cv
    X, ends = stack_sequences(X, lengths)
    if cv is not None and not 2 <= cv <= len(X):
        raise ValueError(f"cv must be from 2 to the number of rows, got {cv}.")
    sizes = np.diff(ends, prepend=0)
    folds = cv or 0
    results = []
    columns = {"bic": [], "aic": [], "held_out": [], "log_likelihood": []}
    for k in tried:
        best = _fit_n_states(model, k, n_init, X, sizes)
        results.append(best)
        columns["log_likelihood"].append(best.score(X, sizes))
        columns["bic"].append(best.bic(X, sizes))
        columns["aic"].append(best.aic(X, sizes))
        total = 0.0 if folds else np.nan
        for held_out in _held_out_rows(ends, folds):
            kept = np.setdiff1d(np.arange(len(X)), held_out)
            part = _fit_n_states(model, k, n_init, X[kept], _piece_lengths(ends, kept))
            if len(ends) < folds:  # a stretch begins anywhere
                part.startprob_ = part.get_stationary_distribution()
            total += part.score(X[held_out], _piece_lengths(ends, held_out))
        columns["held_out"].append(total / len(X))
    table = {name: np.array(values) for name, values in columns.items()}
    sign = -1 if criterion == "held_out" else 1
    i = int(np.nanargmin(sign * table[criterion]))
    return StateChoice(
        tried[i], results[i], np.array(tried), criterion=criterion, **table
    )
