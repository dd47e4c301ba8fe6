"""Encodings of categorical levels: one-hot columns, or mean targets by level.

Codes are positions in the levels of the schema, -1 for an unknown level, NaN for a
missing one. Level c of a column with L levels has *slot* c + 1 in the tables here;
slot 0 is for unknown levels and slot L + 1 for missing ones, which count as a level
of their own where the training rows have some.

The mean target of a level is shrunk towards the mean of all rows (1), as in a one-way
analysis of variance with random effects: with n_i the weight and m_i the mean of level
i, N and m those of all rows, k the number of levels seen,

    e_i = m + n_i / (n_i + s2 / t2) (m_i - m)                                    (1)
    s2  = sum_i sum_{rows of i} (y - m_i)^2 / (N - k)                            (2)
    t2  = max(0, sum_i n_i (m_i - m)^2 - (k - 1) s2) / (N - sum_i n_i^2 / N)     (3)

so a level seen once keeps little of its own target, and uninformative levels all get m.
Training rows are encoded by the means of the other four of five folds (`cross_fitted`),
so that no row uses its own target. scikit-learn's TargetEncoder does the same for one
target without weights; here weights count as repeated rows, and several labels or
classes are encoded at once.

Refs: [MicciBarreca2001], [Searle1992].
"""

from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

RARE = 5  # levels with fewer training rows are pooled, in large tables
MOST = 250  # codes of a column for native methods; rarer levels are pooled
PARTS = 5  # folds of cross-fitting


class OneHot(NamedTuple):
    """One-hot encoding of k columns of codes, by slot."""

    where: np.ndarray  # (k,) columns of the frame
    start: np.ndarray  # (k,) where the slots of each begin
    gone: np.ndarray  # (k,) the slot of a missing value
    place: np.ndarray  # (slots,) which output column
    hit: np.ndarray  # (slots,) what is written there: 1, or 0 for none


class Means(NamedTuple):
    """Mean-target encoding of k columns of codes, by slot."""

    where: np.ndarray
    start: np.ndarray
    gone: np.ndarray
    table: np.ndarray  # (slots, K)


def slots_of(values, where, gone, start) -> np.ndarray:
    """Slots (n, k) of the codes in columns `where`."""
    v = values[:, where]
    v = np.where(np.isnan(v), gone - 1.0, v)
    return v.astype(np.intp) + (start + 1)


def _slot_layout(counts) -> tuple[np.ndarray, np.ndarray]:
    """First slot and missing slot of each column, from its number of levels."""
    sizes = np.asarray(counts, dtype=np.intp) + 2
    return np.r_[0, np.cumsum(sizes)[:-1]].astype(np.intp), sizes - 1


def _slot_weights(slots, n, w) -> np.ndarray:
    """Total weight of the rows in each of n slots."""
    return np.bincount(slots, weights=w, minlength=n)[:n]


def fit_one_hot(values, where, counts, w, full_rank) -> tuple[OneHot, list]:
    """Fit one-hot columns; also (column, slot, "rare" or "missing") of each."""
    start, gone = _slot_layout(counts)
    place = np.zeros(int((gone + 1).sum()), dtype=np.intp)
    hit = np.zeros(len(place))
    total = len(values) if w is None else float(w.sum())
    outputs = []
    kept = []
    for j, column in enumerate(where):
        slots = slots_of(values, [column], gone[j : j + 1], np.zeros(1, np.intp))[:, 0]
        seen = _slot_weights(slots, gone[j] + 1, w)
        rare, shown = _split_rare(seen[: gone[j]], min(RARE, total / 100))
        columns = [*shown, *(["rare"] if rare.size else [])]
        columns = columns[1:] if full_rank else columns
        columns += [gone[j]] if seen[gone[j]] > 0 else []
        if not columns:
            continue
        first = len(outputs)
        output_of = np.full(gone[j] + 1, first)
        value_of = np.zeros(gone[j] + 1)
        for i, slot in enumerate(columns):
            levels = _rare_or_unseen(seen, rare) if slot == "rare" else slot
            output_of[levels] = first + i
            value_of[levels] = 1.0
        place[start[j] : start[j] + len(output_of)] = output_of
        hit[start[j] : start[j] + len(value_of)] = value_of
        outputs += [(j, slot if slot != gone[j] else "missing") for slot in columns]
        kept.append(j)
    pick = np.asarray(kept, dtype=np.intp)
    places = np.asarray(where, dtype=np.intp)
    return OneHot(places[pick], start[pick], gone[pick], place, hit), outputs


def _split_rare(seen, least) -> tuple[np.ndarray, np.ndarray]:
    """Slots of levels rarer than `least`, which are pooled, and of the others."""
    slots = np.flatnonzero(seen > 0)
    slots = slots[slots > 0]
    rare = slots[seen[slots] < least]
    if len(rare) < 2:
        return rare[:0], slots
    return rare, np.setdiff1d(slots, rare)


def _rare_or_unseen(seen, rare) -> np.ndarray:
    """Slots of rare, unknown and unseen levels."""
    return np.union1d(rare, np.flatnonzero(seen[:-1] == 0))


def put_one_hot(block, values, out):
    """Write one-hot columns into `out`, which is 0."""
    slots = slots_of(values, block.where, block.gone, block.start)
    positions = block.place[slots]
    if len(out) == 1:
        out[0, positions[0]] = block.hit[slots[0]]
        return
    out[np.arange(len(out))[:, None], positions] = block.hit[slots]


def fit_codes(values, where, counts, w) -> OneHot:
    """Fit codes 0, 1, ... of seen levels, NaN for others, for native methods."""
    start, gone = _slot_layout(counts)
    code = np.full(int((gone + 1).sum()), np.nan)
    for j, column in enumerate(where):
        slots = slots_of(values, [column], gone[j : j + 1], np.zeros(1, np.intp))[:, 0]
        seen = _slot_weights(slots, gone[j] + 1, w)[: gone[j]]
        seen[0] = 0.0
        known = np.flatnonzero(seen > 0)
        if len(known) > MOST:  # the most frequent ones; the others share a code
            frequent = np.argsort(-seen, kind="stable")[: MOST - 1]
            code[start[j] : start[j] + gone[j]] = MOST - 1
            known = np.sort(frequent)
        code[start[j] + known] = np.arange(len(known))
    places = np.asarray(where, dtype=np.intp)
    return OneHot(places, start, gone, np.empty(0, dtype=np.intp), code)


def fit_means(values, where, counts, Y, w) -> Means:
    """Fit shrunk mean targets, eq. (1), of Y (n, K)."""
    start, gone = _slot_layout(counts)
    places = np.asarray(where, dtype=np.intp)
    table = np.empty((int((gone + 1).sum()), Y.shape[1]))
    w = np.ones(len(Y)) if w is None else as_counts(w)
    slots = slots_of(values, places, gone, np.zeros(len(places), np.intp))
    for j in range(len(places)):
        part = mean_targets(slots[:, j], gone[j] + 1, Y, w)
        table[start[j] : start[j] + len(part)] = part
    return Means(places, start, gone, table)


def as_counts(w) -> np.ndarray:
    """Weights as counts; scaled to mean 1 if they sum to less than their rows."""
    positive = int((w > 0).sum())
    return w * (positive / w.sum()) if w.sum() < positive else w


def mean_targets(slots, size, Y, w) -> np.ndarray:
    """Shrunk mean targets (slots, K) of one column, eqs. (1) to (3)."""
    n = np.bincount(slots, weights=w, minlength=size)
    n[0] = 0.0  # unknown levels tell nothing
    N = n.sum()
    k = int((n > 0).sum())
    out = np.empty((size, Y.shape[1]))
    for c in range(Y.shape[1]):
        y = Y[:, c]
        m = np.average(y, weights=w)
        sums = np.bincount(slots, weights=w * (y - m), minlength=size)
        gap = np.divide(sums, n, out=np.zeros(size), where=n > 0)  # m_i - m
        inside = np.sum(w * (y - m - gap[slots]) ** 2)
        s2 = inside / (N - k) if k < N else np.inf
        between_levels = np.sum(n * gap**2) - (k - 1) * s2 if k < N else 0.0
        t2 = max(0.0, between_levels) / max(N - np.sum(n**2) / max(N, 1e-300), 1e-300)
        trust = np.zeros(size)
        if t2 > 0:  # a slot without rows tells nothing, also where s2 is 0
            np.divide(n, n + s2 / t2, out=trust, where=n > 0)
        out[:, c] = m + trust * gap
    return out


def put_means(block, values, out):
    """Write mean targets (n, k K), the K of each column together, into `out`."""
    slots = slots_of(values, block.where, block.gone, block.start)
    out[:] = block.table[slots].reshape(len(values), -1)


def cross_fitted(values, where, counts, Y, w, seed) -> np.ndarray:
    """Mean targets of training rows, each from the folds that exclude the row."""
    out = np.empty((len(values), len(where) * Y.shape[1]))
    if len(values) < 2:
        out[:] = np.repeat(Y.mean(axis=0)[None], len(where), axis=0).ravel()
        return out
    values = values[:, where]
    where = np.arange(len(where))
    parts = KFold(min(PARTS, len(values)), shuffle=True, random_state=seed)
    for training, held_out in parts.split(values):
        v = None if w is None else w[training]
        if v is not None and not v.sum() > 0:
            v = None
        block = fit_means(values[training], where, counts, Y[training], v)
        part = np.empty((len(held_out), out.shape[1]))
        put_means(block, values[held_out], part)
        out[held_out] = part
    return out
