"""Byte-pair encoding: the oracle's merges, exact round trips, files, long runs."""

import base64
import json
import pydoc_data.topics
import time

import numpy as np
import pytest

import pansophy
from pansophy.text import BPE, Unigram, split_text
from pansophy.text.tokenizers.bpe import BYTES_BY_ID, ID_OF_BYTE
from tests.oracles.bpe import slow_encode, slow_merges

TEXTS = list(pydoc_data.topics.topics.values())[:25]


@pytest.fixture(scope="module")
def model():
    return BPE(600, special_tokens=("<end>",)).fit(TEXTS)


@pytest.mark.parametrize("alphabet", ["ab", "abc ", "aaab"])
def test_merges_of_the_oracle(alphabet, rng):
    # few letters: many overlapping pairs ("aaa") and ties
    texts = ["".join(rng.choice(list(alphabet), 40)) for _ in range(30)]
    pieces = [
        ID_OF_BYTE[list(p)].tolist() for t in texts for p in split_text(t).texts()
    ]
    model = BPE(256 + 60).fit(texts)
    expected = slow_merges(pieces, 60)
    assert [tuple(m) for m in model.merges_.tolist()] == expected
    for text in texts[:10]:
        slow = [
            token
            for p in split_text(text).texts()
            for token in slow_encode(ID_OF_BYTE[list(p)].tolist(), expected)
        ]
        assert model.encode(text).tolist() == slow


def test_pieces_longer_than_the_scan_are_encoded_alike(rng):
    text = "".join(rng.choice(list("abc"), 3000))
    model = BPE(300, pre_tokenizer="bytes").fit([text[:500]])
    merges = [tuple(m) for m in model.merges_.tolist()]
    slow = slow_encode(ID_OF_BYTE[list(text.encode())].tolist(), merges)
    assert model.encode(text).tolist() == slow
    short = text[:60]
    slow = slow_encode(ID_OF_BYTE[list(short.encode())].tolist(), merges)
    assert model.encode(short).tolist() == slow


def test_round_trips(model):
    everything = "".join(map(chr, [*range(1, 0x3000, 7), *range(0x1F300, 0x1F700, 11)]))
    for text in ["", " ", "\x00\x01", "日本語 naïve \r\n\t", everything, *TEXTS[:5]]:
        found = model.encode_with_offsets(text)
        assert model.decode(found.ids) == text
        data = text.encode()
        parts = [data[i:j] for i, j in zip(found.offsets, found.offsets[1:])]
        assert parts == [model.tokens_[i] for i in found.ids]
    assert model.decode_bytes(range(256)) == bytes(BYTES_BY_ID)
    assert model.decode([ID_OF_BYTE[0xFF]]) == "�"


@pytest.mark.parametrize("rule", ["gpt2", "gpt4", "words", "bytes"])
def test_bytes_that_are_no_utf8(rule, rng):
    model = BPE(320, pre_tokenizer=rule).fit(TEXTS[:3])
    cases = [bytes(range(256)), b"\xff", b"a\xc3", "\u00e9\u65e5".encode()[1:], b""]
    cases += [rng.integers(0, 256, 50).astype(np.uint8).tobytes() for _ in range(20)]
    cases += ["\u65e5 a\U0001f300".encode() + b"\x80 b" + "\u00e9".encode()]
    for data in cases:
        found = model.encode_with_offsets(data)
        assert model.decode_bytes(found.ids) == data
        assert found.offsets[-1] == len(data)
        text = data.decode("utf-8", "surrogateescape")
        np.testing.assert_array_equal(model.encode(text), found.ids)
        assert model.decode(found.ids, errors="surrogateescape") == text
    mixed = "a\ud800b\udcff\udc00"  # surrogates that are no bytes, and one that is
    data = model.decode_bytes(model.encode(mixed))
    assert data == b"a\xed\xa0\x80b\xff\xed\xb0\x80"


def test_more_merges_give_fewer_tokens():
    text = TEXTS[3]
    counts = [len(BPE(size).fit(TEXTS).encode(text)) for size in (256, 300, 500, 900)]
    assert counts[0] == len(text.encode())
    assert counts == sorted(counts, reverse=True)


def test_time_is_linear_in_the_length_of_a_run(model):
    model.encode("a" * 100)
    begun = time.process_time()
    ids = model.encode("a" * 1_000_000)
    assert time.process_time() - begun < 5
    assert len(model.decode(ids)) == 1_000_000


def test_special_tokens(model):
    (special,) = model.encode("<end>", allowed_special="all")
    assert special == 600 - 1 == len(model.tokens_) - 1
    plain = model.encode("a<end>b")
    assert special not in plain
    mixed = model.encode("a<end>b", allowed_special=("<end>",))
    assert special in mixed
    assert model.decode(plain) == model.decode(mixed) == "a<end>b"
    with pytest.raises(ValueError, match="not known"):
        model.encode("a", allowed_special=("<s>",))


def test_files(model, tmp_path):
    texts = [*TEXTS[:4], "日本 ñ  x"]
    model.to_json(tmp_path / "tokenizer.json")
    again = BPE.from_json(tmp_path / "tokenizer.json")
    model.to_tiktoken(tmp_path / "ranks.tiktoken")
    ranks = BPE.from_tiktoken(tmp_path / "ranks.tiktoken", pre_tokenizer="gpt2")
    for text in texts:
        np.testing.assert_array_equal(again.encode(text), model.encode(text))
        np.testing.assert_array_equal(ranks.encode(text), model.encode(text))
    pansophy.save(model, tmp_path / "model.pansophy")
    loaded = pansophy.load(tmp_path / "model.pansophy")
    np.testing.assert_array_equal(loaded.encode(texts[0]), model.encode(texts[0]))
    (tmp_path / "text").write_text("\n".join(TEXTS), "utf-8")
    of_file = BPE(400).fit_files(tmp_path / "text")
    np.testing.assert_array_equal(
        of_file.merges_, BPE(400).fit(["\n".join(TEXTS)]).merges_
    )


def test_files_of_others(model, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"".join(base64.b64encode(bytes([b])) + b" 0\n" for b in range(9)))
    with pytest.raises(ValueError, match="ranks must be"):
        BPE.from_tiktoken(path)
    path.write_bytes(base64.b64encode(b"a") + b" 0\n")
    with pytest.raises(ValueError, match="no token for the byte 0"):
        BPE.from_tiktoken(path)
    path.write_text(json.dumps({"model": {"type": "Unigram"}}))
    with pytest.raises(ValueError, match="not a byte-level BPE"):
        BPE.from_json(path)


@pytest.mark.parametrize("cls", [BPE, Unigram])
@pytest.mark.parametrize(
    "content",
    [
        "{", "[]", "3", "{}", '{"model": null}', '{"model": {}}', '{"model": []}',
        '{"model": {"type": "KIND"}, "pre_tokenizer": {"type": "ByteLevel"}}',
        '{"model": {"type": "KIND", "vocab": 3, "merges": 4}, '
        '"pre_tokenizer": {"type": "ByteLevel"}}',
        '{"model": {"type": "KIND", "vocab": [[1, 2]], "merges": [7]}, '
        '"pre_tokenizer": {"type": "ByteLevel"}}',
        '{"model": {"type": "KIND", "vocab": {}, "merges": []}, '
        '"pre_tokenizer": {"type": "ByteLevel"}, "added_tokens": [1]}',
    ],
)  # fmt: skip
def test_json_files_of_another_kind(cls, content, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(content.replace("KIND", cls.__name__))
    with pytest.raises(ValueError, match=r"byte-level|Expecting property"):
        cls.from_json(path)


def test_equal_to_tokenizers(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = byte_level(add_prefix_space=False)
    peer.train_from_iterator(
        TEXTS,
        tokenizers.trainers.BpeTrainer(
            vocab_size=700, initial_alphabet=byte_level.alphabet(), show_progress=False
        ),
    )
    peer.save(str(tmp_path / "peer.json"))
    read = BPE.from_json(tmp_path / "peer.json")
    ours = BPE(700).fit(TEXTS)
    assert read.tokens_ == ours.tokens_
    for text in [*TEXTS, "unseen Wörter 日本 \n\n 12345"]:
        assert ours.encode(text).tolist() == peer.encode(text).ids
    ours.to_json(tmp_path / "ours.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "ours.json"))
    assert theirs.encode(TEXTS[0]).ids == peer.encode(TEXTS[0]).ids


PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt4": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


@pytest.mark.parametrize("rule", ["gpt2", "gpt4"])
def test_equal_to_tiktoken(rule, rng):
    tiktoken = pytest.importorskip("tiktoken")
    model = BPE(700, pre_tokenizer=rule).fit(TEXTS)
    peer = tiktoken.Encoding(
        "ours",
        pat_str=PATTERNS[rule],
        mergeable_ranks={token: i for i, token in enumerate(model.tokens_)},
        special_tokens={},
    )
    letters = [
        "αβγ",
        "мир",
        "日本語",
        "한국어",
        "ไทย",
        "हिन्दी",
        "العربية",
        "עברית",
        "ქართ",
    ]
    cases = [
        *TEXTS, "", " ", "  \n\n \t x", "I'LL they've DON'T 's", "1234567 12,345.67",
        "a  b   c\r\n\r\nd  ", " ".join(letters), "".join(letters), "e\u0301 🙂🙂 👩‍💻",
        "".join(map(chr, range(256))), "a" * 100_000, "ab " * 1000, " " * 1000,
    ]  # fmt: skip
    pool = list("ab1'sS .!\n\t\r é日\u00a0\u3000²½_-") + letters
    cases += ["".join(rng.choice(pool, 30)) for _ in range(200)]
    for text in cases:
        assert model.encode(text).tolist() == peer.encode_ordinary(text)
    for byte in range(256):
        data = bytes([byte])
        assert model.encode(data).tolist() == peer._encode_bytes(data)


def test_bad_input():
    with pytest.raises(ValueError, match="at least 256"):
        BPE(100).fit(["a"])
    with pytest.raises(ValueError, match="string object received"):
        BPE().fit("a text")
    with pytest.raises(ValueError, match="texts must be str"):
        BPE(300).fit([None])
    model = BPE(300).fit(["a text"])
    with pytest.raises(ValueError, match="ids must be below"):
        model.decode([10**6])
    with pytest.raises(ValueError, match="text must be str or bytes"):
        model.encode(["a", "b"])
    assert len(BPE(300).fit([]).merges_) == 0


def test_ids_that_are_none_are_refused():
    model = BPE(260).fit(["low lower lowest"])
    for bad in ([-1], [65.7], [len(model.tokens_)]):
        with pytest.raises(
            ValueError, match=r"ids must be below .* whole and at least 0"
        ):
            model.decode(bad)
    assert model.decode([]) == ""


def test_files_with_the_rule_of_gpt4(tmp_path):
    """What is written is read by tokenizers with the same ids, and read again."""
    tokenizers = pytest.importorskip("tokenizers")
    ours = BPE(600, pre_tokenizer="gpt4", special_tokens=("<end>",)).fit(TEXTS)
    ours.to_json(tmp_path / "gpt4.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "gpt4.json"))
    read = BPE.from_json(tmp_path / "gpt4.json")
    assert read.pre_tokenizer == "gpt4" and read.special_tokens == ("<end>",)
    rng = np.random.default_rng(0)
    signs = list("ab'sLL 1234\n\r\t.,!?é日") + ["  ", "\n\n", "'ll", "'T"]
    random = ["".join(rng.choice(signs, 30)) for _ in range(200)]
    for text in [*TEXTS, *random]:
        ids = peer.encode(text).ids
        assert read.encode(text).tolist() == ours.encode(text).tolist() == ids


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"special_tokens": ["<s>", "</s>"]}, r"special tokens the ids \[0, 1\]"),
        ({"initial_alphabet": []}, "without the whole alphabet"),
        ({"prefix": True}, "adds a space before a text"),
        ({"pattern": r"\p{N}|\p{L}+|[^\p{L}]"}, "regular expression '.*N.*GPT-4"),
        ({"normalizer": "NFC"}, r"has a normalizer \(NFC\)"),
    ],
)
def test_refused_files_are_told_what_they_are(change, words, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    pre = tokenizers.pre_tokenizers
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    byte_level = pre.ByteLevel(add_prefix_space=change.get("prefix", False))
    if "pattern" in change:
        split = pre.Split(tokenizers.Regex(change["pattern"]), "isolated")
        byte_level.use_regex = False
        byte_level = pre.Sequence([split, byte_level])
    peer.pre_tokenizer = byte_level
    if "normalizer" in change:
        peer.normalizer = tokenizers.normalizers.NFC()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=change.get("initial_alphabet", pre.ByteLevel.alphabet()),
        special_tokens=change.get("special_tokens", []),
        show_progress=False,
    )
    peer.train_from_iterator(TEXTS, trainer)
    peer.save(str(tmp_path / "peer.json"))
    with pytest.raises(ValueError, match=words):
        BPE.from_json(tmp_path / "peer.json")
