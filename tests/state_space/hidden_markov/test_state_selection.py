"""Selection of the number of states."""

import numpy as np
import pytest

from pansophy.state_space import (
    GaussianHMM,
    PoissonHMM,
    choose_states,
)


def test_number_of_states():
    rng = np.random.default_rng(11)
    z = np.repeat(rng.integers(0, 3, 45), 10)
    X = rng.normal(size=450) + 6 * z
    base = GaussianHMM(random_state=0, n_iter=40)
    choice = choose_states(base, X, n_components=[1, 2, 3, 4], cv=3)
    assert choice.n_components == 3
    assert choice.held_out.argmax() >= 2
    best = choice.model
    assert choice.bic[2] == pytest.approx(best.bic(X))
    assert "*" in str(choice).splitlines()[3]
    assert not hasattr(base, "means_")
    X, how = [np.arange(9) % 3] * 4, {"n_init": 1, "n_components": [1, 2]}
    many = choose_states(PoissonHMM(random_state=0), X, criterion="held_out", **how)
    assert np.isfinite(many.held_out).all()
    with pytest.raises(ValueError, match="criterion"):
        choose_states(base, X, criterion="icl")
