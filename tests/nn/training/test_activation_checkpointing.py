"""Checkpointed activations: the same gradients from less memory."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402

torch.set_num_threads(1)


def deep(checkpointed):
    torch.manual_seed(0)
    net = nn.Sequential(
        *[
            torch.nn.Sequential(
                torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Dropout(0.2)
            )
            for _ in range(6)
        ]
    )
    return nn.checkpoint_activations(net) if checkpointed else net


def saved_numbers(net, X):
    """Numbers that autograd keeps for the backward pass."""
    kept = []
    pack = lambda t: kept.append(t.numel()) or t
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        net(X).sum()
    return sum(kept)


def test_same_training_from_less_memory(rng):
    X = rng.normal(size=(40, 8)).astype(np.float32)
    results = [
        nn.train(deep(flag), (X, X[:, ::-1].copy()), epochs=3, device="cpu", seed=0)
        for flag in (False, True)
    ]
    one, two = (r.state.net.state_dict() for r in results)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[k], two[k]) for k in one)
    batch = torch.as_tensor(X)
    assert saved_numbers(deep(True), batch) < 0.5 * saved_numbers(deep(False), batch)


def test_blocks_are_found_or_asked_for():
    net = deep(False)
    assert nn.checkpoint_activations(net) is net
    wrapped = net[0].forward
    nn.checkpoint_activations(net)  # a second time changes nothing
    assert net[0].forward is wrapped
    with pytest.raises(ValueError, match="name the blocks"):
        nn.checkpoint_activations(torch.nn.Linear(2, 2))
