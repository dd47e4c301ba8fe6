"""Products A^T B of matrices with many rows and few columns, on any device.

A device computes a product by tiles of the result, and a small result has few of them,
so most of the device would wait. Here the rows are cut into parts, as many as give
every processor a tile, whose products are one batched product and then added up:

    A^T B = sum_p A_p^T B_p                                                      (1)

The sum over parts is in float64, and its order depends on the shapes alone. Parts hold
`TILES` tiles of the result in all, whatever n is: memory beyond A and B is bounded.

Cost      n a b flops, one read of A and B
Shapes    A (n, a)   B (n, b)   A^T B (a, b)
"""

from ..arrays.arrays import is_torch, namespace

TILES = 528  # four for each of the 132 processors of a large device
TILE = 64  # rows and columns of a tile of the result
LEAST_ROWS = 512  # of a part


def _is_on_accelerator(x) -> bool:
    """Whether an array is a torch tensor outside of main memory."""
    return is_torch(x) and x.device.type != "cpu"


def column_sums(A):
    """Sums of the columns of A in float64, without a copy of A.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.linalg.tall_products import column_sums
    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([4., 6.])
    """
    xp = namespace(A)
    return tall_product(xp.ones_like(A[:, :1]), A)[0, :]


def tall_product(A, B):
    """A^T B in float64, eq. (1).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.linalg.tall_products import tall_product
    >>> tall_product(np.ones((3, 1)), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([[ 9., 12.]])
    """
    xp = namespace(A)
    if not _is_on_accelerator(A):
        return xp.astype(xp.matrix_transpose(A) @ B, xp.float64)
    n, a = A.shape
    b = B.shape[1]
    parts = min(TILES // (-(-a // TILE) * -(-b // TILE)), n // LEAST_ROWS)
    if parts < 2:
        return (A.mT @ B).to(xp.float64)
    parts = next((p for p in range(parts, 3 * parts // 4, -1) if n % p == 0), parts)
    rows = n // parts
    cut = parts * rows
    if cut == n:
        products = xp.bmm(A.view(parts, rows, a).mT, B.view(parts, rows, b))
        return products.sum(0, dtype=xp.float64)
    products = xp.bmm(A[:cut].view(parts, rows, a).mT, B[:cut].view(parts, rows, b))
    total = products.sum(0, dtype=xp.float64)
    return total.add_(A[cut:].mT @ B[cut:])
