"""The training loop: what is special beyond the battery in tests/common/test_nets."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from pansophy import nn  # noqa: E402
from pansophy.core.drivers.progress import FitTask  # noqa: E402
from tests.nn.linear_net import LinearNet, train  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


def test_full_batch_small_steps_lower_the_loss(data):
    result = train(
        LinearNet(),
        data,
        epochs=50,
        batch_size=40,
        optimiser=nn.SGD(0.01),
        shuffle=False,
    )
    assert (np.diff(result.history["loss"]) < 0).all()


def test_an_epoch_may_end_inside_a_pass(data, tmp_path):
    options = {"batch_size": 7, "steps_per_epoch": 4}  # a pass is 6 batches
    whole = train(LinearNet(), data, epochs=5, **options)
    train(LinearNet(), data, epochs=2, checkpoint=tmp_path / "c", **options)
    rest = train(
        LinearNet(), data, epochs=5, checkpoint=tmp_path / "c", resume=True, **options
    )
    assert whole.state.step == rest.state.step == 20
    assert torch.equal(whole.state.net.w, rest.state.net.w)


def scripted(values):
    """`evaluate` that reports these values, one per epoch."""
    stream = iter(values)
    return lambda net: {"score": next(stream)}


def test_early_stopping_on_own_data_by_loss(rng):
    X, V = rng.normal(size=(2, 30, 20))
    w = rng.normal(size=(20, 1))
    noisy = lambda Z: (Z, Z @ w + 3 * rng.normal(size=(30, 1)))
    result = train(
        LinearNet(20),
        noisy(X),
        epochs=500,
        batch_size=30,
        valid=noisy(V),
        stop=nn.EarlyStopping(patience=5),
        optimiser=nn.Adam(0.05),
    )
    curve = result.history["valid_loss"]
    assert result.reason == "tolerance" and len(curve) == result.n_iter < 500
    assert curve.argmin() == len(curve) - 7  # six epochs in a row were no better


def test_interrupted_run_is_usable(data):
    calls = []

    def pull(net):
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt

    result = train(LinearNet(), data, epochs=9, batch_size=10, after_step=pull)
    assert result.interrupted and result.n_iter == 1
    assert torch.isfinite(result.state.net.w).all()


def test_divergence_keeps_the_last_finite_weights(data):
    rule = nn.SGD(1e80)
    with pytest.warns(ConvergenceWarning, match="diverged: a loss was not finite"):
        result = train(LinearNet(), data, epochs=9, batch_size=40, optimiser=rule)
    assert result.reason == "diverged"
    assert torch.isfinite(result.state.net.w).all()
    assert np.isfinite(result.history["loss"]).all()


def test_callback_may_stop(data):
    class Root:
        def subcontext(self, **_):
            return self

        def call_on_fit_task_begin(self, **_):
            pass

        def call_on_fit_task_end(self, **_):
            return True

    result = train(LinearNet(), data, epochs=9, task=FitTask(Root()))
    assert result.reason == "callback" and result.n_iter == 1


def test_bfloat16_trains(data):
    wide = tuple(a.astype(np.float32) for a in data)
    net = LinearNet().float()
    result = train(net, wide, epochs=200, amp=True, optimiser=nn.Adam(0.05))
    assert net.w.dtype == torch.float32
    assert result.history["loss"][-1] < 0.01


def test_batches_count_by_the_weight_the_net_gives(rng):
    """A net that averages over marked rows counts batches by their marks."""

    class Marked(LinearNet):
        def losses(self, batch):
            X, Y, mark = batch
            error = (X @ self.w + self.b - Y).square()[:, 0]
            return {"loss": (error * mark).sum() / mark.sum()}

        def batch_weight(self, batch):
            return float(batch[2].sum())

    X = rng.normal(size=(24, 3))
    mark = (np.arange(24) % 5 != 0).astype(float)
    rows = (X, X[:, :1] + 0.1, mark)
    options = {"epochs": 2, "shuffle": False, "optimiser": nn.SGD(0.1), "valid": rows}
    large = train(Marked(), rows, batch_size=24, **options)
    small = train(Marked(), rows, batch_size=7, accumulate=4, **options)
    torch.testing.assert_close(large.state.net.w, small.state.net.w)
    for name in ("loss", "valid_loss"):
        assert small.history[name] == pytest.approx(large.history[name], rel=1e-12)


def test_speed_is_in_the_history(data):
    coefs, intercepts = nn.glorot_uniform([3, 5, 1], np.random.default_rng(0))
    net = nn.MLP(coefs, intercepts, head="identity")
    history = train(net, data, epochs=2).history
    flops = net.flops(1) * history["rows_per_second"]
    assert history["flops_per_second"] == pytest.approx(flops)


def test_a_large_net_is_not_copied_after_short_epochs(data, monkeypatch):
    module = sys.modules["pansophy.nn.training.train"]
    monkeypatch.setattr(module, "SMALL_NET", 0)
    copies = []
    original = module.copy_weights

    def counting(net):
        copies.append(1)
        return original(net)

    monkeypatch.setattr(module, "copy_weights", counting)
    train(LinearNet(), data, epochs=40, batch_size=40)
    assert len(copies) == 3  # at the start and after each 20 steps


def test_the_program_s_random_numbers_are_kept(data):
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train(LinearNet(), data, epochs=1)
    assert torch.equal(torch.rand(3), wanted)


def test_checkpoint_of_another_run_is_refused(data, tmp_path):
    file = tmp_path / "run"
    train(LinearNet(), data, epochs=1, checkpoint=file, tag="one")
    with pytest.raises(ValueError, match="belongs to another run"):
        train(LinearNet(), data, epochs=2, checkpoint=file, resume=True, tag="two")


def test_resuming_a_stopped_run_changes_nothing(data, tmp_path):
    stop = nn.EarlyStopping("score", patience=1)
    options = {"stop": stop, "checkpoint": tmp_path / "run", "epochs": 50}
    values = [3.0, 1.0, 2.0, 2.0, 0.5]
    first = train(LinearNet(), data, **options, evaluate=scripted(values))
    again = train(LinearNet(), data, **options, evaluate=scripted(values), resume=True)
    assert first.reason == again.reason == "tolerance" and again.n_iter == 4
    assert torch.equal(first.state.net.w, again.state.net.w)


def test_nan_in_the_data_is_no_silent_end(data):
    broken = (torch.full_like(torch.as_tensor(data[0]), torch.nan), *data[1:])
    with pytest.warns(ConvergenceWarning, match="in the first epoch"):
        result = train(LinearNet(), broken, epochs=3)
    assert result.reason == "diverged" and not result.history
