"""Tables that several diagnostics are tried on."""

import numpy as np


def people(seed, n=500):
    """Numbers, a town, a column with gaps and counts of people."""
    rng = np.random.default_rng(seed)
    return {
        "age": rng.normal(45, 12, n),
        "height": rng.normal(170, 9, n),
        "heat": rng.normal(15, 8, n),
        "town": rng.choice(["Rome", "Oslo", "Bern"], n, p=[0.5, 0.3, 0.2]),
        "gap": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "visits": rng.poisson(3, n),
    }


def mixed_columns(rng, n, d=8):
    """Normal columns, a category and counts; the first number decides about y."""
    table = {f"x{j}": rng.normal(size=n) for j in range(d)}
    table |= {"kind": rng.choice(list("abc"), n), "k": rng.integers(0, 40, n)}
    table["y"] = np.where(table["x0"] + rng.normal(size=n) > 0, "yes", "no")
    return table
