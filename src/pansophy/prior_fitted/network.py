r"""A transformer that reads a whole table: training rows with targets, then new rows.

In three stages, each a stack of attention blocks (2) and two-layer nets (3):

1. *Columns as sets of rows.* A cell is embedded in e numbers; a training row adds the
   embedding of its target. In each column, m inducing vectors read the training rows
   and are read by all rows [1]_, so a cell knows its column's distribution and how
   the target varies along it, at cost O(n m) instead of O(n^2).
2. *Rows as sets of columns.* Each column gets a random vector, its identity, for the
   order of columns means nothing. Cells attend to the cells of their row; s summary
   vectors read them, and their concatenation, h = s e numbers, stands for the row.
3. *Context.* All rows attend to the training rows (and a few learnt vectors, rows that
   give the net room to think). A new row never reads another new row, so each is
   answered as if it were alone.

The norm is

.. math:: N(x) = x / \sqrt{\text{mean}(x^2) + \epsilon}                          (1)

and a block of attention from queries x to sources z with n rows

.. math:: x + O\, \text{softmax}\!\Big(\frac{(s \log n)\, Q N(x)\, (K N(z))^T}
          {\sqrt{c}}\Big) V N(z)                                                 (2)

where c is the width of a head and s is learnt for each head: among more rows a softmax
of the same scores is flatter, which the logarithm undoes [2]_. The other half is

.. math:: x + D\, \text{gelu}(U N(x))                                            (3)

What is read of the training rows (the keys and values of (2)) does not depend on the
new rows. `forward` gives it back as *memory*, and takes it in place of training rows.

Cost: O(n d e (m + e)) for the columns, O(n d^2 e) for the rows, O(n^2 h + n h^2) for
the context, each times its number of blocks.

References
----------
.. [1] Lee et al. (2019). Set transformer. ICML.
.. [2] Nakanishi (2025). Scalable-softmax is superior for attention. arXiv 2501.19399.
.. [3] Hollmann et al. (2025). Accurate predictions on small data with a tabular
   foundation model. Nature 637.
.. [4] Qu et al. (2025). TabICL: a tabular foundation model for in-context learning on
   large data. ICML.
"""

import math
from dataclasses import dataclass
from typing import Any

from ..core.arrays.arrays import namespace
from .operations import add_norm, gelu, linear, multi_head_attention, rms_norm

IDENTITY = 16  # length of the random vector that tells columns apart


@dataclass(frozen=True)
class NetworkShape:
    """Sizes of the network."""

    n_cell_features: int
    n_targets: int  # numbers that describe the target of a training row
    n_outputs: int
    width: int = 96  # e
    n_inducing: int = 32  # m
    n_summaries: int = 4  # s
    n_thinking: int = 16
    column_blocks: int = 2
    row_blocks: int = 2
    context_blocks: int = 12
    head_width: int = 32  # of stages 1 and 2; twice that in stage 3

    @property
    def row_width(self) -> int:
        """Numbers that stand for a row: h."""
        return self.n_summaries * self.width

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Shape of each weight, by name."""
        e, h = self.width, self.row_width
        shapes: dict[str, tuple[int, ...]] = {
            "cell": (e, self.n_cell_features),
            "identity": (e, IDENTITY),
            "cell_target": (e, self.n_targets),
            "row_target": (h, self.n_targets),
            "summaries": (self.n_summaries, e),
            "thinking": (self.n_thinking, h),
            "hidden": (2 * h, h),
            "output": (self.n_outputs, 2 * h),
        }

        def block(name: str, width: int, head_width: int) -> None:
            for part in ("query", "key", "value", "mix"):
                shapes[f"{name}.{part}"] = (width, width)
            shapes[f"{name}.scale"] = (width // head_width,)
            shapes[f"{name}.up"] = (2 * width, width)
            shapes[f"{name}.down"] = (width, 2 * width)

        for i in range(self.column_blocks):
            shapes[f"inducing.{i}"] = (self.n_inducing, e)
            block(f"read.{i}", e, self.head_width)
            block(f"write.{i}", e, self.head_width)
        for i in range(self.row_blocks):
            block(f"row.{i}", e, self.head_width)
        for i in range(self.context_blocks):
            block(f"context.{i}", h, 2 * self.head_width)
        return shapes


def _attention_block(weights, name: str, x, normed, keys, values, n_sources: int):
    """Equations (2) and (3) for x (..., q, w) with its norm; gives the next x and norm.

    Keys and values are (..., n, w), all heads side by side.
    """
    scale = weights[f"{name}.scale"]
    heads = scale.shape[0]
    factor = scale * math.log(max(n_sources, 2))
    query = weights[f"{name}.query"]
    query = query.reshape(heads, -1) * factor[:, None]  # of the weights: they are few
    queries = linear(normed, query.reshape(x.shape[-1], x.shape[-1]))
    mixed = multi_head_attention(queries, keys, values, heads)
    x, normed = add_norm(x, linear(mixed, weights[f"{name}.mix"]))
    hidden = gelu(linear(normed, weights[f"{name}.up"]))
    return add_norm(x, linear(hidden, weights[f"{name}.down"]))


def _keys_values(weights, name: str, normed) -> tuple[Any, Any]:
    """Keys and values of sources whose norms are given, (..., n, w)."""
    return (
        linear(normed, weights[f"{name}.key"]),
        linear(normed, weights[f"{name}.value"]),
    )


def forward(weights, shape: NetworkShape, cells, targets, identities, memory=None):
    """Outputs for the new rows, and the memory of the training rows.

    Parameters
    ----------
    weights : dict of arrays
        By the names of `NetworkShape.parameters`.
    cells : array (B, N, d, n_cell_features)
        Cells of B tables; the training rows come first.
    targets : array (B, n, n_targets)
        Targets of the n training rows; those of new rows are unknown, and zero.
        With `memory`, n is 0.
    identities : array (B, d, 16)
        Random numbers that tell the columns of a table apart.
    memory : list of (keys, values), optional
        As given back for the training rows: `cells` then holds new rows alone.

    Returns
    -------
    outputs : array (B, N - n, n_outputs)
    memory : list of (keys, values)
    """
    xp = namespace(cells)
    B, N, d, _ = cells.shape
    n = targets.shape[1]
    e, h = shape.width, shape.row_width
    kept: list[tuple[Any, Any]] = []
    known = iter(memory) if memory is not None else None

    def read(name, sources):
        """Keys and values of the training rows, made or remembered."""
        pair = _keys_values(weights, name, sources()) if known is None else next(known)
        kept.append(pair)
        return pair

    # 1. Columns as sets of rows.
    x = linear(cells, weights["cell"])
    if n:
        labelled = x[:, :n] + linear(targets, weights["cell_target"])[:, :, None]
        x = xp.concat([labelled, x[:, n:]], axis=1)
    x = xp.swapaxes(x, 1, 2).reshape(B * d, N, e)
    normed = rms_norm(x)
    for i in range(shape.column_blocks):

        def inducing(i=i, normed=normed):
            keys, values = _keys_values(weights, f"read.{i}", normed[:, :n])
            start = weights[f"inducing.{i}"]
            start = xp.broadcast_to(start, (B * d, *start.shape))
            return _attention_block(
                weights, f"read.{i}", start, rms_norm(start), keys, values, n
            )[1]

        keys, values = read(f"write.{i}", inducing)
        x, normed = _attention_block(
            weights, f"write.{i}", x, normed, keys, values, shape.n_inducing
        )

    # 2. Rows as sets of columns.
    x = x + linear(identities, weights["identity"]).reshape(B * d, 1, e)
    x = xp.swapaxes(x.reshape(B, d, N, e), 1, 2).reshape(B * N, d, e)
    summaries = weights["summaries"]
    summaries = xp.broadcast_to(summaries, (B * N, *summaries.shape))
    x = xp.concat([summaries, x], axis=1)
    normed = rms_norm(x)
    for i in range(shape.row_blocks):
        keys, values = _keys_values(weights, f"row.{i}", normed)
        if i == shape.row_blocks - 1:  # the summaries alone are read from here on
            x, normed = x[:, : shape.n_summaries], normed[:, : shape.n_summaries]
        n_sources = d + shape.n_summaries
        x, normed = _attention_block(
            weights, f"row.{i}", x, normed, keys, values, n_sources
        )

    # 3. Context.
    x = x.reshape(B, N, h)
    if n:
        labelled = x[:, :n] + linear(targets, weights["row_target"])
        thinking = weights["thinking"]
        thinking = xp.broadcast_to(thinking, (B, *thinking.shape))
        x = xp.concat([thinking, labelled, x[:, n:]], axis=1)
        n += shape.n_thinking
    normed = rms_norm(x)
    for i in range(shape.context_blocks):
        keys, values = read(f"context.{i}", lambda normed=normed: normed[:, :n])
        if i == shape.context_blocks - 1:  # only the new rows are read from here on
            x, normed = x[:, n:], normed[:, n:]
        n_sources = keys.shape[1]
        x, normed = _attention_block(
            weights, f"context.{i}", x, normed, keys, values, n_sources
        )
    hidden = gelu(linear(normed, weights["hidden"]))
    return linear(hidden, weights["output"]), kept
