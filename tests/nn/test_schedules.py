"""Learning-rate schedules."""

import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402

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
