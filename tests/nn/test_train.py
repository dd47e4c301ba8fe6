"""The training loop: what is special beyond the battery in tests/common/test_nets."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # nets this small lose time to a second thread

from pansophy import nn  # noqa: E402
from pansophy.core.progress import Task  # noqa: E402
from pansophy.nn.batches import Batches  # noqa: E402
from pansophy.nn.optimisers import FlatParameters  # noqa: E402
from pansophy.nn.stopping import StoppingState  # noqa: E402


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


@pytest.mark.parametrize(
    ("rule", "peer"),
    [
        (nn.Adam(0.05, 0.8, 0.9, 1e-6), {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-6}),
        (nn.SGD(0.05, 0.9), {"lr": 0.05, "momentum": 0.9}),
        (nn.SGD(0.05, 0.9, True), {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
        (nn.SGD(0.05), {"lr": 0.05}),
    ],
)
def test_optimisers_are_torch_s(rule, peer, data):
    options = {"epochs": 20, "batch_size": 40, "shuffle": False}
    ours = train(Linear(), data, optimiser=rule, **options)
    net = Linear()
    make = torch.optim.Adam if isinstance(rule, nn.Adam) else torch.optim.SGD
    optimiser = make(net.parameters(), **peer)
    batch = tuple(map(torch.as_tensor, data))
    for _ in range(20):
        optimiser.zero_grad()
        net.losses(batch)["loss"].backward()
        optimiser.step()
    torch.testing.assert_close(ours.state.net.w, net.w, rtol=1e-9, atol=1e-12)


def test_plain_adam_is_the_fused_one(rng):
    grads = [torch.as_tensor(rng.normal(size=7)) for _ in range(5)]
    packs = [
        FlatParameters([torch.nn.Parameter(torch.ones(7).double())]) for _ in range(2)
    ]
    rule = nn.Adam(0.1)
    fused, plain = (rule.init(p) for p in packs)
    for t, g in enumerate(grads, 1):
        for p in packs:
            p.g.copy_(g)
        rule.step(packs[0], fused, 1.0)
        rule.plain(packs[1], plain["m"], plain["v"], t, 0.1)
    torch.testing.assert_close(packs[0].w, packs[1].w)


def test_decay_pulls_matrices_and_spares_biases():
    net = Linear()
    with torch.no_grad():
        net.w.fill_(1.0)
        net.b.fill_(1.0)
    net.losses = lambda batch: {"loss": 0.0 * (net.w.sum() + net.b.sum())}
    rule = nn.SGD(0.1, decay=0.5)
    train(net, np.zeros((1, 3)), epochs=2, optimiser=rule)
    assert net.w.detach().numpy() == pytest.approx(0.95**2)
    assert net.b.detach().numpy() == pytest.approx(1.0)


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


def test_custom_optimiser_resumes_exactly(data, tmp_path):
    rule = nn.TorchOptimiser(torch.optim.Adagrad, {"lr": 0.1})
    options = {"optimiser": rule, "batch_size": 16}
    whole = train(Linear(), data, epochs=6, **options)
    train(Linear(), data, epochs=3, checkpoint=tmp_path / "c", **options)
    rest = train(
        Linear(), data, epochs=6, checkpoint=tmp_path / "c", resume=True, **options
    )
    assert torch.equal(whole.state.net.w, rest.state.net.w)
    assert not torch.equal(whole.state.net.w, torch.zeros_like(whole.state.net.w))


def test_an_epoch_may_end_inside_a_pass(data, tmp_path):
    options = {"batch_size": 7, "steps_per_epoch": 4}  # a pass is 6 batches
    whole = train(Linear(), data, epochs=5, **options)
    train(Linear(), data, epochs=2, checkpoint=tmp_path / "c", **options)
    rest = train(
        Linear(), data, epochs=5, checkpoint=tmp_path / "c", resume=True, **options
    )
    assert whole.state.step == rest.state.step == 20
    assert torch.equal(whole.state.net.w, rest.state.net.w)


def test_passes_take_every_row_once(rng):
    data = {"x": np.arange(23)}
    batches = Batches(data, 5, rng)
    seen = [b["x"] for b, _ in batches.one_pass()]
    assert [len(s) for s in seen] == [5, 5, 5, 5, 3]
    assert sorted(torch.cat(seen).tolist()) == list(range(23))
    inner = Batches(data, 5)
    inner.source.chunk = 7  # gathered in pieces
    assert torch.cat([b["x"] for b, _ in inner.one_pass()]).tolist() == list(range(23))


def test_rows_must_match():
    with pytest.raises(ValueError, match="equally many rows"):
        train(Linear(), (np.zeros((3, 3)), np.zeros((2, 1))))
    with pytest.raises(ValueError, match="at least one row"):
        train(Linear(), (np.zeros((0, 3)), np.zeros((0, 1))))


def scripted(values):
    """`evaluate` that reports these values, one per epoch."""
    stream = iter(values)
    return lambda net: {"score": next(stream)}


def test_patience_is_counted_exactly_and_the_best_restored(data):
    kept = []

    def evaluate(net):
        kept.append(net.w.detach().clone())
        return {"score": [5.0, 3.0, 4.0, 3.5, 3.2, 2.0][len(kept) - 1]}

    stop = nn.EarlyStopping("score", patience=2)
    result = train(Linear(), data, epochs=99, evaluate=evaluate, stop=stop)
    assert result.reason == "tolerance" and result.converged
    assert result.n_iter == 5  # 5, 3, then three that are no better
    assert torch.equal(result.state.net.w, kept[1])


def test_best_of_a_score_that_rises(data):
    values = [0.1, 0.5, 0.4, math.nan, 0.3]
    stop = nn.EarlyStopping("score", patience=2, mode="max", tol=0.01)
    result = train(Linear(), data, epochs=5, evaluate=scripted(values), stop=stop)
    assert result.reason == "tolerance" and result.n_iter == 5
    assert np.isnan(result.history["score"][3])


def test_rate_is_cut_before_stopping():
    rule = nn.EarlyStopping("loss", patience=0, cut=0.1, floor=0.05)
    p, over = rule.update(StoppingState(best=1.0), 2.0)
    assert p.rate == pytest.approx(0.1) and p.epochs_without_improvement == 0 and not over
    p, over = rule.update(p, 2.0)
    assert p.rate == pytest.approx(0.01) and not over
    p, over = rule.update(p, 2.0)
    assert over


def test_unknown_monitor_is_named(data):
    with pytest.raises(ValueError, match="'scroe'"):
        train(Linear(), data, stop=nn.EarlyStopping("scroe"))


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

    result = train(Linear(), data, epochs=9, task=Task(Root()))
    assert result.reason == "callback" and result.n_iter == 1


def test_clipped_gradient_has_the_given_norm(data):
    rule = nn.SGD(1.0)
    net = Linear()
    train(net, data, epochs=1, batch_size=40, optimiser=rule, clip=1e-3)
    moved = torch.cat([net.w.detach().view(-1), net.b.detach()])
    assert float(moved.norm()) == pytest.approx(1e-3, rel=1e-6)


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


def test_small_steps_take_few_threads_and_give_them_back(rng):
    seen = []
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        for width in (8, 400):
            coefs, intercepts = nn.glorot_uniform([50, width, width, 3], rng)
            data = rng.normal(size=(256, 50)), rng.integers(0, 3, 256)
            watch = lambda net: seen.append(torch.get_num_threads())
            net = nn.MLP(coefs, intercepts)
            train(net, data, epochs=1, batch_size=256, after_step=watch)
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 2]


def test_missing_device_is_a_clear_error(data):
    if torch.cuda.is_available():
        assert nn.train(Linear(), data, device="cuda", epochs=1).n_iter == 1
        return
    with pytest.raises(ValueError, match="no CUDA device"):
        nn.train(Linear(), data, device="cuda")
