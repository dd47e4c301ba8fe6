"""Compiled binning: the bin of every value of a block of rows."""

import numpy as np

from ..core.compiled import compiled
from ..tree._structures import MISSING_CODE


@compiled
def encode_block(X, cuts, forms, codes, at, top, missing):
    """Codes of the rows of X, written from row `at` on.

    cuts (d, 256) float32 are the greatest values of the bins, inf from the last one
    on, so that the code of x is how many are below it: eight steps of bisection. A
    column with a form holds its codes. top and missing (d,) note the greatest code
    and whether a value is missing.
    """
    n, d = X.shape
    width = codes.shape[2]
    for i in range(n):
        for f in range(d):
            x = np.float32(X[i, f])
            c = np.uint8(MISSING_CODE)
            if x != x:
                missing[f] = 1
            elif forms[f]:
                c = np.uint8(x)
                top[f] = max(top[f], np.int64(c))
            else:
                p = 0
                row = cuts[f]
                for s in (128, 64, 32, 16, 8, 4, 2, 1):
                    p += s if row[p + s - 1] < x else 0
                c = np.uint8(p)
            codes[f // width, at + i, f % width] = c
