"""Machine instructions for compiled loops, written with Numba's and LLVM's internals.

Numba has no function for the instructions below, so that they are written in LLVM's
language, with Numba's and llvmlite's public interfaces for such extensions
(`numba.extending.intrinsic`, `llvmlite.ir`). Private ones are used in
`core/loops/numba_internals.py` alone. `HOOKS` lists what could change all the same, and
`tests/core/loops/test_intrinsics.py` says which one is gone.

    atomics          atomic_load, atomic_store, atomic_add, atomic_compare_exchange
    memory and bits  prefetch, add_pair, trailing_zeros, float32_of_bits
    SIMD of four     matmul_tile, matvec_four, add_scaled_four, add_two_scaled_four,
                     dot_four: float64, C-contiguous, rows padded to a multiple of FOUR
    SIMD of eight    running_products_eight: float32, padded to a multiple of EIGHT
    calls            call_density, float64_pointer: C functions by their address

An index i of an array a means a.ravel()[i].
"""

import sys
from contextlib import contextmanager

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

HOOKS = (
    "numba.types.ExternalFunction",
    "numba.types.CPointer",
    "numba.extending.intrinsic",
    "llvmlite.ir.VectorType",
    "llvmlite.ir.IRBuilder.load_atomic",
    "llvmlite.ir.IRBuilder.store_atomic",
    "llvmlite.ir.IRBuilder.atomic_rmw",
    "llvmlite.ir.IRBuilder.cmpxchg",
    "llvmlite.ir.IRBuilder.shuffle_vector",
    "llvmlite.ir.IRBuilder.insert_element",
    "llvmlite.ir.IRBuilder.inttoptr",
    "llvmlite.ir.IRBuilder.goto_block",
    "llvmlite.ir.IRBuilder.goto_entry_block",
)

FOUR = 4  # float64 numbers in one vector register
VECTOR = ir.VectorType(ir.DoubleType(), FOUR)
EIGHT = 8  # float32 numbers in one vector register
VECTOR_OF_EIGHT = ir.VectorType(ir.FloatType(), EIGHT)
FUSED = ("contract",)  # a * b + c is rounded once

yield_thread = types.ExternalFunction(
    "SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32()
)


def _element_pointer(context, builder, array_type, array, index):
    """Pointer to array.ravel()[index]."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def _declared_function(module, name, kind):
    """A function of this name and type that LLVM or the system provides."""
    return module.globals.get(name) or ir.Function(module, kind, name)


def _stack_variable(builder, value):
    """Pointer to a variable of the function that begins with a value."""
    with builder.goto_entry_block():
        pointer = builder.alloca(value.type)
    builder.store(value, pointer)
    return pointer


@contextmanager
def _counting_loop(builder, n):
    """Code written inside is repeated for an index 0..n-1, which is what it yields."""
    index_type = n.type
    entry_block = builder.block
    test, body, exit_block = map(builder.append_basic_block, ("test", "body", "after"))
    builder.branch(test)
    with builder.goto_block(test):
        index = builder.phi(index_type)
        builder.cbranch(builder.icmp_signed("<", index, n), body, exit_block)
    with builder.goto_block(body):
        yield index
        last = builder.block
        following = builder.add(index, index_type(1), flags=["nsw"])
        builder.branch(test)
    index.add_incoming(index_type(0), entry_block)
    index.add_incoming(following, last)
    builder.position_at_end(exit_block)


# ---- atomics on int64 arrays that threads share


@intrinsic
def atomic_load(typing, a, i):
    """a[i], and all that was written before it was stored."""

    def generate(context, builder, signature, args):
        pointer = _element_pointer(context, builder, signature.args[0], *args)
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(a, types.int64), generate


@intrinsic
def atomic_store(typing, a, i, value):
    """a[i] = value; whoever loads it also sees all that was written before."""

    def generate(context, builder, signature, args):
        pointer = _element_pointer(context, builder, signature.args[0], *args[:2])
        builder.store_atomic(args[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.none(a, types.int64, types.int64), generate


@intrinsic
def atomic_add(typing, a, i, value):
    """a[i] += value as one operation; returns what a[i] was."""

    def generate(context, builder, signature, args):
        pointer = _element_pointer(context, builder, signature.args[0], *args[:2])
        return builder.atomic_rmw("add", pointer, args[2], "acq_rel")

    return types.int64(a, types.int64, types.int64), generate


@intrinsic
def atomic_compare_exchange(typing, a, i, old, new):
    """a[i] = new if it still equals `old`; returns whether it did."""

    def generate(context, builder, signature, args):
        pointer = _element_pointer(context, builder, signature.args[0], *args[:2])
        pair = builder.cmpxchg(pointer, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    return types.boolean(a, types.int64, types.int64, types.int64), generate


# ---- memory and bits


@intrinsic
def prefetch(typing, array, index):
    """Ask for the cache line of array.ravel()[index] without waiting for it."""

    def generate(context, builder, signature, args):
        byte = ir.IntType(8).as_pointer()
        int_type = ir.IntType(32)
        pointer = _element_pointer(context, builder, signature.args[0], *args)
        kind = ir.FunctionType(ir.VoidType(), [byte, int_type, int_type, int_type])
        fetch = _declared_function(builder.module, "llvm.prefetch.p0", kind)
        pointer = builder.bitcast(pointer, byte)
        builder.call(
            fetch, [pointer, int_type(0), int_type(3), int_type(1)]
        )  # read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def add_pair(typing, array, index, a, b):
    """Add a and b to array.ravel()[index : index + 2] in one instruction; int64."""

    def generate(context, builder, signature, args):
        pair = ir.VectorType(ir.IntType(64), 2)
        pointer = _element_pointer(context, builder, signature.args[0], *args[:2])
        pointer = builder.bitcast(pointer, pair.as_pointer())
        operands = ir.Constant(pair, ir.Undefined)
        for lane in range(2):
            operands = builder.insert_element(
                operands, args[2 + lane], ir.IntType(32)(lane)
            )
        total = builder.add(builder.load(pointer, align=8), operands)
        builder.store(total, pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64, types.int64), generate


@intrinsic
def trailing_zeros(typing, word):
    """The place of the lowest bit of a uint64 that is one (64 if none is)."""

    def generate(context, builder, signature, args):
        int_type, flag = ir.IntType(64), ir.IntType(1)
        kind = ir.FunctionType(int_type, [int_type, flag])
        count = _declared_function(builder.module, "llvm.cttz.i64", kind)
        return builder.call(count, [args[0], flag(0)])

    return types.int64(types.uint64), generate


@intrinsic
def float32_of_bits(typing, bits):
    """The float32 whose 32 bits are those of an int32."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), generate


# ---- SIMD of four


class VectorCode:
    """Writes loads, stores and sums of vectors, of four numbers unless said."""

    def __init__(self, context, builder, signature, vector=VECTOR):
        self.context = context
        self.builder = builder
        self.array_types = signature.args
        self.vector = vector
        self.align = 8 if vector is VECTOR else 4

    def pointer(self, argument, array, index):
        """Pointer to array.ravel()[index]; the array is this argument's number."""
        array_type = self.array_types[argument]
        return _element_pointer(self.context, self.builder, array_type, array, index)

    def load(self, pointer):
        pointer = self.builder.bitcast(pointer, self.vector.as_pointer())
        return self.builder.load(pointer, align=self.align)

    def store(self, value, pointer):
        pointer = self.builder.bitcast(pointer, self.vector.as_pointer())
        self.builder.store(value, pointer, align=self.align)

    def broadcast(self, number):
        """The vector with this number in all places."""
        unset = ir.Constant(self.vector, ir.Undefined)
        single = self.builder.insert_element(unset, number, ir.IntType(32)(0))
        n = self.vector.count
        mask = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
        return self.builder.shuffle_vector(single, unset, mask)

    def multiply_add(self, total, a, b):
        """total + a b."""
        product = self.builder.fmul(a, b, flags=FUSED)
        return self.builder.fadd(total, product, flags=FUSED)

    def accumulators(self, n):
        """n variables that begin with zeros."""
        zero = ir.Constant(self.vector, [0.0] * self.vector.count)
        return [_stack_variable(self.builder, zero) for _ in range(n)]


@intrinsic
def matmul_tile(typing, X, x, Y, y, rows, m, width, C, c, sign, out):
    """4 x 4 tile of out = C + sign X^T Y, over m rows of X and Y.

    The tile begins at column x of X, column y of Y and index c of C and out.
    """

    def generate(context, builder, signature, args):
        X, x, Y, y, rows, m, width, C, c, sign, out = args
        code = VectorCode(context, builder, signature)
        totals = code.accumulators(FOUR)
        with _counting_loop(builder, m) as step:
            row = builder.mul(builder.load(code.pointer(4, rows, step)), width)
            right = code.load(code.pointer(2, Y, builder.add(row, y)))
            left = code.pointer(0, X, builder.add(row, x))
            for i, total in enumerate(totals):
                number = builder.load(builder.gep(left, [ir.IntType(64)(i)]))
                new = code.multiply_add(
                    builder.load(total), code.broadcast(number), right
                )
                builder.store(new, total)
        for total in totals:
            new = code.multiply_add(
                code.load(code.pointer(7, C, c)),
                builder.load(total),
                code.broadcast(sign),
            )
            code.store(new, code.pointer(10, out, c))
            c = builder.add(c, width)
        return context.get_dummy_value()

    i, f = types.intp, types.float64
    return types.void(X, i, Y, i, rows, i, i, C, i, f, out), generate


@intrinsic
def matvec_four(typing, A, index, width, a, n, start, out):
    """out = start + A^T a for 4 entries of out from `index` on; A has n rows."""

    def generate(context, builder, signature, args):
        A, index, width, a, n, start, out = args
        code = VectorCode(context, builder, signature)
        totals = code.accumulators(2)
        builder.store(code.load(code.pointer(5, start, index)), totals[0])
        groups = builder.lshr(n, ir.IntType(64)(2))
        with _counting_loop(builder, groups) as step:
            first = builder.shl(step, ir.IntType(64)(2))
            for i in range(FOUR):
                row = builder.add(first, ir.IntType(64)(i))
                offset = builder.add(builder.mul(row, width), index)
                four = code.load(code.pointer(0, A, offset))
                number = code.broadcast(builder.load(code.pointer(3, a, row)))
                total = totals[i % 2]
                new = code.multiply_add(builder.load(total), four, number)
                builder.store(new, total)
        summed = builder.fadd(*map(builder.load, totals))
        code.store(summed, code.pointer(6, out, index))
        return context.get_dummy_value()

    i = types.intp
    return types.void(A, i, i, a, i, start, out), generate


@intrinsic
def add_scaled_four(typing, y, a, i, out, j):
    """out[j : j + 4] += y a[i : i + 4]."""

    def generate(context, builder, signature, args):
        y, a, i, out, j = args
        code = VectorCode(context, builder, signature)
        target = code.pointer(3, out, j)
        four = code.load(code.pointer(1, a, i))
        code.store(
            code.multiply_add(code.load(target), four, code.broadcast(y)), target
        )
        return context.get_dummy_value()

    i = types.intp
    return types.void(types.float64, a, i, out, i), generate


@intrinsic
def add_two_scaled_four(typing, y, a, i, z, b, m, out, j):
    """out[j : j + 4] += y a[i : i + 4] + z b[m : m + 4]."""

    def generate(context, builder, signature, args):
        y, a, i, z, b, m, out, j = args
        code = VectorCode(context, builder, signature)
        target = code.pointer(6, out, j)
        four = code.load(code.pointer(1, a, i))
        new = code.multiply_add(code.load(target), four, code.broadcast(y))
        four = code.load(code.pointer(4, b, m))
        code.store(code.multiply_add(new, four, code.broadcast(z)), target)
        return context.get_dummy_value()

    i, f = types.intp, types.float64
    return types.void(f, a, i, f, b, i, out, i), generate


@intrinsic
def dot_four(typing, a, i, b, j, n):
    """sum a[i : i + n] b[j : j + n]; n is a multiple of FOUR."""

    def generate(context, builder, signature, args):
        a, i, b, j, n = args
        code = VectorCode(context, builder, signature)
        (total,) = code.accumulators(1)
        with _counting_loop(builder, builder.lshr(n, ir.IntType(64)(2))) as step:
            offset = builder.shl(step, ir.IntType(64)(2))
            left = code.load(code.pointer(0, a, builder.add(i, offset)))
            right = code.load(code.pointer(2, b, builder.add(j, offset)))
            builder.store(code.multiply_add(builder.load(total), left, right), total)
        four = builder.load(total)
        lane = [builder.extract_element(four, ir.IntType(32)(q)) for q in range(FOUR)]
        return builder.fadd(builder.fadd(lane[0], lane[1]), builder.fadd(*lane[2:]))

    i = types.intp
    return types.float64(a, i, b, i, i), generate


# ---- SIMD of eight


@intrinsic
def running_products_eight(typing, a, i, alpha, b, j, beta, c, n, out):
    """out[k] = out[k - 8] + (a[i + k] + alpha) (b[j + k] + beta) c[k] for k < n.

    The running sums of eight interleaved sequences; n is a multiple of EIGHT.
    """

    def generate(context, builder, signature, args):
        a, i, alpha, b, j, beta, c, n, out = args
        code = VectorCode(context, builder, signature, VECTOR_OF_EIGHT)
        (total,) = code.accumulators(1)
        alpha = code.broadcast(alpha)
        beta = code.broadcast(beta)
        with _counting_loop(builder, builder.lshr(n, ir.IntType(64)(3))) as step:
            k = builder.shl(step, ir.IntType(64)(3))
            left = code.load(code.pointer(0, a, builder.add(i, k)))
            right = code.load(code.pointer(3, b, builder.add(j, k)))
            product = builder.fmul(builder.fadd(left, alpha), builder.fadd(right, beta))
            scale = code.load(code.pointer(6, c, k))
            new = code.multiply_add(builder.load(total), product, scale)
            builder.store(new, total)
            code.store(new, code.pointer(8, out, k))
        return context.get_dummy_value()

    integer, number = types.intp, types.float32
    return types.void(a, integer, number, b, integer, number, c, integer, out), generate


# ---- calls by address


@intrinsic
def call_density(typing, address, x, g, d, table):
    """f(x, g, d, table) of the C function at an address; x, g, table are addresses.

    The function is  double f(double *x, double *g, int64 d, int64 *table).
    """

    def generate(context, builder, signature, args):
        int_type = ir.IntType(64)
        real = ir.DoubleType()
        reals, wholes = real.as_pointer(), int_type.as_pointer()
        kind = ir.FunctionType(real, [reals, reals, int_type, wholes])
        f = builder.inttoptr(args[0], kind.as_pointer())
        pointers = (args[1], reals), (args[2], reals), (args[4], wholes)
        x, g, table = (builder.inttoptr(a, p) for a, p in pointers)
        return builder.call(f, [x, g, args[3], table])

    return types.float64(*[types.int64] * 5), generate


@intrinsic
def float64_pointer(typing, address):
    """The address of float64 numbers as a pointer, for `numba.carray`."""

    def generate(context, builder, signature, args):
        return builder.inttoptr(args[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), generate
