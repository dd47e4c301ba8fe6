"""Images: axes, sizes, refusals, agents that learn from pixels."""

import numpy as np
import pytest
import torch

from pansophy.persist import load, save
from pansophy.rl import DQN, PPO, evaluate_agent
from pansophy.rl.deep.conv_features import ConvFeatures, is_conv_layers
from pansophy.rl.envs import Catch, Corridor

LAYERS = ((8, 3, 1),)
PIXELS = ((8, 3, 3), (16, 2, 1))  # a cell of 3 x 3 pixels at each place


def image_world():
    return Catch(5, 3, pixels=3)


def test_axes_are_read_as_they_come(rng):
    last = ConvFeatures((6, 5, 2), LAYERS)
    first = ConvFeatures((2, 6, 5), LAYERS)
    first.load_state_dict(last.state_dict())
    image = torch.tensor(rng.normal(size=(3, 6, 5, 2)), dtype=torch.float32)
    turned = image.permute(0, 3, 1, 2)
    found = last(image.reshape(3, -1))
    torch.testing.assert_close(first(turned.reshape(3, -1)), found)
    expected = torch.nn.functional.conv2d(
        turned, last.layers[0].weight, last.layers[0].bias
    )
    torch.testing.assert_close(found, expected.relu().flatten(1))
    assert last.width == found.shape[1] == 8 * 4 * 3
    grey = ConvFeatures((6, 5), LAYERS)
    assert grey(torch.zeros(2, 30)).shape == (2, grey.width)


def test_what_is_no_image_is_refused():
    with pytest.raises(ValueError, match="two or three axes, got the shape"):
        ConvFeatures((4,), LAYERS)
    with pytest.raises(ValueError, match="does not fit"):
        ConvFeatures((2, 2), LAYERS)
    with pytest.raises(ValueError, match="conv_layers of PPO need observations"):
        PPO(10, conv_layers=LAYERS).fit(Corridor(3))
    with pytest.raises(ValueError, match="conv_layers"):
        DQN(10, conv_layers=(8, 3, 1)).fit(image_world())
    assert is_conv_layers(()) and not is_conv_layers(((8, 0, 1),))


@pytest.mark.parametrize(
    "agent",
    [
        PPO(
            4000, n_envs=8, horizon=32, n_epochs=4, learning_rate=3e-3, gamma=0.9,
            conv_layers=PIXELS, hidden_layer_sizes=(32,), random_state=0,
        ),
        DQN(
            3000, n_envs=4, gamma=0.9, learning_starts=200, target_interval=100,
            exploration=0.2, conv_layers=PIXELS, hidden_layer_sizes=(32,),
            random_state=0,
        ),
    ],
    ids=["ppo", "dqn"],
)  # fmt: skip
def test_agents_catch_by_pixels(agent, tmp_path):
    agent.fit(image_world())
    assert evaluate_agent(agent, image_world(), 50).mean == 1.0
    save(agent, tmp_path / "agent.pansophy")
    again = load(tmp_path / "agent.pansophy")
    seen = np.stack([image_world().reset(seed=i)[0] for i in range(5)])
    np.testing.assert_array_equal(agent.predict(seen), again.predict(seen))
    np.testing.assert_array_equal(agent.value(seen), again.value(seen))


def test_options_combine_with_images():
    """A memory, distributions and priorities read the same features."""
    common = {"conv_layers": PIXELS, "hidden_layer_sizes": (8,), "random_state": 0}
    agents = [
        PPO(64, n_envs=2, horizon=8, memory="gru", memory_size=8, **common),
        DQN(
            64, n_envs=2, learning_starts=16, distribution="quantile", n_atoms=5,
            duelling=True, priority_exponent=0.5, **common,
        ),
    ]  # fmt: skip
    for agent in agents:
        agent.fit(image_world())
        actions = agent.act_batch(np.zeros((2, 15, 9, 1), np.uint8))
        assert actions.shape == (2,) and agent.n_steps_ >= 64
