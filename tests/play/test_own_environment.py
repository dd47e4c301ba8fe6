"""An environment of one's own: from a module, a class or a Python file."""

import gymnasium
import pytest

from pansophy.play.own_environment import find_maker, load_module, name_environment

WORLD = """
import gymnasium


class World(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 1, float(action), True, False, {}
"""


@pytest.fixture
def registry():
    before = dict(gymnasium.registry)
    yield
    for name in set(gymnasium.registry) - set(before):
        del gymnasium.registry[name]


def test_a_file_with_one_class(tmp_path, registry):
    path = tmp_path / "small_world.py"
    path.write_text(WORLD)
    name = name_environment(str(path))
    env = gymnasium.make(name)
    env.reset(seed=0)
    assert env.step(1)[:3] == (1, 1.0, True)
    assert name_environment(f"{path}:World") in gymnasium.registry


def test_registered_names_stay_and_others_get_the_nearest():
    assert name_environment("CartPole-v1") == "CartPole-v1"
    with pytest.raises(ValueError, match="did you mean 'CartPole-v"):
        name_environment("CartPole")


def test_what_a_file_lacks_is_said(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        load_module(str(tmp_path / "none.py"))
    with pytest.raises(ValueError, match="there is no module"):
        load_module("no_such_module_of_ours")
    path = tmp_path / "empty_world.py"
    path.write_text("x = 1\n")
    module = load_module(str(path))
    with pytest.raises(ValueError, match="must define one environment class"):
        find_maker(module, "", str(path))
    with pytest.raises(ValueError, match="no class or function 'World'"):
        find_maker(module, "World", str(path))
