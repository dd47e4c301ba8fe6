"""Times of the ways in which a kernel of the classical methods could be written.

python -m benchmarks.studies.gpu_variants
"""

import json
import os
from pathlib import Path

import numpy as np
import torch

from .gpu_classical import DEVICE, best_time, normal
from .gpu_survey import time_limit


def variants():
    """Times of the ways of the same kernel that a method could take."""
    from pansophy.core.linalg import tall_products

    out = {}

    def add(name, call):
        try:
            with time_limit(10):
                out[name] = best_time(call, 5)
        except Exception as error:
            out[name] = f"{type(error).__name__}: {error}"[:80]

    for dtype in (torch.float32, torch.float64):
        for n, d in ((2_000_000, 100), (500_000, 500), (2_000_000, 32)):
            X = normal(n, d, dtype=dtype)
            r = normal(n, dtype=dtype, seed=1)
            word = f"{n}x{d} {str(dtype)[6:]}"
            add(f"gram {word} X.T @ X", lambda X=X: X.T @ X)
            for tiles in (132, 264, 528, 1056, 2112):

                def product(X=X, tiles=tiles):
                    tall_products.TILES, before = tiles, tall_products.TILES
                    found = tall_products.tall_product(X, X)
                    tall_products.TILES = before
                    return found

                add(f"gram {word} tall, {tiles} tiles", product)
            add(f"X.T r {word} gemv", lambda X=X, r=r: X.T @ r)
            add(
                f"X.T r {word} tall",
                lambda X=X, r=r: tall_products.tall_product(r[:, None], X),
            )
            add(f"X.T r {word} sum", lambda X=X, r=r: (X * r[:, None]).sum(0))
            add(f"X w {word} gemv", lambda X=X: X @ X[0])
            add(f"column sums {word} sum", lambda X=X: X.sum(0))
            add(
                f"column sums {word} float64", lambda X=X: X.sum(0, dtype=torch.float64)
            )
            add(f"column sums {word} var_mean", lambda X=X: torch.var_mean(X, 0))
            add(f"finite {word} sum", lambda X=X: X.sum())
            add(
                f"finite {word} norm",
                lambda X=X: torch.linalg.vector_norm(X, torch.inf),
            )
            add(f"scaled {word} X * r", lambda X=X, r=r: X * r[:, None])
            del X, r
    for n, d, k in ((2_000_000, 32, 64), (1_000_000, 128, 256)):
        X = normal(n, d)
        C = X[:k].T.contiguous()
        z = torch.randint(k, (n,), device=DEVICE)
        word = f"{n}x{d} k={k}"
        for rows in (1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 20):
            buffer = torch.empty(rows, k, device=DEVICE)

            def assign(X=X, C=C, buffer=buffer, rows=rows, reduce=torch.argmin):
                for i in range(0, len(X), rows):
                    tile = X[i : i + rows]
                    reduce(torch.mm(tile, C, out=buffer[: len(tile)]), 1)

            add(f"assign {word} {rows} rows, argmin", assign)
            if rows == 1 << 17:
                add(
                    f"assign {word} {rows} rows, min",
                    lambda assign=assign: assign(reduce=torch.min),
                )
                tile = buffer
                part = X[:rows]
                add(f"argmin alone {word} {rows}", lambda t=tile: t.argmin(1))
                add(f"min alone {word} {rows}", lambda t=tile: t.min(1))
                add(f"mm alone {word} {rows}", lambda X=part, C=C: X @ C)
                labels = z[:rows]
                add(
                    f"one-hot alone {word} {rows}",
                    lambda t=tile, z=labels: t.zero_().scatter_(1, z[:, None], 1.0),
                )
                add(
                    f"one-hot compare {word} {rows}",
                    lambda z=labels, k=k: (
                        z[:, None] == torch.arange(k, device=DEVICE)
                    ).float(),
                )
                add(
                    f"hot.T @ X tall {word} {rows}",
                    lambda t=tile, X=part: tall_products.tall_product(t, X),
                )
                add(f"hot.T @ X mm {word} {rows}", lambda t=tile, X=part: t.T @ X)
                add(f"hot.sum(0) {word} {rows}", lambda t=tile: t.sum(0))
        add(
            f"sums {word} index_add",
            lambda X=X, z=z, k=k: X.new_zeros(k, X.shape[1]).index_add_(0, z, X),
        )

        def by_sorting(X=X, z=z, k=k):
            order = z.argsort()
            ends = torch.bincount(z, minlength=k)
            return torch.segment_reduce(X[order], "sum", lengths=ends, axis=0)

        add(f"sums {word} sort + segments", by_sorting)
        del X, C, z
    D = normal(1024, 16384)
    add("group minima 1024x16384 / 32", lambda: D.view(1024, 512, 32).amin(2))
    add(
        "topk 15 of 1024x6250",
        lambda: D[:, :6250].contiguous().topk(15, 1, largest=False),
    )
    add("topk 10 of 1024x16384", lambda: D.topk(10, 1, largest=False))
    add("sort 1024x480", lambda: D[:, :480].contiguous().sort(1, stable=True))
    S = normal(100, 100, dtype=torch.float64)
    S = S @ S.T
    add("eigh 100 device", lambda: torch.linalg.eigh(S))
    add("eigh 100 host", lambda: np.linalg.eigh(S.cpu().numpy()))
    S = normal(512, 512, dtype=torch.float64)
    S = S @ S.T
    add("eigh 512 device", lambda: torch.linalg.eigh(S))
    add("eigh 512 host", lambda: np.linalg.eigh(S.cpu().numpy()))
    return out


def main():
    found = variants()
    for name, seconds in found.items():
        word = seconds if isinstance(seconds, str) else f"{1e3 * seconds:.3f}"
        print(f"{word:>9s}  {name}")
    folder = Path(os.environ.get("OUT", "."))
    (folder / "gpu_variants.json").write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
