"""Where things are in the arrays that the loops share.

Numba spends most of its compile time on tuples of many arrays, so a node is a row of
two tables (whole numbers and reals) and a column's properties are a row of `meta`.
"""

from ..core import _pause  # noqa: F401  while these loops are compiled

# how loops are compiled; those that only other loops call are part of these, and need
# neither a way in from Python nor a place of their own in the cache
LOOP = {"cache": True, "nogil": True, "error_model": "numpy"}
INNER = LOOP | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "cache": False}

# kinds of criteria
SQUARE, XLOGX, POISSON, ABSOLUTE, NEWTON = 0, 1, 2, 3, 4
ERRORS, RATIO, GAUSS, JOINT, DIRECTION = 5, 6, 7, 8, 9

# nodes, whole numbers: N[node, ...]
LEFT, RIGHT, FEATURE, START, STOP, DEPTH, N_LEFT, CODE, HIST, OPEN = range(10)
MISSING_LEFT, KEY, WHOLE = range(10, 13)  # key names the random stream of the node

# nodes, bits: S[node, ...]; the codes that go left, then the groups still open
SET, GROUPS = 4, 4  # words of a set; where the groups start

# nodes, reals: R[node, ...]; from SUMS on the M sums of the node
THRESHOLD, IMPURITY, WEIGHT, GAIN, LOW, HIGH, BASE, TOL = range(8)
LEFT_SUM, LEFT_WEIGHT, SUMS = range(8, 11)  # of the left child, where one sum is kept

# the best split of a node along one feature: best[child, feature, ...]
B_GAIN, B_THRESHOLD, B_CODE, B_MISSING_LEFT, B_N_LEFT, B_FOUND = range(6)
B_SUM, B_WEIGHT, RECORD = range(6, 9)  # left sum and weight, where one sum is kept

# columns: meta[feature, ...]
SLOT, MISSING, TIES, SIGN, BINS, FORM, META = range(7)  # slot: row of x, or -1 - bytes

# forms of columns: by threshold; by set of codes: any, one level, half a circle
ORDERED, SUBSET, LEVEL, HALF = 0, 1, 2, 3

# counters: C[...]
NODES, FRONT, LEAVES, PARENT, FIRST, SECOND, FREE, LATER, TRIED, COUNTERS = range(10)

UNASKED = 2  # side of missing values where a node has none: `finish` decides
CHUNK = 512  # places scored at a time
NO_BYTE = 255  # the byte of a missing value
LANES = 8  # columns of a tile
COUNT_BITS = 24  # of a bin's second word, below the weight
