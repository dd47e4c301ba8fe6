"""Low-rank adaptation: nothing at first, only additions learn, merging is exact."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy import nn  # noqa: E402
from pansophy.nn.training.lora import lora_layers  # noqa: E402


def token_model():
    torch.manual_seed(0)
    layer = nn.TransformerEncoder(8, 2, 2, options=nn.STANDARD, causal=True)
    net = nn.TokenModel(11, layer, 8)
    with torch.no_grad():
        net.output.weight.normal_()
    return net


def trained(net, **options):
    tokens = np.random.default_rng(0).integers(0, 11, (6, 7))
    nn.train(net, (tokens,), epochs=3, optimiser=nn.Adam(0.05), seed=0, **options)
    return net


def test_a_new_adapter_changes_nothing_and_learns_alone():
    net = token_model()
    tokens = torch.randint(0, 11, (2, 5))
    before = net(tokens)[0]
    old = {k: v.clone() for k, v in net.state_dict().items()}
    nn.add_lora(net, ["*.W_q", "*.W_v"], rank=2, alpha=4)
    assert torch.equal(net(tokens)[0], before)
    assert nn.count_parameters(net) == 2 * 2 * 2 * (8 + 8)
    trained(net)
    assert not torch.allclose(net(tokens)[0], before)
    for name, value in net.state_dict().items():
        if not name.endswith((".A", ".B")):
            assert torch.equal(value, old[name.replace(".base.", ".")]), name


def test_merge_and_unmerge():
    net = trained(nn.add_lora(token_model(), ["*"], rank=3)).eval()
    tokens = torch.randint(0, 11, (2, 5))
    apart = net(tokens)[0]
    bits = {k: v.clone() for k, v in net.state_dict().items()}
    nn.merge_lora(nn.merge_lora(net))  # twice is once
    torch.testing.assert_close(net(tokens)[0], apart, atol=1e-5, rtol=1e-5)
    nn.unmerge_lora(net)
    after = net.state_dict()
    assert after.keys() == bits.keys()
    assert all(torch.equal(after[k], bits[k]) for k in bits)
    assert torch.equal(net(tokens)[0], apart)


def test_addition_by_hand():
    base = torch.nn.Linear(2, 2, bias=False)
    layer = nn.LoRALinear(base, 1, alpha=3)
    with torch.no_grad():
        base.weight.copy_(torch.eye(2))
        layer.A.copy_(torch.tensor([[1.0, 2.0]]))
        layer.B.copy_(torch.tensor([[1.0], [-1.0]]))
    found = layer(torch.tensor([[1.0, 1.0]]))
    assert found.tolist() == [[1 + 3 * 3, 1 - 3 * 3]]
    layer.merge()
    assert base.weight.tolist() == [[4.0, 6.0], [-3.0, -5.0]]


def test_only_the_adapter_travels():
    net = trained(nn.add_lora(token_model(), ["*.W_1"], rank=2, alpha=5))
    weights = nn.lora_weights(net)
    assert all(name.endswith((".A", ".B")) for name in weights)
    other = nn.load_lora(token_model(), weights, alpha=5).eval()
    tokens = torch.randint(0, 11, (2, 5))
    assert torch.equal(other(tokens)[0], net.eval()(tokens)[0])
    plain = nn.remove_lora(other)
    assert not lora_layers(plain)
    torch.testing.assert_close(plain(tokens)[0], net(tokens)[0], atol=1e-5, rtol=1e-5)
    original = nn.remove_lora(net, merge=False)
    assert torch.equal(original(tokens)[0], token_model().eval()(tokens)[0])


def test_output_is_left_out_unless_named():
    assert "output" not in lora_layers(nn.add_lora(token_model()))
    assert list(lora_layers(nn.add_lora(token_model(), ["output"]))) == ["output"]


def test_wrong_names_and_shapes():
    with pytest.raises(ValueError, match=r"no linear layer is called '\*\.W_z'"):
        nn.add_lora(token_model(), ["*.W_z"])
    weights = nn.lora_weights(nn.add_lora(token_model(), ["*.W_1"], rank=2))
    first = next(iter(weights))
    weights[first] = weights[first][:, :3]
    with pytest.raises(ValueError, match="in the file is"):
        nn.load_lora(token_model(), weights)
    with pytest.raises(ValueError, match="rank"):
        nn.add_lora(token_model(), rank=0)
