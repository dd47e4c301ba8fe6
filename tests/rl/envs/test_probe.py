"""Probe worlds: the reward and the end of each, and the best number."""

import pytest

from pansophy.rl.envs import ProbeWorld


@pytest.mark.parametrize(
    ("probe", "rewards"),
    [("constant", [1]), ("discount", [0, 1]), ("action", [1]), ("endless", [1] * 10)],
)
def test_rewards_until_the_end(probe, rewards):
    env = ProbeWorld(probe)
    env.reset(seed=0)
    found, over = [], False
    while not over:
        _, reward, ended, cut, _ = env.step(1)
        found.append(reward)
        over = ended or cut
    assert found == rewards and ended == (probe != "endless")


@pytest.mark.parametrize("probe", ["observation", "both"])
def test_what_is_seen_is_what_pays(probe):
    env = ProbeWorld(probe)
    seen = {float(env.reset(seed=s)[0][0]) for s in range(20)}
    assert seen == {-1.0, 1.0}
    x = float(env.reset(seed=3)[0][0])
    right, wrong = int(x > 0), int(x <= 0)
    assert env.step(right)[1] == (1.0 if probe == "both" else x)
    if probe == "both":
        env.reset(seed=3)
        assert env.step(wrong)[1] == -1.0


def test_numbers_as_actions_and_unknown_worlds():
    env = ProbeWorld("action", continuous=True)
    env.reset(seed=0)
    assert env.step([0.5])[1] == 1.0
    env.reset()
    assert env.step([-0.5])[1] == -3.0
    with pytest.raises(ValueError, match="probe must be one of constant, "):
        ProbeWorld("odd")
