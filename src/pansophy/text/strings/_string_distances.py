"""Compiled loops of edit distances: bit-parallel for many pairs, tables for costs."""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def levenshtein_lanes(matches, last, lengths, codes, starts, ends, work, out):
    """Edit distances of a group of patterns to texts [Myers1999, Hyyro2003].

    A column of the table of distances between a pattern and the text read so far
    differs from cell to cell by -1, 0 or 1: two words of bits hold it. All patterns of
    the group take a step together, one lane each.

    Parameters
    ----------
    matches : (alphabet, lanes) unsigned; bit i says whether symbol i of the pattern is
        this one
    last : (lanes,) of the same type; the bit of the last symbol
    lengths : (lanes,) of a pattern
    codes, starts, ends : symbols of all texts; which are those of text j
    work : (3, lanes) scratch of the same type
    out : (lanes, texts) int32
    """
    lanes = len(last)
    plus = work[0]
    minus = work[1]
    counted = work[2]
    unit = last.dtype.type(1)
    zero = last.dtype.type(0)
    for j in range(len(starts)):
        for lane in range(lanes):
            plus[lane] = ~zero
            minus[lane] = zero
            counted[lane] = lengths[lane]
        for i in range(starts[j], ends[j]):
            match = matches[codes[i]]
            for lane in range(lanes):
                pm = match[lane]
                vp = plus[lane]
                vn = minus[lane]
                d0 = (((pm & vp) + vp) ^ vp) | pm | vn
                hp = vn | ~(d0 | vp)
                hn = d0 & vp
                increases = (hp & last[lane]) != zero
                decreases = (hn & last[lane]) != zero
                counted[lane] = counted[lane] + unit * increases - unit * decreases
                hp = (hp << unit) | unit
                hn = hn << unit
                plus[lane] = hn | ~(d0 | hp)
                minus[lane] = hp & d0
        for lane in range(lanes):
            if lengths[lane]:
                out[lane, j] = np.int64(counted[lane])
            else:
                out[lane, j] = ends[j] - starts[j]


@compiled
def subsequence_lanes(matches, last, lengths, codes, starts, ends, work, out):
    """Lengths of longest common subsequences [Hyyro2004]; as `levenshtein_lanes`.

    A bit of s is 0 where one more symbol of the pattern has found its partner.
    """
    lanes = len(last)
    s = work[0]
    zero = last.dtype.type(0)
    unit = last.dtype.type(1)
    for j in range(len(starts)):
        for lane in range(lanes):
            s[lane] = ~zero
        for i in range(starts[j], ends[j]):
            match = matches[codes[i]]
            for lane in range(lanes):
                u = s[lane] & match[lane]
                s[lane] = (s[lane] + u) | (s[lane] - u)
        for lane in range(lanes):
            count = 0
            bits = ~s[lane]
            for _ in range(lengths[lane]):
                count += np.int64(bits & unit)
                bits = bits >> unit
            out[lane, j] = count


@compiled
def long_distances(pattern, codes, starts, ends, n_symbols, is_indel, out):
    """Distances for one pattern of any length, in blocks of 64 symbols.

    Gives Levenshtein distances, or lengths of common subsequences if `is_indel`.
    """
    m = len(pattern)
    blocks = (m + 63) // 64
    unit = np.uint64(1)
    zero = np.uint64(0)
    matches = np.zeros((n_symbols, blocks), np.uint64)
    for i in range(m):
        matches[pattern[i], i // 64] |= unit << np.uint64(i % 64)
    top = np.uint64((m - 1) % 64)
    plus = np.empty(blocks, np.uint64)
    minus = np.empty(blocks, np.uint64)
    for j in range(len(starts)):
        plus[:] = ~zero
        minus[:] = zero
        distance = m
        for i in range(starts[j], ends[j]):
            match = matches[codes[i]]
            if is_indel:
                carry = zero
                for k in range(blocks):
                    s = plus[k]
                    u = s & match[k]
                    total = s + u
                    carry_out = np.uint64(total < s)
                    total = total + carry
                    carry_out |= np.uint64(total < carry)
                    plus[k] = total | (s - u)
                    carry = carry_out
                continue
            hp_in = unit
            hn_in = zero
            for k in range(blocks):
                vp = plus[k]
                vn = minus[k]
                pm = match[k]
                pm_in = pm | hn_in
                d0 = (((pm_in & vp) + vp) ^ vp) | pm_in | vn
                hp = vn | ~(d0 | vp)
                hn = d0 & vp
                if k == blocks - 1:
                    distance += np.int64((hp >> top) & unit)
                    distance -= np.int64((hn >> top) & unit)
                hp_out = hp >> np.uint64(63)
                hn_out = hn >> np.uint64(63)
                hp = (hp << unit) | hp_in
                hn = (hn << unit) | hn_in
                plus[k] = hn | ~(d0 | hp)
                minus[k] = hp & d0
                hp_in = hp_out
                hn_in = hn_out
        if is_indel:
            count = 0
            for i in range(m):
                count += np.int64((~plus[i // 64] >> np.uint64(i % 64)) & unit)
            out[j] = count
        else:
            out[j] = distance


@compiled
def fill_edit_table(a, b, insert, delete, substitute, transpose, table):
    """Least costs of turning a[:i] into b[:j], for all i and j.

    `substitute[x, y]` is the cost of x -> y (0 where equal); `transpose`, if not
    negative, that of swapping two neighbours once (optimal string alignment).
    """
    m = len(a)
    n = len(b)
    table[0, 0] = 0.0
    for i in range(1, m + 1):
        table[i, 0] = table[i - 1, 0] + delete[a[i - 1]]
    for j in range(1, n + 1):
        table[0, j] = table[0, j - 1] + insert[b[j - 1]]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            x = a[i - 1]
            y = b[j - 1]
            best = table[i - 1, j - 1] + substitute[x, y]
            best = min(best, table[i - 1, j] + delete[x])
            best = min(best, table[i, j - 1] + insert[y])
            if transpose >= 0 and i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, table[i - 2, j - 2] + transpose)
            table[i, j] = best


@compiled
def damerau_distance(a, b, n_symbols):
    """Edits of insertion, deletion, substitution and swaps of neighbours.

    Unlike optimal string alignment it may edit between swapped symbols, and is a
    metric [Lowrance1975].
    """
    m = len(a)
    n = len(b)
    far = m + n
    table = np.zeros((m + 2, n + 2), np.int64)
    table[0, 0] = far
    for i in range(m + 1):
        table[i + 1, 0] = far
        table[i + 1, 1] = i
    for j in range(n + 1):
        table[0, j + 1] = far
        table[1, j + 1] = j
    last_row = np.zeros(n_symbols, np.int64)  # last row of a with each symbol
    for i in range(1, m + 1):
        last_column = 0  # last column of b that matched in this row
        for j in range(1, n + 1):
            k = last_row[b[j - 1]]
            match = last_column
            cost = 1
            if a[i - 1] == b[j - 1]:
                cost = 0
                last_column = j
            table[i + 1, j + 1] = min(
                min(table[i, j] + cost, table[i + 1, j] + 1),
                min(
                    table[i, j + 1] + 1,
                    table[k, match] + (i - k - 1) + 1 + (j - match - 1),
                ),
            )
        last_row[a[i - 1]] = i
    return table[m + 1, n + 1]


@compiled
def jaro_matches(a, b):
    """Symbols in common within the window of Jaro, and half of those out of order."""
    m = len(a)
    n = len(b)
    window = max(max(m, n) // 2 - 1, 0)
    in_a = np.zeros(m, np.uint8)
    in_b = np.zeros(n, np.uint8)
    count = 0
    for i in range(m):
        for j in range(max(0, i - window), min(n, i + window + 1)):
            if not in_b[j] and a[i] == b[j]:
                in_a[i] = 1
                in_b[j] = 1
                count += 1
                break
    moved = 0
    j = 0
    for i in range(m):
        if in_a[i]:
            while not in_b[j]:
                j += 1
            if a[i] != b[j]:
                moved += 1
            j += 1
    return count, moved // 2
