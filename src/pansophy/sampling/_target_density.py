"""Log densities called by address from compiled loops.

A density is a C function  double f(double *x, double *g, int64 d, int64 *table)  that
gives log pi(x) and writes its gradient to g. A loop gets its address as a number, so
the loop is compiled once and for all, and a new density costs its own compilation
only. `table` tells of the data arrays, SLOT numbers each: address and shape.
"""

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

TABLE_SLOT = 4  # address and at most three lengths
FLOAT_POINTER = types.CPointer(types.float64)
DENSITY_SIGNATURE = types.float64(
    FLOAT_POINTER, FLOAT_POINTER, types.int64, types.CPointer(types.int64)
)


@intrinsic
def call_density(typing, address, x, g, d, table):
    """f(x, g, d, table) of the function at an address; x, g, table addresses too."""

    def emit(context, builder, signature, args):
        whole, real = ir.IntType(64), ir.DoubleType()
        reals, wholes = real.as_pointer(), whole.as_pointer()
        kind = ir.FunctionType(real, [reals, reals, whole, wholes])
        f = builder.inttoptr(args[0], kind.as_pointer())
        places = (args[1], reals), (args[2], reals), (args[4], wholes)
        x, g, table = (builder.inttoptr(a, p) for a, p in places)
        return builder.call(f, [x, g, args[3], table])

    return types.float64(*[types.int64] * 5), emit


@intrinsic
def float_pointer(typing, address):
    """The address of float64 numbers as a pointer."""

    def emit(context, builder, signature, args):
        return builder.inttoptr(args[0], ir.DoubleType().as_pointer())

    return FLOAT_POINTER(types.int64), emit


@njit(cache=True, nogil=True)
def evaluate_rows(address, X, G, table, out):
    """log pi and its gradient at the rows of X."""
    m, d = X.shape
    x, g = X.ctypes.data, G.ctypes.data
    for i in range(m):
        at = 8 * d * i
        out[i] = call_density(address, x + at, g + at, d, table)


DENSITY_SOURCE = """
def density(px, pg, d, table):
    x = carray(px, (d,))
{data}
    try:
{value}
    except Exception:
        return np.nan
"""
GRADIENT_SOURCE = """
        fits = s.size == d
        for j in range(d):
            pg[j] = s[j] if fits else np.nan
        return v"""


def compile_density(log_prob, grad, ndims):
    """The C function of Numba functions log_prob(x, *data) and grad(x, *data)."""
    names, lines = [], []
    for i, n in enumerate(ndims):
        at = TABLE_SLOT * i
        shape = "".join(f"table[{at + 1 + k}], " for k in range(n))
        lines.append(f"    a{i} = carray(reals_at(table[{at}]), ({shape}))")
        names.append(f", a{i}")
    given = "".join(names)
    if grad is True:
        value = f"        v, s = f(x{given})" + GRADIENT_SOURCE
    elif grad is None:
        value = f"        return f(x{given})"
    else:
        value = f"        v, s = f(x{given}), grad(x{given})" + GRADIENT_SOURCE
    source = DENSITY_SOURCE.format(data="\n".join(lines), value=value)
    scope = {"f": log_prob, "grad": grad, "carray": carray, "np": np}
    scope["reals_at"] = float_pointer
    exec(source, scope)  # our own text above, with nothing of the user's in it
    return cfunc(DENSITY_SIGNATURE)(scope["density"])
