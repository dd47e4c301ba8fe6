"""Compiled arithmetic on four numbers at once, for matrices that are small.

LLVM makes such instructions of loops over long rows; a row of 4 or 20 it computes one
number at a time. Arrays are float64 and C-contiguous, with rows filled up with zeros
to a multiple of FOUR; places are those of array.ravel().
"""

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from ._intrinsics import element_pointer

FOUR = 4
LANES = ir.VectorType(ir.DoubleType(), FOUR)
FUSED = ("contract",)


class Lanes:
    """What the functions below are written in."""

    def __init__(self, context, builder, signature):
        self.context, self.builder, self.kinds = context, builder, signature.args

    def at(self, which, array, place):
        return element_pointer(
            self.context, self.builder, self.kinds[which], array, place
        )

    def load(self, pointer):
        pointer = self.builder.bitcast(pointer, LANES.as_pointer())
        return self.builder.load(pointer, align=8)

    def store(self, value, pointer):
        pointer = self.builder.bitcast(pointer, LANES.as_pointer())
        self.builder.store(value, pointer, align=8)

    def spread(self, number):
        one = self.builder.insert_element(
            ir.Constant(LANES, ir.Undefined), number, ir.IntType(32)(0)
        )
        mask = ir.Constant(ir.VectorType(ir.IntType(32), FOUR), [0] * FOUR)
        return self.builder.shuffle_vector(one, ir.Constant(LANES, ir.Undefined), mask)

    def add(self, total, a, b):
        """total + a b."""
        product = self.builder.fmul(a, b, flags=FUSED)
        return self.builder.fadd(total, product, flags=FUSED)

    def totals(self, n):
        zero = ir.Constant(LANES, [0.0] * FOUR)
        return [cgutils.alloca_once_value(self.builder, zero) for _ in range(n)]


@intrinsic
def tile(typing, X, x, Y, y, rows, m, width, C, c, sign, out):
    """4 x 4 of C + sign X'Y: those at x in X and y in Y, over m of their rows."""

    def emit(context, builder, signature, args):
        X, x, Y, y, rows, m, width, C, c, sign, out = args
        do = Lanes(context, builder, signature)
        totals = do.totals(FOUR)
        with cgutils.for_range(builder, m) as loop:
            row = builder.mul(builder.load(do.at(4, rows, loop.index)), width)
            right = do.load(do.at(2, Y, builder.add(row, y)))
            left = do.at(0, X, builder.add(row, x))
            for i, total in enumerate(totals):
                number = builder.load(builder.gep(left, [ir.IntType(64)(i)]))
                new = do.add(builder.load(total), do.spread(number), right)
                builder.store(new, total)
        for total in totals:
            new = do.add(do.load(do.at(7, C, c)), builder.load(total), do.spread(sign))
            do.store(new, do.at(10, out, c))
            c = builder.add(c, width)
        return context.get_dummy_value()

    i, f = types.intp, types.float64
    return types.void(X, i, Y, i, rows, i, i, C, i, f, out), emit


@intrinsic
def column(typing, A, place, width, a, n, start, out):
    """out = start + A'a for 4 places of out; A has n rows."""

    def emit(context, builder, signature, args):
        A, place, width, a, n, start, out = args
        do = Lanes(context, builder, signature)
        totals = do.totals(2)
        builder.store(do.load(do.at(5, start, place)), totals[0])
        whole = builder.lshr(n, ir.IntType(64)(2))
        with cgutils.for_range(builder, whole) as loop:
            first = builder.shl(loop.index, ir.IntType(64)(2))
            for i in range(FOUR):
                row = builder.add(first, ir.IntType(64)(i))
                four = do.load(do.at(0, A, builder.add(builder.mul(row, width), place)))
                number = do.spread(builder.load(do.at(3, a, row)))
                total = totals[i % 2]
                builder.store(do.add(builder.load(total), four, number), total)
        both = builder.fadd(*map(builder.load, totals))
        do.store(both, do.at(6, out, place))
        return context.get_dummy_value()

    i = types.intp
    return types.void(A, i, i, a, i, start, out), emit


@intrinsic
def add_four(typing, y, a, i, out, j):
    """out[j : j + 4] += y a[i : i + 4]."""

    def emit(context, builder, signature, args):
        y, a, i, out, j = args
        do = Lanes(context, builder, signature)
        to = do.at(3, out, j)
        do.store(do.add(do.load(to), do.load(do.at(1, a, i)), do.spread(y)), to)
        return context.get_dummy_value()

    i = types.intp
    return types.void(types.float64, a, i, out, i), emit


@intrinsic
def add_two(typing, y, a, i, z, b, m, out, j):
    """out[j : j + 4] += y a[i : i + 4] + z b[m : m + 4]."""

    def emit(context, builder, signature, args):
        y, a, i, z, b, m, out, j = args
        do = Lanes(context, builder, signature)
        to = do.at(6, out, j)
        new = do.add(do.load(to), do.load(do.at(1, a, i)), do.spread(y))
        do.store(do.add(new, do.load(do.at(4, b, m)), do.spread(z)), to)
        return context.get_dummy_value()

    i, f = types.intp, types.float64
    return types.void(f, a, i, f, b, i, out, i), emit


@intrinsic
def inner(typing, a, i, b, j, n):
    """sum a[i : i + n] b[j : j + n]."""

    def emit(context, builder, signature, args):
        a, i, b, j, n = args
        do = Lanes(context, builder, signature)
        (total,) = do.totals(1)
        with cgutils.for_range(builder, builder.lshr(n, ir.IntType(64)(2))) as loop:
            place = builder.shl(loop.index, ir.IntType(64)(2))
            left = do.load(do.at(0, a, builder.add(i, place)))
            right = do.load(do.at(2, b, builder.add(j, place)))
            builder.store(do.add(builder.load(total), left, right), total)
        four = builder.load(total)
        lane = [builder.extract_element(four, ir.IntType(32)(q)) for q in range(FOUR)]
        return builder.fadd(builder.fadd(lane[0], lane[1]), builder.fadd(*lane[2:]))

    i = types.intp
    return types.float64(a, i, b, i, i), emit


@njit(cache=True, nogil=True)
def product(X, Y, C, sign, half, rows, out):
    """out = C + sign X'Y; `half` leaves out 4 x 4 tiles above the diagonal.

    Rows of Y that are zero are skipped: transitions have many.
    """
    k = len(X)
    for j in range(0, k, FOUR):
        m = 0
        for q in range(k):
            if Y[q, j] != 0 or Y[q, j + 1] != 0 or Y[q, j + 2] != 0 or Y[q, j + 3] != 0:
                rows[m] = q
                m += 1
        for i in range(j if half else 0, k, FOUR):
            tile(X, i, Y, j, rows, m, k, C, i * k + j, sign, out)


@njit(cache=True, nogil=True)
def mirror(S):
    """The upper half of S from the lower."""
    for i in range(len(S)):
        for j in range(i):
            S[j, i] = S[i, j]


@njit(cache=True, nogil=True)
def times(A, a, start, out):
    """out = start + A'a."""
    for j in range(0, len(a), FOUR):
        column(A, j, len(a), a, len(a), start, out)


@njit(cache=True, nogil=True)
def add(y, a, i, out, j, k):
    """out[j : j + k] += y a[i : i + k]."""
    for q in range(0, k, FOUR):
        add_four(y, a, i + q, out, j + q)


@njit(cache=True, nogil=True)
def add_both(y, a, i, z, b, m, out, j, k):
    """out[j : j + k] += y a[i : i + k] + z b[m : m + k]."""
    for q in range(0, k, FOUR):
        add_two(y, a, i + q, z, b, m + q, out, j + q)
