"""Compiled passes through an MLP and Adam equal those of torch."""

from itertools import pairwise

import numba
import numpy as np
import pytest
import torch

from pansophy.nn.nets import _compiled_mlp as loops
from pansophy.nn.nets.compiled_mlp import (
    adam_arrays,
    layer_table,
    suits_compiled_loops,
    total_units,
    widest_layer,
)
from pansophy.nn.nets.mlp import MLP
from pansophy.nn.training.optimisers import SGD, Adam, AdamW, pack_parameters


@numba.njit
def forward(w, layers, X, H):
    return loops.mlp_forward(w, layers, X, H)


@numba.njit
def backward(w, g, layers, X, H, D, spare):
    loops.mlp_backward(w, g, layers, X, H, D, spare)


@numba.njit
def step(net, eta):
    loops.adam_step(net, eta)


@numba.njit
def forward_row(w, layers, x, spare, f):
    loops.mlp_forward_row(w, layers, x, spare, f)


def make_mlp(sizes, rng, activation="tanh", **options):
    draw = lambda *shape: rng.normal(size=shape).astype(np.float32)
    coefs = [draw(m, k) for m, k in pairwise(sizes)]
    intercepts = [draw(k) for k in sizes[1:]]
    return MLP(coefs, intercepts, activation=activation, head="identity", **options)


def make_pack(mlp, rule=Adam()):
    (pack,) = pack_parameters(dict(mlp.named_parameters()), rule)
    return pack


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("sizes", [(3, 2), (3, 7, 2), (4, 9, 5, 1), (2, 3, 9, 4, 6)])
def test_single_rows_are_torchs(activation, sizes, rng):
    mlp = make_mlp(sizes, rng, activation)
    pack = make_pack(mlp)
    table = layer_table(mlp, pack.flat.w)
    w = pack.flat.w.numpy()
    X = rng.normal(size=(5, sizes[0])).astype(np.float32)
    X[2] = 0.0  # entries of 0 are passed over
    spare = np.full((2, widest_layer(table)), np.nan, np.float32)
    f = np.empty(sizes[-1], np.float32)
    with torch.no_grad():
        expected = mlp(torch.as_tensor(X)).numpy()
    for x, row in zip(X, expected, strict=True):
        forward_row(w, table, x, spare, f)
        np.testing.assert_allclose(f, row, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("sizes", [(3, 2), (3, 7, 2), (4, 9, 5, 1)])
def test_passes_are_torchs(activation, sizes, rng):
    mlp = make_mlp(sizes, rng, activation)
    pack = make_pack(mlp)
    table = layer_table(mlp, pack.flat.w)
    X = rng.normal(size=(11, sizes[0])).astype(np.float32)
    D = rng.normal(size=(11, sizes[-1])).astype(np.float32)
    with torch.no_grad():
        H = mlp.forward_pass(torch.as_tensor(X))
        mlp.backward_pass(H, torch.as_tensor(D))
    expected = pack.flat.g.numpy().copy()
    own = np.zeros(11 * total_units(table), np.float32)
    F = forward(pack.flat.w.numpy(), table, X, own)
    np.testing.assert_allclose(F, H[-1].numpy(), rtol=1e-4, atol=1e-5)
    deltas, spare = np.zeros((2, 11 * widest_layer(table)), np.float32)
    deltas[: D.size] = D.ravel()
    g = np.full_like(expected, np.nan)
    backward(pack.flat.w.numpy(), g, table, X, own, deltas, spare)
    np.testing.assert_allclose(g, expected, rtol=1e-3, atol=1e-4)


def test_tanh_is_exact_to_single_precision():
    x = np.linspace(-15, 15, 60_001, dtype=np.float32)
    table = layer_table_of_identity()
    w = np.array([1.0, 1.0, 0.0, 0.0], np.float32)  # two layers of one unit
    H = np.zeros(2 * len(x), np.float32)
    forward(w, table, x[:, None].copy(), H)
    exact = np.tanh(x.astype(float))
    np.testing.assert_allclose(H[: len(x)], exact, rtol=6e-7, atol=1e-12)
    assert np.abs(H).max() <= 1.0


def layer_table_of_identity():
    flat = torch.zeros(4)
    mlp = MLP(
        [np.ones((1, 1), np.float32)] * 2, [np.zeros(1, np.float32)] * 2,
        activation="tanh", head="identity",
    )  # fmt: skip
    for i, p in enumerate([*mlp.weights, *mlp.biases]):
        p.data = flat[i : i + 1].view(p.shape)
    return layer_table(mlp, flat)


@pytest.mark.parametrize("clip", [None, 0.1])
def test_adam_is_torchs(clip, rng):
    mlp = make_mlp((3, 4, 2), rng)
    pack = make_pack(mlp, Adam(0.01, eps=1e-5))
    twin = torch.nn.Parameter(pack.flat.w.clone())
    peer = torch.optim.Adam([twin], lr=0.005, eps=1e-5)
    for _ in range(5):
        g = torch.tensor(rng.normal(size=len(twin)), dtype=torch.float32)
        pack.flat.g.copy_(g)
        step(adam_arrays(pack, clip), 0.005)
        twin.grad = g.clone()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_([twin], clip)
        peer.step()
    torch.testing.assert_close(pack.flat.w, twin.detach(), rtol=1e-5, atol=1e-6)
    assert float(pack.state["t"]) == 5  # the memory is torch's


def test_which_nets_suit(rng):
    small = make_mlp((3, 4, 2), rng)
    assert suits_compiled_loops(small, 64)
    assert not suits_compiled_loops(small, 10**9)  # much work: torch has threads
    assert not suits_compiled_loops(make_mlp((3, 4, 2), rng, "logistic"), 64)
    assert not suits_compiled_loops(make_mlp((3, 4, 2), rng, dropout=0.5), 64)
    assert not suits_compiled_loops(make_mlp((3, 4, 2), rng).double(), 64)


@pytest.mark.parametrize("rule", [SGD(0.1), AdamW(0.1)])
def test_other_rules_are_refused(rule, rng):
    with pytest.raises(TypeError, match="Adam without decay"):
        adam_arrays(make_pack(make_mlp((3, 2), rng), rule))
