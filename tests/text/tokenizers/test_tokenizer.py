"""Tokenizer: round trips, offsets in the original text, special tokens by rule."""

import itertools

import numpy as np
import pytest

import pansophy
from pansophy.text import BPE, Normalizer, Tokenizer, Unigram

TEXTS = ["The cat sat on the mat.", "naïve 日本 texts, twice: naïve", "a\n\tb"]


@pytest.mark.parametrize(
    "model", ["characters", "bytes", BPE(270), Unigram(270)], ids=str
)
def test_round_trip(model):
    tokenizer = Tokenizer(model).fit(TEXTS)
    for text in TEXTS:
        found = tokenizer.encode_with_offsets(text)
        assert tokenizer.decode(found.ids) == text
        assert found.offsets[0] == 0
        assert found.offsets[-1] == len(text.encode())
    strange = "\ud55c\x00 \U0001f600"
    if model != "characters":
        assert tokenizer.decode(tokenizer.encode(strange)) == strange


def test_words_and_the_unknown_one():
    tokenizer = Tokenizer(min_frequency=2).fit(["a b a", "b c, a"])
    assert tokenizer.tokens_ == ["a", "b"]
    ids, offsets = tokenizer.encode_with_offsets("  b ccc, a ")
    assert tokenizer.decode(ids) == "b <unk> <unk> a"
    assert offsets.tolist() == [0, 3, 7, 8, 10]
    assert Tokenizer(vocab_size=1).fit(["a b a"]).tokens_ == ["a"]
    strict = Tokenizer("characters", unknown=None).fit(["ab"])
    with pytest.raises(ValueError, match="'c' is not in the vocabulary"):
        strict.encode("abc")


def test_ends_padding_and_special_tokens():
    tokenizer = Tokenizer("characters", add_ends=True, special_tokens=("<mask>",))
    tokenizer.fit(["abc"])
    words = tokenizer.vocabulary_
    assert words.special_tokens == ("<unk>", "<pad>", "<s>", "</s>", "<mask>")
    ids, offsets = tokenizer.encode_with_offsets("ca")
    assert words.tokens_of(ids) == ["<s>", "c", "a", "</s>"]
    assert offsets.tolist() == [0, 0, 1, 2, 2]
    batch = tokenizer.batch(["a", "abc"])
    assert batch.ids.shape == (2, 5)
    assert [tokenizer.decode(row) for row in batch.ids] == ["a", "abc"]
    shown = tokenizer.decode(batch.ids[0], skip_special=False)
    assert shown == "<s>a</s><pad><pad>"
    assert batch.mask.sum(axis=1).tolist() == [3, 5]
    with pytest.raises(ValueError, match="add_ends"):
        Tokenizer(add_ends=True, start=None).fit(["a"])
    with pytest.raises(ValueError, match="no padding"):
        Tokenizer(padding=None).fit(["a"]).batch(["a"])


def test_a_special_token_in_texts_is_no_ordinary_one():
    tokenizer = Tokenizer("words", start="s").fit(["s t s"])
    assert tokenizer.tokens_ == ["t"]


@pytest.mark.parametrize("model", ["words", "characters", BPE(300), Unigram(300)])
def test_offsets_are_in_the_original_text(model):
    normalizer = Normalizer("nfkc", lowercase=True, strip_accents=True, whitespace=True)
    tokenizer = Tokenizer(model, normalizer=normalizer).fit(TEXTS)
    text = " Cafe\u0301  \ufb01ne\tTHE CAT"
    ids, offsets = tokenizer.encode_with_offsets(text)
    assert len(offsets) == len(ids) + 1
    assert (np.diff(offsets) >= 0).all()
    data = text.encode()
    parts = [data[i:j].decode() for i, j in itertools.pairwise(offsets)]
    joined = "".join(parts)
    assert normalizer(joined).strip() == "cafe fine the cat"
    if model == "words":
        assert [p.strip() for p in parts] == ["Cafe\u0301", "\ufb01ne", "THE", "CAT"]


def test_save_and_load(tmp_path):
    for i, model in enumerate(["words", "bytes", Unigram(270)]):
        tokenizer = Tokenizer(model, normalizer=Normalizer(lowercase=True)).fit(TEXTS)
        pansophy.save(tokenizer, tmp_path / f"{i}.pansophy")
        again = pansophy.load(tmp_path / f"{i}.pansophy")
        assert again.normalizer == tokenizer.normalizer
        for text in TEXTS:
            np.testing.assert_array_equal(again.encode(text), tokenizer.encode(text))


def test_bad_input():
    with pytest.raises(ValueError, match="model"):
        Tokenizer("letters").fit(["a"])
    with pytest.raises(ValueError, match="must be str"):
        Tokenizer().fit([3])
    with pytest.raises(ValueError, match="must be str"):
        Tokenizer().fit(["a"]).encode(3)
