"""Compiled access to memory and bits, one machine instruction each."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def place_of(context, builder, kind, array, index):
    """Pointer to array.ravel()[index]."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def touch(typing, array, place):
    """Ask for the cache line of array.ravel()[place], without waiting for it."""

    def emit(context, builder, signature, args):
        byte, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
        at = place_of(context, builder, signature.args[0], *args)
        kind = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        at = builder.bitcast(at, byte)
        builder.call(ask, [at, whole(0), whole(3), whole(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@intrinsic
def add_pair(typing, array, place, a, b):
    """Add a and b to array.ravel()[place] and to the one after it, at once."""

    def emit(context, builder, signature, args):
        pair = ir.VectorType(ir.IntType(64), 2)
        at = place_of(context, builder, signature.args[0], *args[:2])
        at = builder.bitcast(at, pair.as_pointer())
        both = ir.Constant(pair, ir.Undefined)
        for lane in range(2):
            both = builder.insert_element(both, args[2 + lane], ir.IntType(32)(lane))
        total = builder.add(builder.load(at, align=8), both)
        builder.store(total, at, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64, types.int64), emit


@intrinsic
def lowest(typing, word):
    """The place of the lowest bit that is one (64 if none is)."""

    def emit(context, builder, signature, args):
        whole, flag = ir.IntType(64), ir.IntType(1)
        kind = ir.FunctionType(whole, [whole, flag])
        count = cgutils.get_or_insert_function(builder.module, kind, "llvm.cttz.i64")
        return builder.call(count, [args[0], flag(0)])

    return types.int64(types.uint64), emit
