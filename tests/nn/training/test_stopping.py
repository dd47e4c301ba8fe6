"""Early stopping."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.stopping import (  # noqa: E402
    OverfittingWarning,
    StoppingState,
)
from tests.nn.linear_net import LinearNet, train  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


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
    result = train(LinearNet(), data, epochs=99, evaluate=evaluate, stop=stop)
    assert result.reason == "tolerance" and result.converged
    assert result.n_iter == 5  # 5, 3, then three that are no better
    assert torch.equal(result.state.net.w, kept[1])


def test_first_epochs_do_not_count(data):
    values = [1.0, 2.0, 3.0, 9.0, 8.0, 8.5, 8.6]
    stop = nn.EarlyStopping("score", patience=1, after=3)
    result = train(LinearNet(), data, epochs=99, evaluate=scripted(values), stop=stop)
    assert result.reason == "tolerance" and result.n_iter == 7
    whole = train(LinearNet(), data, epochs=5)
    assert torch.equal(result.state.net.w, whole.state.net.w)  # of the score 8


def test_best_of_a_score_that_rises(data):
    values = [0.1, 0.5, 0.4, math.nan, 0.3]
    stop = nn.EarlyStopping("score", patience=2, mode="max", tol=0.01)
    result = train(LinearNet(), data, epochs=5, evaluate=scripted(values), stop=stop)
    assert result.reason == "tolerance" and result.n_iter == 5
    assert np.isnan(result.history["score"][3])


def test_rate_is_cut_before_stopping():
    rule = nn.EarlyStopping("loss", patience=0, cut=0.1, floor=0.05)
    p, over = rule.update(StoppingState(best=1.0), 2.0)
    assert (
        p.rate == pytest.approx(0.1) and p.epochs_without_improvement == 0 and not over
    )
    p, over = rule.update(p, 2.0)
    assert p.rate == pytest.approx(0.01) and not over
    p, over = rule.update(p, 2.0)
    assert over


def test_unknown_monitor_is_named(data):
    with pytest.raises(ValueError, match="'scroe'"):
        train(LinearNet(), data, stop=nn.EarlyStopping("scroe"))


def test_the_weights_are_those_of_the_lowest_held_out_loss(rng):
    X, V = rng.normal(size=(2, 30, 20))
    w = rng.normal(size=(20, 1))
    noisy = lambda Z: (Z, Z @ w + 3 * rng.normal(size=(30, 1)))
    valid = noisy(V)
    result = train(
        LinearNet(20), noisy(X), epochs=400, batch_size=30, valid=valid,
        stop=nn.EarlyStopping(patience=8), optimiser=nn.Adam(0.05),
    )  # fmt: skip
    with torch.no_grad():
        batch = tuple(map(torch.as_tensor, valid))
        found = float(result.state.net.losses(batch)["loss"])
    assert found == pytest.approx(result.history["valid_loss"].min(), rel=1e-12)
    assert (
        len(result.history["valid_loss"]) - result.history["valid_loss"].argmin() == 10
    )


def test_a_run_that_overfits_is_told_so(rng):
    X, V = rng.normal(size=(2, 12, 10))
    Y = rng.normal(size=(2, 12, 1))
    with pytest.warns(OverfittingWarning, match="regularisation may be too"):
        train(
            LinearNet(10), (X, Y[0]), epochs=400, batch_size=12, valid=(V, Y[1]),
            stop=nn.EarlyStopping(patience=150), optimiser=nn.Adam(0.05),
        )  # fmt: skip
