"""Where things are in the arrays that the loops share.

Numba spends most of its compile time on tuples of many arrays, so a node is a row of
two tables (whole numbers and reals) and a column's properties are a row of `meta`.
"""

# kinds of criteria
SQUARE, XLOGX, POISSON, ABSOLUTE = 0, 1, 2, 3

# nodes, whole numbers: N[node, ...]
LEFT, RIGHT, FEATURE, START, STOP, DEPTH, N_LEFT, CODE, HIST, OPEN = range(10)
MISSING_LEFT, KEY, WHOLE = range(10, 13)  # key names the random stream of the node

# nodes, reals: R[node, ...]; from SUMS on the M sums of the node
THRESHOLD, IMPURITY, WEIGHT, GAIN, LOW, HIGH, BASE, TOL, SUMS = range(9)

# the best split of a node along one feature: best[child, feature, ...]
B_GAIN, B_THRESHOLD, B_CODE, B_MISSING_LEFT, B_N_LEFT, B_FOUND, RECORD = range(7)

# columns: meta[feature, ...]
SLOT, MISSING, TIES, SIGN, BINS = range(5)  # slot: row of x, or -1 - row of codes

# counters: C[...]
NODES, FRONT, LEAVES, PARENT, FIRST, SECOND, FREE, LATER, TRIED, COUNTERS = range(10)

CHUNK = 512  # places scored at a time
NO_BYTE = 255  # the byte of a missing value
