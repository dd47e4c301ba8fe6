"""Returns along runs."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.rl import QLearning, ReturnCurve
from pansophy.rl.envs import Corridor


def test_lines_bands_and_reference():
    runs = [ReturnCurve(np.arange(4), np.full((4, 2), k)) for k in (1.0, 2.0, 6.0)]
    ax = plot.returns({"one": runs, "two": runs[:1]}, reference=0.5)
    assert len(ax.lines) == 3 and len(ax.collections) == 1
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 3.0)
    assert plot.returns(runs[0]).get_xlabel() == "steps"
    other = ReturnCurve(np.arange(1, 5), np.ones((4, 2)))
    with pytest.raises(ValueError, match="different steps"):
        plot.returns({"one": [runs[0], other]})


def test_rewards_of_fitted_agents_and_curves_add_up():
    agent = QLearning(2000, random_state=0).fit(Corridor(3, max_steps=9))
    ax = plot.returns(agent, cumulative=True)
    line = ax.lines[0]
    np.testing.assert_allclose(line.get_ydata(), np.cumsum(agent.history_["return"]))
    np.testing.assert_array_equal(line.get_xdata(), np.cumsum(agent.history_["length"]))
    assert ax.get_ylabel() == "sum of rewards"
    mean = plot.returns([agent, agent]).lines
    assert len(mean) == 2
    assert mean[0].get_ydata()[-1] == pytest.approx(
        agent.history_["return"][-20:].mean()
    )
    assert mean[0].get_ydata()[4] == pytest.approx(agent.history_["return"][:5].mean())
    curve = ReturnCurve(np.arange(3), np.array([[1.0, 3.0], [2.0, 2.0], [0.0, 0.0]]))
    ax = plot.returns(curve, cumulative=True)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2.0, 4.0, 4.0])
    with pytest.raises(TypeError, match="got Corridor"):
        plot.returns(Corridor(3))
