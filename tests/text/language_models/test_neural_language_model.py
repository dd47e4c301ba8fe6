"""Neural language models: one contract for all nets, files, fine-tuning, GPT-2."""

import json
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from torch.nn import functional  # noqa: E402

import pansophy  # noqa: E402
from pansophy import nn  # noqa: E402
from pansophy.base import InterruptedFitWarning  # noqa: E402
from pansophy.text import (  # noqa: E402
    BPE,
    Grammar,
    NeuralLanguageModel,
    NGramModel,
    StringSet,
    generate,
)
from pansophy.text.language_models.neural_language_model import scoring_windows  # noqa: E402

TEXTS = [
    "the cat sat on the mat", "the dog sat on the log", "a cat saw a dog",
    "the dog saw the cat on the mat", "a log is not a mat", "naïve 日本",
]  # fmt: skip
SMALL = {
    "vocab_size": 280, "hidden_size": 16, "n_layers": 2, "n_heads": 2, "dropout": 0.0,
    "context_length": 16, "batch_size": 4, "n_epochs": 5, "learning_rate_init": 0.01,
    "early_stopping": False, "random_state": 0, "device": "cpu",
}  # fmt: skip
ARCHITECTURES = ("transformer", "mamba", "s4d")


@pytest.fixture(scope="module", params=ARCHITECTURES)
def model(request):
    return NeuralLanguageModel(request.param, **SMALL).fit(TEXTS)


@pytest.fixture(scope="module")
def transformer():
    return NeuralLanguageModel(**SMALL).fit(TEXTS)


def test_conditionals_sum_to_one_and_make_up_log_probs(model):
    text = TEXTS[3]
    tokens = np.r_[[model.start_token], model.encode(text)].astype(np.int64)
    assert len(tokens) <= 16
    logits, _ = model.advance(tokens[None])
    p = functional.softmax(torch.from_numpy(logits[0]), -1).numpy()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    following = np.r_[tokens[1:], [model.end_token]]
    wanted = np.log(p[np.arange(len(tokens)), following])
    (found,) = model.log_probs([text])
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert model.score_samples([text]) == pytest.approx(wanted.sum(), abs=1e-4)
    bits = -wanted.sum() / math.log(2) / (len(text) + 1)
    assert model.bits_per_byte([text]) == pytest.approx(bits, abs=1e-5)
    assert model.perplexity([text]) == pytest.approx(math.exp(-wanted.mean()), rel=1e-5)
    assert model.score([text]) == pytest.approx(wanted.mean(), abs=1e-5)


def test_log_prob_of_a_continuation(model):
    whole = model.log_probs(["the cat sat"])[0]
    n = len(model.encode("the cat"))
    assert model.encode("the cat").tolist() == model.encode("the cat sat")[:n].tolist()
    found = model.log_prob(" sat", given="the cat")
    assert found == pytest.approx(whole[n:-1].sum(), abs=1e-5)


def test_batch_and_single_texts_agree(model):
    both = model.log_probs(TEXTS)
    for text, values in zip(TEXTS, both):
        np.testing.assert_allclose(model.log_probs([text])[0], values, atol=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_packed_documents_do_not_see_each_other(architecture):
    model = NeuralLanguageModel(architecture, **SMALL).fit(TEXTS)
    net = model.net_
    s = model.end_token
    one, two = [s, 5, 6, 7, s], [s, 8, 9, s]
    packed = torch.tensor([[*one, *two[1:]]])
    total = lambda t: float(net.losses((t,))["loss"].detach()) * (t.shape[1] - 1)
    alone = [total(torch.tensor([t])) for t in (one, two)]
    assert total(packed) == pytest.approx(sum(alone), rel=1e-5)
    changed = packed.clone()
    changed[0, 1:4] = torch.tensor([20, 21, 22])
    H, other = net.hidden(packed[:, :-1]), net.hidden(changed[:, :-1])
    torch.testing.assert_close(other[:, 4:], H[:, 4:], atol=1e-6, rtol=0)
    joined = NeuralLanguageModel(architecture, **SMALL, packing="joined").fit(TEXTS)
    H, other = (joined.net_.hidden(t[:, :-1]) for t in (packed, changed))
    assert not torch.allclose(other[:, 4:], H[:, 4:], atol=1e-6)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_beats_n_grams_on_a_sentence_that_it_learns(architecture):
    text = TEXTS[0]
    sizes = {**SMALL, "n_epochs": 60}
    model = NeuralLanguageModel(architecture, **sizes).fit([text] * 4)
    unigram = NGramModel(1, analyzer="char", smoothing="mle").fit([text] * 4)
    assert model.bits_per_byte([text]) < 0.2 * unigram.bits_per_byte([text])
    assert model.history_["loss"][-1] < 0.2 * model.history_["loss"][0]


# -- long texts ----------------------------------------------------------------------


def test_scoring_windows_cover_each_token_once():
    for n in range(1, 60):
        for context in (1, 2, 5, 16):
            scored = []
            for start, first, stop in scoring_windows(n, context):
                assert start <= first < stop <= n
                assert stop - start <= context
                assert start == 0 or first - start >= context // 2
                scored += range(first, stop)
            assert scored == list(range(n))


def test_long_texts_have_half_a_context_at_least(transformer):
    text = " ".join(TEXTS[:3])
    (found,) = transformer.log_probs([text])
    tokens = np.r_[
        [transformer.start_token], transformer.encode(text), [transformer.end_token]
    ].astype(np.int64)
    assert len(found) == len(tokens) - 1 > 16
    start, first, stop = list(scoring_windows(len(found), 16))[1]
    logits, _ = transformer.advance(tokens[None, start:stop])
    logs = functional.log_softmax(torch.from_numpy(logits[0]), -1).numpy()
    wanted = logs[np.arange(stop - start), tokens[start + 1 : stop + 1]]
    np.testing.assert_allclose(found[first:stop], wanted[first - start :], atol=1e-5)


def test_state_space_nets_see_all_of_a_long_text(monkeypatch):
    model = NeuralLanguageModel("mamba", **SMALL).fit(TEXTS)
    text = " ".join(TEXTS)
    whole = model.log_probs([text])[0]
    monkeypatch.setattr("pansophy.text.language_models.neural_language_model.CHUNK", 7)
    np.testing.assert_allclose(model.log_probs([text])[0], whole, atol=1e-4)


# -- generation ----------------------------------------------------------------------


def test_cached_generation_is_uncached(model):
    start = np.r_[[model.start_token], model.encode("the")].astype(np.int64)
    tokens = start
    for _ in range(8):
        logits, _ = model.advance(tokens[None])
        new = int(logits[0, -1].argmax())
        if new == model.end_token:
            break
        tokens = np.append(tokens, new)
    wanted = model.decode(tokens[len(start) :])
    assert model.generate("the", max_tokens=8, temperature=0) == wanted
    assert model.generate("the", max_tokens=8, beams=1) == wanted
    assert model.decode(
        generate(model, model.encode("the"), max_tokens=8, temperature=0)
    ) == wanted  # fmt: skip


def test_prompts_in_batches(model):
    prompts = ["the cat", "a", "the dog", ""]
    alone = [model.generate(p, max_tokens=6, temperature=0) for p in prompts]
    assert model.generate(prompts, max_tokens=6, temperature=0) == alone
    drawn = model.generate(prompts, max_tokens=6, random_state=1)
    assert drawn == model.generate(prompts, max_tokens=6, random_state=1)
    assert model.generate([]) == []


def test_generation_goes_on_beyond_the_context(transformer):
    forever = lambda tokens: [5, 6, 7]  # never the end
    found = transformer.generate("the", max_tokens=50, allowed=forever, random_state=0)
    assert len(transformer.encode(found)) > 30
    tokens = np.arange(40)[None] % 20
    logits, state = transformer.advance(tokens)
    assert logits.shape[1] == 16  # of more tokens than it sees, those of the last
    np.testing.assert_allclose(
        logits[0, -1], transformer.advance(tokens[:, -16:])[0][0, -1]
    )
    assert state.tokens.shape == (1, 16)


def test_constraints(model):
    strings = ["a mat", "a log", "日本"]
    for seed in range(4):
        found = model.generate(
            "the cat", constraint=StringSet(strings), random_state=seed, temperature=3.0
        )
        assert found in strings
    grammar = Grammar('s = "no" | "yes" s | "[" [0-9] "]"')
    found = model.generate("", constraint=grammar, beams=3, max_tokens=30)
    assert grammar.accepts(found)


# -- fitting ---------------------------------------------------------------------------


def weights(model):
    return {k: v.clone() for k, v in model.net_.state_dict().items()}


def assert_same_weights(one, two):
    a, b = weights(one), weights(two)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[k], b[k]) for k in a)


def test_lists_iterators_and_files_give_the_same_model(transformer, tmp_path):
    assert_same_weights(NeuralLanguageModel(**SMALL).fit(iter(TEXTS)), transformer)
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.txt").write_text(text, "utf-8")
    assert_same_weights(NeuralLanguageModel(**SMALL).fit_files(tmp_path), transformer)


def test_tokenizer_of_the_user(transformer):
    bpe = BPE(265).fit(TEXTS)
    model = NeuralLanguageModel(**SMALL, tokenizer=bpe).fit(iter(TEXTS))
    assert model.tokenizer_ is bpe
    assert model.end_token == 265 == model.net_.output.out_features - 1
    assert isinstance(model.generate("the", max_tokens=5, random_state=0), str)
    unfitted = BPE(262, special_tokens=("<|endoftext|>",))
    model = NeuralLanguageModel(**SMALL, tokenizer=unfitted).fit(iter(TEXTS))
    assert not hasattr(unfitted, "tokens_")
    assert model.end_token == 261 == model.net_.output.out_features - 1


def test_early_stopping_by_held_out_documents():
    sizes = {**SMALL, "n_epochs": 40, "early_stopping": True, "n_iter_no_change": 2}
    sizes["validation_fraction"] = 0.3
    model = NeuralLanguageModel(**sizes).fit(TEXTS[:5])
    assert model.n_iter_ < 40
    assert model.converged_
    assert len(model.history_["valid_loss"]) == model.n_iter_
    given = NeuralLanguageModel(**{**sizes, "early_stopping": False})
    given.fit(TEXTS[:4], validation=TEXTS[4:5])
    lowest = given.history_["valid_loss"].min()
    s = [given.end_token]
    ring = np.r_[s, given.encode(TEXTS[4]), s].astype(np.int64)
    loss = given.net_.losses((torch.from_numpy(ring)[None],))["loss"]
    assert float(loss.detach()) == pytest.approx(lowest, rel=1e-4)  # of the best epoch
    single = NeuralLanguageModel(**sizes).fit([" ".join(TEXTS)])
    assert "valid_loss" in single.history_


def test_resumed_run_is_the_run(tmp_path):
    sizes = {**SMALL, "dropout": 0.2, "n_epochs": 4}
    whole = NeuralLanguageModel(**sizes).fit(TEXTS)
    path = tmp_path / "run"

    class StopError(Exception):
        pass

    calls = []
    original = nn.Training._validate

    def stopping(self):
        calls.append(1)
        if len(calls) == 3:
            raise StopError
        return original(self)

    part = NeuralLanguageModel(**sizes, checkpoint=path)
    nn.Training._validate = stopping
    try:
        with pytest.raises(StopError):
            part.fit(TEXTS)
    finally:
        nn.Training._validate = original
    rest = NeuralLanguageModel(**sizes, checkpoint=path, resume=True).fit(TEXTS)
    assert_same_weights(rest, whole)
    with pytest.raises(ValueError, match="belongs to another run"):
        NeuralLanguageModel(**sizes, checkpoint=path, resume=True).fit(TEXTS[:3])


def test_interrupted_fit_is_a_model(monkeypatch):
    calls = []
    original = nn.Training._validate

    def interrupted(self):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(nn.Training, "_validate", interrupted)
    with pytest.warns(InterruptedFitWarning):
        model = NeuralLanguageModel(**SMALL).fit(TEXTS)
    assert model.interrupted_
    assert model.n_iter_ == 2
    assert np.isfinite(model.score(TEXTS))


def test_warm_start_goes_on(transformer):
    model = NeuralLanguageModel(**SMALL, warm_start=True).fit(TEXTS)
    tokenizer, before = model.tokenizer_, model.score(TEXTS)
    model.fit(TEXTS)
    assert model.tokenizer_ is tokenizer
    assert model.score(TEXTS) > before


def test_save_and_load(model, tmp_path):
    pansophy.save(model, tmp_path / "model")
    again = pansophy.load(tmp_path / "model")
    assert_same_weights(again, model)
    assert again.log_prob("the cat") == model.log_prob("the cat")
    tied = NeuralLanguageModel(**SMALL, tied=True).fit(TEXTS)
    pansophy.save(tied, tmp_path / "tied")
    again = pansophy.load(tmp_path / "tied")
    assert again.net_.output.weight is again.net_.embedding.weight
    assert again.log_prob("the cat") == tied.log_prob("the cat")


@pytest.mark.parametrize("architecture", ["transformer", "mamba"])
def test_fine_tuning_with_an_adapter(architecture, tmp_path):
    model = NeuralLanguageModel(architecture, **SMALL).fit(TEXTS)
    before = weights(model)
    other = ["zebras eat grass"] * 4
    changes = {"n_epochs": 30, "learning_rate_init": 0.05}
    tuned = model.fine_tune(other, rank=2, alpha=4, layers=["*", "output"], **changes)
    after = weights(model)
    assert all(torch.equal(after[k], before[k]) for k in before)
    assert tuned.score(other) > model.score(other) + 0.5
    assert tuned.n_epochs == 30 and not tuned.warm_start
    path = tmp_path / "adapter"
    tuned.save_adapter(path)
    pansophy.save(model, tmp_path / "model")
    assert path.stat().st_size < 0.6 * (tmp_path / "model").stat().st_size
    again = pansophy.load(tmp_path / "model").load_adapter(path)
    assert again.log_probs(other)[0].tolist() == tuned.log_probs(other)[0].tolist()
    merged = tuned.merge_adapter()
    one, two = (m.log_probs(other)[0] for m in (merged, tuned))
    np.testing.assert_allclose(one, two, atol=1e-4)
    assert weights(merged).keys() == before.keys()
    with pytest.raises(ValueError, match="no adapter"):
        merged.save_adapter(path)
    pansophy.save(tuned, tmp_path / "tuned")
    again = pansophy.load(tmp_path / "tuned")
    assert again.score(other) == tuned.score(other)


def test_fine_tuning_of_all_weights(transformer):
    tuned = transformer.fine_tune(["zebras eat grass"] * 4, n_epochs=20)
    assert tuned.score(["zebras eat grass"]) > transformer.score(["zebras eat grass"])
    assert tuned.tokenizer_ is transformer.tokenizer_


@pytest.mark.parametrize(
    ("params", "texts", "words"),
    [
        ({"n_heads": 3}, TEXTS, "n_heads must divide hidden_size"),
        ({}, [], "at least one text"),
        ({}, [""], "at least one text"),
        ({}, ["", ""], "at least one text"),
        ({}, ["a", 3], "texts must be str, got 3"),
        ({"vocab_size": 100}, TEXTS, "vocab_size of BPE must be at least 256"),
        ({"dropout": 1.0}, TEXTS, "dropout"),
    ],
)
def test_what_cannot_be_fitted(params, texts, words):
    with pytest.raises(ValueError, match=words):
        NeuralLanguageModel(**{**SMALL, **params}).fit(texts)


# -- GPT-2 -----------------------------------------------------------------------------


def random_gpt2(config):
    """Weights of a small GPT-2 under the names of its published files."""
    g = torch.Generator().manual_seed(0)
    d, V, L = (config[k] for k in ("n_embd", "vocab_size", "n_positions"))
    draw = lambda *shape: 0.3 * torch.randn(*shape, generator=g)
    state = {"wte.weight": draw(V, d), "wpe.weight": draw(L, d)}
    norms = ["ln_f"]
    for i in range(config["n_layer"]):
        norms += [f"h.{i}.ln_1", f"h.{i}.ln_2"]
        for name, k, m in (
            ("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, 4 * d),
            ("mlp.c_proj", 4 * d, d),
        ):  # fmt: skip
            state[f"h.{i}.{name}.weight"] = draw(k, m)
            state[f"h.{i}.{name}.bias"] = draw(m)
    for name in norms:
        state[f"{name}.weight"] = 1 + draw(d)
        state[f"{name}.bias"] = draw(d)
    return state


def gpt2_logits(state, config, tokens):
    """GPT-2's forward pass, written out."""
    eps, heads, d = (config[k] for k in ("layer_norm_epsilon", "n_head", "n_embd"))

    def norm(x, name):
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
        return scaled * state[f"{name}.weight"] + state[f"{name}.bias"]

    def linear(x, name):
        return x @ state[f"{name}.weight"] + state[f"{name}.bias"]

    L = len(tokens)
    x = state["wte.weight"][tokens] + state["wpe.weight"][:L]
    later = torch.ones(L, L).triu(1).bool()
    for i in range(config["n_layer"]):
        qkv = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn")
        q, k, v = (a.view(L, heads, d // heads) for a in qkv.split(d, dim=-1))
        e = torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(d // heads)
        a = e.masked_fill(later, -math.inf).softmax(-1)
        y = torch.einsum("hij,jhd->ihd", a, v).reshape(L, d)
        x = x + linear(y, f"h.{i}.attn.c_proj")
        z = linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        inner = math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)
        x = x + linear(0.5 * z * (1 + torch.tanh(inner)), f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ state["wte.weight"].T


@pytest.fixture
def gpt2_folder(tmp_path):
    from safetensors.torch import save_file

    bpe = BPE(270, special_tokens=("<|endoftext|>",)).fit(TEXTS)
    config = {
        "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 32, "vocab_size": 270,
        "layer_norm_epsilon": 1e-3, "activation_function": "gelu_new",
    }  # fmt: skip
    state = random_gpt2(config)
    bpe.to_json(tmp_path / "tokenizer.json")
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    save_file(state, tmp_path / "model.safetensors")
    return tmp_path, config, state


def test_gpt2_files_give_gpt2(gpt2_folder):
    folder, config, state = gpt2_folder
    model = NeuralLanguageModel.from_gpt2(folder)
    tokens = np.r_[[model.start_token], model.encode("the cat sat on")].astype(np.int64)
    wanted = gpt2_logits(state, config, torch.from_numpy(tokens))
    logits, _ = model.advance(tokens[None])
    np.testing.assert_allclose(logits[0], wanted.numpy(), atol=2e-4)
    greedy = model.generate("the cat", max_tokens=5, temperature=0)
    tuned = model.fine_tune(["the cat sat"] * 4, n_epochs=3, early_stopping=False)
    assert tuned.score(["the cat sat"]) > model.score(["the cat sat"])
    assert model.generate("the cat", max_tokens=5, temperature=0) == greedy


def test_gpt2_files_with_a_prefix_and_more_buffers(gpt2_folder):
    from safetensors.torch import save_file

    folder, _, state = gpt2_folder
    plain = NeuralLanguageModel.from_gpt2(folder).log_prob("the cat")
    prefixed = {f"transformer.{k}": v for k, v in state.items()}
    prefixed["transformer.h.0.attn.bias"] = torch.ones(1, 1, 32, 32).tril()
    save_file(prefixed, folder / "model.safetensors")
    assert NeuralLanguageModel.from_gpt2(folder).log_prob("the cat") == plain


def test_gpt2_files_that_do_not_fit(gpt2_folder):
    from safetensors.torch import save_file

    folder, config, state = gpt2_folder
    part = {k: v for k, v in state.items() if "c_fc" not in k}
    save_file(part, folder / "model.safetensors")
    with pytest.raises(ValueError, match="lacks weights of GPT-2"):
        NeuralLanguageModel.from_gpt2(folder)
    config["activation_function"] = "swish"
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(ValueError, match="activation_function"):
        NeuralLanguageModel.from_gpt2(folder)
