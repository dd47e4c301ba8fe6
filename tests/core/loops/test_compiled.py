"""Options of compiled loops are those that Numba knows."""

import numpy as np

from pansophy.core.loops import compiled


def test_every_set_compiles_and_sums():
    x = np.linspace(0, 1, 50)
    sets = [v for name, v in vars(compiled).items() if name.startswith("FASTMATH")]
    assert len(sets) == 5
    for flags in sets:

        @compiled.compiled(fastmath=flags)
        def total(x):
            s = 0.0
            for v in x:
                s += v * v
            return s

        assert np.isclose(total(x), x @ x)
