"""Decoding with any state: cached = uncached, sampling rules, beams."""

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy import nn  # noqa: E402
from pansophy.core.chains.decoding import filter_logits, next_token, take_state  # noqa: E402
from pansophy.nn.nets.sequence_net import LayerSize  # noqa: E402

V = 6
LAYERS = {
    "rnn": lambda: nn.RNN(8, 8, 2),
    "gru": lambda: nn.GRU(8, 8),
    "lstm": lambda: nn.LSTM(8, 8, 2),
    "transformer": lambda: nn.TransformerEncoder(8, 2, 2, causal=True),
    "s4d": lambda: nn.ARCHITECTURES["s4d"](LayerSize(8, 8, 2)),
    "mamba": lambda: nn.ARCHITECTURES["mamba"](LayerSize(8, 8, 2)),
    "classic": lambda: nn.TransformerEncoder(8, 2, 1, options=nn.CLASSIC, causal=True),
}


@pytest.fixture(params=LAYERS)
def model(request):
    torch.manual_seed(0)
    made = nn.TokenModel(V, LAYERS[request.param](), 8).double()
    with torch.no_grad():
        for p in made.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return made


def greedy_without_cache(model, prompt, steps):
    tokens = prompt
    for _ in range(steps):
        logits, _ = model(tokens)
        tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], 1)
    return tokens[:, prompt.shape[1] :]


def test_cached_logits_are_uncached_logits(model):
    """Token by token, and a prefill in two chunks."""
    tokens = torch.randint(0, V, (3, 9))
    whole, _ = model(tokens)
    for pieces in ([1] * 9, [4, 5], [8, 1], [1, 8]):
        state, parts = None, []
        for piece in tokens.split(pieces, 1):
            logits, state = model(piece, state)
            parts.append(logits)
        torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-11, rtol=0)


def test_greedy_decoding(model):
    prompt = torch.randint(0, V, (2, 3))
    found = nn.decode(model, prompt, max_new=7, temperature=0)
    assert torch.equal(found, greedy_without_cache(model, prompt, 7))


def test_sampling_is_seeded_and_leaves_the_generator(model):
    prompt = torch.randint(0, V, (4, 2))
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one = nn.decode(model, prompt, max_new=6, random_state=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(nn.decode(model, prompt, max_new=6, random_state=1), one)
    assert not torch.equal(nn.decode(model, prompt, max_new=6, random_state=2), one)


def test_end_token_stops(model):
    prompt = torch.randint(0, V, (2, 2))
    first = nn.decode(model, prompt, max_new=1, temperature=0)
    end = int(first[0, 0])
    found = nn.decode(model, prompt, max_new=8, temperature=0, end=end)
    assert (found[0] == end).all()
    both = nn.decode(model, prompt[:1], max_new=8, temperature=0, end=end)
    assert both.shape == (1, 1)


def test_beam_search_is_exhaustive_search(model):
    """With as many beams as sequences there are, the best of all."""
    prompt = torch.randint(0, V, (3,))
    scores = {}
    for tail in itertools.product(range(V), repeat=3):
        logits, _ = model(torch.cat([prompt, torch.tensor(tail)])[None])
        steps = logits[0, 2:5].detach().double().log_softmax(-1)
        scores[tail] = float(steps[range(3), list(tail)].sum())
    beams = nn.beam_search(model, prompt, max_new=3, beams=V**2)
    ranked = sorted(scores, key=scores.get, reverse=True)
    assert [tuple(b.tokens) for b in beams[:5]] == ranked[:5]
    assert beams[0].log_prob == pytest.approx(scores[ranked[0]], rel=1e-10)
    one = nn.beam_search(model, prompt, max_new=3, beams=1)
    greedy = nn.decode(model, prompt[None], max_new=3, temperature=0)[0].tolist()
    assert one[0].tokens == greedy


def test_beam_search_with_end(model):
    prompt = torch.randint(0, V, (2,))
    end = 3
    scores = {}
    for n in (1, 2, 3):
        for tail in itertools.product(range(V), repeat=n):
            if end in tail[:-1] or (n < 3 and tail[-1] != end):
                continue
            logits, _ = model(torch.cat([prompt, torch.tensor(tail)])[None])
            steps = logits[0, 1 : 1 + n].detach().double().log_softmax(-1)
            scores[tail] = float(steps[range(n), list(tail)].sum())
    best = max(scores, key=scores.get)
    beams = nn.beam_search(model, prompt, max_new=3, beams=V**2, end=end)
    assert tuple(beams[0].tokens) == best
    by_length = max(scores, key=lambda s: scores[s] / len(s))
    beams = nn.beam_search(model, prompt, max_new=3, beams=V**2, end=end, alpha=1.0)
    assert tuple(beams[0].tokens) == by_length


LOGITS = torch.tensor([[math.log(p) for p in (0.5, 0.25, 0.15, 0.1)]])


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"top_k": 2}, [0, 1]),
        ({"top_k": 9}, [0, 1, 2, 3]),
        ({"top_p": 0.5}, [0]),
        ({"top_p": 0.51}, [0, 1]),
        ({"top_p": 1.0}, [0, 1, 2, 3]),
        ({"top_k": 3, "top_p": 0.8}, [0, 1]),
    ],
)
def test_filters_keep(options, kept):
    found = filter_logits(LOGITS.clone(), **options)
    assert torch.nonzero(found[0] > -math.inf)[:, 0].tolist() == kept


def test_temperature():
    many = LOGITS.expand(4000, -1)
    torch.manual_seed(0)
    share = lambda **o: float(
        (next_token(many, np.random.default_rng(0), **o) == 0).double().mean()
    )
    assert share(temperature=0) == 1.0
    assert share() == pytest.approx(0.5, abs=0.03)
    assert share(temperature=0.5) == pytest.approx(0.25 / 0.345, abs=0.03)
    assert share(temperature=100.0) == pytest.approx(0.25, abs=0.03)
    with pytest.raises(ValueError, match="must not be negative"):
        next_token(LOGITS, np.random.default_rng(0), temperature=-1)


def test_take_rows_of_nested_states():
    state = (torch.arange(3), (None, nn.KeyValueCache(torch.eye(3), torch.eye(3))))
    found = take_state(state, torch.tensor([2, 0]))
    assert found[0].tolist() == [2, 0] and found[1][0] is None
    assert isinstance(found[1][1], nn.KeyValueCache)
    assert found[1][1].k.tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(TypeError, match="tuples and arrays, got dict"):
        take_state({}, torch.tensor([0]))


def test_tied_embeddings_and_token_loss():
    model = nn.TokenModel(V, nn.GRU(8, 8), 8, tied=True)
    assert model.output.weight is model.embedding.weight
    with pytest.raises(ValueError, match="as wide as the embedding"):
        nn.TokenModel(V, nn.GRU(8, 4), 8, tied=True)
    tokens, lengths = torch.randint(0, V, (2, 6)), torch.tensor([6, 3])
    both = model.losses((tokens, lengths))["loss"]
    one = model.losses((tokens[:1],))["loss"]
    two = model.losses((tokens[1:, :3],))["loss"]
    torch.testing.assert_close(both, (5 * one + 2 * two) / 7)
    assert model.batch_weight((tokens, lengths)) == 7
    assert model.batch_weight((tokens,)) == 10
    logits, _ = model(tokens)  # the loss of token t is of logits t - 1
    wanted = torch.nn.functional.cross_entropy(logits[0, :-1], tokens[0, 1:])
    torch.testing.assert_close(one, wanted)


def test_decoding_leaves_the_mode():
    model = nn.TokenModel(V, nn.GRU(8, 8, 2, dropout=0.5), 8)
    prompt = torch.zeros(1, 1, dtype=torch.int64)
    one = nn.decode(model, prompt, max_new=5, temperature=0)
    assert model.training
    assert torch.equal(nn.decode(model, prompt, max_new=5, temperature=0), one)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", None])
@pytest.mark.parametrize("causal", [True, False])
def test_packed_documents_are_sequences_of_their_own(positions, causal):
    torch.manual_seed(0)
    options = nn.BlockOptions(positions=positions, max_length=12)
    layer = nn.TransformerEncoder(16, 2, 2, options=options, causal=causal)
    model = nn.TokenModel(10, layer, 16, separator=0).double().eval()
    packed = torch.tensor(
        [[5, 6, 0, 3, 4, 5, 0, 7, 8, 2], [0, 1, 2, 3, 0, 4, 0, 5, 6, 7]]
    )
    H = model.hidden(packed)
    for row, cuts in ((0, (0, 2, 6, 10)), (1, (0, 4, 6, 10))):
        for first, stop in itertools.pairwise(cuts):
            alone = model.hidden(packed[row : row + 1, first:stop])[0]
            torch.testing.assert_close(H[row, first:stop], alone)
