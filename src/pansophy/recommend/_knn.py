"""Compiled loops of neighbourhood recommenders.

Rows are users and columns items, or the other way round. Ratings come sorted by row
and by column, each as `SparseRatings`. `limits` = (shrinkage, least overlap).
"""

from typing import NamedTuple

import numpy as np

from ..core.loops.compiled import compiled

COSINE, COMMON, PEARSON = 0, 1, 2
NO_VARIANCE = 1e-10  # a variance below this share of the mean square is rounding


class SparseRatings(NamedTuple):
    """The arrays of a CSR matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


@compiled
def _rounded_magnitude(s):
    """|s| in units of 2^-40: what differs by rounding alone is equal."""
    return np.rint(abs(s) * 1099511627776.0)


@compiled
def _insert_similar_row(s, b, codes, sims, count):
    """Put row b with similarity s into the sorted lists; how many there are then.

    Sorted by |s| falling, equal ones by row number.
    """
    n = len(codes)
    size = _rounded_magnitude(s)
    if count == n:
        least_size = _rounded_magnitude(sims[n - 1])
        if size < least_size or (size == least_size and b > codes[n - 1]):
            return count
        slot = n - 1
    else:
        slot = count
        count += 1
    while slot > 0:
        other_size = _rounded_magnitude(sims[slot - 1])
        if other_size > size or (other_size == size and codes[slot - 1] < b):
            break
        sims[slot], codes[slot] = sims[slot - 1], codes[slot - 1]
        slot -= 1
    sims[slot], codes[slot] = s, b
    return count


@compiled
def cosine_neighbors(
    first, last, by_row, by_column, norms, exclude_self, limits, codes, sims
):
    """The nearest rows by x.z / (|x| |z|), missing cells counting as 0.

    norms = (|x| of the rows, |z| of the candidates); the rows of `by_column` are
    unsigned, so that there is no test for negative indices in the inner loop.
    """
    ptr, col, x = by_row
    cptr, crow, cx = by_column
    size, csize = norms
    shrink, min_overlap = limits
    n = len(csize)
    dot, common = np.zeros(n), np.zeros(n, np.int32)
    touched = np.empty(n, np.int32)
    counted = shrink > 0 or min_overlap > 1
    for row in range(first, last):
        m, work = 0, 0
        for j in range(ptr[row], ptr[row + 1]):
            work += cptr[col[j] + 1] - cptr[col[j]]
        scans_all = work > n // 2 and not counted  # cheaper than a list of who was met
        for j in range(ptr[row], ptr[row + 1]):
            c, v = col[j], x[j]
            if scans_all:
                raters, z = crow[cptr[c] : cptr[c + 1]], cx[cptr[c] : cptr[c + 1]]
                for t in range(len(raters)):
                    dot[raters[t]] += v * z[t]
                continue
            for t in range(cptr[c], cptr[c + 1]):
                b = crow[t]
                if common[b] == 0:
                    touched[m] = b
                    m += 1
                common[b] += 1
                dot[b] += v * cx[t]
        if scans_all:
            m = n
        count, needed = 0, 0.0
        for t in range(m):
            b = t if scans_all else np.int64(touched[t])
            d, o = dot[b], common[b]
            dot[b], common[b] = 0.0, 0
            if (exclude_self and b == row) or d == 0 or (counted and o < min_overlap):
                continue
            s = d / (size[row] * csize[b])
            if counted:
                s *= o / (o + shrink)
            if abs(s) >= needed:
                count = _insert_similar_row(s, b, codes[row], sims[row], count)
                if count == codes.shape[1]:
                    needed = abs(sims[row, count - 1]) * (1 - 1e-9)


@compiled
def correlation_neighbors(
    first, last, by_row, by_column, kind, exclude_self, limits, codes, sims
):
    """The nearest rows over common columns only: COMMON or, with means, PEARSON."""
    ptr, col, x = by_row
    cptr, crow, cx = by_column
    shrink, min_overlap = limits
    n = 0
    for t in range(len(crow)):
        n = max(n, crow[t] + 1)
    sums = np.zeros((n, 6))  # how many, x, z, xx, zz, xz
    touched = np.empty(n, np.int32)
    for row in range(first, last):
        m = 0
        for j in range(ptr[row], ptr[row + 1]):
            c = col[j]
            v = np.float64(x[j])
            for t in range(cptr[c], cptr[c + 1]):
                b = crow[t]
                z = np.float64(cx[t])
                e = sums[b]
                if e[0] == 0:
                    touched[m] = b
                    m += 1
                e[0] += 1
                e[1] += v
                e[2] += z
                e[3] += v * v
                e[4] += z * z
                e[5] += v * z
        count = 0
        for t in range(m):
            b = touched[t]
            o = sums[b, 0]
            s = 0.0
            if not (exclude_self and b == row) and o >= min_overlap:
                s = _correlation_from_sums(sums[b], kind) * (o / (o + shrink))
            sums[b, :] = 0
            if s != 0:
                count = _insert_similar_row(s, b, codes[row], sims[row], count)


@compiled
def _correlation_from_sums(e, kind):
    """x.z / (|x| |z|) from sums over common cells, about the means if PEARSON.

    0 if one of the two does not vary.
    """
    o, xx, zz, xz = e[0], e[3], e[4], e[5]
    if kind == PEARSON:
        xx -= e[1] * e[1] / o
        zz -= e[2] * e[2] / o
        xz -= e[1] * e[2] / o
    if xx <= NO_VARIANCE * e[3] or zz <= NO_VARIANCE * e[4]:
        return 0.0
    return min(1.0, max(-1.0, xz / np.sqrt(xx * zz)))


@compiled
def _column_position(col, begin, end, c):
    """Position of column c in a sorted row, or -1."""
    low, high = begin, end
    while low < high:
        mid = (low + high) // 2
        if col[mid] < c:
            low = mid + 1
        else:
            high = mid
    return low if low < end and col[low] == c else -1


@compiled
def predict_pairs(rows, cols, codes, sims, ptr, col, x, turned, k, plain, out):
    """sum s x / sum |s| over the k nearest rows that have the column; 0 if none.

    With `plain` the sum is not divided; with `turned` ptr, col, x are by column.
    """
    for q in range(len(rows)):
        near, s = codes[rows[q]], sims[rows[q]]
        top, bottom, held = 0.0, 0.0, 0
        for t in range(len(near)):
            b = near[t]
            if b < 0 or held == k:
                break
            a, c = (cols[q], b) if turned else (b, cols[q])
            cell = _column_position(col, ptr[a], ptr[a + 1], c)
            if cell >= 0:
                top += s[t] * x[cell]
                bottom += abs(s[t])
                held += 1
        if plain:
            bottom = 1.0
        out[q] = top / bottom if bottom > 0 else 0.0


@compiled
def score_all_columns(rows, codes, sims, ptr, col, x, k, plain, out):
    """`predict_pairs` of all columns for some rows: (m, n_columns)."""
    n = out.shape[1]
    bottom, held = np.empty(n), np.empty(n, np.int32)
    for q in range(len(rows)):
        bottom[:], held[:], out[q, :] = 0, 0, 0
        if rows[q] < 0:
            continue
        near, s = codes[rows[q]], sims[rows[q]]
        for t in range(len(near)):
            b = near[t]
            if b < 0:
                break
            for cell in range(ptr[b], ptr[b + 1]):
                c = col[cell]
                if held[c] < k:
                    out[q, c] += s[t] * x[cell]
                    bottom[c] += abs(s[t])
                    held[c] += 1
        if not plain:
            for c in range(n):
                out[q, c] = out[q, c] / bottom[c] if bottom[c] > 0 else 0.0


@compiled
def score_all_rows(cols, codes, sims, cptr, crow, cx, k, plain, out):
    """`predict_pairs` of all rows for some columns: (m, n_rows)."""
    n = out.shape[1]
    value = np.empty(n)
    is_rated = np.zeros(n, np.bool_)
    for q in range(len(cols)):
        out[q, :] = 0
        if cols[q] < 0:
            continue
        begin, end = cptr[cols[q]], cptr[cols[q] + 1]
        for cell in range(begin, end):
            is_rated[crow[cell]], value[crow[cell]] = True, cx[cell]
        for row in range(n):
            near, s = codes[row], sims[row]
            top, bottom, held = 0.0, 0.0, 0
            for t in range(len(near)):
                b = near[t]
                if b < 0 or held == k:
                    break
                if is_rated[b]:
                    top += s[t] * value[b]
                    bottom += abs(s[t])
                    held += 1
            if plain:
                bottom = 1.0
            out[q, row] = top / bottom if bottom > 0 else 0.0
        for cell in range(begin, end):
            is_rated[crow[cell]] = False
