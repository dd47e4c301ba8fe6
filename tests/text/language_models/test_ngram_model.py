"""N-gram models: against the definition, sums of probabilities, measures."""

import pydoc_data.topics

import numpy as np
import pytest

import pansophy
from pansophy.text import NGramModel, generate
from tests.oracles.ngrams import SlowNGramModel

SMOOTHINGS = [
    "mle", "add_k", "jelinek_mercer", "witten_bell", "good_turing", "absolute",
    "kneser_ney", "modified_kneser_ney",
]  # fmt: skip
TEXT = pydoc_data.topics.topics["assert"] + pydoc_data.topics.topics["break"]
SENTENCES = [line.split() for line in TEXT.split("\n\n")]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("smoothing", [s for s in SMOOTHINGS if s != "good_turing"])
def test_definition(order, smoothing):
    model = NGramModel(order, smoothing=smoothing, k=0.5).fit(SENTENCES)
    slow = SlowNGramModel(
        order, smoothing, SENTENCES, k=0.5, discounts=model.discounts_
    )
    for sentence in SENTENCES[:3]:
        context = ["<s>"] * (order - 1)
        given = []
        for word in [*sentence[:8], "</s>", "<unk>"]:
            expected = slow.prob(word, context + given)
            assert model.prob(word, given) == pytest.approx(expected, rel=1e-10)
            given.append(word)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_probabilities_sum_to_one_after_every_context(smoothing):
    model = NGramModel(3, smoothing=smoothing).fit(SENTENCES)
    contexts = [[], ["never", "seen"], SENTENCES[0][:1], ["seen", SENTENCES[1][0]]]
    contexts += [sentence[:2] for sentence in SENTENCES]
    for context in contexts:
        p = model.probs(context)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert (p >= 0).all()
        assert p[model.start_token] == 0.0


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_log_probs_are_those_of_single_words(smoothing):
    model = NGramModel(3, smoothing=smoothing).fit(SENTENCES)
    sentence = [*SENTENCES[2][:4], "unheard", *SENTENCES[2][4:6]]
    with np.errstate(divide="ignore"):
        single = np.log(
            [model.prob(w, sentence[:i]) for i, w in enumerate([*sentence, "</s>"])]
        )
    np.testing.assert_allclose(model.log_probs([sentence])[0], single, rtol=1e-10)


def test_unigram_mle_perplexity_is_exp_entropy():
    model = NGramModel(1, smoothing="mle").fit(SENTENCES)
    words = [w for s in SENTENCES for w in [*s, "</s>"]]
    _, counts = np.unique(words, return_counts=True)
    p = counts / counts.sum()
    assert model.perplexity(SENTENCES) == pytest.approx(np.exp(-(p * np.log(p)).sum()))


def test_kneser_ney_counts_contexts():
    # "york" is frequent, but only ever after "new": alone it is unlikely
    sentences = ["new york"] * 8 + ["old cat", "big cat", "red cat", "new dog"]
    model = NGramModel(2, smoothing="kneser_ney").fit(sentences)
    plain = NGramModel(2, smoothing="absolute").fit(sentences)
    assert model.prob("cat", ["unseen"]) > model.prob("york", ["unseen"])
    assert plain.prob("cat", ["unseen"]) < plain.prob("york", ["unseen"])


def test_small_data_fall_back_to_fitted_discounts():
    model = NGramModel(2).fit(["a b", "a b"])
    assert model.discount_fallback_ == [1, 2]
    assert np.isfinite(model.perplexity(["a c"]))


def test_better_smoothing_is_better_on_held_out_text():
    lines = [t.split() for t in pydoc_data.topics.topics.values()]
    held = lines[::5]
    train = [line for i, line in enumerate(lines) if i % 5]
    of = {s: NGramModel(3, smoothing=s, min_count=2).fit(train) for s in SMOOTHINGS[1:]}
    found = {s: model.perplexity(held) for s, model in of.items()}
    assert found["kneser_ney"] == min(found.values())
    assert found["modified_kneser_ney"] < found["absolute"]
    assert found["add_k"] == max(found.values())


def test_characters_and_bits_per_byte():
    model = NGramModel(4, analyzer="char").fit(["banana bandana"] * 3)
    assert model.bits_per_byte(["banana"]) < 1.5
    assert model.encode("ban") == [3, 4, 5]
    assert model.decode([3, 4, 5]) == ["b", "a", "n"]


def test_greedy_beam_and_exhaustive_search():
    model = NGramModel(2, smoothing="witten_bell").fit(["a b c", "a d", "b c", "a b"])
    greedy = generate(model, temperature=0, max_tokens=5)
    assert generate(model, beams=1, max_tokens=5) == greedy
    best, value = None, -np.inf
    words = ["a", "b", "c", "d"]
    for n in range(4):
        for code in range(4**n):
            sentence = [words[code // 4**i % 4] for i in range(n)]
            score = model.score_samples([sentence])[0]
            if score > value:
                best, value = sentence, score
    assert model.decode(generate(model, beams=64, max_tokens=4)) == best


def test_generated_words_are_allowed_ones():
    model = NGramModel(2).fit(["a b c", "c b a"])
    only = model.encode("b c")
    tokens = generate(model, max_tokens=6, allowed=lambda tokens: only, random_state=0)
    assert set(tokens) <= set(only)
    assert len(tokens) == 6


def test_save_and_load(tmp_path):
    model = NGramModel(3).fit(SENTENCES)
    pansophy.save(model, tmp_path / "model.pansophy")
    again = pansophy.load(tmp_path / "model.pansophy")
    assert again.perplexity(SENTENCES[:3]) == model.perplexity(SENTENCES[:3])


def test_bad_input():
    with pytest.raises(ValueError, match="at least one sentence"):
        NGramModel().fit([])
    with pytest.raises(ValueError, match="order of NGramModel"):
        NGramModel(0).fit(["a"])
    with pytest.raises(ValueError, match="string object received"):
        NGramModel().fit("a text")
    for wrong in (None, 3, b"bytes"):
        with pytest.raises(ValueError, match="a text or a list of words, got"):
            NGramModel().fit(["a", wrong])
    model = NGramModel().fit(["a"])
    for measure in (model.perplexity, model.score):
        with pytest.raises(ValueError, match="at least one token"):
            measure([])
    assert model.bits_per_byte(["\udcff a"]) > 0
