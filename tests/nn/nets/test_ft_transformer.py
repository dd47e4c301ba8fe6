"""FT-transformer: tokens by hand, the set of tokens has no order, weighted losses."""

import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.nets.ft_transformer import LinearTokens  # noqa: E402

torch.set_num_threads(1)

BINS = [[-1.0, 0.0, 1.0], [-2.0, 2.0]]
NAN = float("nan")


def transformer(levels=(3, 4), embedding=None, bins=BINS, **options):
    torch.manual_seed(0)
    options = {"hidden_size": 8, "n_heads": 2, "dropout": 0.0, **options}
    return nn.FTTransformer(
        bins, list(levels), 2, embedding=embedding, **options
    ).double()


def moved(net):
    """The net away from its start, where its blocks do not mix tokens."""
    torch.manual_seed(1)
    for p in net.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return net.eval()


X = torch.tensor([[0.5, -1.0], [NAN, 3.0], [0.0, NAN]], dtype=torch.float64)
Z = torch.tensor([[2, 0], [1, 3], [0, 1]])


def test_linear_tokens():
    tokens = LinearTokens(2, 3)
    x = torch.tensor([[2.0, -1.0], [0.0, 0.5]])
    for i in range(2):
        for j in range(2):
            want = x[i, j] * tokens.weight[j] + tokens.bias[j]
            torch.testing.assert_close(tokens(x)[i, j], want)


def test_tokens_by_hand():
    """Eq. (1): the row, numbers or their missing values, categories."""
    net = transformer()
    t = net.tokens(X, Z)
    assert t.shape == (3, 5, 8) and net.n_tokens == 5
    table = net.categories.table.weight
    for i in range(3):
        torch.testing.assert_close(t[i, 0], net.row[0, 0])
        for j in range(2):
            known = X[i, j] * net.numbers.weight[j] + net.numbers.bias[j]
            want = net.missing[j] if X[i, j].isnan() else known
            torch.testing.assert_close(t[i, 1 + j], want)
        torch.testing.assert_close(t[i, 3], table[Z[i, 0]])
        torch.testing.assert_close(t[i, 4], table[3 + Z[i, 1]])  # a table of its own


@pytest.mark.parametrize("embedding", ["piecewise", "periodic"])
def test_embeddings_of_numbers(embedding):
    net = transformer(embedding=embedding)
    t = net.tokens(X, Z)
    torch.testing.assert_close(t[:1, 1:3], net.numbers(X[:1]))
    torch.testing.assert_close(t[1, 1], net.missing[0])
    assert bool(torch.isfinite(net(X, Z)).all())


def test_a_new_net_gives_all_rows_the_same_scores():
    scores = transformer().eval()(X, Z)
    torch.testing.assert_close(scores, scores[:1].expand(3, 2), rtol=0, atol=1e-12)
    assert bool((scores != 0).all())  # V is not 0: the gradient leaves the start
    scores = moved(transformer())(X, Z)
    assert not torch.allclose(scores, scores[:1].expand(3, 2))


def test_columns_have_no_order():
    """Columns in another order, with their own parameters, give the same scores."""
    net, other = moved(transformer([3, 3])), moved(transformer([3, 3]))
    swap = [1, 0]
    for name in ("weight", "bias"):
        getattr(other.numbers, name).data = getattr(net.numbers, name).data[swap]
    other.missing.data = net.missing.data[swap]
    table = net.categories.table.weight.data
    other.categories.table.weight.data = torch.cat([table[3:], table[:3]])
    got = other(X[:, swap], Z[:, swap].clamp(max=2))
    want = net(X, Z.clamp(max=2))
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-12)
    assert not torch.allclose(net(X[:, swap], Z.clamp(max=2)), want)


def test_only_numbers_or_only_categories():
    none = torch.zeros(3, 0, dtype=torch.int64)
    numbers = moved(transformer(levels=()))
    assert numbers.n_tokens == 3 and numbers(X, none).shape == (3, 2)
    categories = moved(transformer(bins=[]))
    assert categories.n_tokens == 3
    out = categories(X[:, :0], Z)
    assert out.shape == (3, 2) and not torch.allclose(out[0], out[1])


@pytest.mark.parametrize("embedding", ["piecewise", "periodic", None])
def test_tokens_do_not_decay(embedding):
    net = transformer(embedding=embedding)
    spared = set(net.undecayed)
    assert {"row", "missing", "categories.table.weight"} < spared
    matrices = [n for n, p in net.named_parameters() if n.startswith(("enc", "out"))]
    assert matrices and not spared & set(matrices)
    assert ("numbers.map.weight" in dict(net.named_parameters())) == (
        embedding is not None
    )
    assert "numbers.map.weight" not in spared
    assert ("numbers.weight" in spared) == (embedding is None)


def test_losses_are_weighted_means():
    net = moved(transformer())
    Y = torch.tensor([0, 1, 1])
    w = torch.tensor([1.0, 3.0, 0.0], dtype=torch.float64)
    each = torch.nn.functional.cross_entropy(net(X, Z), Y, reduction="none")
    plain = net.losses((X, Z, Y))["loss"]
    torch.testing.assert_close(plain, each.mean())
    weighted = net.losses((X, Z, Y, w))["loss"]
    torch.testing.assert_close(weighted, (each[0] + 3 * each[1]) / 4)


def test_operations_of_a_step():
    net = transformer(n_blocks=1)
    T, k = 5, 8
    blocks = 4 * k * k + 2 * k * 2 * k  # attention's maps and the feed-forward ones
    assert net.flops(10) == 6.0 * 10 * (blocks * T + T * T * k)


def test_refused_sizes():
    with pytest.raises(ValueError, match="multiple of n_heads, got 8 and 3"):
        transformer(n_heads=3)
    with pytest.raises(ValueError, match="embedding must be"):
        transformer(embedding="spline")
