"""Learning-rate schedules."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.schedules import TrainingProgress  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


def test_schedules():
    clock = lambda step, total=10, epoch=0, seen=0: nn.schedules.TrainingProgress(
        step, epoch, seen, total
    )
    cosine = nn.schedules.warmup_cosine(2, floor=0.1)
    assert cosine(clock(0)) == 0.5 and cosine(clock(1)) == 1.0
    assert cosine(clock(6)) == pytest.approx(0.55)
    assert cosine(clock(10)) == pytest.approx(0.1)
    linear = nn.schedules.warmup_linear(floor=0.2)
    assert linear(clock(0)) == 1.0 and linear(clock(5)) == pytest.approx(0.6)
    assert nn.schedules.inverse_scaling(0.5)(clock(3, seen=99)) == pytest.approx(0.1)
    assert nn.schedules.step_decay(2, 0.5)(clock(0, epoch=5)) == 0.25


def curve(schedule, total=100):
    return np.array([schedule(TrainingProgress(i, 0, 0, total)) for i in range(total)])


def test_one_cycle_is_torch_s():
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 1.0)
    peer = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, 1.0, total_steps=100, cycle_momentum=False
    )
    wanted = []
    for _ in range(100):
        wanted.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        if len(wanted) < 100:
            peer.step()
    ours = curve(nn.schedules.one_cycle(29 / 99))
    assert ours == pytest.approx(np.array(wanted), abs=1e-9)


def test_warmdown_is_a_trapezoid():
    ours = curve(nn.schedules.warmdown(0.25, warmup=10))
    assert ours[:10] == pytest.approx(np.arange(1, 11) / 10)
    assert (ours[10:75] == 1).all() and ours[-1] == pytest.approx(1 / 25)
    assert np.allclose(np.diff(ours[75:]), -1 / 25)
    for bad in (lambda: nn.schedules.warmdown(0), lambda: nn.schedules.one_cycle(1)):
        with pytest.raises(ValueError, match="must be"):
            bad()


def test_schedules_of_the_step_number_are_used():
    from pansophy.optim.stochastic.schedules import cosine_decay

    ours = curve(nn.schedules.by_step(cosine_decay(1.0, 100)))
    assert ours == pytest.approx(curve(nn.schedules.warmup_cosine()))
