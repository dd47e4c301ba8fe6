"""Compiled exponential smoothing of all series of a panel, in its thirty forms.

The letters are those of `exponential_smoothing`. The season of step t (from 0) is kept
at place t mod m of the state, which is (l, b, s_0 .. s_{m-1}).
"""

from typing import NamedTuple

import numpy as np

from ..core.loops.compiled import compiled
from ._nelder_mead import make_simplex_search, start_search, take_value
from ._seasonality import classical_indices, fill_gaps, longest_series

NONE, ADD, MUL = 0, 1, 2
ERROR, TREND, DAMPED, SEASONAL = range(4)  # columns of a form
ALPHA, BETA, GAMMA, PHI = range(4)  # of the weights
LOW, HIGH = 1e-4, 0.9999  # of weights
LOW_PHI, HIGH_PHI = 0.8, 0.98
FIRST_SEASONS = 5  # from which the first state is read
FEW_VALUES = 10  # the same without a season


class SmoothingFits(NamedTuple):
    """What is learned of every series."""

    form: np.ndarray  # (s, 4) of small whole numbers
    weights: np.ndarray  # (s, 4)
    initial: np.ndarray  # (s, 2 + m)
    state: np.ndarray  # (s, 2 + m)
    sigma: np.ndarray  # (s,) of the errors, relative ones where they multiply
    loglik: np.ndarray  # (s,)
    aicc: np.ndarray  # (s,)
    fitted: np.ndarray  # (n,)


@compiled(inner=True)
def _one_step(form, phi, state, season):
    """Level and slope before the error of a step, and its forecast: eq. (1)."""
    level = state[0]
    b = state[1]
    q = level
    grown = b
    if form[TREND] == ADD:
        grown = phi * b if form[DAMPED] else b
        q = level + grown
    elif form[TREND] == MUL:
        grown = b**phi if form[DAMPED] else b
        q = level * grown
    mean = q
    if form[SEASONAL] == ADD:
        mean = q + state[2 + season]
    elif form[SEASONAL] == MUL:
        mean = q * state[2 + season]
    return q, grown, mean


@compiled(inner=True)
def _advance_state(form, w, state, season, q, grown, x):
    """Eq. (2): the state after the value x."""
    s = state[2 + season]
    p = x
    if form[SEASONAL] == ADD:
        p = x - s
    elif form[SEASONAL] == MUL:
        p = x / (s if abs(s) > 1e-10 else 1e-10)
    level = q + w[ALPHA] * (p - q)
    if form[TREND] == ADD:
        state[1] = grown + w[BETA] / w[ALPHA] * (level - state[0] - grown)
    elif form[TREND] == MUL:
        old = state[0] if abs(state[0]) > 1e-10 else 1e-10
        state[1] = grown + w[BETA] / w[ALPHA] * (level / old - grown)
    if form[SEASONAL] == ADD:
        state[2 + season] = s + w[GAMMA] * (x - q - s)
    elif form[SEASONAL] == MUL:
        state[2 + season] = s + w[GAMMA] * (x / (q if abs(q) > 1e-10 else 1e-10) - s)
    state[0] = level


@compiled(inner=True)
def _run_smoothing(y, form, w, state, m, fitted):
    """Run over a series; -2 log-likelihood (eq. 4), sum of squared errors, count."""
    squares = 0.0
    logs = 0.0
    n = 0
    for t in range(len(y)):
        season = t % m
        q, grown, mean = _one_step(form, w[PHI], state, season)
        if t < len(fitted):
            fitted[t] = mean
        x = y[t]
        if x != x:
            state[0] = q
            if form[TREND] != NONE:
                state[1] = grown
            continue
        e = x - mean
        if form[ERROR] == MUL:
            if not abs(mean) > 1e-10:
                return np.inf, np.inf, n
            e /= mean
            logs += np.log(abs(mean))
        squares += e * e
        n += 1
        if not squares < 1e200:
            return np.inf, np.inf, n
        _advance_state(form, w, state, season, q, grown, x)
    if form[TREND] == MUL and not state[1] > 0.0:
        return np.inf, np.inf, n
    return n * np.log(max(squares, 1e-300)) + 2.0 * logs, squares, n


@compiled(inner=True)
def _first_line(y, n_first, indices, form, m):
    """Intercept and slope of the seasonally adjusted head of a series; its mean."""
    count = 0.0
    st = 0.0
    sy = 0.0
    stt = 0.0
    sty = 0.0
    for t in range(min(n_first, len(y))):
        x = y[t]
        if form[SEASONAL] == ADD:
            x -= indices[t % m]
        elif form[SEASONAL] == MUL:
            x /= indices[t % m]
        if x == x:
            count += 1.0
            st += t + 1.0
            sy += x
            stt += (t + 1.0) * (t + 1.0)
            sty += (t + 1.0) * x
    if count == 0.0:
        return 0.0, 0.0, 0.0
    mean = sy / count
    spread = stt - st * st / count
    slope = (sty - st * mean) / spread if spread > 0.0 else 0.0
    return mean - slope * st / count, slope, mean


@compiled(inner=True)
def first_state(y, filled, form, m, counts, indices, out):
    """A first state from the head of a series, by its classical decomposition."""
    for s in range(m):
        indices[s] = 1.0 if form[SEASONAL] == MUL else 0.0
    n_first = FEW_VALUES
    if form[SEASONAL] != NONE:
        n_head = min(len(y), FIRST_SEASONS * m)
        classical_indices(y[:n_head], filled, m, form[SEASONAL] == MUL, counts, indices)
        n_first = max(n_first, 2 * m)
    intercept, slope, mean = _first_line(y, n_first, indices, form, m)
    out[0] = mean
    out[1] = 0.0
    if form[TREND] == ADD:
        out[0] = intercept
        out[1] = slope
    elif form[TREND] == MUL:
        first = intercept if intercept > 0.1 * abs(mean) else mean
        growth = 1.0 + slope / first if first != 0.0 else 1.0
        out[0] = first
        out[1] = min(max(growth, 0.5), 2.0)
    for s in range(m):
        out[2 + s] = indices[s]


@compiled(inner=True)
def _unpack_point(point, form, m, scale, whole, w, state, heuristic):
    """Weights and first state of a point; False outside of the admissible region."""
    k = 1
    alpha = point[0]
    w[ALPHA] = alpha
    w[BETA] = 0.0
    w[GAMMA] = 0.0
    w[PHI] = 1.0
    if not LOW <= alpha <= HIGH:
        return False
    if form[TREND] != NONE:
        w[BETA] = point[k]
        k += 1
        if not LOW <= w[BETA] <= alpha:
            return False
    if form[SEASONAL] != NONE:
        w[GAMMA] = point[k]
        k += 1
        if not LOW <= w[GAMMA] <= 1.0 - alpha:
            return False
    if form[DAMPED]:
        w[PHI] = point[k]
        k += 1
        if not LOW_PHI <= w[PHI] <= HIGH_PHI:
            return False
    state[0] = point[k] * scale
    k += 1
    state[1] = 0.0
    if form[TREND] != NONE:
        state[1] = point[k] * (scale if form[TREND] == ADD else 1.0)
        k += 1
        if form[TREND] == MUL and not state[1] > 0.0:
            return False
    total = 0.0
    for s in range(m):
        state[2 + s] = heuristic[2 + s]
        if whole and form[SEASONAL] != NONE:
            if s < m - 1:
                state[2 + s] = point[k] * (scale if form[SEASONAL] == ADD else 1.0)
                k += 1
            else:
                state[2 + s] = (m if form[SEASONAL] == MUL else 0.0) - total
            total += state[2 + s]
            if form[SEASONAL] == MUL and not state[2 + s] > 0.0:
                return False
    return True


@compiled(inner=True)
def _pack_point(form, m, scale, whole, w, state, point, step):
    """The point of weights and a first state, and steps from it; its dimensions."""
    point[0] = w[ALPHA]
    step[0] = 0.2 if w[ALPHA] < 0.6 else -0.2
    k = 1
    if form[TREND] != NONE:
        point[k] = w[BETA]
        step[k] = 0.5 * (w[ALPHA] - w[BETA])
        k += 1
    if form[SEASONAL] != NONE:
        point[k] = w[GAMMA]
        step[k] = 0.5 * (1.0 - w[ALPHA] - w[GAMMA])
        k += 1
    if form[DAMPED]:
        point[k] = w[PHI]
        step[k] = -0.06 if w[PHI] > 0.9 else 0.06
        k += 1
    point[k] = state[0] / scale
    step[k] = 0.05 * max(abs(point[k]), 0.1)
    k += 1
    if form[TREND] != NONE:
        point[k] = state[1] / (scale if form[TREND] == ADD else 1.0)
        step[k] = max(0.2 * abs(point[k]), 0.005) if form[TREND] == ADD else 0.01
        k += 1
    if whole and form[SEASONAL] != NONE:
        for s in range(m - 1):
            point[k] = state[2 + s] / (scale if form[SEASONAL] == ADD else 1.0)
            step[k] = 0.03
            k += 1
    return k


@compiled(inner=True)
def _smoothing_parameters(form, m):
    """Weights, first states and the variance, as R's ets counts them."""
    k = 3
    if form[TREND] != NONE:
        k += 2
    if form[DAMPED]:
        k += 1
    if form[SEASONAL] != NONE:
        k += m
    return k


@compiled(inner=True)
def _corrected_aic(minus_twice_loglik, k, n):
    """AICc; infinite where there are too few values."""
    if n - k - 1 <= 0:
        return np.inf
    return minus_twice_loglik + 2.0 * k * n / (n - k - 1.0)


@compiled(inner=True)
def _search_weights(y, form, m, scale, whole, search, work, heuristic, first, tol):
    """Weights and first state of largest likelihood into `work` and `heuristic`.

    `work` holds (weights, state, point, step). False if nothing finite was found.
    """
    w, state, point, step, no_fitted = work
    d = _pack_point(form, m, scale, whole, first, heuristic, point, step)
    start_search(search, point[:d], step[:d])
    is_done = False
    while not is_done:
        value = np.inf
        if _unpack_point(search.point, form, m, scale, whole, w, state, heuristic):
            value, _squares, _n = _run_smoothing(y, form, w, state, m, no_fitted)
        is_done = take_value(search, value, tol)
    if not search.values[0] < np.inf:
        return False
    _unpack_point(search.simplex[0], form, m, scale, whole, w, state, heuristic)
    for k in range(len(state)):
        heuristic[k] = state[k]
    for k in range(4):
        first[k] = w[k]
    return True


@compiled
def fit_forms(y, offsets, m, forms, allowed, stages, limit, fits):
    """The form of least AICc of every series, with its weights and first state.

    `forms` (f, 4) are tried where `allowed` (s, f); `stages` is 1 to keep the seasons
    of the classical decomposition, 2 to learn them too.
    """
    size = 2 + m
    w = np.empty(4)
    state = np.empty(size)
    work = (w, state, np.empty(6 + m), np.empty(6 + m), np.empty(0))
    heuristic = np.empty(size)
    first = np.empty(4)
    counts = np.empty(m)
    indices = np.empty(m)
    filled = np.empty(longest_series(offsets))
    for i in range(len(offsets) - 1):
        part = y[offsets[i] : offsets[i + 1]]
        scale = 0.0
        known = 0
        for t in range(len(part)):
            if part[t] == part[t]:
                scale += abs(part[t])
                known += 1
        scale = scale / known if scale > 0.0 else 1.0
        fits.aicc[i] = np.inf
        n_head = min(len(part), FIRST_SEASONS * m)
        fill_gaps(part[:n_head], m, filled[:n_head])
        for f in range(len(forms)):
            if not allowed[i, f]:
                continue
            form = forms[f]
            first_state(part, filled[:n_head], form, m, counts, indices, heuristic)
            first[ALPHA] = 0.2
            first[BETA] = 0.05
            first[GAMMA] = 0.1
            first[PHI] = 0.93
            is_found = True
            for stage in range(stages):
                with_season = stage == 1
                if with_season and form[SEASONAL] == NONE:
                    continue
                d = 2 + 2 * (form[TREND] != NONE) + (form[DAMPED] != 0)
                d += (form[SEASONAL] != NONE) * (1 + (m - 1) * with_season)
                search = make_simplex_search(d, limit)
                is_found = is_found and _search_weights(
                    part,
                    form,
                    m,
                    scale,
                    with_season,
                    search,
                    work,
                    heuristic,
                    first,
                    1e-9,
                )
            if not is_found:
                continue
            for k in range(size):
                state[k] = heuristic[k]
            twice, _squares, n = _run_smoothing(part, form, first, state, m, work[4])
            criterion = _corrected_aic(twice, _smoothing_parameters(form, m), n)
            if criterion < fits.aicc[i] or (
                fits.aicc[i] == np.inf and fits.form[i, 0] < 0 and twice < np.inf
            ):
                fits.aicc[i] = criterion
                fits.loglik[i] = -0.5 * twice
                for k in range(4):
                    fits.form[i, k] = form[k]
                    fits.weights[i, k] = first[k]
                for k in range(size):
                    fits.initial[i, k] = heuristic[k]


@compiled
def run_forms(y, offsets, m, fits):
    """Fitted values, last states and sigma of every series at its weights."""
    for i in range(len(offsets) - 1):
        state = fits.state[i]
        for k in range(2 + m):
            state[k] = fits.initial[i, k]
        form = fits.form[i]
        twice, squares, n = _run_smoothing(
            y[offsets[i] : offsets[i + 1]],
            form,
            fits.weights[i],
            state,
            m,
            fits.fitted[offsets[i] : offsets[i + 1]],
        )
        k = _smoothing_parameters(form, m) - 1
        if not twice < np.inf:
            fits.sigma[i] = np.nan
        else:
            fits.sigma[i] = np.sqrt(squares / max(n - k, 1))
        fits.loglik[i] = -0.5 * twice


@compiled
def forecast_forms(lengths, m, fits, ahead):
    """Means (s, h) by eq. (1) without errors."""
    state = np.empty(2 + m)
    for i in range(len(lengths)):
        form = fits.form[i]
        for k in range(2 + m):
            state[k] = fits.state[i, k]
        for h in range(ahead.shape[1]):
            q, grown, mean = _one_step(
                form, fits.weights[i, PHI], state, (lengths[i] + h) % m
            )
            ahead[i, h] = mean
            state[0] = q
            if form[TREND] != NONE:
                state[1] = grown


@compiled
def simulate_forms(lengths, m, fits, shocks, paths):
    """Paths (s, p, h) from shocks (s or 1, p, h) of standard deviation 1."""
    state = np.empty(2 + m)
    for i in range(len(lengths)):
        form = fits.form[i]
        sigma = fits.sigma[i]
        for p in range(paths.shape[1]):
            for k in range(2 + m):
                state[k] = fits.state[i, k]
            for h in range(paths.shape[2]):
                season = (lengths[i] + h) % m
                q, grown, mean = _one_step(form, fits.weights[i, PHI], state, season)
                e = sigma * shocks[i if len(shocks) > 1 else 0, p, h]
                x = mean * max(1.0 + e, 1e-3) if form[ERROR] == MUL else mean + e
                paths[i, p, h] = x
                _advance_state(form, fits.weights[i], state, season, q, grown, x)


@compiled
def smoothed_states(y, offsets, m, fits, level, slope, season):
    """State after each value: level, slope and the season of that step, each (n,)."""
    state = np.empty(2 + m)
    for i in range(len(offsets) - 1):
        form = fits.form[i]
        for k in range(2 + m):
            state[k] = fits.initial[i, k]
        for r in range(offsets[i], offsets[i + 1]):
            place = (r - offsets[i]) % m
            q, grown, _one = _one_step(form, fits.weights[i, PHI], state, place)
            if y[r] == y[r]:
                _advance_state(form, fits.weights[i], state, place, q, grown, y[r])
            else:
                state[0] = q
                if form[TREND] != NONE:
                    state[1] = grown
            level[r] = state[0]
            slope[r] = state[1]
            season[r] = state[2 + place]
