"""Log densities called by address from compiled loops.

A density is a C function  double f(double *x, double *g, int64 d, int64 *table)  that
returns log pi(x) and writes its gradient to g. A loop gets its address as a number, so
the loop is compiled once, and a new density needs only its own compilation. `table`
describes the data arrays, TABLE_SLOT numbers each: address and shape.
"""

import numpy as np
from numba import carray, cfunc, types

from ...core.loops._intrinsics import call_density, float64_pointer
from ...core.loops.compiled import compiled

TABLE_SLOT = 4  # address and at most three lengths
FLOAT_POINTER = types.CPointer(types.float64)
DENSITY_SIGNATURE = types.float64(
    FLOAT_POINTER, FLOAT_POINTER, types.int64, types.CPointer(types.int64)
)


@compiled
def evaluate_rows(address, X, G, table, out):
    """log pi and its gradient at the rows of X."""
    m, d = X.shape
    x = X.ctypes.data
    g = G.ctypes.data
    for i in range(m):
        byte_offset = 8 * d * i
        out[i] = call_density(address, x + byte_offset, g + byte_offset, d, table)


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
        entry = TABLE_SLOT * i
        shape = "".join(f"table[{entry + 1 + k}], " for k in range(n))
        lines.append(f"    a{i} = carray(float64_pointer(table[{entry}]), ({shape}))")
        names.append(f", a{i}")
    arguments = "".join(names)
    if grad is True:
        value = f"        v, s = f(x{arguments})" + GRADIENT_SOURCE
    elif grad is None:
        value = f"        return f(x{arguments})"
    else:
        value = f"        v, s = f(x{arguments}), grad(x{arguments})" + GRADIENT_SOURCE
    source = DENSITY_SOURCE.format(data="\n".join(lines), value=value)
    scope = {"f": log_prob, "grad": grad, "carray": carray, "np": np}
    scope["float64_pointer"] = float64_pointer
    exec(source, scope)  # our own text above, with nothing of the user's in it
    return cfunc(DENSITY_SIGNATURE)(scope["density"])
