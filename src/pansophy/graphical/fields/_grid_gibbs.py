"""Compiled Gibbs sweeps over grids, one colour of the checkerboard at a time.

Pixels of a colour are not neighbours, so a colour is updated in any order, and it lies
in memory by itself: row i of colour c holds the columns 2 k + o, o = (i + c) & 1, at
place k + 1. The neighbours of place k are then places k of the rows above and below and
places k and k + 2 o - 1 of the same row, all of the other colour: four rows of bytes
that are added by vector instructions. Places outside the grid hold 0.

Every place k of a row has a random generator of its own (xoshiro128+), so that the
random numbers of a row are made by vector instructions as well.
"""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def _draw_random_row(lanes, r, n):
    """One step of the first n generators, into r."""
    for k in range(n):
        s0, s1, s2, s3 = lanes[0, k], lanes[1, k], lanes[2, k], lanes[3, k]
        r[k] = s0 + s3
        s2 ^= s0
        s3 ^= s1
        lanes[1, k] = s1 ^ s2
        lanes[0, k] = s0 ^ s3
        lanes[2, k] = s2 ^ (s1 << np.uint32(9))
        lanes[3, k] = (s3 << np.uint32(11)) | (s3 >> np.uint32(21))


@compiled
def wrap_borders(x, height, width):
    """Copy the borders of a colour to the opposite side, for periodic grids."""
    half = width // 2
    for i in range(1, height + 1):
        x[i, 0] = x[i, half]
        x[i, half + 1] = x[i, 1]
    for k in range(half + 2):
        x[0, k] = x[height, k]
        x[height + 1, k] = x[1, k]


@compiled
def ising_sweeps(x, kind, T, lanes, r, width, wrapped, sweeps):
    """`sweeps` updates of every spin: +1 where r < T[kind, sum of neighbours + 4].

    x (2, height + 2, half + 2) spins; kind, of the same shape, the row of T for the
    field of each place; T (kinds, 9) probabilities of +1 times 2^32; lanes (4, half)
    states of the generators.
    """
    height = x.shape[1] - 2
    for _ in range(sweeps):
        for c in range(2):
            for i in range(1, height + 1):
                o = (i - 1 + c) & 1
                n = (width - o + 1) // 2
                _draw_random_row(lanes, r, n)
                row_above, row_below, row = (
                    x[1 - c, i - 1],
                    x[1 - c, i + 1],
                    x[1 - c, i],
                )
                neighbors_in_row = row[2 * o :]
                spins, field_kind = x[c, i], kind[c, i]
                for k in range(n):
                    a = (
                        row_above[k + 1]
                        + row_below[k + 1]
                        + row[k + 1]
                        + neighbors_in_row[k]
                    )
                    spins[k + 1] = 1 if r[k] < T[field_kind[k + 1], a + 4] else -1
            if wrapped:
                wrap_borders(x[c], height, width)


@compiled
def potts_sweeps(x, P, E, lanes, r, wrapped, sweeps):
    """`sweeps` updates of every label of a padded grid x (height + 2, width + 2).

    P (height, width, q) weights of the labels by themselves, E (5,) the factor of
    having 0 to 4 neighbours of the same label; labels outside are q.
    """
    height, width, q = P.shape
    count, w = np.zeros(q + 1, np.int64), np.zeros(q)
    for _ in range(sweeps):
        for c in range(2):
            for i in range(1, height + 1):
                _draw_random_row(lanes, r, width)
                for j in range(1 + ((i + c) & 1), width + 1, 2):
                    for a in range(q + 1):
                        count[a] = 0
                    count[x[i - 1, j]] += 1
                    count[x[i + 1, j]] += 1
                    count[x[i, j - 1]] += 1
                    count[x[i, j + 1]] += 1
                    total = 0.0
                    for a in range(q):
                        total += P[i - 1, j - 1, a] * E[count[a]]
                        w[a] = total
                    u = (r[j - 1] + 0.5) * 2.0**-32 * total
                    label = 0
                    while label < q - 1 and w[label] <= u:
                        label += 1
                    x[i, j] = label
            if wrapped:
                for j in range(1, width + 1):
                    x[0, j], x[height + 1, j] = x[height, j], x[1, j]
                for i in range(1, height + 1):
                    x[i, 0], x[i, width + 1] = x[i, width], x[i, 1]
