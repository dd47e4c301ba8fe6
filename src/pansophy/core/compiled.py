"""Options of compiled loops: how floating-point arithmetic may be rearranged.

LLVM keeps the order of floating-point operations unless it is told otherwise. Each set
below allows certain rearrangements; infinities keep their meaning in all of them, and
NaN does wherever "nnan" is not listed. A loop that tests for NaN (`v != v`) must not
be given "nnan". Two sets that differ give results that differ in the last digits, so
the set of a loop is part of its result.

    contract  a * b + c in one instruction, rounded once
    reassoc   sums in another order: lets a sum use vector instructions
    nsz       -0.0 and 0.0 are the same
    arcp      division by multiplication with the reciprocal
    nnan      no value is NaN: lets comparisons use vector instructions
"""

# sums may be reordered: for long sums, where speed comes from vector instructions
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

# the same for values that are known to be numbers: minima and maxima in vectors
FASTMATH_NO_NAN = FASTMATH | {"nnan"}

# sums keep their order, so that the result does not depend on how a loop is unrolled
FASTMATH_ORDERED = {"contract", "nsz", "arcp"}
FASTMATH_ORDERED_NO_NAN = FASTMATH_ORDERED | {"nnan"}

# products are fused with sums, and nothing else: divisions are exact too
FASTMATH_FUSED = {"contract", "nsz"}

# how loops are compiled: kept on disk, without the GIL, division by zero as in NumPy
LOOP = {"cache": True, "nogil": True, "error_model": "numpy"}

# loops that only other loops call become part of these: they need no entry from Python
# and no place of their own in the cache
INNER_LOOP = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
