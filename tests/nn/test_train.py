"""The training loop: what is special beyond the battery in tests/common/test_nets."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.core.progress import FitTask  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


class Linear(torch.nn.Module):
    """y = X w + b on squared error, by autograd."""

    def __init__(self, d=3, k=1):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(d, k, dtype=torch.float64))
        self.b = torch.nn.Parameter(torch.zeros(k, dtype=torch.float64))

    def losses(self, batch):
        X, Y = batch
        return {"loss": (X @ self.w + self.b - Y).square().mean()}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3


def train(net, data, **options):
    return nn.train(net, data, **{"device": "cpu", "seed": 0, **options})


def test_full_batch_small_steps_lower_the_loss(data):
    result = train(
        Linear(), data, epochs=50, batch_size=40, optimiser=nn.SGD(0.01), shuffle=False
    )
    assert (np.diff(result.history["loss"]) < 0).all()


def test_penalised_linear_net_is_ridge(data):
    from sklearn.linear_model import Ridge

    from pansophy.neural_network.lbfgs_training import train_lbfgs

    X, Y = data
    net = nn.MLP([np.zeros((3, 1))], [np.zeros(1)], head="identity", alpha=7.0)
    result = train_lbfgs(net, (X, Y), tol=1e-10, device="cpu")
    peer = Ridge(7.0).fit(X, Y[:, 0])  # |y - Xw|^2 + alpha |w|^2, bias exempt
    assert result.converged
    W, b = net.layers[0]
    assert W.detach().numpy()[:, 0] == pytest.approx(peer.coef_, rel=1e-7)
    assert b.item() == pytest.approx(peer.intercept_, rel=1e-7)


def test_an_epoch_may_end_inside_a_pass(data, tmp_path):
    options = {"batch_size": 7, "steps_per_epoch": 4}  # a pass is 6 batches
    whole = train(Linear(), data, epochs=5, **options)
    train(Linear(), data, epochs=2, checkpoint=tmp_path / "c", **options)
    rest = train(
        Linear(), data, epochs=5, checkpoint=tmp_path / "c", resume=True, **options
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
        Linear(20),
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

    result = train(Linear(), data, epochs=9, batch_size=10, after_step=pull)
    assert result.interrupted and result.n_iter == 1
    assert torch.isfinite(result.state.net.w).all()


def test_divergence_keeps_the_last_finite_weights(data):
    rule = nn.SGD(1e80)
    result = train(Linear(), data, epochs=9, batch_size=40, optimiser=rule)
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

    result = train(Linear(), data, epochs=9, task=FitTask(Root()))
    assert result.reason == "callback" and result.n_iter == 1


def test_clipped_gradient_has_the_given_norm(data):
    rule = nn.SGD(1.0)
    net = Linear()
    train(net, data, epochs=1, batch_size=40, optimiser=rule, clip=1e-3)
    moved = torch.cat([net.w.detach().view(-1), net.b.detach()])
    assert float(moved.norm()) == pytest.approx(1e-3, rel=1e-6)


def test_bfloat16_trains(data):
    wide = tuple(a.astype(np.float32) for a in data)
    net = Linear().float()
    result = train(net, wide, epochs=200, amp=True, optimiser=nn.Adam(0.05))
    assert net.w.dtype == torch.float32
    assert result.history["loss"][-1] < 0.01


def test_two_optimisers_move_only_their_own(data):
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 1).double()
            self.b = torch.nn.Linear(3, 1).double()

        def losses(self, batch):
            one, two = self.a(batch[0]), self.b(batch[0])
            return {
                "a": (one - two).square().mean(),
                "b": (two - batch[1]).square().mean(),
            }

    rules = {"a": nn.SGD(0.0), "b": nn.SGD(0.1)}
    net = Pair()
    before = net.a.weight.detach().clone(), net.b.weight.detach().clone()
    result = train(net, data, epochs=2, optimiser=rules)
    assert torch.equal(net.a.weight, before[0])
    assert not torch.equal(net.b.weight, before[1])
    assert set(result.history) == {"loss", "a", "b"}
    with pytest.raises(ValueError, match=r"differ in \['b'\]"):
        train(Pair(), data, optimiser={"a": nn.SGD(0.1)})


def test_the_program_s_random_numbers_are_kept(data):
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train(Linear(), data, epochs=1)
    assert torch.equal(torch.rand(3), wanted)


def test_checkpoint_of_another_run_is_refused(data, tmp_path):
    file = tmp_path / "run"
    train(Linear(), data, epochs=1, checkpoint=file, tag="one")
    with pytest.raises(ValueError, match="belongs to another run"):
        train(Linear(), data, epochs=2, checkpoint=file, resume=True, tag="two")


def test_resuming_a_stopped_run_changes_nothing(data, tmp_path):
    stop = nn.EarlyStopping("score", patience=1)
    options = {"stop": stop, "checkpoint": tmp_path / "run", "epochs": 50}
    values = [3.0, 1.0, 2.0, 2.0, 0.5]
    first = train(Linear(), data, **options, evaluate=scripted(values))
    again = train(Linear(), data, **options, evaluate=scripted(values), resume=True)
    assert first.reason == again.reason == "tolerance" and again.n_iter == 4
    assert torch.equal(first.state.net.w, again.state.net.w)
