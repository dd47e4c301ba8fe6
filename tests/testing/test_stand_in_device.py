"""The stand-in device keeps the rules of an accelerator and counts what crosses."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy.testing.stand_in_device import StandInDevice  # noqa: E402


def test_tensors_say_where_they_are_and_compute():
    with StandInDevice() as counts:
        x = torch.as_tensor(np.arange(6.0).reshape(3, 2)).to("standin")
        y = (x @ x.T).sum()
        assert y.device == torch.device("standin", 0)
        assert counts.n_waits == 0 and counts.n_bytes_in == 48
        assert float(y) == 117.0
        assert counts.n_waits == 1
        assert counts.operations == {"_to_copy": 1, "mm": 1, "sum": 1}


def test_numpy_does_not_see_the_numbers():
    with StandInDevice():
        x = torch.ones(3, device="standin")
        for look in (x.numpy, lambda: np.asarray(x)):
            with pytest.raises(TypeError, match="can't convert standin:0"):
                look()
        assert x.tolist() == [1.0, 1.0, 1.0]


def test_tensors_of_two_devices_do_not_meet():
    with StandInDevice():
        x = torch.ones(3, device="standin")
        with pytest.raises(RuntimeError, match="same device"):
            x + torch.ones(3)
        assert (x + torch.tensor(1.0)).tolist() == [2.0, 2.0, 2.0]  # a number may


def test_operations_in_place_and_views_share_numbers():
    with StandInDevice():
        x = torch.zeros(4, device="standin")
        part = x[1:3]
        part += 2
        x[0] = 5
        assert x.tolist() == [5.0, 2.0, 2.0, 0.0]


def test_nets_train_there():
    with StandInDevice() as counts:
        net = torch.nn.Linear(2, 1).to("standin")
        rule = torch.optim.SGD(net.parameters(), 0.1)
        x = torch.randn(8, 2, device="standin")
        counts.reset()
        for _ in range(3):
            rule.zero_grad()
            net(x).square().mean().backward()
            rule.step()
        assert net.weight.device.type == "standin" and counts.n_waits == 0


def test_what_waits_is_counted():
    with StandInDevice() as counts:
        x = torch.arange(4.0, device="standin")
        for wait in (lambda: x[x > 1], x.nonzero, lambda: bool(x.any()), x.cpu):
            counts.reset()
            wait()
            assert counts.n_waits == 1
        assert counts.n_bytes_out == 16
