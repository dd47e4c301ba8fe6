"""Hidden states: frequencies of many copies are those of the tables."""

import numpy as np

from pansophy.rl import as_pomdp, gather
from pansophy.rl.envs import POMDPEnv, VectorWorld


def test_frequencies_are_probabilities(rng):
    model = as_pomdp(
        rng.dirichlet(np.ones(3), (2, 3)),
        rng.dirichlet(np.ones(4), (2, 3)),
        rng.normal(size=(3, 2)),
        start=[0.2, 0.3, 0.5],
    )
    n = 20_000
    envs = VectorWorld(POMDPEnv(model), n)
    agent = type("One", (), {"act_batch": lambda self, o, rng: np.ones(len(o), int)})()
    steps = gather(envs, agent, 2, random_state=0)
    assert (steps.observation[0] == 4).all()
    p = model.start @ model.T[1] @ model.Z[1]
    seen = np.bincount(steps.observation[1], minlength=4) / n
    assert (np.abs(seen - p) < 4.5 * np.sqrt(p * (1 - p) / n)).all()
    expected = model.start @ model.r[:, 1]
    error = steps.reward[0].std() / np.sqrt(n)
    assert abs(steps.reward[0].mean() - expected) < 4.5 * error
