"""The decorator of compiled loops, and how they may rearrange arithmetic.

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

A sum under "reassoc" must not share its loop with a store into an array. Such a loop
asks at run time whether the arrays overlap, takes those that lie within a few hundred
bytes of each other for overlapping, and then adds one by one: the last digits would
depend on where the memory manager has put the arrays. Store in one loop, add up in
another.
"""

from functools import partial
from typing import Any

from numba import njit

from .loop_cache import internals, keep_on_disk

# sums may be reordered: for long sums, where speed comes from vector instructions
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

# the same for values that are known to be numbers: minima and maxima in vectors
FASTMATH_NO_NAN = FASTMATH | {"nnan"}

# sums keep their order, so that the result does not depend on how a loop is unrolled
FASTMATH_ORDERED = {"contract", "nsz", "arcp"}
FASTMATH_ORDERED_NO_NAN = FASTMATH_ORDERED | {"nnan"}

# products are fused with sums, and nothing else: divisions are exact too
FASTMATH_FUSED = {"contract", "nsz"}


def compiled(
    function=None, /, *, inner=False, refcount=None, fastmath=False, **options
) -> Any:
    """Compiles a loop at its first call; the machine code is kept on disk.

    Every compiled function of the package is made by this decorator. It runs without
    the GIL, and a division by zero gives infinity or NaN as in NumPy.

    Parameters
    ----------
    inner : bool
        Whether only other compiled functions call this one. It becomes a part of them
        and needs neither an entry from Python nor a place of its own on disk. A loop
        that Python calls too is compiled once more where another loop calls it.
    refcount : bool or None
        Whether references to arrays are counted. A function that makes no array and
        returns none needs no counts, and much less is compiled if it takes many. None:
        they are counted unless it is an inner function.
    fastmath : bool or set of str
        Which rearrangements of floating-point arithmetic are allowed: one of the sets
        above.
    options
        Further options of `numba.njit`, such as `inline` and `forceinline`.
    """
    if function is None:
        return partial(
            compiled, inner=inner, refcount=refcount, fastmath=fastmath, **options
        )
    options |= {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    if internals is None:
        return _compiled_by_numba(function, inner, options)
    refcount = not inner if refcount is None else refcount
    make_part = partial(
        njit(**internals.loop_options(True, refcount) | options), function
    )
    if inner:
        return make_part()
    loop = njit(**internals.loop_options(False, refcount) | options)(function)
    if function.__name__ not in function.__code__.co_names:  # it does not call itself
        internals.let_loops_call(loop, make_part)
    return keep_on_disk(loop)


def _compiled_by_numba(function, inner, options) -> Any:
    """A loop in Numba's own compiler and cache, for a Numba that is not as expected.

    Where Numba finds no folder for its cache, nothing is kept.
    """
    options.pop("forceinline", None)  # for speed alone, and not public
    try:
        return njit(cache=not inner, **options)(function)
    except RuntimeError:
        return njit(**options)(function)
